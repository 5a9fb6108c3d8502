//! From the nodes of a grammar to points.

use super::*;
use crate::error::LimitName;

/// The nodes that are compiled.
pub(crate) trait Nodes {
    fn node(&self, id: NodeId) -> &Node;
    fn label(&self, id: NodeId) -> Option<&Origin>;
    fn language(&self, language: Language) -> Language;
    fn is_productive(&self, id: NodeId) -> bool;
    fn special(&self, id: NodeId) -> Option<u32>;
    fn is_by_length(&self, _: NodeId) -> bool {
        false
    }
    fn captures(&self) {}
}

/// A grammar that is known whole.
pub(crate) struct Whole<'a> {
    pub(crate) grammar: &'a Grammar,
    pub(crate) languages: &'a FxHashMap<Language, Language>,
    pub(crate) specials: &'a FxHashMap<NodeId, u32>,
    pub(crate) productive: &'a [bool],
}

impl Nodes for Whole<'_> {
    fn node(&self, id: NodeId) -> &Node {
        self.grammar.node(id)
    }

    fn label(&self, id: NodeId) -> Option<&Origin> {
        self.grammar.origin(id)
    }

    fn language(&self, language: Language) -> Language {
        self.languages[&language]
    }

    fn is_productive(&self, id: NodeId) -> bool {
        self.productive[id.index()]
    }

    fn special(&self, id: NodeId) -> Option<u32> {
        self.specials.get(&id).copied()
    }
}

/// What a source has made so far.
pub(crate) struct Part<'a> {
    pub(crate) builder: &'a GrammarBuilder,
    pub(crate) captures: Cell<bool>,
}

impl Nodes for Part<'_> {
    fn node(&self, id: NodeId) -> &Node {
        self.builder.node(id)
    }

    fn label(&self, id: NodeId) -> Option<&Origin> {
        self.builder.origin(id)
    }

    fn language(&self, language: Language) -> Language {
        language
    }

    fn is_productive(&self, _: NodeId) -> bool {
        true
    }

    fn special(&self, id: NodeId) -> Option<u32> {
        match self.builder.node(id) {
            // Only in what stands before the rest, where names were looked up.
            Node::Special(SpecialToken::Id(id)) => Some(*id),
            _ => None,
        }
    }

    fn is_by_length(&self, choice: NodeId) -> bool {
        self.builder.is_by_length(choice)
    }

    fn captures(&self) {
        self.captures.set(true);
    }
}

/// Each terminal, less the strings that no token can spell: bytes that stand in no token at all.
pub(crate) fn spelled_languages(
    grammar: &mut Grammar,
    spelling: &Spelling,
) -> FxHashMap<Language, Language> {
    let terminals: Vec<Language> = grammar
        .nodes()
        .iter()
        .filter_map(|node| match node {
            Node::Regular(language) => Some(*language),
            _ => None,
        })
        .collect();
    let languages = grammar.languages_mut();
    let one = languages.byte_set(spelling.any);
    let text = languages.repeat(one, 0, None);
    let all = spelling.any == ByteSet::ALL;
    let map = |x: Language| (x, if all { x } else { languages.intersect([x, text]) });
    terminals.into_iter().map(map).collect()
}

pub(crate) fn resolve_specials(
    grammar: &Grammar,
    vocabulary: &Vocabulary,
) -> Result<FxHashMap<NodeId, u32>> {
    let mut resolved = FxHashMap::default();
    for (id, node) in grammar.nodes_with_ids() {
        if let Node::Special(token) = node {
            resolved.insert(id, find_special(vocabulary, token)?);
        }
    }
    Ok(resolved)
}

/// The id of a special token; an error that names it if there is none.
pub(crate) fn find_special(vocabulary: &Vocabulary, token: &SpecialToken) -> Result<u32> {
    let (found, message, help) = match token {
        SpecialToken::Name(name) => (
            vocabulary.special(name),
            format!("the vocabulary has no special token `{name}`"),
            "name one of the tokenizer's added tokens".to_owned(),
        ),
        SpecialToken::Id(id) => (
            ((*id as usize) < vocabulary.len()).then_some(*id),
            format!("the vocabulary has no token {id}"),
            format!("ids go up to {}", vocabulary.len().saturating_sub(1)),
        ),
    };
    found.ok_or_else(|| Error::new(ErrorKind::Grammar, message).with_help(help))
}

pub(crate) fn check_nesting(grammar: &Grammar) -> Result<()> {
    let mut depth: Vec<u32> = Vec::with_capacity(grammar.nodes().len());
    for node in grammar.nodes() {
        let below = match node {
            Node::Sequence(parts) | Node::Choice(parts) => {
                parts.iter().map(|part| depth[part.index()]).max().unwrap_or(0)
            }
            Node::Repeat { node, .. } => depth[node.index()],
            _ => 0,
        };
        depth.push(below + 1);
    }
    match depth.into_iter().max().unwrap_or(0) > NESTING {
        true => Err(Error::new(
            ErrorKind::Limit,
            format!("a rule nests groups more than {NESTING} deep"),
        )
        .with_help("give the inner groups rules of their own")),
        false => Ok(()),
    }
}

pub(crate) struct ProgramCompiler<'a> {
    pub(crate) nodes: &'a dyn Nodes,
    pub(crate) inner: &'a mut Inner,
    /// The innermost label around the node being compiled.
    pub(crate) label: u32,
}

impl ProgramCompiler<'_> {
    pub(crate) fn label_of(&mut self, label: &Origin) -> u32 {
        if let Some(&id) = self.inner.label_ids.get(label) {
            return id;
        }
        let id = self.inner.labels.len() as u32;
        self.inner.labels.push(label.clone());
        self.inner.label_ids.insert(label.clone(), id);
        id
    }

    fn push(&mut self, point: Point) -> Result<PointId> {
        if self.inner.points.len() >= self.inner.limit {
            let message =
                format!("the compiled grammar needs more than {} points", self.inner.limit);
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("simplify it, or raise the limit `grammar_size`")
                .with_limit(LimitName::GrammarSize));
        }
        let id = self.inner.points.len() as PointId;
        self.inner.points.push(point);
        self.inner.sources.push(self.label);
        self.inner.texts.push(false);
        Ok(id)
    }

    /// The point that reads `node` and goes on at `next`. `node` is productive.
    pub(crate) fn compile(&mut self, id: NodeId, next: PointId) -> Result<PointId> {
        if let Some(&point) = self.inner.memo.get(&(id, next)) {
            return Ok(point);
        }
        let outer = self.label;
        let nodes = self.nodes;
        if let Some(label) = nodes.label(id) {
            self.label = self.label_of(label);
        }
        let point = match nodes.node(id) {
            &Node::Regular(language) => match nodes.language(language) {
                Language::EPSILON => next,
                language => self.push(Point::Regular { language, next })?,
            },
            Node::Text(language) => {
                let point = self.push(Point::Regular { language: *language, next })?;
                self.inner.texts[point as usize] = true;
                point
            }
            Node::Special(_) => {
                let from = self.inner.tokens.len() as u32;
                self.inner.tokens.extend(nodes.special(id));
                let tokens = Span { from, to: self.inner.tokens.len() as u32 };
                self.push(Point::Special { tokens, next })?
            }
            &Node::Call(rule) => self.push(Point::Call { rule, next })?,
            Node::Sequence(parts) => {
                let mut next = next;
                for &part in parts.iter().rev() {
                    next = self.compile(part, next)?;
                }
                next
            }
            Node::Choice(parts) => {
                let mut ways = Vec::with_capacity(parts.len());
                for &part in parts.iter().filter(|&&part| nodes.is_productive(part)) {
                    ways.push(self.compile(part, next)?);
                }
                let first = ways.first().copied().filter(|_| nodes.is_by_length(id));
                let point = self.fork(ways)?;
                // Ways that are all the same make no fork.
                let first = first.filter(|&first| first != point);
                self.inner.shortest.extend(first.map(|first| (point, first)));
                point
            }
            &Node::Repeat { node, min, max } => self.repeat(node, min, max, next)?,
            // Only grammars without holes are compiled whole, and sources call rules for them.
            Node::Hole(_) => self.push(Point::Border)?,
            // Both lead on by themselves: nothing follows them.
            &Node::Names(tag) => {
                let super::Inner { name_ids, name_tags, .. } = &mut *self.inner;
                let names = *name_ids.entry(tag).or_insert_with(|| {
                    name_tags.push(tag);
                    name_tags.len() as u32 - 1
                });
                self.push(Point::Names(names))?
            }
            &Node::Scope(node, tag) => {
                nodes.captures();
                let body = self.compile(node, RETURN)?;
                self.push(Point::Scope { body, tag })?
            }
            &Node::Capture(language, tag) => {
                nodes.captures();
                let point = self.push(Point::Capture { language, tag })?;
                self.inner.texts[point as usize] = true;
                point
            }
        };
        self.label = outer;
        self.inner.memo.insert((id, next), point);
        Ok(point)
    }

    fn fork(&mut self, mut ways: Vec<PointId>) -> Result<PointId> {
        ways.sort_unstable();
        ways.dedup();
        match ways[..] {
            [one] => Ok(one),
            _ => {
                let span = self.span(&ways);
                self.push(Point::Fork(span))
            }
        }
    }

    fn span(&mut self, ways: &[PointId]) -> Span {
        let from = self.inner.ways.len() as u32;
        self.inner.ways.extend_from_slice(ways);
        Span { from, to: self.inner.ways.len() as u32 }
    }

    fn repeat(
        &mut self,
        node: NodeId,
        min: u32,
        max: Option<u32>,
        next: PointId,
    ) -> Result<PointId> {
        if max == Some(0) || !self.nodes.is_productive(node) {
            return Ok(next);
        }
        match max {
            Some(max) if max <= UNROLL => {
                let mut at = next;
                for times in (0..max).rev() {
                    let once = self.compile(node, at)?;
                    at = if times < min { once } else { self.fork(vec![once, next])? };
                }
                Ok(at)
            }
            None if min <= UNROLL => {
                let again = self.push(Point::Border)?;
                let body = self.compile(node, again)?;
                let span = self.span(&[body, next]);
                self.inner.points[again as usize] = Point::Fork(span);
                let mut at = again;
                for times in 0..min {
                    at = if times == 0 { body } else { self.compile(node, at)? };
                }
                Ok(at)
            }
            _ => {
                let body = self.compile(node, RETURN)?;
                let max = max.unwrap_or(u32::MAX);
                self.push(Point::Repeat { body, min, max, next })
            }
        }
    }
}
