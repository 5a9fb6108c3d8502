//! ABNF (RFC 5234), with case-sensitive strings (RFC 7405).
//!
//! `name = elements`, `name =/ more`, `/` between alternatives, `[…]`, `*x`, `1*x`, `2*5x`, `3x`,
//! strings in any case (`%s"…"` in just this one), `%x41-5A`, `%d13.10`, `%b1010`, comments from
//! `;` to the line's end. Names do not distinguish case (RFC 5234, section 2.1). The core rules of
//! appendix B.1 are known. The start is the first rule.
//!
//! Numbers are code points and are written in UTF-8 (section 2.4 leaves the encoding open), so
//! `OCTET` is U+0000 to U+00FF. A rule ends where the next begins: at a name and `=` at the start
//! of a line. Prose (`<…>`) that is the name of a rule is that rule, as in RFC 3986's `0<pchar>`;
//! other prose has no meaning to a program, and is refused where the start reaches it.
//!
//! RFCs are read as they stand: page breaks with their footers (`[Page 7]`) and headers are blanks,
//! and of `host = <host, see [RFC3986], Section 3.2.2>` and another definition of `host` the other
//! one counts, so that the rules of several RFCs can stand in one text. A rule may be defined twice in
//! the same words. A name of another document that the text does not define is an error only where the
//! start reaches it. Lists of HTTP (RFC 9110, section 5.6.1) are read as a sender writes them: `1#x` is
//! `x *( OWS "," OWS x )`.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::ebnf::environment::Environment;
use crate::ebnf::expression::{RuleExpr, RuleExprKind};
use crate::ebnf::grammar_text::{GrammarText, MAX_CODE_POINT};
use crate::ebnf::rule_table::{CaseFolding, RuleTable};
use crate::error::{Error, Result};
use crate::grammar::Grammar;
use crate::regular::Dialect;

/// The core rules (RFC 5234, appendix B.1), as patterns.
const CORE: [(&str, &str); 16] = [
    ("ALPHA", "[A-Za-z]"),
    ("BIT", "[01]"),
    ("CHAR", r"[\x01-\x7F]"),
    ("CR", r"\r"),
    ("CRLF", r"\r\n"),
    ("CTL", r"[\x00-\x1F\x7F]"),
    ("DIGIT", "[0-9]"),
    ("DQUOTE", "\""),
    // RFC 5234 defines it by strings, which match in either case.
    ("HEXDIG", "[0-9A-Fa-f]"),
    ("HTAB", r"\t"),
    ("LF", r"\n"),
    ("LWSP", r"(?:[ \t]|\r\n[ \t])*"),
    ("OCTET", r"[\x00-\u{FF}]"),
    ("SP", " "),
    ("VCHAR", "[!-~]"),
    ("WSP", r"[ \t]"),
];

/// Parses an ABNF grammar.
pub(super) fn parse(text: &str, environment: &dyn Environment) -> Result<Grammar> {
    let text = &*without_page_breaks(text);
    let mut parser = AbnfParser {
        text: GrammarText::new(text),
        rules: RuleTable::new("=", environment).caseless().excerpt(),
        prose: Vec::new(),
        by_prose: Vec::new(),
        bodies: FxHashMap::default(),
    };
    let Some(first) = parser.rules_of_text()? else {
        return Err(parser
            .text
            .error(0, "the grammar has no rule")
            .with_help("a rule is `name = …`"));
    };
    let AbnfParser { text, mut rules, prose, by_prose, .. } = parser;
    for (name, at, body) in by_prose {
        if !rules.is_defined(&name) {
            rules.define(&text, &name, at, body)?;
        }
    }
    // Lists call `OWS`, whether the text defines it or not.
    let lists = rules.is_known("ows").then_some(("OWS", "[ \\t]*"));
    for (name, pattern) in CORE.into_iter().chain(lists) {
        // What the text defines itself comes before the core rules.
        if !rules.is_defined(name) {
            let body = rules.pattern(&text, 0, pattern, Dialect::Rust)?;
            rules.define(&text, name, 0, body)?;
        }
    }
    let mut meaningless = Vec::new();
    for (words, at) in prose {
        let rule = format!("<{words}>");
        if rules.is_defined(&rule) {
            continue;
        }
        let body = if rules.is_defined(words) {
            rules.call(words, at)
        } else {
            meaningless.push((rules.id(&rule, at), words, at));
            RuleTable::empty(at)
        };
        rules.define(&text, &rule, at, body)?;
    }
    let start = rules.start_rule(&first);
    let reached = rules.reached(start);
    if let Some((_, words, at)) = meaningless.into_iter().find(|(rule, ..)| reached[*rule]) {
        return Err(text
            .error(at, format!("prose has no meaning to a program, and `{words}` names no rule"))
            .with_help("add the rule that it speaks of, or write it in its place"));
    }
    rules.finish(&text, start)
}

/// The state of a parser.
struct AbnfParser<'a> {
    text: GrammarText<'a>,
    rules: RuleTable<'a>,
    /// The prose that was read, with byte offsets. Each is a rule of this name, with its brackets.
    prose: Vec<(&'a str, usize)>,
    /// Rules that prose alone defines, with the byte offset of their names. Another definition
    /// counts, wherever it stands.
    by_prose: Vec<(String, usize, RuleExpr)>,
    /// The bodies of rules that `=` alone defines, by name in lower case, as [`body_text`] gives them. A rule may be
    /// defined again in the same words, as where a document repeats it in its collected grammar.
    bodies: FxHashMap<String, String>,
}

/// The text of a right-hand side without comments, with one blank for each stretch of them.
fn body_text(text: &str) -> String {
    let mut body = String::with_capacity(text.len());
    // The sign at which a string or prose ends, while one is open.
    let mut closing = None;
    let mut chars = text.trim().chars();
    while let Some(c) = chars.next() {
        match (closing, c) {
            (None, ';') => {
                chars.find(|&c| c == '\n');
            }
            (None, ' ' | '\t' | '\r' | '\n') => {}
            _ => {
                body.push(c);
                closing = match (closing, c) {
                    (Some(sign), _) => (sign != c).then_some(sign),
                    (None, '"') => Some('"'),
                    (None, '<') => Some('>'),
                    (None, _) => None,
                };
                continue;
            }
        }
        if !body.ends_with(' ') {
            body.push(' ');
        }
    }
    body.truncate(body.trim_end().len());
    body
}

/// First words of the header of a page.
const HEADERS: [&str; 2] = ["RFC ", "Internet-Draft "];

/// The text with blanks in place of what a page break of an RFC puts between its lines: the footer
/// that ends in `[Page 7]`, a form feed, and the header after it. Byte offsets stay.
fn without_page_breaks(text: &str) -> Cow<'_, str> {
    let is_footer = |line: &str| {
        let number = line.trim_end().strip_suffix(']').and_then(|line| line.rsplit_once("[Page "));
        number.is_some_and(|(_, number)| number.bytes().all(|b| b.is_ascii_digit()))
    };
    if !text.lines().any(is_footer) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    // After a footer, up to the header of the next page.
    let mut between_pages = false;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let is_header = between_pages && HEADERS.iter().any(|sign| content.starts_with(sign));
        if is_footer(line) || is_header {
            between_pages = is_footer(line);
            kept.extend(line.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
        } else {
            kept.extend(line.chars().map(|c| if c == '\x0C' { ' ' } else { c }));
        }
    }
    Cow::Owned(kept)
}

/// The left-hand side of a rule.
struct AbnfRuleHead {
    name: String,
    /// The byte offset of the name.
    at: usize,
    /// Whether it is followed by `=/`, which adds alternatives to a rule.
    is_incremental: bool,
    /// The byte offset after the sign.
    end: usize,
}

/// Whether the letters of a string match in either case.
#[derive(Clone, Copy)]
enum StringCase {
    Sensitive,
    Insensitive,
}

fn nothing_to_repeat(text: &GrammarText<'_>, at: usize) -> Error {
    text.error(at, "nothing to repeat")
        .with_help("put a string, number, name or group after it, without a blank")
}

impl AbnfParser<'_> {
    fn rules_of_text(&mut self) -> Result<Option<String>> {
        let mut start = None;
        self.skip_space();
        while self.text.peek().is_some() {
            let AbnfRuleHead { name, at, is_incremental, end } = self.expect_head()?;
            self.rules.id(&name, at);
            let body = self.alternatives()?;
            let is_prose = matches!(body.kind, RuleExprKind::Rule(_))
                && self.text.between(end, self.text.at).trim_start().starts_with('<');
            if is_prose && !is_incremental {
                self.by_prose.push((name.clone(), at, body));
            } else if !is_incremental {
                let words = body_text(self.text.between(end, self.text.at));
                let key = name.to_ascii_lowercase();
                if self.bodies.get(&key) != Some(&words) {
                    self.rules.define(&self.text, &name, at, body)?;
                    self.bodies.insert(key, words);
                }
            } else if !self.rules.extend(&name, at, body) {
                return Err(self
                    .text
                    .error(at, format!("`=/` adds to `{name}`, which is not defined yet"))
                    .with_help(format!("write `{name} =` the first time")));
            } else {
                self.bodies.remove(&name.to_ascii_lowercase());
            }
            start.get_or_insert(name);
            self.skip_space();
            if self.text.peek().is_some() && self.peek_head().is_none() {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("unexpected {found}"))
                    .with_help(
                        "strings stand in double quotes, alternatives are separated by `/`",
                    ));
            }
        }
        Ok(start)
    }

    /// Skips blanks, line breaks and comments.
    fn skip_space(&mut self) {
        loop {
            self.text.take_while(|c| " \t\r\n".contains(c));
            if self.text.peek() != Some(';') {
                return;
            }
            self.text.skip_line();
        }
    }

    fn name(&mut self) -> Option<String> {
        if !self.text.peek().is_some_and(|c| c.is_ascii_alphabetic()) {
            return None;
        }
        Some(self.text.take_while(|c| c.is_ascii_alphanumeric() || c == '-').to_owned())
    }

    /// The left-hand side that comes next, if a rule begins here; nothing is read.
    fn peek_head(&mut self) -> Option<AbnfRuleHead> {
        let at = self.text.at;
        let head = self.name().and_then(|name| {
            self.skip_space();
            self.text.eat("=").then(|| {
                let is_incremental = self.text.eat("/");
                AbnfRuleHead { name, at, is_incremental, end: self.text.at }
            })
        });
        self.text.at = at;
        head
    }

    fn expect_head(&mut self) -> Result<AbnfRuleHead> {
        match self.peek_head() {
            Some(head) => {
                self.text.at = head.end;
                Ok(head)
            }
            None => Err(self
                .text
                .error(self.text.at, format!("expected a rule, found {}", self.text.found()))
                .with_help("a rule is `name = …`")),
        }
    }

    fn alternatives(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            items.push(self.sequence()?);
            if !self.text.eat("/") {
                return Ok(RuleExpr::choice(start, items));
            }
        }
    }

    fn sequence(&mut self) -> Result<RuleExpr> {
        self.skip_space();
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            self.skip_space();
            if self.peek_head().is_some() {
                break;
            }
            match self.repetition()? {
                Some(item) => items.push(item),
                None => break,
            }
        }
        if items.is_empty() {
            return Err(self
                .text
                .error(self.text.at, format!("expected an element, found {}", self.text.found()))
                .with_help("the empty string is `\"\"`"));
        }
        Ok(RuleExpr::sequence(start, items))
    }

    fn repetition(&mut self) -> Result<Option<RuleExpr>> {
        let start = self.text.at;
        let digit = |text: &GrammarText<'_>| text.peek().is_some_and(|c| c.is_ascii_digit());
        let least = if digit(&self.text) { Some(self.text.bound()?) } else { None };
        if self.text.eat("#") {
            let greatest = if digit(&self.text) { Some(self.text.bound()?) } else { None };
            self.text.check_bounds(least.unwrap_or(0), greatest, start)?;
            let at = self.text.at;
            return match self.element()? {
                Some(item) => self.list(item, least.unwrap_or(0), greatest, at).map(Some),
                None => Err(nothing_to_repeat(&self.text, start)),
            };
        }
        let bounds = if self.text.eat("*") {
            let greatest = if digit(&self.text) { Some(self.text.bound()?) } else { None };
            Some((least.unwrap_or(0), greatest))
        } else {
            least.map(|times| (times, Some(times)))
        };
        if let Some((min, max)) = bounds {
            self.text.check_bounds(min, max, start)?;
        }
        match (self.element()?, bounds) {
            (Some(item), Some((min, max))) => Ok(Some(item.repeat(min, max))),
            (None, Some(_)) => Err(nothing_to_repeat(&self.text, start)),
            (item, None) => Ok(item),
        }
    }

    /// A list of HTTP: `min` to `max` times an item, which stands at byte `at`, with commas between.
    fn list(&mut self, item: RuleExpr, min: u32, max: Option<u32>, at: usize) -> Result<RuleExpr> {
        if max == Some(0) {
            return Ok(RuleTable::empty(at));
        }
        // A rule of its own, since it stands twice; no grammar can define a rule of this name.
        let name = format!("#{at}");
        self.rules.define(&self.text, &name, at, item)?;
        let [item, again] = [at, at].map(|at| self.rules.call(&name, at));
        let comma = self.rules.literal(at, ",");
        let [before, after] = [at, at].map(|at| self.rules.call("OWS", at));
        let more = RuleExpr::sequence(at, vec![before, comma, after, again]);
        let more = more.repeat(min.saturating_sub(1), max.map(|max| max - 1));
        let list = RuleExpr::sequence(at, vec![item, more]);
        Ok(if min == 0 { list.repeat(0, Some(1)) } else { list })
    }

    fn element(&mut self) -> Result<Option<RuleExpr>> {
        let start = self.text.at;
        match self.text.peek() {
            Some('"') => self.string(start, StringCase::Insensitive).map(Some),
            Some('%') => self.number().map(Some),
            Some('(') => self.group("(", ")").map(Some),
            Some('[') => Ok(Some(self.group("[", "]")?.repeat(0, Some(1)))),
            Some('<') => {
                let words = self.text.skip_enclosed("<", ">", "prose")?;
                if words.contains(['\n', '\r']) {
                    return Err(self
                        .text
                        .error(start, "the prose is not closed")
                        .with_help("end it with `>` on the same line"));
                }
                self.prose.push((words, start));
                Ok(Some(self.rules.call(&format!("<{words}>"), start)))
            }
            _ => match self.name() {
                Some(name) => Ok(Some(self.rules.call(&name, start))),
                None => Ok(None),
            },
        }
    }

    fn group(&mut self, open: &str, close: &str) -> Result<RuleExpr> {
        let start = self.text.at;
        self.text.enter(open)?;
        let item = self.alternatives()?;
        self.text.leave(close, start)?;
        Ok(item)
    }

    fn string(&mut self, start: usize, case: StringCase) -> Result<RuleExpr> {
        let text = self.text.skip_enclosed("\"", "\"", "string")?.to_owned();
        if let Some(bad) = text.chars().find(|c| !matches!(c, ' '..='~')) {
            return Err(self
                .text
                .error(start, format!("a string holds no {:?}", bad))
                .with_help("write characters beyond printable ASCII by number, such as %xE9"));
        }
        Ok(match case {
            StringCase::Insensitive => {
                self.rules.caseless_literal(start, &text, CaseFolding::Ascii)
            }
            StringCase::Sensitive => self.rules.literal(start, &text),
        })
    }

    /// `%x…`, `%d…`, `%b…`, and RFC 7405's `%s"…"` and `%i"…"`.
    fn number(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        self.text.at += 1;
        let base = match self.text.take().map(|c| c.to_ascii_lowercase()) {
            Some('s') if self.text.peek() == Some('"') => {
                return self.string(start, StringCase::Sensitive);
            }
            Some('i') if self.text.peek() == Some('"') => {
                return self.string(start, StringCase::Insensitive);
            }
            Some('x') => 16,
            Some('d') => 10,
            Some('b') => 2,
            _ => {
                return Err(self
                    .text
                    .error(start, "unknown kind of terminal")
                    .with_help("write %x41, %d65, %b1000001, %s\"text\" or %i\"text\""));
            }
        };
        let first = self.code(base)?;
        if self.text.eat("-") {
            let last = self.code(base)?;
            if last < first {
                return Err(self.text.error(start, "the range ends before it begins"));
            }
            return Ok(self.rules.class(start, &[(first, last)]));
        }
        let mut text = self.text.character(first, start)?.to_string();
        while self.text.eat(".") {
            let code = self.code(base)?;
            text.push(self.text.character(code, start)?);
        }
        Ok(self.rules.literal(start, &text))
    }

    fn code(&mut self, base: u32) -> Result<u32> {
        let start = self.text.at;
        let digits = self.text.take_while(|c| c.is_digit(base));
        u32::from_str_radix(digits, base).ok().filter(|&code| code <= MAX_CODE_POINT).ok_or_else(
            || {
                self.text
                    .error(start, format!("expected the number of a character in base {base}"))
                    .with_help("code points go up to %x10FFFF")
            },
        )
    }
}
