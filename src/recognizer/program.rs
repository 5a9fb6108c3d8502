//! A grammar compiled into points in continuation-passing style.
//!
//! A point reads something and names the point to go on at; a rule's body ends in [`RETURN`]. A call
//! whose continuation is [`RETURN`] is a tail call and pushes nothing, so lists written by right
//! recursion run in constant stack. Repeats of a few times are written out; others are frames with
//! a counter. Nothing unproductive is compiled: from every point some text leads to the end.
//!
//! Example: the rule `list: "[" word ("," word)* "]"` becomes
//!
//! ```text
//! 2  Regular("]")  next RETURN      5  Regular(",")  next 4
//! 3  Fork(5, 2)                     6  Call(word)    next 3
//! 4  Call(word)    next 3           7  Regular("[")  next 6     (the rule's entry)
//! ```
//!
//! A grammar that is given whole is compiled whole. Others come from a *source*: it is asked for a
//! rule's body when the rule is first entered, and for what follows an object's key when that key
//! has been read. So a large schema costs only the parts that are visited, and a rule may depend
//! on what was read before. Points that are made never change.

mod compile;
mod tables;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use compile::{PartialGrammar, ProgramCompiler, WholeGrammar, spellable_languages};
pub(crate) use compile::{check_nesting, find_token, resolve_tokens};
use tables::{KeyChoiceTable, PointTable, ProgramTables};

use super::byte_coverage::ByteCoverage;
use super::item::{KeyChoiceId, PointId, RETURN};
use super::point::{CaptureTarget, Point, Span, TokenSpan};
use crate::error::{ConstraintPart, Error, ErrorKind, Result, listed};
use crate::grammar::analysis::least_fixed_point;
use crate::grammar::key_choice::{KeyChoice, KeyRank, KeyStep};
use crate::grammar::normal::normalize;
use crate::grammar::source::{KeySigns, Source};
use crate::grammar::{Grammar, Node, NodeId, Origin, RuleId, SourceTag, Temperature, TokenSet};
use crate::limits::Limits;
use crate::regular::{ByteSet, Language, Languages, TextSet, TextSets};
use crate::vocabulary::Vocabulary;

/// A rule whose body has not been asked for.
const UNKNOWN_BODY: PointId = u32::MAX;

/// A key from a node of its trie on.
#[derive(Clone, Debug)]
pub(crate) struct KeySuffix {
    pub(crate) rank: KeyRank,
    /// The bytes after the node.
    pub(crate) bytes: Vec<u8>,
    /// The point after the key, if it is made.
    pub(crate) target: Option<PointId>,
}

/// A compiled grammar, or as much of it as was visited. Belongs to one recognizer.
#[derive(Debug)]
pub(crate) struct Program {
    tables: RefCell<ProgramTables>,
    start: RuleId,
    /// Whether a point so far captures a string.
    captures: Cell<bool>,
    /// Whether a budget of tokens is part of the grammar.
    budgets: bool,
    /// Whether the end of an array may depend on its items.
    required_duplicates: Cell<bool>,
    /// The language of one character of a JSON string, as this program spells it; `None` without JSON.
    pub(crate) json_character: Option<Language>,
    /// The signs of captured keys that are not JSON strings.
    pub(crate) key_signs: Box<[KeySigns]>,
}

impl Program {
    /// The instruction at a point.
    #[inline]
    pub(crate) fn point(&self, id: PointId) -> Point {
        self.tables.borrow().points.points[id as usize]
    }

    /// The point where a rule's body begins, if it is made.
    #[inline]
    pub(crate) fn entry(&self, rule: RuleId) -> Option<PointId> {
        let tables = self.tables.borrow();
        tables.points.entries.get(rule.index()).copied().filter(|&entry| entry != UNKNOWN_BODY)
    }

    /// A lower bound on the bytes of each text of a rule whose body is not made.
    pub(crate) fn least_bytes(&self, rule: RuleId) -> u64 {
        // No rule holds the empty string.
        let tables = self.tables.borrow();
        tables.answers.source.as_ref().map_or(1, |source| source.least_bytes(rule).max(1))
    }

    /// The start rule.
    pub(crate) fn start(&self) -> RuleId {
        self.start
    }

    /// Whether the end of an array may depend on its items.
    pub(crate) fn has_required_duplicates(&self) -> bool {
        self.required_duplicates.get()
    }

    /// Whether a point made so far captures a string, on which what follows may depend.
    pub(crate) fn has_captures(&self) -> bool {
        self.captures.get()
    }

    /// Whether a budget of tokens is part of the grammar.
    #[inline]
    pub(crate) fn has_budgets(&self) -> bool {
        self.budgets
    }

    /// Whether some part so far has a temperature.
    pub(crate) fn has_temperatures(&self) -> bool {
        !self.tables.borrow().points.temperatures.is_empty()
    }

    /// The temperature of the part that frames with this point stand for, if it has one.
    pub(crate) fn temperature(&self, point: PointId) -> Option<Temperature> {
        self.tables.borrow().points.temperatures.get(&point).copied()
    }

    /// The points of a fork.
    pub(crate) fn branches(&self, span: Span) -> SmallVec<[PointId; 8]> {
        SmallVec::from_slice(
            &self.tables.borrow().points.branches[span.from as usize..span.to as usize],
        )
    }

    /// The branches of a fork that may lead to a shortest text.
    pub(crate) fn branches_to_shortest(&self, fork: PointId, span: Span) -> SmallVec<[PointId; 8]> {
        let known = self.tables.borrow().points.shortest.get(&fork).copied();
        match known {
            Some(branch) => SmallVec::from_slice(&[branch]),
            None => self.branches(span),
        }
    }

    /// The tokens that a set lists.
    pub(crate) fn listed_tokens(&self, tokens: TokenSpan) -> SmallVec<[u32; 4]> {
        let (TokenSpan::OneOf(span) | TokenSpan::Except(span)) = tokens;
        SmallVec::from_slice(
            &self.tables.borrow().points.tokens[span.from as usize..span.to as usize],
        )
    }

    /// Whether a token is in a set.
    pub(crate) fn has_token(&self, tokens: TokenSpan, token: u32) -> bool {
        let all = &self.tables.borrow().points.tokens;
        match tokens {
            TokenSpan::OneOf(span) => all[span.from as usize..span.to as usize].contains(&token),
            TokenSpan::Except(span) => {
                all[span.from as usize..span.to as usize].binary_search(&token).is_err()
            }
        }
    }

    /// One token of a set.
    pub(crate) fn first_token(&self, tokens: TokenSpan) -> Option<u32> {
        match tokens {
            TokenSpan::OneOf(_) => self.listed_tokens(tokens).first().copied(),
            // No set leaves out every id.
            TokenSpan::Except(_) => (0..).find(|&token| self.has_token(tokens, token)),
        }
    }

    /// Whether a JSON string is read at a point.
    pub(crate) fn reads_json_string(&self, id: PointId) -> bool {
        self.tables.borrow().points.reads_json_string[id as usize]
    }

    /// The counter with which execution goes on at a frame's return point: one more run of a counted
    /// repeat; for a scope and a budget the counter plus 1, so that 0 alone means that it is not
    /// entered yet.
    pub(crate) fn count_after(&self, id: PointId, count: u32) -> u32 {
        // `CALLED` is `u32::MAX` and wraps to 0: a call returns to a repeat that has not started.
        let count = count.wrapping_add(1);
        match self.point(id) {
            // The counter of an unbounded repeat stops where it no longer matters.
            Point::Repeat { min, max: u32::MAX, .. } => count.min(min),
            _ => count,
        }
    }

    /// The parts of the constraint that a point was compiled from: keywords, or a rule.
    pub(crate) fn constraint_parts(&self, id: PointId) -> Vec<ConstraintPart> {
        let tables = self.tables.borrow();
        match (tables.points.origin(id), &tables.answers.source) {
            // Rules of a source that come from no keyword: "any value", and the start rule.
            (Origin::Kind(_), _) => Vec::new(),
            (Origin::Text(text), Some(_)) if text.is_empty() => Vec::new(),
            (Origin::Places(places), Some(source)) => {
                let pointer = |place| source.places(std::slice::from_ref(place));
                let pointers = places.iter().map(pointer).filter(|pointer| !pointer.is_empty());
                pointers.map(ConstraintPart::Keyword).collect()
            }
            _ => {
                let origin = self.origin_text(tables.points.origin_by_point[id as usize]);
                vec![ConstraintPart::from_origin(origin)]
            }
        }
    }

    /// Adds to the error of a limit the place in the source of one of these points, which were being
    /// read when it was reached.
    pub(crate) fn with_place(&self, ids: impl Iterator<Item = PointId>, error: Error) -> Error {
        if error.kind() != ErrorKind::Limit {
            return error;
        }
        let tables = self.tables.borrow();
        let mut origins = ids.map(|id| tables.points.origin(id));
        let places = origins.find_map(|origin| match origin {
            Origin::Places(places) if !places.is_empty() => Some(places),
            _ => None,
        });
        match (places, &tables.answers.source) {
            (Some(places), Some(source)) => source.with_place(places, error),
            _ => error,
        }
    }

    /// An origin in words: a rule, or JSON pointers of keywords.
    pub(crate) fn origin_text(&self, id: u32) -> String {
        let tables = self.tables.borrow();
        match (&tables.points.origins[id as usize], &tables.answers.source) {
            (Origin::Text(text) | Origin::Kind(text), _) => text.to_string(),
            (Origin::Places(places), Some(source)) => source.places(places),
            // Only sources speak of places.
            (Origin::Places(_), None) => String::new(),
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let tables = self.tables.borrow();
        let source = tables.answers.source.as_ref().map_or(0, |source| source.memory_bytes());
        tables.points.memory_bytes() + tables.answers.memory + source
    }

    /// The transition by a byte in the trie of a key choice.
    pub(crate) fn key_step(&self, choice: KeyChoiceId, node: u32, byte: u8) -> KeyStep {
        self.tables.borrow().key_choices.choices[choice.0 as usize].step(node, byte)
    }

    /// The point after a key of a choice, if it was asked for before.
    pub(crate) fn known_key_target(&self, choice: KeyChoiceId, rank: KeyRank) -> Option<PointId> {
        self.tables.borrow().key_choices.targets.get(&(choice, rank)).copied()
    }

    /// The number of points compiled so far; those that are known never change.
    pub(crate) fn len(&self) -> usize {
        self.tables.borrow().points.points.len()
    }

    /// The number of a point's origin, for [`Self::origin_text`].
    pub(crate) fn origin_id(&self, point: PointId) -> u32 {
        self.tables.borrow().points.origin_by_point[point as usize]
    }

    /// A key choice.
    pub(crate) fn key_choice(&self, choice: KeyChoiceId) -> Arc<KeyChoice> {
        Arc::clone(&self.tables.borrow().key_choices.choices[choice.0 as usize])
    }

    /// The keys of a choice that are allowed, by rank.
    pub(crate) fn allowed_keys(&self, choice: KeyChoiceId) -> Vec<(KeyRank, Vec<u8>)> {
        let tables = self.tables.borrow();
        let choice = &tables.key_choices.choices[choice.0 as usize];
        let mut found = Vec::new();
        let mut text = Vec::new();
        for (index, node) in choice.trie.nodes().iter().enumerate().skip(1) {
            text.truncate(usize::from(node.depth) - 1);
            text.push(node.byte);
            for &rank in choice.trie.tokens(index) {
                if choice.allowed[rank as usize / 64] >> (rank % 64) & 1 == 1 {
                    found.push((rank, text.clone()));
                }
            }
        }
        found
    }

    /// The keys to try from a node on where the text is to end soon.
    pub(crate) fn shortest_keys(&self, choice: KeyChoiceId, node: u32) -> Vec<KeySuffix> {
        let tables = self.tables.borrow();
        let shortest = tables.key_choices.choices[choice.0 as usize].shortest(node).into_iter();
        let with_target = |(rank, bytes)| {
            let target = tables.key_choices.targets.get(&(choice, rank)).copied();
            KeySuffix { rank, bytes, target }
        };
        shortest.map(with_target).collect()
    }

    /// The bytes that may come next at a node of a key choice.
    pub(crate) fn key_first_bytes(&self, choice: KeyChoiceId, node: u32) -> ByteSet {
        self.tables.borrow().key_choices.choices[choice.0 as usize].first(node)
    }

    /// Compiles a grammar against a vocabulary; the arena of its terminals comes back beside it.
    pub(crate) fn new(
        grammar: Grammar,
        vocabulary: &Vocabulary,
        coverage: &ByteCoverage,
        limits: &Limits,
    ) -> Result<(Self, Languages)> {
        let grammar = resolve_tokens(grammar, vocabulary)?;
        let mut grammar = normalize(grammar, limits.grammar_size)?;
        grammar.languages_mut().set_limit(limits.language_states);
        let languages = spellable_languages(&mut grammar, coverage);
        let mut live = FxHashMap::default();
        for &language in languages.values() {
            live.insert(language, grammar.languages_mut().is_live(language)?);
        }
        let productive = least_fixed_point(&grammar, |_, node| match node {
            Node::Regular(language) => live[&languages[language]],
            Node::Special(tokens) => *tokens != TokenSet::OneOf(Box::default()),
            _ => false,
        });
        if !productive[grammar.rule(grammar.start()).body().index()] {
            return Err(unsatisfiable(&grammar));
        }
        check_nesting(&grammar)?;
        let mut points = PointTable::new(limits);
        let mut key_choices = KeyChoiceTable::default();
        let mut compiler = ProgramCompiler {
            nodes: &WholeGrammar {
                grammar: &grammar,
                languages: &languages,
                productive: &productive,
            },
            points: &mut points,
            key_choices: &mut key_choices,
            origin_id: 0,
        };
        for rule in grammar.rules() {
            compiler.origin_id = compiler.intern_origin(&Origin::Text(rule.name().into()));
            let entry = if productive[rule.body().index()] {
                compiler.compile(rule.body(), RETURN)?
            } else {
                // Never called: calls of it are unproductive too.
                RETURN
            };
            compiler.points.entries.push(entry);
        }
        // Only programs that grow look nodes up again.
        points.memo = FxHashMap::default();
        points.origin_ids = FxHashMap::default();
        let tables = ProgramTables { points, ..ProgramTables::default() };
        let budgets = grammar.nodes().iter().any(Node::is_budget);
        let program = Self { budgets, ..Self::with_tables(tables, grammar.start(), None) };
        Ok((program, grammar.into_languages()))
    }

    /// A program that is made as it is visited; the arena of its terminals comes back beside it.
    pub(crate) fn lazy(
        mut source: Box<dyn Source>,
        start: RuleId,
        limits: &Limits,
    ) -> (Self, Languages) {
        let mut languages = Languages::new();
        let json_character = Some(source.json_character());
        let key_signs = source.key_signs().into();
        source.exchange(&mut languages);
        languages.set_limit(limits.language_states);
        let mut budgets = false;
        source.with_builder(&mut |builder| budgets = builder.has_budgets());
        let mut tables = ProgramTables { points: PointTable::new(limits), ..Default::default() };
        tables.answers.source = Some(source);
        (Self { budgets, key_signs, ..Self::with_tables(tables, start, json_character) }, languages)
    }

    fn with_tables(tables: ProgramTables, start: RuleId, json_character: Option<Language>) -> Self {
        Self {
            tables: RefCell::new(tables),
            start,
            captures: Cell::new(false),
            budgets: false,
            required_duplicates: Cell::new(false),
            json_character,
            key_signs: Box::default(),
        }
    }

    /// A copy of a program that was compiled whole. Must not be called on one with a source.
    pub(crate) fn copy_whole(&self) -> Self {
        let points = self.tables.borrow().points.clone();
        let tables = ProgramTables { points, ..ProgramTables::default() };
        Self { budgets: self.budgets, ..Self::with_tables(tables, self.start, None) }
    }

    /// Asks the source for something, and compiles it.
    fn ask(
        &self,
        languages: &mut Languages,
        rule: Option<RuleId>,
        question: impl FnOnce(&mut dyn Source) -> Result<Option<NodeId>>,
    ) -> Result<Option<PointId>> {
        let ProgramTables { points, key_choices, answers } = &mut *self.tables.borrow_mut();
        // Only programs with a source have something to ask for.
        let Some(mut source) = answers.source.take() else {
            let message = "internal error: the grammar calls a rule that was not made";
            return Err(Error::new(ErrorKind::Grammar, message)
                .with_help("please report it, with the constraint"));
        };
        source.exchange(languages);
        let answer = question(&mut *source);
        let point = answer.and_then(|node| {
            let Some(node) = node else { return Ok(None) };
            let mut point = Ok(RETURN);
            let mut captures = false;
            source.with_builder(&mut |builder| {
                let nodes = PartialGrammar { builder, captures: Cell::new(false) };
                let mut compiler =
                    ProgramCompiler { nodes: &nodes, points, key_choices, origin_id: 0 };
                if let Some(rule) = rule {
                    compiler.origin_id = compiler.intern_origin(builder.rule_origin(rule));
                }
                point = compiler.compile(node, RETURN);
                captures |= nodes.captures.get();
            });
            for at in key_choices.choices.len()..key_choices.tags.len() {
                key_choices.choices.push(Arc::new(source.key_choice(key_choices.tags[at])));
            }
            if captures {
                self.captures.set(true);
                self.required_duplicates.set(source.has_required_duplicates());
            }
            point.map(Some)
        });
        source.exchange(languages);
        answers.source = Some(source);
        point
    }

    /// Makes the body of a rule that is entered for the first time.
    pub(crate) fn expand(&self, rule: RuleId, languages: &mut Languages) -> Result<()> {
        let point = self.ask(languages, Some(rule), |source| source.body(rule).map(Some))?;
        // There is a body.
        let point = point.unwrap_or(RETURN);
        let entries = &mut self.tables.borrow_mut().points.entries;
        if entries.len() <= rule.index() {
            entries.resize(rule.index() + 1, UNKNOWN_BODY);
        }
        entries[rule.index()] = point;
        Ok(())
    }

    /// The point after a key of a choice; made if it is not yet.
    pub(crate) fn after_key(
        &self,
        choice: KeyChoiceId,
        rank: KeyRank,
        languages: &mut Languages,
    ) -> Result<PointId> {
        let tag = {
            let tables = self.tables.borrow();
            if let Some(&point) = tables.key_choices.targets.get(&(choice, rank)) {
                return Ok(point);
            }
            tables.key_choices.choices[choice.0 as usize].tag
        };
        let point = self.ask(languages, None, |source| source.after_key(tag, rank).map(Some))?;
        let point = point.unwrap_or(RETURN);
        self.tables.borrow_mut().key_choices.targets.insert((choice, rank), point);
        Ok(point)
    }

    /// Texts that a captured string must not be, though its language holds them.
    pub(crate) fn refused_texts(&self, tag: SourceTag) -> Option<(Arc<TextSets>, TextSet)> {
        self.tables.borrow().answers.source.as_ref()?.refused_texts(tag)
    }

    /// Whether a captured string is an item that others may have to differ from.
    pub(crate) fn is_item(&self, tag: SourceTag) -> bool {
        self.tables.borrow().answers.source.as_ref().is_some_and(|source| source.is_item(tag))
    }

    /// A short text of a rule, if its source gives one without the rule's body.
    pub(crate) fn completion(
        &self,
        rule: RuleId,
        languages: &mut Languages,
    ) -> Result<Option<Arc<[u8]>>> {
        let answers = &mut self.tables.borrow_mut().answers;
        if let Some(known) = answers.completions.get(&rule) {
            return Ok(known.clone());
        }
        let Some(source) = answers.source.as_mut().filter(|_| self.captures.get()) else {
            return Ok(None);
        };
        source.exchange(languages);
        let text = source.completion(rule);
        source.exchange(languages);
        let text: Option<Arc<[u8]>> = text?.map(Arc::from);
        answers.memory += 64 + text.as_ref().map_or(0, |text| text.len());
        answers.completions.insert(rule, text.clone());
        Ok(text)
    }

    /// The point after a captured string (`None`: any string), as far as it is made.
    pub(crate) fn capture_target(&self, tag: SourceTag, text: Option<&[u8]>) -> CaptureTarget {
        match self.tables.borrow().answers.capture_targets.get(&(tag, text.map(Box::from))) {
            None => CaptureTarget::Unknown,
            Some(None) => CaptureTarget::Refused,
            Some(&Some(point)) => CaptureTarget::At(point),
        }
    }

    /// The point after a captured string (`None`: any string), made if it is not yet; `None` if the
    /// string is not allowed after all.
    pub(crate) fn after_capture(
        &self,
        tag: SourceTag,
        text: Option<&[u8]>,
        languages: &mut Languages,
    ) -> Result<Option<PointId>> {
        match self.capture_target(tag, text) {
            CaptureTarget::Unknown => {}
            CaptureTarget::Refused => return Ok(None),
            CaptureTarget::At(point) => return Ok(Some(point)),
        }
        let point = self.ask(languages, None, |source| source.after_capture(tag, text))?;
        let answers = &mut self.tables.borrow_mut().answers;
        answers.memory += 96 + text.map_or(0, <[u8]>::len);
        answers.capture_targets.insert((tag, text.map(Box::from)), point);
        Ok(point)
    }
}
/// The error for a grammar of which no text is accepted.
fn unsatisfiable(grammar: &Grammar) -> Error {
    let none = "no text satisfies the constraint";
    // With every terminal taken to have a text, what is left are rules that call themselves without an end.
    let ends = least_fixed_point(grammar, |_, _| true);
    if ends[grammar.rule(grammar.start()).body().index()] {
        return Error::new(ErrorKind::Unsatisfiable, none)
            .with_help("look for parts that exclude each other");
    }
    let endless = grammar.rules().iter().filter(|rule| !ends[rule.body().index()]);
    let names: Vec<&str> = endless.map(|rule| rule.name()).collect();
    let message = format!("{none}: each way through {} comes back to it", listed(&names));
    Error::new(ErrorKind::Unsatisfiable, message)
        .with_help("add an alternative that calls none of them")
}
