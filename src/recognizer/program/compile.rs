//! The compiler of grammar nodes into points.
//!
//! It compiles backwards: a node is compiled for the point after it. A node that stands in several
//! places with the same continuation becomes one point (`PointTable::memo`).

use std::cell::Cell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{KeyChoiceTable, PointTable};
use crate::deadline;
use crate::error::{Error, ErrorKind, LimitName, Result};
use crate::grammar::{
    Attribute, Grammar, GrammarBuilder, Node, NodeId, Origin, SpecialToken, TokenSet,
};
use crate::recognizer::byte_coverage::ByteCoverage;
use crate::recognizer::item::{KeyChoiceId, PointId, RETURN};
use crate::recognizer::point::{Point, Span, TokenSpan};
use crate::regular::{ByteSet, Language};
use crate::vocabulary::Vocabulary;

/// Repeats up to this many times are written out: that is cheaper than a counter.
const MAX_UNROLLED: u32 = 3;

/// Groups nested in one rule. The compiler recurses over them.
const MAX_GROUP_NESTING: u32 = 1_000;

/// A view of the nodes to be compiled.
pub(super) trait GrammarNodes {
    fn node(&self, id: NodeId) -> &Node;
    fn origin(&self, id: NodeId) -> Option<&Origin>;
    fn language(&self, language: Language) -> Language;
    fn is_productive(&self, id: NodeId) -> bool;
    /// Whether the first part of a choice leads to a shortest text.
    fn is_by_length(&self, _: NodeId) -> bool {
        false
    }
    /// Notes that a string is captured.
    fn note_capture(&self) {}
}

/// A grammar that is given whole.
pub(super) struct WholeGrammar<'a> {
    pub(super) grammar: &'a Grammar,
    pub(super) languages: &'a FxHashMap<Language, Language>,
    pub(super) productive: &'a [bool],
}

impl GrammarNodes for WholeGrammar<'_> {
    fn node(&self, id: NodeId) -> &Node {
        self.grammar.node(id)
    }

    fn origin(&self, id: NodeId) -> Option<&Origin> {
        self.grammar.origin(id)
    }

    fn language(&self, language: Language) -> Language {
        self.languages[&language]
    }

    fn is_productive(&self, id: NodeId) -> bool {
        self.productive[id.index()]
    }
}

/// The nodes that a source has made so far.
pub(super) struct PartialGrammar<'a> {
    pub(super) builder: &'a GrammarBuilder,
    pub(super) captures: Cell<bool>,
}

impl GrammarNodes for PartialGrammar<'_> {
    fn node(&self, id: NodeId) -> &Node {
        self.builder.node(id)
    }

    fn origin(&self, id: NodeId) -> Option<&Origin> {
        self.builder.origin(id)
    }

    fn language(&self, language: Language) -> Language {
        language
    }

    fn is_productive(&self, _: NodeId) -> bool {
        true
    }

    fn is_by_length(&self, choice: NodeId) -> bool {
        self.builder.is_by_length(choice)
    }

    fn note_capture(&self) {
        self.captures.set(true);
    }
}

/// Each terminal of a grammar, without the strings that hold a byte that stands in no token.
pub(super) fn spellable_languages(
    grammar: &mut Grammar,
    coverage: &ByteCoverage,
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
    let one = languages.byte_set(coverage.any);
    let text = languages.repeat(one, 0, None);
    let all = coverage.any == ByteSet::ALL;
    let map = |x: Language| (x, if all { x } else { languages.intersect([x, text]) });
    terminals.into_iter().map(map).collect()
}

/// The same grammar with every set of tokens by ids, as [`TokenSpan`] wants them: complements list
/// the end tokens and the ids that are no token as well.
///
/// Errors with the name of a token that the vocabulary does not have.
pub(crate) fn resolve_tokens(grammar: Grammar, vocabulary: &Vocabulary) -> Result<Grammar> {
    let ids = |tokens: &[SpecialToken]| -> Result<Vec<u32>> {
        tokens.iter().map(|token| find_token(vocabulary, token)).collect()
    };
    let all = |ids: Vec<u32>| ids.into_iter().map(SpecialToken::Id).collect();
    grammar.with_token_sets(|tokens| {
        deadline::check()?;
        Ok(match tokens {
            TokenSet::OneOf(tokens) => TokenSet::OneOf(all(ids(tokens)?)),
            TokenSet::Except(tokens) => {
                let named: FxHashSet<u32> = ids(tokens)?.into_iter().collect();
                let left_out = |id: &u32| {
                    named.contains(id)
                        || vocabulary.end_tokens().contains(id)
                        || !vocabulary.is_special(*id)
                            && vocabulary.token_bytes(*id).is_none_or(<[u8]>::is_empty)
                };
                let left_out: Vec<u32> = (0..vocabulary.len() as u32).filter(left_out).collect();
                if left_out.len() == vocabulary.len() {
                    TokenSet::OneOf(Box::default())
                } else {
                    TokenSet::Except(all(left_out))
                }
            }
        })
    })
}

/// The id of a token; an error that names it if there is none. Of a special and an ordinary token
/// with one name the special one is meant.
pub(crate) fn find_token(vocabulary: &Vocabulary, token: &SpecialToken) -> Result<u32> {
    let (found, message, help) = match token {
        SpecialToken::Name(name) => (
            vocabulary.token_named(name).or_else(|| {
                let trie = vocabulary.trie();
                let ids = trie.find(name.as_bytes()).map(|node| trie.tokens(node));
                ids.and_then(|ids| ids.iter().copied().min())
            }),
            format!("the vocabulary has no token `{name}`"),
            "name one token of the tokenizer, special or ordinary".to_owned(),
        ),
        SpecialToken::Id(id) => (
            ((*id as usize) < vocabulary.len()).then_some(*id),
            format!("the vocabulary has no token {id}"),
            format!("ids go up to {}", vocabulary.len().saturating_sub(1)),
        ),
    };
    found.ok_or_else(|| Error::new(ErrorKind::Grammar, message).with_help(help))
}

/// Errors if a rule nests groups too deep for the compiler's recursion.
pub(crate) fn check_nesting(grammar: &Grammar) -> Result<()> {
    let mut depth: Vec<u32> = Vec::with_capacity(grammar.nodes().len());
    for node in grammar.nodes() {
        let below = match node {
            Node::Sequence(parts) | Node::Choice(parts) => {
                parts.iter().map(|part| depth[part.index()]).max().unwrap_or(0)
            }
            Node::Repeat { node, .. } | Node::Attributed { node, .. } => depth[node.index()],
            _ => 0,
        };
        depth.push(below + 1);
    }
    if depth.into_iter().max().unwrap_or(0) > MAX_GROUP_NESTING {
        let message = format!("a rule nests groups more than {MAX_GROUP_NESTING} deep");
        return Err(Error::new(ErrorKind::Limit, message)
            .with_help("give the inner groups rules of their own"));
    }
    Ok(())
}

/// Compiles nodes into a program's points.
pub(super) struct ProgramCompiler<'a> {
    pub(super) nodes: &'a dyn GrammarNodes,
    pub(super) points: &'a mut PointTable,
    pub(super) key_choices: &'a mut KeyChoiceTable,
    /// The innermost origin around the node being compiled.
    pub(super) origin_id: u32,
}

impl ProgramCompiler<'_> {
    /// The number of an origin.
    pub(super) fn intern_origin(&mut self, origin: &Origin) -> u32 {
        if let Some(&id) = self.points.origin_ids.get(origin) {
            return id;
        }
        let id = self.points.origins.len() as u32;
        self.points.origins.push(origin.clone());
        self.points.origin_ids.insert(origin.clone(), id);
        id
    }

    fn push(&mut self, point: Point) -> Result<PointId> {
        if self.points.points.len() >= self.points.limit {
            let message =
                format!("the compiled grammar needs more than {} points", self.points.limit);
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("simplify it, or raise the limit `grammar_size`")
                .with_limit(LimitName::GrammarSize));
        }
        let id = self.points.points.len() as PointId;
        self.points.points.push(point);
        self.points.origin_by_point.push(self.origin_id);
        self.points.reads_json_string.push(false);
        Ok(id)
    }

    /// The point that reads `node` and goes on at `next`. `node` is productive.
    pub(super) fn compile(&mut self, id: NodeId, next: PointId) -> Result<PointId> {
        if let Some(&point) = self.points.memo.get(&(id, next)) {
            return Ok(point);
        }
        let outer = self.origin_id;
        let nodes = self.nodes;
        if let Some(origin) = nodes.origin(id) {
            self.origin_id = self.intern_origin(origin);
        }
        let point = match nodes.node(id) {
            &Node::Regular(language) => match nodes.language(language) {
                Language::EPSILON => next,
                language => self.push(Point::Regular { language, next })?,
            },
            Node::JsonString(language) => {
                let point = self.push(Point::Regular { language: *language, next })?;
                self.points.reads_json_string[point as usize] = true;
                point
            }
            Node::Special(tokens) => {
                let tokens = self.token_span(tokens);
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
            Node::Choice(parts) => self.choice(id, parts, next)?,
            &Node::Repeat { node, min, max } => self.repeat(node, min, max, next)?,
            Node::Attributed { node, attribute } => self.attributed(*node, attribute, next)?,
            // Only grammars without holes are compiled whole, and sources call rules for them.
            Node::Hole(_) => self.push(Point::Sentinel)?,
            // These have no `next`: their source decides what follows.
            &Node::KeyChoice(tag) => {
                let KeyChoiceTable { ids, tags, .. } = &mut *self.key_choices;
                let choice = *ids.entry(tag).or_insert_with(|| {
                    tags.push(tag);
                    KeyChoiceId(tags.len() as u32 - 1)
                });
                self.push(Point::KeyChoice(choice))?
            }
            &Node::Scope(node, tag) => {
                nodes.note_capture();
                let body = self.compile(node, RETURN)?;
                self.push(Point::Scope { body, tag })?
            }
            &Node::Capture(language, tag) => {
                nodes.note_capture();
                let point = self.push(Point::Capture { language, tag })?;
                self.points.reads_json_string[point as usize] = true;
                point
            }
        };
        self.origin_id = outer;
        self.points.memo.insert((id, next), point);
        Ok(point)
    }

    /// The point of a choice between the productive ones of `parts`.
    fn choice(&mut self, id: NodeId, parts: &[NodeId], next: PointId) -> Result<PointId> {
        let nodes = self.nodes;
        let mut branches = Vec::with_capacity(parts.len());
        for &part in parts.iter().filter(|&&part| nodes.is_productive(part)) {
            branches.push(self.compile(part, next)?);
        }
        let first = branches.first().copied().filter(|_| nodes.is_by_length(id));
        let point = self.fork(branches)?;
        // Branches that are all the same make no fork.
        let first = first.filter(|&first| first != point);
        self.points.shortest.extend(first.map(|first| (point, first)));
        Ok(point)
    }

    /// The point of a part with an attribute.
    fn attributed(
        &mut self,
        node: NodeId,
        attribute: &Attribute,
        next: PointId,
    ) -> Result<PointId> {
        match *attribute {
            Attribute::MaxTokens(max) => {
                let body = self.compile(node, RETURN)?;
                self.push(Point::Budget { body, max, next })
            }
            Attribute::Temperature(temperature) => {
                let body = self.compile(node, RETURN)?;
                let point = self.push(Point::Budget { body, max: u32::MAX, next })?;
                self.points.temperatures.insert(point, temperature);
                Ok(point)
            }
            Attribute::Capture(_) | Attribute::Ignored | Attribute::CaptureFrom(_) => {
                self.compile(node, next)
            }
        }
    }

    fn token_span(&mut self, tokens: &TokenSet) -> TokenSpan {
        let from = self.points.tokens.len() as u32;
        self.points.tokens.extend(tokens.listed().iter().filter_map(|token| match token {
            SpecialToken::Id(id) => Some(*id),
            // `resolve_tokens` has left none.
            SpecialToken::Name(_) => None,
        }));
        let span = Span { from, to: self.points.tokens.len() as u32 };
        match tokens {
            TokenSet::OneOf(_) => TokenSpan::OneOf(span),
            TokenSet::Except(_) => TokenSpan::Except(span),
        }
    }

    fn fork(&mut self, mut branches: Vec<PointId>) -> Result<PointId> {
        branches.sort_unstable();
        branches.dedup();
        match branches[..] {
            [one] => Ok(one),
            _ => {
                let span = self.span(&branches);
                self.push(Point::Fork(span))
            }
        }
    }

    fn span(&mut self, branches: &[PointId]) -> Span {
        let from = self.points.branches.len() as u32;
        self.points.branches.extend_from_slice(branches);
        Span { from, to: self.points.branches.len() as u32 }
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
            Some(max) if max <= MAX_UNROLLED => {
                let mut at = next;
                for times in (0..max).rev() {
                    let once = self.compile(node, at)?;
                    at = if times < min { once } else { self.fork(vec![once, next])? };
                }
                Ok(at)
            }
            None if min <= MAX_UNROLLED => {
                let again = self.push(Point::Sentinel)?;
                let body = self.compile(node, again)?;
                let span = self.span(&[body, next]);
                self.points.points[again as usize] = Point::Fork(span);
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
