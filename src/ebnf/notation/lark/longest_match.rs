//! Ignored text that goes on as long as it can.
//!
//! A text is cut into terminals in every way, but a comment that ends before its line would let code stand in
//! it: after `# a (` a bracket would be open. So ignored text that could go on is followed by what does not
//! continue it, as in all parsers of Lark, whose ignored terminals are longest matches:
//!
//! ```text
//! %ignore /#[^\n]*/          open: whatever may follow a match, [^\n]+ makes it longer
//! %ignore /[\s,]+/           closed: whatever makes a match longer is blank, or a sign that is ignored text itself, so
//!                            it may be cut anywhere
//!
//! %ignore:  (blanks | comment (blanks but those that [^\n]+ begins))*
//! NEWLINE:  NEWLINE %ignore | comment (NEWLINE but …) %ignore
//! start:    %ignore start comment?
//! ```
//!
//! Only terminals that may begin with what ends a comment have a second form, so other grammars stay as they
//! are. Of `/;[^\n]*\n?/` the matches without a line break are open, the others closed. Ignored text of which two
//! ends go on in different ways, ignored texts that may follow each other and go on in different ways, and those
//! before grammars in other notations may still end early.

use rustc_hash::FxHashMap;

use super::ast::LarkExpr;
use super::terminal_languages::TerminalLanguages;
use crate::ebnf::expression::{RuleAttribute, RuleExpr, RuleExprKind};
use crate::ebnf::rule_table::RuleTable;
use crate::error::Result;
use crate::regular::marked_text::{LookaroundTerminal, successors};
use crate::regular::{Dialect, Language, Languages, variables};

/// States of ignored text that are looked at for what makes it longer.
const MAX_STATES: usize = 200;

/// Ignored text that could go on.
#[derive(Clone, Copy)]
pub(super) struct OpenText {
    matches: Language,
    /// The same where it looks at the text around it.
    lookaround: Option<LookaroundTerminal>,
    /// The texts that begin with what makes a match longer.
    longer: Language,
    /// Whether it is marked as ignored, for captures to leave it out.
    is_marked: bool,
}

impl OpenText {
    /// The same, marked as ignored.
    pub(super) fn marked(self) -> Self {
        Self { is_marked: true, ..self }
    }

    fn expr(&self, at: usize) -> RuleExpr {
        let kind = match self.lookaround {
            Some(terminal) => RuleExprKind::Lookaround(terminal, self.matches),
            None => RuleExprKind::Regular(self.matches),
        };
        RuleExpr::new(at, kind).with(self.is_marked.then_some(RuleAttribute::Ignored))
    }
}

/// The ignored text of a group of definitions that could go on, and the rest.
pub(super) struct IgnoredText {
    pub(super) open: Vec<OpenText>,
    closed: Vec<LarkExpr>,
    /// The matches of open ones that cannot go on.
    rest: Vec<Language>,
}

impl IgnoredText {
    /// Text none of which is looked at.
    pub(super) fn closed(ignored: &[LarkExpr]) -> Self {
        Self { open: Vec::new(), closed: ignored.to_vec(), rest: Vec::new() }
    }

    /// Finds the ignored text that could go on. If one may follow another that goes on in other ways, none is
    /// treated as open.
    pub(super) fn split(
        terminals: TerminalLanguages<'_>,
        rules: &mut RuleTable<'_>,
        ignored: &[LarkExpr],
        group: usize,
    ) -> Result<Self> {
        let (mut open, mut closed, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for expr in ignored {
            let found = terminals.language(rules, expr, group)?;
            let ends = match found {
                Some(found) => open_ends(terminals, rules, found)?,
                None => None,
            };
            // Of several terminals that look at different texts around them, each stays by itself.
            let lookaround = match ends {
                Some(_) => match &terminals.lookaround(rules, expr, group)?[..] {
                    &[one] => Some(one),
                    several => several.iter().all(Option::is_none).then_some(None),
                },
                None => None,
            };
            match (ends, lookaround) {
                // What looks around is not taken apart.
                (Some(ends), Some(lookaround)) if lookaround.is_none() || ends.rest.is_none() => {
                    let longer = rules.builder.languages().concat([ends.more, Language::ALL]);
                    let matches = ends.matches;
                    open.push(OpenText { matches, lookaround, longer, is_marked: false });
                    rest.extend(ends.rest);
                }
                _ => closed.push(expr.clone()),
            }
        }
        let open = runs(rules.builder.languages(), open)?;
        let l = rules.builder.languages();
        for (i, text) in open.iter().enumerate() {
            for (j, next) in open.iter().enumerate() {
                if i == j && text.lookaround.is_none() {
                    continue;
                }
                let apart = l.difference(next.matches, text.longer);
                if l.is_live(apart)? {
                    return Ok(Self::closed(ignored));
                }
            }
        }
        Ok(Self { open, closed, rest })
    }

    /// The ways of one stretch of ignored text that goes on as long as it can, before anything that may
    /// follow. `read` makes the expressions of `closed`.
    pub(super) fn ways(
        &self,
        at: usize,
        mut read: impl FnMut(&[LarkExpr]) -> Result<Vec<RuleExpr>>,
    ) -> Result<Vec<RuleExpr>> {
        let mut read_all = || -> Result<Vec<RuleExpr>> {
            let rest = self.rest.iter();
            let rest = rest.map(|&texts| RuleExpr::new(at, RuleExprKind::Regular(texts)));
            Ok(read(&self.closed)?.into_iter().chain(rest).collect())
        };
        let mut ways = read_all()?;
        for open in &self.open {
            let next = read_all()?;
            let next: Vec<RuleExpr> =
                next.into_iter().map(|expr| without(expr, open.longer)).collect();
            if !next.is_empty() {
                ways.push(RuleExpr::sequence(at, vec![open.expr(at), RuleExpr::choice(at, next)]));
            }
        }
        Ok(ways)
    }
}

/// Merges open texts that the same texts make longer into one text that may follow itself: `A (A but
/// those that make A longer)*`. So `\s*#[^\n]*` may follow itself from the next line on.
fn runs(l: &mut Languages, open: Vec<OpenText>) -> Result<Vec<OpenText>> {
    let mut all: Vec<OpenText> = Vec::new();
    for text in open {
        let is_alike = |other: &&mut OpenText| {
            text.lookaround.is_none() && other.lookaround.is_none() && other.longer == text.longer
        };
        match all.iter_mut().find(is_alike) {
            Some(other) => other.matches = l.union([other.matches, text.matches]),
            None => all.push(text),
        }
    }
    for text in all.iter_mut().filter(|text| text.lookaround.is_none()) {
        let next = l.difference(text.matches, text.longer);
        let next = l.without_epsilon(next);
        if l.is_live(next)? {
            let more = l.repeat(next, 0, None);
            text.matches = l.concat([text.matches, more]);
        }
    }
    Ok(all)
}

/// The ends of a language at which it could go on.
struct OpenEnds {
    /// The texts that make a match with such an end longer.
    more: Language,
    /// The matches with such an end.
    matches: Language,
    /// The others; none where all matches have such an end.
    rest: Option<Language>,
}

/// The ends of a language that could go on, if there are some and all go on alike; blanks and ignored signs
/// alone make nothing longer.
fn open_ends(
    terminals: TerminalLanguages<'_>,
    rules: &mut RuleTable<'_>,
    x: Language,
) -> Result<Option<OpenEnds>> {
    let [blanks, signs] = [r"[\s\x1c-\x1f\u{feff}]*", r"\W*"].map(|pattern| {
        rules.pattern(terminals.text, 0, pattern, Dialect::Rust).map(|pattern| match pattern.kind {
            RuleExprKind::Regular(language) => language,
            _ => Language::EMPTY,
        })
    });
    let (blanks, signs) = (blanks?, signs?);
    let l = rules.builder.languages();
    let ignored_signs = l.intersect([x, signs]);
    let invisible = l.union([blanks, ignored_signs]);
    let (mut states, mut at, mut open, mut has_others) = (vec![x], 0, None, false);
    while let Some(&state) = states.get(at) {
        at += 1;
        if l.is_nullable(state) {
            let more = l.difference(state, Language::EPSILON);
            let visible = l.difference(more, invisible);
            if !l.is_live(visible)? {
                has_others = true;
            } else if *open.get_or_insert(state) != state {
                return Ok(None);
            }
        }
        for (_, next) in successors(l, state)? {
            if !states.contains(&next) {
                states.push(next);
            }
        }
        if states.len() > MAX_STATES {
            return Ok(None);
        }
    }
    let Some(end) = open else { return Ok(None) };
    let more = l.difference(end, Language::EPSILON);
    if !has_others {
        return Ok(Some(OpenEnds { more, matches: x, rest: None }));
    }
    let matches = matches_that_end_in(l, &states, end)?;
    let rest = Some(l.difference(x, matches));
    Ok(Some(OpenEnds { more, matches, rest }))
}

/// The strings that lead from the first state to `end`, by a linear equation for each state. `states`
/// holds all states that can be reached.
fn matches_that_end_in(l: &mut Languages, states: &[Language], end: Language) -> Result<Language> {
    let all: FxHashMap<Language, Language> =
        states.iter().map(|&state| (state, variables::new_variable(l, state == end))).collect();
    let order: Vec<Language> = states.iter().map(|state| all[state]).collect();
    for (&state, &variable) in states.iter().zip(&order) {
        let mut parts = Vec::new();
        parts.extend((state == end).then_some(Language::EPSILON));
        for (bytes, next) in successors(l, state)? {
            let bytes = l.byte_set(bytes);
            parts.push(l.concat([bytes, all[&next]]));
        }
        let body = l.union(parts);
        variables::define(l, variable, body);
    }
    Ok(variables::settle(l, &order, order[0]))
}

/// The texts of an expression but the empty one, and those that begin so.
fn without(expr: RuleExpr, longer: Language) -> RuleExpr {
    let at = expr.at;
    let empty = RuleExpr::new(at, RuleExprKind::Regular(Language::EPSILON));
    let longer = RuleExpr::new(at, RuleExprKind::Regular(longer));
    let not = RuleExpr::choice(at, vec![empty, longer]);
    RuleExpr::new(at, RuleExprKind::Except(Box::new(expr), Box::new(not)))
}

/// A whole text, which may end in ignored text that could go on.
pub(super) fn before_end(item: RuleExpr, open: &[OpenText]) -> RuleExpr {
    if open.is_empty() {
        return item;
    }
    let at = item.at;
    let last = RuleExpr::choice(at, open.iter().map(|text| text.expr(at)).collect());
    RuleExpr::sequence(at, vec![item, last.repeat(0, Some(1))])
}

/// A terminal of a rule, perhaps after ignored text that it does not continue. `found` is its language, if it
/// has one; of its expression there is one copy more than there are open texts.
pub(super) fn after_open(
    rules: &mut RuleTable<'_>,
    (at, found): (usize, Option<Language>),
    open: &[OpenText],
    mut items: Vec<RuleExpr>,
) -> Result<RuleExpr> {
    let mut ways: Vec<RuleExpr> = items.pop().into_iter().collect();
    for (text, mut item) in open.iter().zip(items) {
        if let Some(found) = found {
            let l = rules.builder.languages();
            let apart = l.difference(found, text.longer);
            let apart = l.difference(apart, Language::EPSILON);
            if !l.is_live(apart)? {
                continue;
            }
            item = without(item, text.longer);
        }
        ways.push(RuleExpr::sequence(at, vec![text.expr(at), item]));
    }
    Ok(RuleExpr::choice(at, ways))
}
