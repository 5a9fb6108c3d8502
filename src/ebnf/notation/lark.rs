//! Lark's notation (Lark's grammar reference), with llguidance's additions (its `docs/syntax.md`).
//!
//! Lower-case names are rules, upper-case names are terminals; the text is what `start` derives.
//! Rules are made of names, strings, ranges `"a".."z"`, patterns `/…/imsux`, groups, `[optional]`
//! parts, `?`, `*`, `+`, `~n`, `~n..m`, `{m,n}`, templates `sep{item, ","}`, rules with a parameter
//! of 64 bits (`list::set_bit(0) %if bit_clear(0)`), special tokens `<|name|>`, `<[7]>`,
//! `<[7-9,12]>`, `<[^7]>`, `<[*]>`, `%json {…}`, `%lark {…}`, `%regex {…}` and other grammars
//! `@name`. In terminals `&` is *and* and `~x` is *not*. `%import common.NAME` imports from Lark's
//! own libraries, `%import .file.rule` from a grammar beside this one, which `%override` and `%extend`
//! change (`modules`). `%declare _INDENT _DEDENT` gives indentation a meaning (`layout`). `%ignore`
//! names what may come before, between and after the terminals of rules.
//! Alternatives and rules may be empty.
//!
//! The meaning is that of Lark's Earley parser with its `dynamic_complete` lexer: every way to cut
//! the text into terminals counts, and ignored text goes on as long as it can (`longest_match`).
//! Priorities choose between parses of one text and never decide whether it is accepted, so they are
//! read and mean nothing. The same holds for aliases, and for `!`, `?` and `_` of names. Patterns are
//! in the syntax of Rust's `regex` crate with look-around. A terminal reads the texts that it matches as a
//! whole where they stand: look-around and `\b` see the text of other terminals (`grammar/contextual.rs`), `^`
//! and `$` are the edges of the terminal, and the order of alternatives means nothing. A terminal with lazy
//! quantifiers is read as by Python's `re`, its parts joined to one pattern: of all ways to match, the
//! preferred one must reach the end of the text (`terminal_languages`).
//!
//! # Lazy rules
//!
//! `[lazy]` and `[suffix=…]` of a rule mean two things. Its text is a shortest match: no proper
//! prefix of it is one. And it takes precedence: where it may begin, a text whose rest begins with
//! one of its texts is read by it, and by nothing else. So `start: tool* tail` with
//! `tool: head /[0-9]+/ "</tool>"`, `head[lazy]: TEXT "<tool>"` and `tail: TEXT` dispatches: `tail`
//! never contains `<tool>`. The rewriting is in `grammar/contextual.rs`. In detail:
//!
//! - A position lies between two terminals (strings, patterns, upper-case names) of one parse. The
//!   terminals that may begin there are those that could come next in this parse: of any
//!   alternative, of another iteration of a repeat, of what follows a repeat or an empty rule.
//!   Between alternatives with equal beginnings (`"a" x | "a" y`) the choice is made after these, between
//!   others where they begin.
//! - Of several lazy rules at one position the one whose text ends first is read. Where two end at
//!   once, either may be, and the rest of the text decides.
//! - Everything else that may begin there, ignored text, JSON and recursive rules included, is for
//!   rests that begin with no text of a lazy rule, however far such a text would reach. Free text
//!   that is written word by word contains no trigger either.
//! - Where no lazy rule may begin, `TEXT` is any text. An embedded grammar (`%lark {…}`, `@name`)
//!   is rewritten by itself.
//!
//! llguidance's lexer runs all terminals that may begin at a position in parallel and stops at the
//! first lazy match, which is the same, except that it also compares parses that read equal
//! terminals by different rules. XGrammar dispatches where `start` has the form above, and refuses
//! most others.
//!
//! # Differences from llguidance and XGrammar
//!
//! - Ignored text may come before the first terminal, too, as in Lark itself;
//!   `%llguidance {"allow_initial_skip": false}` forbids it.
//! - A text may be cut into terminals in every way. There a lexer decides, so that a keyword is
//!   never a name; here `/(?!if\b)[a-z]+/` or `/[a-z]+/ & ~/if/` expresses it.
//! - `max_tokens` of a rule is a bound that always holds, and so does its pattern: a token is allowed
//!   only if the text can be completed within all bounds, so the rule is closed in time. llguidance
//!   ends the terminal where the bound is reached, though its pattern may ask for more. Each token with
//!   a byte of the rule's text counts, as in llguidance; XGrammar does not count one that begins before
//!   it. `max_chars` holds as exactly.
//! - `stop` bounds the text alone: it goes on to the first place where the stop text stands, which is
//!   not a part of it. llguidance lets the model write the stop text and takes it back; here the rule
//!   that follows writes it, as in `outer: inner "<end>"` with `inner[stop="<end>"]: /.*/`.
//! - `stop_capture` captures the text of `suffix`; with `stop` it is refused, since the stop text
//!   stands after the rule. Captures are those of one parse (`constraint/captures.rs`); llguidance
//!   reports every rule that ends somewhere while its lexer reads the longest terminals. Where a suffix
//!   may begin at several places, the text before it is the longest.
//! - Lazy quantifiers (`.*?`) mean what they mean to Lark; llguidance's lexer ignores them, so its terminals have
//!   more texts. Where Lark refuses such a terminal since it would read nothing (`/.*?/`), the mark means
//!   nothing here either, nor does it in a lazy rule, and in one with `stop` or `max_chars`.
//! - `temperature` may stand on any rule, there on terminals and subgrammars alone.
//! - Refused by name: text that is not UTF-8 (`allow_invalid_utf8`), and rules of Lark's libraries,
//!   whose terminals are here alone.
//! - The text of a lazy rule includes the end that its pattern describes; a text without that end
//!   is not accepted.

mod ast;
mod attributes;
mod blank_columns;
mod expressions;
mod layout;
mod lexical;
mod libraries;
mod longest_match;
mod lowering;
mod modules;
mod parameter_syntax;
mod statements;
mod substring;
mod templates;
mod terminal_languages;

use crate::ebnf::environment::Environment;
use crate::error::Result;
use crate::grammar::Grammar;
use layout::LineEnds;
use lowering::ParameterMode;
use modules::LarkModules;

/// Parses a Lark grammar.
pub(super) fn parse(text: &str, environment: &dyn Environment) -> Result<Grammar> {
    parse_nested(text, environment, 0)
}

/// Nesting of `%lark {…}`; bounds the depth of the native stack.
const MAX_EMBEDDING: usize = 8;

/// Parses a grammar that is embedded in `depth` others.
fn parse_nested(text: &str, environment: &dyn Environment, depth: usize) -> Result<Grammar> {
    let modules = LarkModules::read(text, environment)?;
    let mut grammar = modules.link()?;
    if let (0, Some(start)) = (depth, environment.start_rule()) {
        start.clone_into(&mut grammar.groups[0].start);
    }
    let mode = match layout::rewrite(&modules.places(), &mut grammar)? {
        LineEnds::Counted => ParameterMode::Entered,
        LineEnds::Plain => ParameterMode::Expanded,
    };
    lowering::lower(&modules.places(), &grammar, environment, depth, mode)
}
