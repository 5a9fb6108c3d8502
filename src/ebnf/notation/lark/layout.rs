//! Indentation, as Lark's `Indenter` reads it: a line that begins further right than the lines around
//! it opens a block, and `_INDENT` and `_DEDENT` stand for the ends of blocks.
//!
//! Lark puts these two between lexer and parser, by a stack of columns. Here the grammar is rewritten
//! instead. A rule in which lines end has the column of its block as its parameter, and there is one
//! copy of it for each pair of *line states* around its text:
//!
//! ```text
//! Inside    within a line, its indentation read
//! Break     after a line break, before the indentation of the next line
//! Dedented  the same, after `_DEDENT`
//! End       at the end of the text, where blocks end without a line break
//! ```
//!
//! A line break inside a block is followed by blanks of exactly the block's column; one before
//! `_INDENT` by blanks of any greater column, which is that of the block; one before `_DEDENT` by
//! those of the block outside. So a column is read once, where the next line is known to stand.
//!
//! ```text
//! tree: NAME _NL [_INDENT tree+ _DEDENT]
//! tree(0) → NAME "\n" … | NAME "\n" "  " tree(2)+ …
//! ```
//!
//! Between brackets line breaks are ignored, by copies of the rules that ignore them.
//!
//! *Source:* `lark/indenter.py` of the `lark` package: `Indenter`, `PythonIndenter`.

mod brackets;
mod productive;

use rustc_hash::{FxHashMap, FxHashSet};

use self::productive::productive;
use super::ast::{
    DefinitionKind, LarkDefinition, LarkExpr, LarkExprKind, RuleAttributes, is_terminal,
};
use super::modules::{IgnoreGroup, LinkedDefinition, LinkedGrammar};
use crate::deadline;
use crate::ebnf::grammar_text::GrammarText;
use crate::error::{Error, Result};
use crate::grammar::parameter::ParameterFunction;

/// The columns of a tab, as in Lark.
const TAB: u64 = 8;
/// The names that a terminal for line breaks has.
const NEWLINES: [&str; 4] = ["_NEWLINE", "_NL", "NEWLINE", "NL"];
/// Repeats of parts with lines that are written out.
const MAX_REPEATS: u32 = 4;

/// Rests of sequences that are rewritten, all together: a sequence of n parts with lines has up to 4^n of them.
const MAX_RESTS: usize = 1_000_000;
/// The place between two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LineState {
    Inside,
    Break,
    Dedented,
    End,
}

use LineState::{Break, Dedented, End, Inside};

const STATES: [LineState; 4] = [Inside, Break, Dedented, End];

/// The group of definitions after whose terminals nothing is ignored, and that of brackets. Both come
/// after the groups that a grammar has.
struct Groups {
    bare: usize,
    brackets: usize,
}

/// The names of the terminals of indentation.
struct LayoutNames {
    newline: String,
    indent: String,
    dedent: String,
}

/// Whether indentation means something in a grammar.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// It declares `_INDENT` and `_DEDENT`, and its rules have columns.
    Counted,
    /// Line breaks are text like any other.
    Plain,
}

/// Rewrites a grammar that declares `_INDENT` and `_DEDENT`.
///
/// Errors if blocks or brackets do not begin and end in one alternative.
pub(super) fn rewrite(text: &GrammarText<'_>, grammar: &mut LinkedGrammar) -> Result<LineEnds> {
    let declared = |ending: &str| grammar.declared.iter().find(|(name, _)| name.ends_with(ending));
    let (Some((indent, &at)), Some((dedent, _))) = (declared("INDENT"), declared("DEDENT")) else {
        return Ok(LineEnds::Plain);
    };
    let is_defined = |name: &&&str| {
        grammar.definitions.iter().any(|linked| linked.definition.name == **name)
            || grammar.library.iter().any(|(_, known, _)| known == **name)
    };
    let Some(newline) = NEWLINES.iter().find(is_defined) else {
        return Err(text
            .error(at, "no terminal reads the line breaks before an indentation")
            .with_help("define `_NEWLINE: /(\\r?\\n[\\t ]*)+/`"));
    };
    let names = LayoutNames {
        newline: (*newline).to_owned(),
        indent: indent.clone(),
        dedent: dedent.clone(),
    };
    let definitions = std::mem::take(&mut grammar.definitions);
    let by_name: FxHashMap<&str, &LarkDefinition> = definitions
        .iter()
        .map(|linked| (linked.definition.name.as_str(), &linked.definition))
        .collect();
    let groups = Groups { bare: grammar.groups.len(), brackets: grammar.groups.len() + 1 };
    let ignored = grammar.groups[0].ignored.clone();
    let newline = LarkExpr { at, kind: LarkExprKind::Name(names.newline.clone()) };
    let mut in_brackets = ignored.clone();
    in_brackets.push(newline.clone());
    let mut layout = IndentationRewriter {
        text,
        names,
        groups,
        by_name: &by_name,
        has_lines: FxHashSet::default(),
        nullable: FxHashSet::default(),
        made: Vec::new(),
        known: FxHashSet::default(),
        todo: Vec::new(),
        fresh: 0,
        rests: 0,
    };
    layout.analyse();
    layout.terminals(at, &ignored, &newline);
    for linked in &definitions {
        let definition = &linked.definition;
        if is_terminal(&definition.name) || linked.group != 0 {
            layout
                .made
                .push(LinkedDefinition { definition: definition.clone(), group: linked.group });
        } else if !layout.has_lines.contains(&definition.name) {
            let body = layout.plain(&definition.body)?;
            if definition.is_template() && body.has_bracket_rule() {
                return Err(layout.error(definition.at, "brackets stand in a template"));
            }
            let definition = LarkDefinition { body, ..definition.clone() };
            layout.made.push(LinkedDefinition { definition, group: linked.group });
        }
    }
    let start = &grammar.groups[0].start;
    if layout.has_lines.contains(start) {
        let calls = [Inside, End]
            .map(|to| layout.call(at, start, Inside, to, ParameterFunction::Constant(0)));
        let body = LarkExpr { at, kind: LarkExprKind::Choice(calls.to_vec()) };
        layout.define(start.clone(), at, body, false, 0);
    }
    while let Some(work) = layout.todo.pop() {
        layout.work(work)?;
    }
    let IndentationRewriter { made, names, .. } = layout;
    let options = grammar.groups[0].options;
    let group = |rule: &str, ignored| IgnoreGroup {
        rule: rule.to_owned(),
        start: String::new(),
        ignored,
        options,
    };
    grammar.groups.push(group("%ignore nothing", Vec::new()));
    grammar.groups.push(group("%ignore in brackets", in_brackets));
    grammar.definitions = productive(made);
    grammar.newline = Some(names.newline);
    Ok(LineEnds::Counted)
}

/// A definition that is still to be made.
enum PendingDefinition {
    /// A rule with lines, between two states.
    Between(String, LineState, LineState),
    /// A rule between brackets.
    InBrackets(String),
}

struct IndentationRewriter<'l> {
    text: &'l GrammarText<'l>,
    names: LayoutNames,
    groups: Groups,
    by_name: &'l FxHashMap<&'l str, &'l LarkDefinition>,
    /// The rules in which lines end.
    has_lines: FxHashSet<String>,
    /// The rules that may be empty.
    nullable: FxHashSet<String>,
    made: Vec<LinkedDefinition>,
    /// The names of definitions that are made, or to be made.
    known: FxHashSet<String>,
    todo: Vec<PendingDefinition>,
    fresh: usize,
    /// Rests of sequences that were rewritten, each between two states of its lines.
    rests: usize,
}

fn sequence(at: usize, parts: Vec<LarkExpr>) -> LarkExpr {
    LarkExpr { at, kind: LarkExprKind::Sequence(parts) }
}

/// The choice of some parts; `None` if there are none.
fn choice(at: usize, mut parts: Vec<LarkExpr>) -> Option<LarkExpr> {
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(LarkExpr { at, kind: LarkExprKind::Choice(parts) }),
    }
}

fn name(at: usize, name: impl Into<String>) -> LarkExpr {
    LarkExpr { at, kind: LarkExprKind::Name(name.into()) }
}

fn literal(at: usize, text: &str) -> LarkExpr {
    LarkExpr { at, kind: LarkExprKind::Text { text: text.to_owned(), caseless: false } }
}

fn blanks(at: usize, less: u64) -> LarkExpr {
    LarkExpr { at, kind: LarkExprKind::Blanks { tab: TAB, less } }
}

/// Line breaks without the last line's indentation.
const HEAD: &str = "line_head@";
/// Ignored text that may follow an indentation: none that the indentation would have read.
const AFTER_INDENTATION: &str = "after_indentation@";

impl IndentationRewriter<'_> {
    /// Finds the rules in which lines end, and those that may be empty.
    fn analyse(&mut self) {
        loop {
            let before = (self.has_lines.len(), self.nullable.len());
            for (&name, definition) in self.by_name {
                if is_terminal(name) {
                    continue;
                }
                if self.lines_in(&definition.body) {
                    self.has_lines.insert(name.to_owned());
                }
                if self.is_nullable(&definition.body) {
                    self.nullable.insert(name.to_owned());
                }
            }
            if before == (self.has_lines.len(), self.nullable.len()) {
                return;
            }
        }
    }

    fn is_layout_terminal(&self, name: &str) -> bool {
        [&self.names.newline, &self.names.indent, &self.names.dedent]
            .iter()
            .any(|known| **known == name)
    }

    /// Whether lines end in an expression, or blocks.
    fn lines_in(&self, expr: &LarkExpr) -> bool {
        let mut found = false;
        expr.visit(&mut |expr| {
            if let LarkExprKind::Name(name) | LarkExprKind::Template(name, _) = &expr.kind {
                found |= self.is_layout_terminal(name) || self.has_lines.contains(name);
            }
        });
        found
    }

    fn is_nullable(&self, expr: &LarkExpr) -> bool {
        match &expr.kind {
            LarkExprKind::Name(name) | LarkExprKind::Template(name, _) => {
                self.nullable.contains(name)
            }
            LarkExprKind::Text { text, .. } => text.is_empty(),
            LarkExprKind::Sequence(parts) => parts.iter().all(|part| self.is_nullable(part)),
            LarkExprKind::Choice(parts) => parts.iter().any(|part| self.is_nullable(part)),
            LarkExprKind::Repeat(inner, min, _) => *min == 0 || self.is_nullable(inner),
            _ => false,
        }
    }

    fn error(&self, at: usize, message: &str) -> Error {
        self.text.error(at, message).with_help("begin and end it in one alternative of one rule")
    }

    fn define(
        &mut self,
        name: String,
        at: usize,
        body: LarkExpr,
        is_parametric: bool,
        group: usize,
    ) {
        let definition = LarkDefinition {
            at,
            kind: DefinitionKind::New,
            name,
            parameters: Vec::new(),
            is_parametric,
            attributes: RuleAttributes::default(),
            body,
        };
        self.made.push(LinkedDefinition { definition, group });
    }

    /// Defines the terminals around indentations.
    fn terminals(&mut self, at: usize, ignored: &[LarkExpr], newline: &LarkExpr) {
        let pattern =
            |pattern: &str| LarkExpr { at, kind: LarkExprKind::Pattern(pattern.to_owned()) };
        let head = LarkExprKind::And(vec![newline.clone(), pattern("(?s:.*\\n)")]);
        self.define("LINES@".to_owned(), at, LarkExpr { at, kind: head }, false, self.groups.bare);
        self.define(HEAD.to_owned(), at, name(at, "LINES@"), false, self.groups.bare);
        let Some(ignored) = choice(at, ignored.to_vec()) else {
            self.define(
                AFTER_INDENTATION.to_owned(),
                at,
                sequence(at, Vec::new()),
                false,
                self.groups.bare,
            );
            return;
        };
        // The line break reads blanks, and further line breaks, itself.
        let start = LarkExprKind::Choice(vec![newline.clone(), pattern("[ \\t]")]);
        let own = sequence(at, vec![LarkExpr { at, kind: start }, pattern("(?s:.*)")]);
        let other = LarkExpr { at, kind: LarkExprKind::Not(Box::new(own)) };
        let first = LarkExpr { at, kind: LarkExprKind::And(vec![ignored.clone(), other]) };
        let rest = LarkExpr { at, kind: LarkExprKind::Repeat(Box::new(ignored), 0, None) };
        self.define(
            "FIRST@".to_owned(),
            at,
            sequence(at, vec![first, rest]),
            false,
            self.groups.bare,
        );
        let body = LarkExprKind::Repeat(Box::new(name(at, "FIRST@")), 0, Some(1));
        self.define(
            AFTER_INDENTATION.to_owned(),
            at,
            LarkExpr { at, kind: body },
            false,
            self.groups.bare,
        );
    }

    fn fresh(&mut self, what: &str) -> String {
        self.fresh += 1;
        format!("{what}@{}", self.fresh)
    }

    /// A call of a rule with lines.
    fn call(
        &mut self,
        at: usize,
        rule: &str,
        from: LineState,
        to: LineState,
        function: ParameterFunction,
    ) -> LarkExpr {
        let variant = format!("{rule}@{from:?}{to:?}");
        if self.known.insert(variant.clone()) {
            self.todo.push(PendingDefinition::Between(rule.to_owned(), from, to));
        }
        LarkExpr { at, kind: LarkExprKind::Parametric(variant, function) }
    }

    fn work(&mut self, work: PendingDefinition) -> Result<()> {
        match work {
            PendingDefinition::Between(rule, from, to) => {
                let Some(definition) = self.by_name.get(rule.as_str()) else { return Ok(()) };
                let (at, body) = (definition.at, &definition.body);
                if definition.is_template() {
                    return Err(self.error(at, "lines end in a template"));
                }
                let body = self.between(body, from, to)?;
                let nothing = LarkExpr { at, kind: LarkExprKind::Choice(Vec::new()) };
                let variant = format!("{rule}@{from:?}{to:?}");
                self.define(variant, at, body.unwrap_or(nothing), true, 0);
            }
            PendingDefinition::InBrackets(rule) => {
                let Some(definition) = self.by_name.get(rule.as_str()) else { return Ok(()) };
                let definition = (*definition).clone();
                let body = self.in_brackets(&definition.body, &definition.parameters);
                let definition =
                    LarkDefinition { name: format!("{rule}@brackets"), body, ..definition };
                self.made.push(LinkedDefinition { definition, group: self.groups.brackets });
            }
        }
        Ok(())
    }

    /// The texts of an expression between two states; `None` if there are none.
    fn between(
        &mut self,
        expr: &LarkExpr,
        from: LineState,
        to: LineState,
    ) -> Result<Option<LarkExpr>> {
        let at = expr.at;
        if !self.lines_in(expr) {
            return Ok(match (from, to) {
                (Inside, Inside) => Some(self.plain(expr)?),
                _ if from == to && self.is_nullable(expr) => Some(sequence(at, Vec::new())),
                _ => None,
            });
        }
        match &expr.kind {
            LarkExprKind::Name(rule) if *rule == self.names.newline => Ok(match (from, to) {
                (Inside, Inside) => Some(sequence(
                    at,
                    vec![name(at, HEAD), blanks(at, 0), name(at, AFTER_INDENTATION)],
                )),
                (Inside, Break) => Some(name(at, HEAD)),
                _ => None,
            }),
            LarkExprKind::Name(rule) if self.is_layout_terminal(rule) => {
                Err(self.error(at, "a block begins and ends in different alternatives"))
            }
            LarkExprKind::Name(rule) => {
                let rule = rule.clone();
                Ok(Some(self.call(at, &rule, from, to, ParameterFunction::Same)))
            }
            LarkExprKind::Sequence(parts) => self.sequence_between(at, parts, from, to),
            LarkExprKind::Choice(parts) => {
                let mut made = Vec::new();
                for part in parts {
                    made.extend(self.between(part, from, to)?);
                }
                Ok(choice(at, made))
            }
            LarkExprKind::Repeat(inner, min, max) => {
                self.repeat_between(at, inner, (*min, *max), from, to)
            }
            _ => Err(self.error(at, "a line ends where none can")),
        }
    }

    fn repeat_between(
        &mut self,
        at: usize,
        inner: &LarkExpr,
        (min, max): (u32, Option<u32>),
        from: LineState,
        to: LineState,
    ) -> Result<Option<LarkExpr>> {
        if max.unwrap_or(min) > MAX_REPEATS {
            let message = format!("lines repeat at most {MAX_REPEATS} times, or without an end");
            return Err(self.text.error(at, message).with_help("use `*` or `+`"));
        }
        let mut parts = vec![inner.clone(); min as usize];
        match max {
            Some(max) => {
                // One inside the other: an optional part may be followed by the next one.
                let mut rest = sequence(at, Vec::new());
                for _ in min..max {
                    let some = sequence(at, vec![inner.clone(), rest]);
                    let either = LarkExprKind::Choice(vec![some, sequence(at, Vec::new())]);
                    rest = LarkExpr { at, kind: either };
                }
                parts.push(rest);
            }
            None => parts.push(name(at, self.loop_of(at, inner)?)),
        }
        self.sequence_between(at, &parts, from, to)
    }

    /// The name of a rule for any number of an expression with lines.
    fn loop_of(&mut self, at: usize, inner: &LarkExpr) -> Result<String> {
        let rule = self.fresh("loop");
        self.has_lines.insert(rule.clone());
        self.nullable.insert(rule.clone());
        for from in STATES {
            for to in STATES {
                let again = [inner.clone(), name(at, rule.clone())];
                self.known.insert(format!("{rule}@{from:?}{to:?}"));
                let mut made: Vec<LarkExpr> =
                    self.sequence_between(at, &again, from, to)?.into_iter().collect();
                if from == to {
                    made.push(sequence(at, Vec::new()));
                }
                let body = LarkExpr { at, kind: LarkExprKind::Choice(made) };
                self.define(format!("{rule}@{from:?}{to:?}"), at, body, true, 0);
            }
        }
        Ok(rule)
    }

    fn sequence_between(
        &mut self,
        at: usize,
        parts: &[LarkExpr],
        from: LineState,
        to: LineState,
    ) -> Result<Option<LarkExpr>> {
        deadline::check()?;
        self.rests += 1;
        if self.rests > MAX_RESTS {
            let message = "too many parts with lines stand in one alternative";
            return Err(self
                .error(at, message)
                .with_help("make rules of some of them, or of what repeats within a repeat"));
        }
        // Parts without lines in a row, up to the next one with lines.
        let first = parts.iter().position(|part| self.lines_in(part));
        let Some(first) = first else {
            return self.between(&sequence(at, parts.to_vec()), from, to);
        };
        if first > 0 {
            let Some(before) = self.between(&sequence(at, parts[..first].to_vec()), from, from)?
            else {
                return Ok(None);
            };
            let rest = self.sequence_between(at, &parts[first..], from, to)?;
            return Ok(rest.map(|rest| sequence(at, vec![before, rest])));
        }
        let is_indent =
            matches!(&parts[0].kind, LarkExprKind::Name(name) if *name == self.names.indent);
        let after = if is_indent { self.end_of_block(parts)? } else { 1 };
        let mut made = Vec::new();
        for middle in STATES {
            let here = if is_indent {
                self.block(parts[0].at, &parts[1..after - 1], from, middle)?
            } else {
                self.between(&parts[0], from, middle)?
            };
            let Some(here) = here else { continue };
            if after == parts.len() {
                if middle == to {
                    made.push(here);
                }
                continue;
            }
            if let Some(rest) = self.sequence_between(at, &parts[after..], middle, to)? {
                made.push(sequence(at, vec![here, rest]));
            }
        }
        Ok(choice(at, made))
    }

    /// The number of parts up to the end of the block that begins with the first.
    fn end_of_block(&self, parts: &[LarkExpr]) -> Result<usize> {
        let mut depth = 0usize;
        for (index, part) in parts.iter().enumerate() {
            match &part.kind {
                LarkExprKind::Name(name) if *name == self.names.indent => depth += 1,
                LarkExprKind::Name(name) if *name == self.names.dedent => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(index + 1);
            }
        }
        Err(self.error(parts[0].at, "the block is not ended in its alternative"))
    }

    /// A block of lines further right.
    fn block(
        &mut self,
        at: usize,
        inner: &[LarkExpr],
        from: LineState,
        to: LineState,
    ) -> Result<Option<LarkExpr>> {
        let ends = match (from, to) {
            (Break, Inside | Dedented) => [Break, Dedented],
            (Break, End) => [Inside, End],
            _ => return Ok(None),
        };
        let mut made = Vec::new();
        for end in ends {
            let Some(body) = self.sequence_between(at, inner, Inside, end)? else { continue };
            let mut parts = vec![self.enter(at, body)];
            if to == Inside {
                parts.extend([blanks(at, 0), name(at, AFTER_INDENTATION)]);
            }
            made.push(sequence(at, parts));
        }
        Ok(choice(at, made))
    }

    /// The indentation of a block and its lines.
    fn enter(&mut self, at: usize, body: LarkExpr) -> LarkExpr {
        let (lines, more, enter) = (self.fresh("lines"), self.fresh("indent"), self.fresh("block"));
        let body = sequence(at, vec![name(at, AFTER_INDENTATION), body]);
        self.define(lines.clone(), at, body, true, 0);
        let call = |rule: &str, add: u64| {
            let function =
                if add == 0 { ParameterFunction::Same } else { ParameterFunction::Add(add) };
            LarkExpr { at, kind: LarkExprKind::Parametric(rule.to_owned(), function) }
        };
        let either = |add: u64| LarkExpr {
            at,
            kind: LarkExprKind::Choice(vec![call(&lines, add), call(&more, add)]),
        };
        let one = sequence(at, vec![literal(at, " "), either(1)]);
        let tab = sequence(at, vec![literal(at, "\t"), either(TAB)]);
        let kind = LarkExprKind::Choice(vec![one, tab]);
        self.define(more.clone(), at, LarkExpr { at, kind }, true, self.groups.bare);
        // From the column of the lines around it, or across it by a tab.
        let mut ways = vec![sequence(at, vec![blanks(at, 0), call(&more, 0)])];
        for less in 1..TAB {
            let across = vec![blanks(at, less), literal(at, "\t"), either(TAB - less)];
            ways.push(sequence(at, across));
        }
        let kind = LarkExprKind::Choice(ways);
        self.define(enter.clone(), at, LarkExpr { at, kind }, true, self.groups.bare);
        call(&enter, 0)
    }
}
