//! A grammar compiled into program points in continuation-passing style.
//!
//! A point says what to read next and where to go on; a rule's body ends in [`RETURN`]. A call
//! whose continuation is [`RETURN`] is a tail call and pushes nothing, so lists written by right
//! recursion run in constant stack. Counted repeats are frames with a counter, never unrolled.
//! Nothing unproductive is compiled: from every point some text leads to the end.

use rustc_hash::FxHashMap;

use super::limits::Limits;
use super::liveness::Spelling;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::analysis::least;
use crate::grammar::normal::normalize;
use crate::grammar::{Grammar, Node, NodeId, RuleId, SpecialToken};
use crate::regex::{ByteSet, Language, Languages};
use crate::vocab::Vocabulary;

/// Index of a point in its program.
pub(super) type PointId = u32;

/// The end of a rule's body: go on at the frames on top of the stack.
pub(super) const RETURN: PointId = 0;
/// The end of the whole text.
pub(super) const ACCEPT: PointId = 1;
/// Where a walk returns to the unknown stack below it; see [`UNKNOWN`](super::stacks::UNKNOWN).
pub(super) const EXIT: PointId = 2;

/// Repeats with a bound up to this many times are written out; they are cheaper than a counter.
const UNROLL: u32 = 3;

/// Nesting of nodes within one rule. Front ends that nest deeper must use rules.
const NESTING: u32 = 1_000;

#[derive(Clone, Debug)]
pub(super) enum Point {
    /// [`RETURN`], [`ACCEPT`] and [`EXIT`] themselves.
    Border,
    /// Read a string of a language, then go on.
    Regular { language: Language, next: PointId },
    /// Read one of these special tokens, then go on.
    Special { tokens: Box<[u32]>, next: PointId },
    /// Go to a rule's body, which returns to `next`.
    Call { rule: RuleId, next: PointId },
    /// Any of these.
    Fork(Box<[PointId]>),
    /// `body` (which returns here) `min` to `max` times, then go on.
    Repeat { body: PointId, min: u32, max: u32, next: PointId },
}

/// A compiled grammar. Points are immutable; the arena of its terminals grows as they are read.
#[derive(Clone, Debug)]
pub(super) struct Program {
    points: Vec<Point>,
    /// Index into `names`, by point.
    sources: Vec<u32>,
    /// By point: is a JSON string read there?
    texts: Vec<bool>,
    names: Vec<Box<str>>,
    entries: Vec<PointId>,
    start: RuleId,
}

impl Program {
    #[inline]
    pub(super) fn point(&self, id: PointId) -> &Point {
        &self.points[id as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn entry(&self, rule: RuleId) -> PointId {
        self.entries[rule.index()]
    }

    pub(super) fn start(&self) -> PointId {
        self.entry(self.start)
    }

    /// Is a JSON string read at this point?
    pub(super) fn is_json_text(&self, id: PointId) -> bool {
        self.texts[id as usize]
    }

    /// The counter with which a return comes to a point, from that of its frame.
    pub(super) fn count_after(&self, id: PointId, count: u32) -> u32 {
        // A call goes on to a repeat that has run no times.
        let count = count.wrapping_add(1);
        match *self.point(id) {
            // The counter of an unbounded repeat stops where it no longer matters.
            Point::Repeat { min, max: u32::MAX, .. } => count.min(min),
            _ => count,
        }
    }

    /// Where a point comes from: a JSON pointer, a rule.
    pub(super) fn source(&self, id: PointId) -> &str {
        &self.names[self.sources[id as usize] as usize]
    }

    /// Compiles a grammar against a vocabulary; the arena of its terminals comes back beside it.
    pub(super) fn new(
        grammar: Grammar,
        vocabulary: &Vocabulary,
        spelling: &Spelling,
        limits: &Limits,
    ) -> Result<(Self, Languages)> {
        let mut grammar = normalize(grammar, limits.grammar_size)?;
        grammar.languages_mut().set_limit(limits.language_states);
        let languages = spelled_languages(&mut grammar, spelling);
        let specials = resolve_specials(&grammar, vocabulary)?;
        let mut live = FxHashMap::default();
        for &language in languages.values() {
            live.insert(language, grammar.languages_mut().is_live(language)?);
        }
        let productive = least(&grammar, |id, node| match node {
            Node::Regular(language) => live[&languages[language]],
            Node::Special(_) => specials.contains_key(&id),
            _ => false,
        });
        if !productive[grammar.rule(grammar.start()).body().index()] {
            return Err(Error::new(ErrorKind::Unsatisfiable, "no text satisfies the constraint")
                .with_help("look for parts that exclude each other"));
        }
        check_nesting(&grammar)?;
        let mut compiler = ProgramCompiler {
            grammar: &grammar,
            languages: &languages,
            specials: &specials,
            productive: &productive,
            limit: limits.grammar_size,
            points: vec![Point::Border, Point::Border, Point::Border],
            sources: vec![0, 0, 0],
            names: vec!["".into()],
            name_ids: FxHashMap::default(),
            memo: FxHashMap::default(),
            source: 0,
        };
        let mut entries = Vec::with_capacity(grammar.rules().len());
        for rule in grammar.rules() {
            compiler.source = compiler.name(rule.name());
            entries.push(match productive[rule.body().index()] {
                true => compiler.compile(rule.body(), RETURN)?,
                // Never called: calls of it are unproductive too.
                false => RETURN,
            });
        }
        let ProgramCompiler { points, sources, names, .. } = compiler;
        let start = grammar.start();
        let languages = grammar.into_languages();
        let is_text = |point: &Point| match point {
            Point::Regular { language, .. } => languages.is_json_text(*language),
            _ => false,
        };
        let texts = points.iter().map(is_text).collect();
        let program = Self { points, sources, texts, names, entries, start };
        Ok((program, languages))
    }
}

/// Each terminal, less the strings that no token can spell: bytes that stand in no token at all.
fn spelled_languages(grammar: &mut Grammar, spelling: &Spelling) -> FxHashMap<Language, Language> {
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

fn resolve_specials(grammar: &Grammar, vocabulary: &Vocabulary) -> Result<FxHashMap<NodeId, u32>> {
    let mut resolved = FxHashMap::default();
    for (id, node) in grammar.nodes_with_ids() {
        let Node::Special(token) = node else { continue };
        let found = match token {
            SpecialToken::Name(name) => vocabulary.special(name),
            SpecialToken::Id(id) => ((*id as usize) < vocabulary.len()).then_some(*id),
        };
        match (found, token) {
            (Some(token), _) => {
                resolved.insert(id, token);
            }
            (None, SpecialToken::Name(name)) => {
                let message = format!("the vocabulary has no special token `{name}`");
                return Err(Error::new(ErrorKind::Grammar, message)
                    .with_help("name one of the tokenizer's added tokens"));
            }
            (None, SpecialToken::Id(id)) => {
                let message = format!("the vocabulary has no token {id}");
                let help = format!("ids go up to {}", vocabulary.len().saturating_sub(1));
                return Err(Error::new(ErrorKind::Grammar, message).with_help(help));
            }
        }
    }
    Ok(resolved)
}

fn check_nesting(grammar: &Grammar) -> Result<()> {
    let mut depth: Vec<u32> = Vec::with_capacity(grammar.nodes().len());
    for node in grammar.nodes() {
        let below = match node {
            Node::Sequence(parts) | Node::Choice(parts) => {
                parts.iter().map(|part| depth[part.index()]).max().unwrap_or(0)
            }
            Node::Repeat { node, .. } => depth[node.index()],
            Node::Regular(_) | Node::Special(_) | Node::Call(_) => 0,
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

struct ProgramCompiler<'a> {
    grammar: &'a Grammar,
    languages: &'a FxHashMap<Language, Language>,
    specials: &'a FxHashMap<NodeId, u32>,
    productive: &'a [bool],
    limit: usize,
    points: Vec<Point>,
    sources: Vec<u32>,
    names: Vec<Box<str>>,
    name_ids: FxHashMap<Box<str>, u32>,
    memo: FxHashMap<(NodeId, PointId), PointId>,
    /// The innermost source around the node being compiled.
    source: u32,
}

impl ProgramCompiler<'_> {
    fn name(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.name_ids.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.into());
        self.name_ids.insert(name.into(), id);
        id
    }

    fn push(&mut self, point: Point) -> Result<PointId> {
        if self.points.len() >= self.limit {
            let message = format!("the compiled grammar needs more than {} points", self.limit);
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("simplify it, or raise the limit `grammar_size`"));
        }
        let id = self.points.len() as PointId;
        self.points.push(point);
        self.sources.push(self.source);
        Ok(id)
    }

    /// The point that reads `node` and goes on at `next`. `node` is productive.
    fn compile(&mut self, id: NodeId, next: PointId) -> Result<PointId> {
        if let Some(&point) = self.memo.get(&(id, next)) {
            return Ok(point);
        }
        let outer = self.source;
        if let Some(source) = self.grammar.source(id) {
            self.source = self.name(source);
        }
        let point = match self.grammar.node(id) {
            Node::Regular(language) => match self.languages[language] {
                Language::EPSILON => next,
                language => self.push(Point::Regular { language, next })?,
            },
            Node::Special(_) => {
                let tokens = Box::new([self.specials[&id]]);
                self.push(Point::Special { tokens, next })?
            }
            Node::Call(rule) => self.push(Point::Call { rule: *rule, next })?,
            Node::Sequence(parts) => {
                let mut next = next;
                for &part in parts.iter().rev() {
                    next = self.compile(part, next)?;
                }
                next
            }
            Node::Choice(parts) => {
                let mut ways = Vec::with_capacity(parts.len());
                for &part in parts.iter().filter(|part| self.productive[part.index()]) {
                    ways.push(self.compile(part, next)?);
                }
                self.fork(ways)?
            }
            &Node::Repeat { node, min, max } => self.repeat(node, min, max, next)?,
        };
        self.source = outer;
        self.memo.insert((id, next), point);
        Ok(point)
    }

    fn fork(&mut self, mut ways: Vec<PointId>) -> Result<PointId> {
        ways.sort_unstable();
        ways.dedup();
        match ways[..] {
            [one] => Ok(one),
            _ => self.push(Point::Fork(ways.into())),
        }
    }

    fn repeat(
        &mut self,
        node: NodeId,
        min: u32,
        max: Option<u32>,
        next: PointId,
    ) -> Result<PointId> {
        if max == Some(0) || !self.productive[node.index()] {
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
                self.points[again as usize] = Point::Fork(Box::new([body, next]));
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
