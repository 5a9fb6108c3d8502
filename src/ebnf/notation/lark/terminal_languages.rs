//! The languages of terminals: of one that is written out, and of one by its name.
//!
//! Lark joins the parts of a terminal to one pattern for Python's `re`. Most patterns are the concatenation of
//! what their parts match, and are read part by part. But lazy quantifiers and conditions on the text around
//! look beyond their part, so a terminal with any is joined here, too (`joined`), and a lazy one has the
//! texts that such an engine would match whole:
//!
//! ```text
//! COMMENT: "/*" /.*?/s "*/"          holds no `*/` but the last
//! ```

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::ast::{LarkExpr, LarkExprKind, is_terminal};
use super::modules::{LinkedDefinition, LinkedGrammar};
use crate::ebnf::expression::{RuleExpr, RuleExprKind};
use crate::ebnf::grammar_text::GrammarText;
use crate::ebnf::rule_table::{CaseFolding, RuleTable};
use crate::error::{Error, Result};
use crate::regular::marked_text::LookaroundTerminal;
use crate::regular::shared_conditions::EdgesOfAnyText;
use crate::regular::{Anchoring, Dialect, EdgeConditions, Language, Pattern, Utf8, any_text};
use crate::regular::{compile_pattern, compile_preferred, compile_with_context, parse_pattern};

/// Terminals within terminals.
const MAX_NESTING: usize = 100;
/// Parts of a terminal, those of the terminals in it counted each time.
const MAX_PARTS: usize = 20_000;

/// The dialect of the patterns in a group of definitions: grammars that are referred to by name keep that of
/// the notation.
fn dialect(rules: &RuleTable<'_>, group: usize) -> Dialect {
    if group == 0 { rules.pattern_dialect(Dialect::Rust) } else { Dialect::Rust }
}

/// A terminal that is written out as a string, a range or a pattern, in a group of definitions; none if it
/// is something else.
pub(super) fn written_out(
    rules: &mut RuleTable<'_>,
    text: &GrammarText<'_>,
    expr: &LarkExpr,
    group: usize,
) -> Result<Option<RuleExpr>> {
    let at = expr.at;
    Ok(Some(match &expr.kind {
        LarkExprKind::Text { text, caseless: false } => rules.literal(at, text),
        LarkExprKind::Text { text, caseless: true } => {
            rules.caseless_literal(at, text, CaseFolding::Unicode)
        }
        LarkExprKind::Range(first, last) => {
            rules.class(at, &[(u32::from(*first), u32::from(*last))])
        }
        LarkExprKind::Pattern(pattern) => {
            let dialect = dialect(rules, group);
            rules.pattern(text, at, &in_dialect(text, at, pattern, dialect)?, dialect)?
        }
        _ => return Ok(None),
    }))
}

/// A pattern as a dialect writes it: its flags are those of a group in ECMA-262, which has none in front of a pattern.
///
/// Errors on `\<` and `\>`, which are borders of words for Rust and characters for the patterns of Lark.
fn in_dialect<'p>(
    text: &GrammarText<'_>,
    at: usize,
    pattern: &'p str,
    dialect: Dialect,
) -> Result<Cow<'p, str>> {
    let mut escaped = false;
    let angle = pattern.char_indices().find(|&(_, c)| {
        let found = escaped && matches!(c, '<' | '>');
        escaped = !escaped && c == '\\';
        found
    });
    if let Some((_, sign)) = angle.filter(|_| dialect == Dialect::Rust) {
        let message =
            format!("`\\{sign}` is a character for some and the border of a word for others");
        let border = if sign == '<' { "start" } else { "end" };
        return Err(text.error(at, message).with_help(format!(
            "write `{sign}` for the character, `\\b{{{border}}}` for the border"
        )));
    }
    let flagged = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    match flagged {
        Some((flags, rest))
            if dialect == Dialect::Ecma && flags.chars().all(|c| c.is_ascii_lowercase()) =>
        {
            Ok(format!("(?{flags}:{rest})").into())
        }
        _ => Ok(pattern.into()),
    }
}

/// The language of an expression that is one.
fn regular(item: RuleExpr) -> Option<Language> {
    match item.kind {
        RuleExprKind::Regular(language) | RuleExprKind::Lookaround(_, language) => Some(language),
        _ => None,
    }
}

/// Whether the sign of a lazy or possessive quantifier, of an atomic group, or of a condition on the text around
/// stands in a pattern.
fn looks_beyond(pattern: &str) -> bool {
    const SIGNS: [&str; 18] = [
        "*?", "+?", "??", "}?", "*+", "++", "?+", "}+", "(?>", "(?=", "(?!", "(?<", "$", r"\b",
        r"\B", r"\A", r"\z", r"\Z",
    ];
    SIGNS.iter().any(|sign| pattern.contains(sign)) || pattern.replace("[^", "").contains('^')
}

/// Terminals by name.
#[derive(Clone, Copy)]
pub(super) struct TerminalLanguages<'a> {
    pub(super) text: &'a GrammarText<'a>,
    pub(super) grammar: &'a LinkedGrammar,
}

impl<'a> TerminalLanguages<'a> {
    /// The language of a whole terminal, or of an expression of terminals, in a group of definitions; none
    /// where it has no pattern, is more than that, or is very large.
    pub(super) fn language(
        &self,
        rules: &mut RuleTable<'_>,
        expr: &LarkExpr,
        group: usize,
    ) -> Result<Option<Language>> {
        TerminalWalk::new(*self, rules, group).whole(expr)
    }

    /// An alternative of a whole terminal that is read as one pattern; none where each part may be read by
    /// itself, or where it is no pattern. Names are left to their definitions.
    pub(super) fn joined(
        &self,
        rules: &mut RuleTable<'_>,
        expr: &LarkExpr,
        group: usize,
    ) -> Result<Option<RuleExpr>> {
        match TerminalWalk::new(*self, rules, group).joined_pattern(expr)? {
            Some(tree) => self.terminal(rules, expr.at, &tree),
            None => Ok(None),
        }
    }

    /// The terminals of a choice, or of a terminal by its name, of which each looks at the text around it
    /// or does not (`None`).
    pub(super) fn lookaround(
        &self,
        rules: &mut RuleTable<'_>,
        expr: &LarkExpr,
        group: usize,
    ) -> Result<Vec<Option<LookaroundTerminal>>> {
        let (mut found, mut todo, mut parts) = (Vec::new(), vec![(expr, group)], 0);
        while let Some((expr, group)) = todo.pop() {
            parts += 1;
            let linked = match &expr.kind {
                LarkExprKind::Name(name) if parts <= MAX_PARTS => self.definition(name),
                _ => None,
            };
            if let Some(linked) = linked {
                todo.push((&linked.definition.body, linked.group));
            } else if let LarkExprKind::Choice(parts) = &expr.kind {
                todo.extend(parts.iter().map(|part| (part, group)));
            } else {
                let joined = self.joined(rules, expr, group)?;
                found.push(match joined.map(|item| item.kind) {
                    Some(RuleExprKind::Lookaround(terminal, _)) => Some(terminal),
                    _ => None,
                });
            }
        }
        Ok(found)
    }

    /// A terminal of Lark's libraries.
    pub(super) fn of_library(
        &self,
        rules: &mut RuleTable<'_>,
        at: usize,
        pattern: &str,
    ) -> Result<RuleExpr> {
        if looks_beyond(pattern) {
            let tree = self.parsed(at, pattern, Dialect::Rust)?;
            if let Some(terminal) = self.terminal(rules, at, &tree)? {
                return Ok(terminal);
            }
        }
        rules.pattern(self.text, at, pattern, Dialect::Rust)
    }

    /// A terminal that is one pattern; none where its parts may be read by themselves.
    fn terminal(
        &self,
        rules: &mut RuleTable<'_>,
        at: usize,
        tree: &Pattern,
    ) -> Result<Option<RuleExpr>> {
        let Some(alone) = self.texts(rules, at, tree)? else { return Ok(None) };
        if !tree.looks_around() {
            return Ok(Some(RuleExpr::new(at, RuleExprKind::Regular(alone))));
        }
        if let Some((strings, edges)) = self.between_conditions(rules, at, tree)? {
            let kind = match edges.conditions {
                Some(conditions) => {
                    RuleExprKind::Lookaround(LookaroundTerminal { strings, conditions }, alone)
                }
                None => RuleExprKind::Regular(strings),
            };
            return Ok(Some(RuleExpr::new(at, kind)));
        }
        let l = rules.builder.languages();
        let mut lookaround = |is_preferred| {
            let marked_texts = compile_with_context(l, tree, is_preferred, &Utf8);
            let marked_texts = marked_texts.map_err(|error| self.text.embed(at, &error))?;
            let terminal = LookaroundTerminal::new(l, marked_texts)?;
            let reads = terminal.map_or(Language::ALL, |terminal| terminal.strings);
            let reads = l.difference(reads, Language::EPSILON);
            Ok::<_, Error>((terminal, l.is_live(reads)?))
        };
        let (mut terminal, reads_text) = lookaround(tree.is_lazy())?;
        if tree.is_lazy() && !reads_text {
            (terminal, _) = lookaround(false)?;
        }
        let Some(terminal) = terminal else {
            return Ok(Some(RuleExpr::new(at, RuleExprKind::Regular(alone))));
        };
        Ok(Some(RuleExpr::new(at, RuleExprKind::Lookaround(terminal, alone))))
    }

    /// The texts of a terminal that is one pattern; none where its parts may be read by themselves.
    fn texts(
        &self,
        rules: &mut RuleTable<'_>,
        at: usize,
        tree: &Pattern,
    ) -> Result<Option<Language>> {
        if tree.is_lazy() {
            let l = rules.builder.languages();
            let preferred = compile_preferred(l, tree, &Utf8);
            let preferred = preferred.map_err(|error| self.text.embed(at, &error))?;
            let not_empty = l.difference(preferred, Language::EPSILON);
            // Lark refuses a terminal that reads nothing: the mark is not meant.
            if l.is_live(not_empty)? {
                return Ok(Some(preferred));
            }
        }
        // What an atomic group takes depends on what follows it.
        if !tree.looks_around() && !tree.is_atomic() {
            return Ok(None);
        }
        if let Some((strings, edges)) = self.between_conditions(rules, at, tree)? {
            return Ok(Some(if edges.hold_alone { strings } else { Language::EMPTY }));
        }
        let l = rules.builder.languages();
        let whole = compile_pattern(l, tree, Anchoring::Whole, &Utf8);
        whole.map(Some).map_err(|error| self.text.embed(at, &error))
    }

    /// The strings of a terminal that stand between the same conditions, and these; `None` if it is not of this kind.
    fn between_conditions(
        &self,
        rules: &mut RuleTable<'_>,
        at: usize,
        tree: &Pattern,
    ) -> Result<Option<(Language, EdgesOfAnyText)>> {
        let Some(edges) = EdgeConditions::of(tree) else { return Ok(None) };
        let found = rules.edges_of_any_text(&edges).and_then(|around| {
            let l = rules.builder.languages();
            Ok((compile_pattern(l, &edges.body, Anchoring::Whole, &Utf8)?, around))
        });
        found.map(Some).map_err(|error| self.text.embed(at, &error))
    }

    fn parsed(&self, at: usize, pattern: &str, dialect: Dialect) -> Result<Pattern> {
        parse_pattern(pattern, dialect).map_err(|error| self.text.embed(at, &error))
    }

    /// The definition of a terminal.
    fn definition(&self, name: &str) -> Option<&'a LinkedDefinition> {
        self.grammar.definition(name)
    }

    /// The place and the pattern of a terminal of Lark's libraries.
    fn library_pattern(&self, name: &str) -> Option<(usize, &'static str)> {
        let mut library = self.grammar.library.iter();
        library.find(|(_, known, _)| known == name).map(|(at, _, pattern)| (*at, *pattern))
    }

    /// Whether one of these signs stands in an expression or in a terminal that it names.
    fn looks_beyond(&self, expr: &LarkExpr) -> bool {
        let (mut found, mut seen, mut todo) = (false, FxHashSet::default(), vec![expr]);
        while let (false, Some(expr)) = (found, todo.pop()) {
            expr.visit(&mut |part| match &part.kind {
                LarkExprKind::Pattern(pattern) => found |= looks_beyond(pattern),
                LarkExprKind::Name(name) if !seen.contains(name) => {
                    seen.insert(name.clone());
                    if let Some(linked) = self.definition(name) {
                        todo.push(&linked.definition.body);
                    } else if let Some((_, pattern)) = self.library_pattern(name) {
                        found |= looks_beyond(pattern);
                    }
                }
                _ => {}
            });
        }
        found
    }
}

/// A walk through an expression of terminals and the terminals that it names.
struct TerminalWalk<'r, 'a, 'e> {
    terminals: TerminalLanguages<'a>,
    rules: &'r mut RuleTable<'e>,
    /// The group of the definition that is being read.
    group: usize,
    /// The number of terminals around.
    nesting: usize,
    /// The parts so far.
    parts: usize,
}

impl<'r, 'a, 'e> TerminalWalk<'r, 'a, 'e> {
    fn new(terminals: TerminalLanguages<'a>, rules: &'r mut RuleTable<'e>, group: usize) -> Self {
        Self { terminals, rules, group, nesting: 0, parts: 0 }
    }

    /// Counts a part; whether there are too many.
    fn is_too_large(&mut self) -> bool {
        self.parts += 1;
        self.parts > MAX_PARTS
    }

    /// Whether terminals nest too deeply, as those that call themselves do.
    fn is_too_deep(&self) -> bool {
        self.nesting > MAX_NESTING
    }

    /// The result of `read` on the body of a definition.
    fn in_definition<T>(
        &mut self,
        linked: &LinkedDefinition,
        read: impl FnOnce(&mut Self, &LarkExpr) -> T,
    ) -> T {
        let group = std::mem::replace(&mut self.group, linked.group);
        self.nesting += 1;
        let result = read(self, &linked.definition.body);
        self.nesting -= 1;
        self.group = group;
        result
    }

    /// The language of a whole terminal.
    fn whole(&mut self, expr: &LarkExpr) -> Result<Option<Language>> {
        if let LarkExprKind::Choice(parts) = &expr.kind {
            let parts = parts.iter().map(|part| self.whole(part));
            let parts = parts.collect::<Result<Option<Vec<_>>>>()?;
            return Ok(parts.map(|parts| self.rules.builder.languages().union(parts)));
        }
        match self.joined(expr)? {
            Some(joined) => Ok(Some(joined)),
            None => self.within(expr),
        }
    }

    fn joined(&mut self, expr: &LarkExpr) -> Result<Option<Language>> {
        match self.joined_pattern(expr)? {
            Some(tree) => self.terminals.texts(self.rules, expr.at, &tree),
            None => Ok(None),
        }
    }

    /// The pattern that the parts of a terminal are joined to; none where each may be read by itself.
    fn joined_pattern(&mut self, expr: &LarkExpr) -> Result<Option<Pattern>> {
        if matches!(expr.kind, LarkExprKind::Name(_)) || !self.terminals.looks_beyond(expr) {
            return Ok(None);
        }
        let parts = std::mem::take(&mut self.parts);
        let tree = self.pattern(expr)?;
        if std::mem::replace(&mut self.parts, parts) > MAX_PARTS {
            let message = "a terminal with a lazy quantifier or look-around is too large";
            return Err(self
                .terminals
                .text
                .error(expr.at, message)
                .with_help("let fewer terminals stand in it, or write it without either"));
        }
        Ok(tree)
    }

    /// The one pattern of an expression; none where it is more than a pattern.
    fn pattern(&mut self, expr: &LarkExpr) -> Result<Option<Pattern>> {
        if self.is_too_large() || self.is_too_deep() {
            return Ok(None);
        }
        let terminals = self.terminals;
        Ok(match &expr.kind {
            LarkExprKind::Text { text, caseless: false } => {
                Some(Pattern::Concat(text.chars().map(Pattern::char).collect()))
            }
            LarkExprKind::Text { text, caseless: true } => {
                let pattern = format!("(?i:{})", regex_syntax::escape(text));
                Some(terminals.parsed(expr.at, &pattern, Dialect::Rust)?)
            }
            LarkExprKind::Range(first, last) => Some(Pattern::range(*first, *last)),
            LarkExprKind::Pattern(pattern) => {
                let dialect = dialect(self.rules, self.group);
                let pattern = in_dialect(terminals.text, expr.at, pattern, dialect)?;
                Some(terminals.parsed(expr.at, &pattern, dialect)?)
            }
            LarkExprKind::Name(name) if is_terminal(name) => {
                if let Some(linked) = terminals.definition(name) {
                    let attributes = &linked.definition.attributes;
                    if attributes.is_lazy || attributes.bound_text() {
                        return Ok(None);
                    }
                    return self.in_definition(linked, Self::pattern);
                }
                match terminals.library_pattern(name) {
                    Some((at, pattern)) => Some(terminals.parsed(at, pattern, Dialect::Rust)?),
                    None => None,
                }
            }
            LarkExprKind::Sequence(parts) => self.patterns(parts)?.map(Pattern::Concat),
            LarkExprKind::Choice(parts) => self.patterns(parts)?.map(Pattern::Alternate),
            LarkExprKind::Repeat(inner, min, max) => {
                self.pattern(inner)?.map(|body| Pattern::greedy(body, *min, *max))
            }
            _ => None,
        })
    }

    fn patterns(&mut self, parts: &[LarkExpr]) -> Result<Option<Vec<Pattern>>> {
        parts.iter().map(|part| self.pattern(part)).collect()
    }

    /// The language of an expression whose parts are read by themselves.
    fn within(&mut self, expr: &LarkExpr) -> Result<Option<Language>> {
        if self.is_too_large() || self.is_too_deep() {
            return Ok(None);
        }
        let terminals = self.terminals;
        Ok(match &expr.kind {
            LarkExprKind::Name(name) if is_terminal(name) => {
                if let Some(linked) = terminals.definition(name) {
                    if linked.definition.attributes.is_lazy {
                        return Ok(None);
                    }
                    return self.in_definition(linked, Self::whole);
                }
                match terminals.library_pattern(name) {
                    Some((at, pattern)) => regular(terminals.of_library(self.rules, at, pattern)?),
                    None => None,
                }
            }
            LarkExprKind::Sequence(parts) => {
                self.all_within(parts)?.map(|parts| self.rules.builder.languages().concat(parts))
            }
            LarkExprKind::Choice(parts) => {
                self.all_within(parts)?.map(|parts| self.rules.builder.languages().union(parts))
            }
            LarkExprKind::And(parts) => {
                self.all_within(parts)?.map(|parts| self.rules.builder.languages().intersect(parts))
            }
            LarkExprKind::Not(inner) => self.within(inner)?.map(|inner| {
                let l = self.rules.builder.languages();
                let text = any_text(l, &Utf8);
                l.difference(text, inner)
            }),
            LarkExprKind::Repeat(inner, min, max) => {
                let inner = self.within(inner)?;
                inner.map(|inner| self.rules.builder.languages().repeat(inner, *min, *max))
            }
            _ => written_out(self.rules, terminals.text, expr, self.group)?.and_then(regular),
        })
    }

    fn all_within(&mut self, parts: &[LarkExpr]) -> Result<Option<Vec<Language>>> {
        parts.iter().map(|part| self.within(part)).collect()
    }
}
