//! A grammar compiled into program points in continuation-passing style.
//!
//! A point says what to read next and where to go on; a rule's body ends in [`RETURN`]. A call
//! whose continuation is [`RETURN`] is a tail call and pushes nothing, so lists written by right
//! recursion run in constant stack. Counted repeats are frames with a counter, never unrolled.
//! Nothing unproductive is compiled: from every point some text leads to the end.
//!
//! A grammar that is given whole is compiled whole. Others are *sources*: a rule's body is asked
//! for when it is entered for the first time, and what follows the key of an object when that key
//! has been read; so a large schema costs what of it is visited, and a rule may depend on what was
//! read before.

mod compile;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use compile::{Part, ProgramCompiler, Whole, resolve_specials, spelled_languages};
pub(crate) use compile::{check_nesting, find_special};

use super::liveness::Spelling;
use crate::error::{ConstraintPart, Error, ErrorKind, Result};
use crate::grammar::analysis::least_fixed_point;
use crate::grammar::names::{NameStep, Names};
use crate::grammar::normal::normalize;
use crate::grammar::source::Source;
use crate::grammar::{Grammar, GrammarBuilder, Node, NodeId, Origin, RuleId, SpecialToken};
use crate::limits::Limits;
use crate::regular::{ByteSet, Language, Languages, TextSet, TextSets};
use crate::vocabulary::Vocabulary;

/// Index of a point in its program.
pub(crate) type PointId = u32;

/// The end of a rule's body: go on at the frames on top of the stack.
pub(crate) const RETURN: PointId = 0;
/// The end of the whole text.
pub(crate) const ACCEPT: PointId = 1;

/// Repeats with a bound up to this many times are written out; they are cheaper than a counter.
const UNROLL: u32 = 3;

/// Nesting of nodes within one rule. Front ends that nest deeper must use rules.
const NESTING: u32 = 1_000;

/// A part of one of the program's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    from: u32,
    to: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// [`RETURN`] and [`ACCEPT`] themselves.
    Border,
    /// Read a string of a language, then go on.
    Regular { language: Language, next: PointId },
    /// Read one of these special tokens, then go on.
    Special { tokens: Span, next: PointId },
    /// Go to a rule's body, which returns to `next`.
    Call { rule: RuleId, next: PointId },
    /// Any of these.
    Fork(Span),
    /// `body` (which returns here) `min` to `max` times, then go on.
    Repeat { body: PointId, min: u32, max: u32, next: PointId },
    /// Read one of some names, then go on where that name leads.
    Names(u32),
    /// Read a string of a language, then go on where that string leads.
    Capture { language: Language, tag: u32 },
    /// `body` (which returns here), then go on where the text that it has read leads.
    Scope { body: PointId, tag: u32 },
}

/// In the counter of a frame: it is a scope's, and the other bits say where its text begins.
pub(crate) const SCOPE: u32 = 1 << 31;

/// What is known of where a captured string leads.
pub(crate) enum Leads {
    /// Nothing: it must be asked for.
    Unknown,
    /// The string is not allowed after all.
    Nowhere,
    To(PointId),
}

/// Where a captured string leads, by tag and string.
type Captured = FxHashMap<(u32, Option<Box<[u8]>>), Option<PointId>>;

#[derive(Debug, Default)]
struct Inner {
    points: Vec<Point>,
    /// Index into `labels`, by point.
    sources: Vec<u32>,
    /// By point: is a JSON string read there?
    texts: Vec<bool>,
    /// What forks lead to.
    ways: Vec<PointId>,
    /// By fork: the way that leads to a shortest text, where the source knows it.
    shortest: FxHashMap<PointId, PointId>,
    tokens: Vec<u32>,
    labels: Vec<Origin>,
    label_ids: FxHashMap<Origin, u32>,
    /// Bodies by rule, [`UNKNOWN_BODY`] until asked for.
    entries: Vec<PointId>,
    memo: FxHashMap<(NodeId, PointId), PointId>,
    names: Vec<Names>,
    /// By choice and rank: where a name leads, once asked for.
    name_targets: FxHashMap<(u32, u32), PointId>,
    name_ids: FxHashMap<u32, u32>,
    /// The other way round.
    name_tags: Vec<u32>,
    captured: Captured,
    /// Short texts of rules, where the source told them.
    completions: FxHashMap<RuleId, Option<Arc<[u8]>>>,
    source: Option<Box<dyn Source>>,
    limit: usize,
    bytes: usize,
}

/// A rule whose body has not been asked for.
const UNKNOWN_BODY: PointId = u32::MAX;

/// A compiled grammar, or as much of it as was visited. Belongs to one machine at a time.
#[derive(Debug)]
pub(crate) struct Program {
    inner: RefCell<Inner>,
    start: RuleId,
    /// Does what follows depend on strings that were read?
    captures: Cell<bool>,
    repeats: Cell<bool>,
    /// One character of the JSON strings in it.
    pub(crate) text_unit: Option<Language>,
}

impl Program {
    #[inline]
    pub(crate) fn point(&self, id: PointId) -> Point {
        self.inner.borrow().points[id as usize]
    }

    /// Where a rule's body begins, if that is known.
    #[inline]
    pub(crate) fn entry(&self, rule: RuleId) -> Option<PointId> {
        let inner = self.inner.borrow();
        inner.entries.get(rule.index()).copied().filter(|&entry| entry != UNKNOWN_BODY)
    }

    /// A lower bound on the bytes of each text of a rule whose body is not made.
    pub(crate) fn least_bytes(&self, rule: RuleId) -> u64 {
        // No rule holds the empty string.
        let inner = self.inner.borrow();
        inner.source.as_ref().map_or(1, |source| source.least_bytes(rule).max(1))
    }

    pub(crate) fn start(&self) -> RuleId {
        self.start
    }

    /// May the end of a text depend on captured ones, too?
    pub(crate) fn has_repeats(&self) -> bool {
        self.repeats.get()
    }

    /// Can what it allows depend on strings that were read?
    pub(crate) fn has_captures(&self) -> bool {
        self.captures.get()
    }

    /// What a fork leads to.
    pub(crate) fn ways(&self, span: Span) -> SmallVec<[PointId; 8]> {
        SmallVec::from_slice(&self.inner.borrow().ways[span.from as usize..span.to as usize])
    }

    /// The ways of a fork that may lead to a shortest text.
    pub(crate) fn ways_to_shortest(&self, fork: PointId, span: Span) -> SmallVec<[PointId; 8]> {
        let known = self.inner.borrow().shortest.get(&fork).copied();
        match known {
            Some(way) => SmallVec::from_slice(&[way]),
            None => self.ways(span),
        }
    }

    /// The special tokens of a point.
    pub(crate) fn tokens(&self, span: Span) -> SmallVec<[u32; 4]> {
        SmallVec::from_slice(&self.inner.borrow().tokens[span.from as usize..span.to as usize])
    }

    /// Is a JSON string read at this point?
    pub(crate) fn is_json_text(&self, id: PointId) -> bool {
        self.inner.borrow().texts[id as usize]
    }

    /// The counter with which a return comes to a point, from that of its frame.
    pub(crate) fn count_after(&self, id: PointId, count: u32) -> u32 {
        // A call goes on to a repeat that has run no times.
        let count = count.wrapping_add(1);
        match self.point(id) {
            // The counter of an unbounded repeat stops where it no longer matters.
            Point::Repeat { min, max: u32::MAX, .. } => count.min(min),
            _ => count,
        }
    }

    /// The parts of the constraint that a point was compiled from: keywords, or a rule.
    pub(crate) fn sources(&self, id: PointId) -> Vec<ConstraintPart> {
        let inner = self.inner.borrow();
        match (&inner.labels[inner.sources[id as usize] as usize], &inner.source) {
            // Nothing is asked of any value, and the first rule has no place either.
            (Origin::Kind(_), _) => Vec::new(),
            (Origin::Text(text), Some(_)) if text.is_empty() => Vec::new(),
            (Origin::Places(places), Some(source)) => {
                let pointer = |place| source.places(std::slice::from_ref(place));
                let pointers = places.iter().map(pointer).filter(|pointer| !pointer.is_empty());
                pointers.map(ConstraintPart::Keyword).collect()
            }
            _ => {
                let label = self.label_text(inner.sources[id as usize]);
                vec![ConstraintPart::from_label(label)]
            }
        }
    }

    /// A limit that was reached while something was read from one of these points: where that is.
    pub(crate) fn placed(&self, ids: impl Iterator<Item = PointId>, error: Error) -> Error {
        if error.kind() != ErrorKind::Limit {
            return error;
        }
        let inner = self.inner.borrow();
        let mut labels = ids.map(|id| &inner.labels[inner.sources[id as usize] as usize]);
        let places = labels.find_map(|label| match label {
            Origin::Places(places) if !places.is_empty() => Some(places),
            _ => None,
        });
        match (places, &inner.source) {
            (Some(places), Some(source)) => source.placed(places, error),
            _ => error,
        }
    }

    /// A label in words: a rule, or JSON pointers of keywords.
    pub(crate) fn label_text(&self, label: u32) -> String {
        let inner = self.inner.borrow();
        match (&inner.labels[label as usize], &inner.source) {
            (Origin::Text(text) | Origin::Kind(text), _) => text.to_string(),
            (Origin::Places(places), Some(source)) => source.places(places),
            // Only sources speak of places.
            (Origin::Places(_), None) => String::new(),
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let inner = self.inner.borrow();
        let source = inner.source.as_ref().map_or(0, |source| source.bytes());
        inner.points.len() * 48 + inner.bytes + source
    }

    /// Where a byte of a name leads.
    pub(crate) fn name_step(&self, names: u32, node: u32, byte: u8) -> NameStep {
        self.inner.borrow().names[names as usize].step(node, byte)
    }

    /// Where a name leads, if it was asked for before.
    pub(crate) fn known_name(&self, names: u32, rank: u32) -> Option<PointId> {
        self.inner.borrow().name_targets.get(&(names, rank)).copied()
    }

    /// The number of points compiled so far; those that are known never change.
    pub(crate) fn len(&self) -> usize {
        self.inner.borrow().points.len()
    }

    /// The label of a point, for [`Self::label_text`].
    pub(crate) fn label(&self, point: PointId) -> u32 {
        self.inner.borrow().sources[point as usize]
    }

    /// Looks at a choice of names.
    pub(crate) fn with_names<T>(&self, names: u32, look: impl FnOnce(&Names) -> T) -> T {
        look(&self.inner.borrow().names[names as usize])
    }

    /// The names of a choice that are allowed, by rank.
    pub(crate) fn allowed_names(&self, names: u32) -> Vec<(u32, Vec<u8>)> {
        let inner = self.inner.borrow();
        let names = &inner.names[names as usize];
        let mut found = Vec::new();
        let mut text = Vec::new();
        for (index, node) in names.trie.nodes().iter().enumerate().skip(1) {
            text.truncate(usize::from(node.depth) - 1);
            text.push(node.byte);
            for &rank in names.trie.tokens(index) {
                if names.allowed[rank as usize / 64] >> (rank % 64) & 1 == 1 {
                    found.push((rank, text.clone()));
                }
            }
        }
        found
    }

    /// The names worth writing from a node on if the text is to end soon, by rank, each with what
    /// is left of it and where it leads, if that is known.
    pub(crate) fn shortest_names(
        &self,
        names: u32,
        node: u32,
    ) -> Vec<(u32, Vec<u8>, Option<PointId>)> {
        let inner = self.inner.borrow();
        let shortest = inner.names[names as usize].shortest(node).into_iter();
        shortest
            .map(|(rank, text)| (rank, text, inner.name_targets.get(&(names, rank)).copied()))
            .collect()
    }

    /// The bytes that may follow within a name.
    pub(crate) fn name_first(&self, names: u32, node: u32) -> ByteSet {
        self.inner.borrow().names[names as usize].first(node)
    }

    /// Compiles a grammar against a vocabulary; the arena of its terminals comes back beside it.
    pub(crate) fn new(
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
        let productive = least_fixed_point(&grammar, |id, node| match node {
            Node::Regular(language) => live[&languages[language]],
            Node::Special(_) => specials.contains_key(&id),
            _ => false,
        });
        if !productive[grammar.rule(grammar.start()).body().index()] {
            return Err(Error::new(ErrorKind::Unsatisfiable, "no text satisfies the constraint")
                .with_help("look for parts that exclude each other"));
        }
        check_nesting(&grammar)?;
        let mut inner = Inner::new(limits);
        let mut compiler = ProgramCompiler {
            nodes: &Whole {
                grammar: &grammar,
                languages: &languages,
                specials: &specials,
                productive: &productive,
            },
            inner: &mut inner,
            label: 0,
        };
        for rule in grammar.rules() {
            compiler.label = compiler.label_of(&Origin::Text(rule.name().into()));
            let entry = match productive[rule.body().index()] {
                true => compiler.compile(rule.body(), RETURN)?,
                // Never called: calls of it are unproductive too.
                false => RETURN,
            };
            compiler.inner.entries.push(entry);
        }
        // Only what grows needs to find its parts again.
        inner.memo = FxHashMap::default();
        let start = grammar.start();
        let (inner, captures) = (RefCell::new(inner), Cell::new(false));
        let program = Self { inner, start, captures, repeats: Cell::new(false), text_unit: None };
        Ok((program, grammar.into_languages()))
    }

    /// A program that is made as it is visited; the arena of its terminals comes back beside it.
    pub(crate) fn lazy(
        mut source: Box<dyn Source>,
        start: RuleId,
        limits: &Limits,
    ) -> (Self, Languages) {
        let mut languages = Languages::new();
        let text_unit = Some(source.text_unit());
        source.exchange(&mut languages);
        languages.set_limit(limits.language_states);
        let mut inner = Inner::new(limits);
        inner.source = Some(source);
        let (inner, captures) = (RefCell::new(inner), Cell::new(false));
        (Self { inner, start, captures, repeats: Cell::new(false), text_unit }, languages)
    }

    /// The same program, as far as it is known: all of it, if it has no source.
    pub(crate) fn copy(&self) -> Self {
        let inner = self.inner.borrow();
        let inner = Inner {
            points: inner.points.clone(),
            sources: inner.sources.clone(),
            texts: inner.texts.clone(),
            ways: inner.ways.clone(),
            tokens: inner.tokens.clone(),
            labels: inner.labels.clone(),
            entries: inner.entries.clone(),
            limit: inner.limit,
            ..Inner::default()
        };
        let (start, captures, repeats) = (self.start, self.captures.clone(), self.repeats.clone());
        Self { inner: RefCell::new(inner), start, captures, repeats, text_unit: None }
    }

    /// Asks the source for something, and compiles it.
    fn ask(
        &self,
        languages: &mut Languages,
        label: Option<RuleId>,
        question: impl FnOnce(&mut dyn Source) -> Result<Option<NodeId>>,
    ) -> Result<Option<PointId>> {
        let inner = &mut *self.inner.borrow_mut();
        // Only lazy programs have something to ask for.
        let Some(mut source) = inner.source.take() else {
            return Err(Error::new(ErrorKind::Grammar, "a rule is missing"));
        };
        source.exchange(languages);
        let answer = question(&mut *source);
        let point = answer.and_then(|node| {
            let Some(node) = node else { return Ok(None) };
            let mut point = Ok(RETURN);
            let mut captures = false;
            source.with_builder(&mut |builder| {
                let nodes = Part { builder, captures: Cell::new(false) };
                let mut compiler = ProgramCompiler { nodes: &nodes, inner, label: 0 };
                if let Some(rule) = label {
                    compiler.label = compiler.label_of(builder.rule_origin(rule));
                }
                point = compiler.compile(node, RETURN);
                captures |= nodes.captures.get();
            });
            for tag in inner.new_names() {
                let names = source.names(tag);
                inner.names.push(names);
            }
            if captures {
                self.captures.set(true);
                self.repeats.set(source.has_repeats());
            }
            point.map(Some)
        });
        source.exchange(languages);
        inner.source = Some(source);
        point
    }

    /// Makes the body of a rule that is entered for the first time.
    pub(crate) fn expand(&self, rule: RuleId, languages: &mut Languages) -> Result<()> {
        let point = self.ask(languages, Some(rule), |source| source.body(rule).map(Some))?;
        // There is a body.
        let point = point.unwrap_or(RETURN);
        let mut inner = self.inner.borrow_mut();
        if inner.entries.len() <= rule.index() {
            inner.entries.resize(rule.index() + 1, UNKNOWN_BODY);
        }
        inner.entries[rule.index()] = point;
        Ok(())
    }

    /// Where a name leads.
    pub(crate) fn after_name(
        &self,
        names: u32,
        rank: u32,
        languages: &mut Languages,
    ) -> Result<PointId> {
        let tag = {
            let inner = self.inner.borrow();
            if let Some(&point) = inner.name_targets.get(&(names, rank)) {
                return Ok(point);
            }
            inner.names[names as usize].tag
        };
        let point = self.ask(languages, None, |source| source.after_name(tag, rank).map(Some))?;
        let point = point.unwrap_or(RETURN);
        self.inner.borrow_mut().name_targets.insert((names, rank), point);
        Ok(point)
    }

    /// Texts that what is captured must not be, though its language holds them.
    pub(crate) fn looked_up(&self, tag: u32) -> Option<(Arc<TextSets>, TextSet)> {
        self.inner.borrow().source.as_ref()?.looked_up(tag)
    }

    /// Whether a captured string is an item that others may have to differ from.
    pub(crate) fn is_item(&self, tag: u32) -> bool {
        self.inner.borrow().source.as_ref().is_some_and(|source| source.is_item(tag))
    }

    /// A short text of a rule, if its source tells one without the rule's body.
    pub(crate) fn completion(
        &self,
        rule: RuleId,
        languages: &mut Languages,
    ) -> Result<Option<Arc<[u8]>>> {
        let inner = &mut *self.inner.borrow_mut();
        if let Some(known) = inner.completions.get(&rule) {
            return Ok(known.clone());
        }
        let Some(source) = inner.source.as_mut().filter(|_| self.captures.get()) else {
            return Ok(None);
        };
        source.exchange(languages);
        let text = source.completion(rule);
        source.exchange(languages);
        let text: Option<Arc<[u8]>> = text?.map(Arc::from);
        inner.bytes += 64 + text.as_ref().map_or(0, |text| text.len());
        inner.completions.insert(rule, text.clone());
        Ok(text)
    }

    /// Where a captured string leads, as far as that is known; `None` is any.
    pub(crate) fn leads(&self, tag: u32, text: Option<&[u8]>) -> Leads {
        match self.inner.borrow().captured.get(&(tag, text.map(Box::from))) {
            None => Leads::Unknown,
            Some(None) => Leads::Nowhere,
            Some(&Some(point)) => Leads::To(point),
        }
    }

    /// Where a captured string leads, if anywhere; `None` is any.
    pub(crate) fn after_capture(
        &self,
        tag: u32,
        text: Option<&[u8]>,
        languages: &mut Languages,
    ) -> Result<Option<PointId>> {
        match self.leads(tag, text) {
            Leads::Unknown => {}
            Leads::Nowhere => return Ok(None),
            Leads::To(point) => return Ok(Some(point)),
        }
        let point = self.ask(languages, None, |source| source.after_capture(tag, text))?;
        let mut inner = self.inner.borrow_mut();
        inner.bytes += 96 + text.map_or(0, <[u8]>::len);
        inner.captured.insert((tag, text.map(Box::from)), point);
        Ok(point)
    }
}

impl Inner {
    fn new(limits: &Limits) -> Self {
        Self {
            points: vec![Point::Border; 2],
            sources: vec![0; 2],
            texts: vec![false; 2],
            labels: vec![Origin::Text("".into())],
            limit: limits.grammar_size,
            ..Self::default()
        }
    }

    /// The tags of the choices of names that were mentioned and not asked for.
    fn new_names(&self) -> Vec<u32> {
        self.name_tags[self.names.len()..].to_vec()
    }
}
