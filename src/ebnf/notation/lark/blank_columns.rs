//! Blanks in grammars with indentation: the terminal of line breaks reads those at the start of a line, and
//! no other terminal does.
//!
//! Lark's lexer gives `_NL: /\n/` no blanks, so that all lines begin in column 0, and a terminal such as
//! `" x"` would begin after the blanks of its line. Here the columns are a part of rules, which read all
//! blanks of a line; both are refused.

use super::ast::{LarkExpr, LarkExprKind};
use super::terminal_languages::TerminalLanguages;
use crate::ebnf::rule_table::RuleTable;
use crate::error::{Error, Result};
use crate::regular::{Language, Languages};

/// A blank that indents a line.
fn blank(l: &mut Languages) -> Language {
    let blanks = [b' ', b'\t'].map(|byte| l.byte_range(byte, byte));
    l.union(blanks)
}

/// Errors if the terminal of line breaks leaves out blanks after them.
pub(super) fn check_newline(
    terminals: TerminalLanguages<'_>,
    rules: &mut RuleTable<'_>,
    newline: &str,
) -> Result<()> {
    let too_short = |at: usize| -> Error {
        let message = format!("`{newline}` does not read the blanks at the start of a line");
        let help = format!("write `{newline}: /(\\r?\\n[\\t ]*)+/`");
        terminals.text.error(at, message).with_help(help)
    };
    let mut definitions = terminals.grammar.definitions.iter();
    let Some(known) = definitions.find(|linked| linked.definition.name == newline) else {
        // That of Lark's library reads no blanks.
        let at = terminals.grammar.library.iter().find(|(_, name, _)| name == newline);
        return Err(too_short(at.map_or(0, |(at, ..)| *at)));
    };
    let at = known.definition.at;
    let name = LarkExpr { at, kind: LarkExprKind::Name(newline.to_owned()) };
    let Some(lines) = terminals.language(rules, &name, 0)? else { return Ok(()) };
    let l = rules.builder.languages();
    let blank = blank(l);
    let longer = l.concat([lines, blank]);
    let left = l.difference(longer, lines);
    if l.is_live(left)? { Err(too_short(at)) } else { Ok(()) }
}

/// Errors if a terminal may begin with a blank.
pub(super) fn check_terminal(
    terminals: TerminalLanguages<'_>,
    rules: &mut RuleTable<'_>,
    expr: &LarkExpr,
) -> Result<()> {
    let Some(found) = terminals.language(rules, expr, 0)? else { return Ok(()) };
    let l = rules.builder.languages();
    let blank = blank(l);
    let begins = l.concat([blank, Language::ALL]);
    let begins = l.intersect([found, begins]);
    if !l.is_live(begins)? {
        return Ok(());
    }
    let message = "a terminal begins with a blank, which is indentation at the start of a line";
    Err(terminals.text.error(expr.at, message).with_help(
        "let blanks be ignored (`%ignore /[ \\t]+/`), or end the terminal before in them",
    ))
}
