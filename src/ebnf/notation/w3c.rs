//! The EBNF of the W3C (XML 1.0, fifth edition, section 6 "Notation").
//!
//! `symbol ::= expression`; `#xN` and quoted strings, classes `[a-z]`, `[^<&]`, `[#x20-#x7E]`; `?`,
//! `*`, `+`, `|`, `A - B`, groups and `/* comments */`. As in the W3C's documents productions may
//! be numbered (`[14] CharData ::= …`) and carry `[wfc: …]` and `[vc: …]`, which are conditions
//! beyond the grammar and no part of it. The start is the first rule. A backslash is a character
//! like any other, also in a class.
//!
//! The section gives `A - B` no rank; it binds tighter than a sequence here, as all productions of
//! XML 1.0 read it.
//!
//! # What other documents of the W3C add
//!
//! - `@terminals`, or `<?TOKENS?>` of tools that extract the W3C's grammars: the rules below it are
//!   terminals. Without it those are terminals whose names are in capitals.
//! - `@pass expression` (also with `::=` after it): text that may stand before, between and after
//!   the terminals and strings of all other rules, as in SPARQL's and Turtle's grammars. A text is
//!   cut into terminals in every way, as everywhere here: `SELECTx` is `SELECT x` where no space is
//!   demanded.
//! - `/* ws: explicit */` after a rule (XPath, XQuery): nothing passes between the rule's own parts.
//! - A link in place of an expression, `[http://www.w3.org/TR/REC-xml/#NT-Char]`, is that production
//!   of XML or of Namespaces in XML (`Char`, `Name`, `NCName`, `QName`, `S` and others); another
//!   link is refused. The same names are these productions where a text uses one and does not define it.
//! - A name that the text does not define is an error only where the start reaches it.
//!
//! # What users add
//!
//! `# comments` (with a blank after the sign), `// comments`, `(* comments *)`, a `;` at the end of a rule, and
//! names in angle brackets, as in the first notation of its kind: `<digit> ::= "0" | "1"`.

use rustc_hash::FxHashSet;

use crate::ebnf::environment::Environment;
use crate::ebnf::expression::{RuleExpr, RuleExprKind};
use crate::ebnf::grammar_text::{GrammarText, MAX_CODE_POINT, MAX_REPEATS};
use crate::ebnf::rule_table::RuleTable;
use crate::error::Result;
use crate::grammar::Grammar;
use crate::regular::Dialect;

/// `NameStartChar` of XML without the colon, as ranges of a class.
macro_rules! name_start {
    () => {
        r"A-Z_a-z\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{2FF}\u{370}-\u{37D}\u{37F}-\u{1FFF}\u{200C}\u{200D}\u{2070}-\u{218F}\u{2C00}-\u{2FEF}\u{3001}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFFD}\u{10000}-\u{EFFFF}"
    };
}

/// The characters that `NameChar` of XML adds to `NameStartChar`, as ranges of a class.
macro_rules! key_rest {
    () => {
        r"\-.0-9\u{B7}\u{300}-\u{36F}\u{203F}\u{2040}"
    };
}

/// Parses a W3C grammar.
pub(super) fn parse(text: &str, environment: &dyn Environment) -> Result<Grammar> {
    let mut parser = W3cParser {
        text: GrammarText::new(text),
        rules: RuleTable::new("::=", environment).excerpt(),
        is_numbered: false,
        passes: text.lines().any(|line| line.trim_start().starts_with("@pass")),
        has_section: text
            .lines()
            .any(|line| SECTION.iter().any(|sign| line.trim_start().starts_with(sign))),
        in_section: false,
        terminals: FxHashSet::default(),
        references: Vec::new(),
    };
    let mut start = None;
    parser.skip_space()?;
    while parser.text.peek().is_some() {
        if parser.directive()? {
            continue;
        }
        parser.is_numbered |= start.is_none() && parser.text.peek() == Some('[');
        let name = parser.rule()?;
        start.get_or_insert(name);
    }
    parser.define_productions_of_xml()?;
    let start = match start {
        Some(first) if parser.passes => Some(parser.with_pass(&first)?),
        start => start,
    };
    match start {
        Some(start) if parser.passes => parser.rules.finish(&parser.text, &start),
        Some(first) => {
            let start = parser.rules.start_rule(&first);
            parser.rules.finish(&parser.text, start)
        }
        None => {
            Err(parser.text.error(0, "the grammar has no rule").with_help("a rule is `name ::= …`"))
        }
    }
}

/// The state of a parser.
struct W3cParser<'a> {
    text: GrammarText<'a>,
    rules: RuleTable<'a>,
    /// Whether the first rule has a number before it, as the W3C's have: then others may.
    is_numbered: bool,
    /// Whether the grammar has `@pass`.
    passes: bool,
    /// Whether the grammar has `@terminals`.
    has_section: bool,
    /// Whether `@terminals` was read.
    in_section: bool,
    /// Names of the rules below `@terminals`, and of those with explicit blanks.
    terminals: FxHashSet<String>,
    /// Names that rules call, with the byte offset of the first call: each call is of the rule of
    /// [`reference`], which is defined when all terminals are known. Empty without `@pass`.
    references: Vec<(String, usize)>,
}

/// The signs above the terminals: the W3C's, and the one of tools that extract its grammars.
const SECTION: [&str; 2] = ["@terminals", "<?TOKENS?>"];
/// The comment (in the W3C's XPath and XQuery) after a rule between whose parts nothing passes.
const EXPLICIT: &str = "ws: explicit";
/// The rule for text that passes; no grammar can define a rule of this name.
const PASS: &str = "@pass";
/// The rule for a text that passed text may begin; no grammar can define a rule of this name.
const START: &str = "@start";

/// The rule that calls of a name are of, in grammars with `@pass`.
fn reference(name: &str) -> String {
    format!("@{name}")
}

/// Productions that links lead to (XML 1.0, fifth edition, section 2, and Namespaces in XML 1.0,
/// section 4), as patterns.
const LINKED: [(&str, &str); 6] = [
    ("Char", r"[\t\n\r\x20-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]"),
    ("S", r"[\x20\t\r\n]+"),
    ("Name", concat!("[:", name_start!(), "][:", name_start!(), key_rest!(), "]*")),
    ("NCName", concat!("[", name_start!(), "][", name_start!(), key_rest!(), "]*")),
    (
        "QName",
        concat!(
            "(?:[",
            name_start!(),
            "][",
            name_start!(),
            key_rest!(),
            "]*:)?",
            "[",
            name_start!(),
            "][",
            name_start!(),
            key_rest!(),
            "]*"
        ),
    ),
    ("Nmtoken", concat!("[:", name_start!(), key_rest!(), "]+")),
];

impl W3cParser<'_> {
    /// Skips blanks, comments, and conditions on productions.
    fn skip_space(&mut self) -> Result<()> {
        loop {
            self.text.take_while(char::is_whitespace);
            if self.text.starts_with("/*") {
                self.text.skip_enclosed("/*", "*/", "comment")?;
            } else if self.text.starts_with("(*") {
                self.text.skip_enclosed("(*", "*)", "comment")?;
            } else if self.text.starts_with("//") || self.is_comment() {
                self.text.skip_line();
            } else if self.is_condition() {
                self.text.skip_enclosed("[", "]", "condition")?;
            } else {
                return Ok(());
            }
        }
    }

    /// Whether a condition on a production begins here, as XML, Namespaces in XML and XQuery write them:
    /// `[wfc: …]`, also with blanks after the bracket.
    fn is_condition(&self) -> bool {
        let inside = self.text.rest().strip_prefix('[').map(str::trim_start);
        inside.is_some_and(|inside| {
            ["wfc:", "vc:", "nsc:", "xgc:"].iter().any(|mark| {
                inside.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark))
            })
        })
    }

    /// Whether a comment of one line begins here with `#`: neither a character `#xN`, nor what other notations
    /// write so, such as patterns `#'[0-9]+'`.
    fn is_comment(&self) -> bool {
        let after = self.text.rest().strip_prefix('#');
        let is_other = |c: char| c.is_alphanumeric() || "'\"[".contains(c);
        after.is_some_and(|after| !after.starts_with(is_other))
    }

    /// Reads `@terminals` or `@pass` with its expression, if one comes next; whether one did.
    fn directive(&mut self) -> Result<bool> {
        let start = self.text.at;
        if SECTION.iter().any(|sign| self.text.eat(sign)) {
            self.in_section = true;
            self.skip_space()?;
            return Ok(true);
        }
        if !self.text.eat("@pass") {
            return Ok(false);
        }
        self.text.eat(":");
        self.skip_space()?;
        self.text.eat("::=");
        // Within it nothing passes.
        let outer = std::mem::replace(&mut self.passes, false);
        let body = self.alternatives()?.repeat(0, None);
        self.passes = outer;
        self.text.eat(";");
        self.skip_space()?;
        self.rules.define(&self.text, PASS, start, body)?;
        Ok(true)
    }

    /// Defines productions of XML that the text uses and does not define, as XPath 1.0's does.
    fn define_productions_of_xml(&mut self) -> Result<()> {
        for (name, pattern) in LINKED {
            let used =
                [name.to_owned(), reference(name)].iter().any(|name| self.rules.is_known(name));
            if used && !self.rules.is_defined(name) {
                let body = self.rules.pattern(&self.text, 0, pattern, Dialect::Rust)?;
                self.rules.define(&self.text, name, 0, body)?;
                self.terminals.insert(name.to_owned());
            }
        }
        Ok(())
    }

    /// Whether a rule is a terminal, by its name.
    fn is_terminal(&self, name: &str) -> bool {
        self.terminals.contains(name) || !self.has_section && !name.contains(char::is_lowercase)
    }

    /// Lets text pass after terminals, and before the whole text; the start rule.
    fn with_pass(&mut self, first: &str) -> Result<String> {
        let start = self.rules.start_rule(first).to_owned();
        let at = self.text.at;
        let begin = self.refer(&start, 0);
        for (name, at) in std::mem::take(&mut self.references) {
            let mut body = self.rules.call(&name, at);
            if self.is_terminal(&name) {
                body = RuleExpr::sequence(at, vec![body, self.rules.call(PASS, at)]);
            }
            self.rules.define(&self.text, &reference(&name), at, body)?;
        }
        let body = RuleExpr::sequence(at, vec![self.rules.call(PASS, at), begin]);
        self.rules.define(&self.text, START, at, body)?;
        Ok(START.to_owned())
    }

    /// A call of a rule from another.
    fn refer(&mut self, name: &str, at: usize) -> RuleExpr {
        if !self.passes {
            return self.rules.call(name, at);
        }
        let reference = reference(name);
        if !self.rules.is_known(&reference) {
            self.references.push((name.to_owned(), at));
        }
        self.rules.call(&reference, at)
    }

    /// A string or class of a rule: in one that is no terminal text may pass after it.
    fn literal(&mut self, item: RuleExpr) -> RuleExpr {
        if !self.passes {
            return item;
        }
        let at = item.at;
        RuleExpr::sequence(at, vec![item, self.rules.call(PASS, at)])
    }

    /// Reads a name, perhaps in angle brackets, if one comes next.
    fn name(&mut self) -> Option<String> {
        if self.text.peek() == Some('<') {
            if SECTION.iter().any(|sign| self.text.starts_with(sign)) {
                return None;
            }
            let rest = self.text.rest();
            let line = rest.lines().next().unwrap_or_default();
            let (name, _) = line[1..].split_once('>')?;
            let is_name = !name.is_empty() && !name.contains(['<', '"', '\'']);
            return is_name.then(|| {
                self.text.at += name.len() + 2;
                name.trim().to_owned()
            });
        }
        if !self.text.peek().is_some_and(|c| c.is_alphabetic() || c == '_') {
            return None;
        }
        let start = self.text.at;
        let name = self.text.take_while(|c| c.is_alphanumeric() || "_-.:".contains(c));
        // A colon may be part of a name, but `::=` is not, nor is `-` before a blank.
        let name = name.trim_end_matches([':', '-']);
        self.text.at = start + name.len();
        Some(name.to_owned())
    }

    /// Reads the left-hand side of a rule, if one begins here: a name and `::=`, perhaps numbered.
    /// The name and its byte offset.
    fn head(&mut self) -> Result<Option<(String, usize)>> {
        let before = self.text.at;
        if self.text.peek() == Some('[') {
            let rest = self.text.rest();
            let number = rest.find(']').map(|end| &rest[1..end]);
            // A rule of an appendix or a later version has a letter or primes: `[12a]`, `[66']`. What does not begin a
            // line, or has no digit, is a class at the end of the rule before.
            let line = self.text.between(0, before).rsplit('\n').next().unwrap_or_default();
            let begins_line = line.trim().is_empty();
            let is_number = |number: &str| {
                let plain = number.trim_end_matches('\'');
                self.is_numbered
                    && begins_line
                    && plain.contains(|c: char| c.is_ascii_digit())
                    && plain.chars().all(|c| c.is_ascii_alphanumeric() || ".: ".contains(c))
            };
            match number {
                Some(number) if is_number(number) => {
                    self.text.at += number.len() + 2;
                    self.skip_space()?;
                }
                _ => return Ok(None),
            }
        }
        let start = self.text.at;
        let name = self.name();
        if let Some(name) = name {
            self.skip_space()?;
            if self.text.eat("::=") {
                return Ok(Some((name, start)));
            }
        }
        self.text.at = before;
        Ok(None)
    }

    fn rule(&mut self) -> Result<String> {
        let at = self.text.at;
        let Some((name, start)) = self.head()? else {
            let found = self.text.found();
            return Err(self
                .text
                .error(at, format!("expected a rule, found {found}"))
                .with_help("a rule is `name ::= …`"));
        };
        self.rules.id(&name, start);
        if self.in_section {
            self.terminals.insert(name.clone());
        }
        if self.has_explicit_space() {
            self.terminals.insert(name.clone());
        }
        let outer = self.passes;
        self.passes &= !self.is_terminal(&name);
        let body = match self.link(&name)? {
            Some(body) => body,
            None => self.alternatives()?,
        };
        self.passes = outer;
        self.rules.define(&self.text, &name, start, body)?;
        self.text.eat(";");
        self.skip_space()?;
        Ok(name)
    }

    /// Whether the comment that nothing passes stands before the next rule.
    fn has_explicit_space(&self) -> bool {
        let rest = self.text.rest();
        let quotes = ['"', '\''];
        let mut signs = rest.match_indices("::=").map(|(at, _)| at);
        let next = signs.find(|&at| !rest[..at].ends_with(quotes)).unwrap_or(rest.len());
        let mut comments = rest[..next].match_indices("/*").map(|(at, _)| &rest[at + 2..]);
        comments.any(|comment| comment.trim_start().starts_with(EXPLICIT))
    }

    /// Reads a link in place of an expression, and the marks after it, if one comes next.
    fn link(&mut self, name: &str) -> Result<Option<RuleExpr>> {
        self.skip_space()?;
        let start = self.text.at;
        if !self.text.starts_with("[http") {
            return Ok(None);
        }
        let link = self.text.skip_enclosed("[", "]", "link")?;
        self.text.take_while(|c| !c.is_whitespace());
        self.skip_space()?;
        let target = link.rsplit_once("#NT-").map_or(link, |(_, target)| target);
        let Some((_, pattern)) = LINKED.into_iter().find(|(known, _)| *known == target) else {
            let message = format!("`{name}` is defined elsewhere, at {link}");
            return Err(self
                .text
                .error(start, message)
                .with_help("write that production in place of the link"));
        };
        self.rules.pattern(&self.text, start, pattern, Dialect::Rust).map(Some)
    }

    fn alternatives(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            items.push(self.sequence()?);
            if !self.text.eat("|") {
                return Ok(RuleExpr::choice(start, items));
            }
        }
    }

    fn sequence(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let mut items = Vec::new();
        loop {
            self.skip_space()?;
            let before = self.text.at;
            if SECTION.iter().chain(&["@pass"]).any(|sign| self.text.starts_with(sign)) {
                break;
            }
            if self.head()?.is_some() {
                self.text.at = before;
                break;
            }
            let Some(mut item) = self.repeated()? else { break };
            // `a - b - c` is `a - (b | c)`: one difference, however many are taken away.
            let mut removed = Vec::new();
            while self.text.eat("-") {
                let at = self.text.at;
                if self.passes {
                    let message = "`-` stands in a rule in which text may pass";
                    return Err(self
                        .text
                        .error(at - 1, message)
                        .with_help("give the difference a rule of its own below `@terminals`"));
                }
                self.skip_space()?;
                let Some(other) = self.repeated()? else {
                    return Err(self.text.error(at, "expected what is taken away after `-`"));
                };
                removed.push(other);
            }
            if let Some(first) = removed.first() {
                let other = Box::new(RuleExpr::choice(first.at, removed));
                item = RuleExpr::new(item.at, RuleExprKind::Except(Box::new(item), other));
            }
            items.push(item);
        }
        Ok(RuleExpr::sequence(start, items))
    }

    fn repeated(&mut self) -> Result<Option<RuleExpr>> {
        let Some(mut item) = self.primary()? else { return Ok(None) };
        let mut repeats = 0;
        loop {
            self.skip_space()?;
            let (min, max) = match self.text.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                _ => return Ok(Some(item)),
            };
            repeats += 1;
            if repeats > MAX_REPEATS {
                let message = format!("more than {MAX_REPEATS} repeat signs after one item");
                return Err(self
                    .text
                    .error(self.text.at, message)
                    .with_help("one of `*`, `+` and `?` is enough"));
            }
            self.text.at += 1;
            item = item.repeat(min, max);
        }
    }

    fn primary(&mut self) -> Result<Option<RuleExpr>> {
        let start = self.text.at;
        match self.text.peek() {
            Some(quote @ ('"' | '\'')) => {
                let text = self.text.quoted(quote)?;
                let item = self.rules.literal(start, text);
                Ok(Some(self.literal(item)))
            }
            Some('#') => {
                let code = code(&mut self.text)?;
                let c = self.text.character(code, start)?;
                let item = self.rules.literal(start, c.encode_utf8(&mut [0; 4]));
                Ok(Some(self.literal(item)))
            }
            Some('[') => self.class().map(Some),
            Some('(') => {
                self.text.enter("(")?;
                let item = self.alternatives()?;
                self.text.leave(")", start)?;
                Ok(Some(item))
            }
            Some('*' | '+' | '?') => Err(self
                .text
                .error(start, "nothing to repeat")
                .with_help("put a string, class, symbol or group before it")),
            Some('-') => Err(self.text.error(start, "`-` needs an expression before it")),
            None | Some('|' | ')' | ';') => Ok(None),
            Some('{') => Err(self
                .text
                .error(start, "`{` has no meaning in this notation")
                .with_help("write a repeat as `(…)*`, an option as `(…)?`")),
            Some(_) => match self.name() {
                Some(name) => Ok(Some(self.refer(&name, start))),
                None => Err(self
                    .text
                    .error(start, format!("unexpected {}", self.text.found()))
                    .with_help("strings stand in quotes, characters are `#xN`")),
            },
        }
    }

    fn class(&mut self) -> Result<RuleExpr> {
        let start = self.text.at;
        let inner = self.text.rest().split(']').next().unwrap_or_default()[1..].trim();
        let name = inner.strip_prefix('<').and_then(|inner| inner.strip_suffix('>'));
        let is_name = |name: &str| {
            name.starts_with(char::is_alphabetic)
                && name.chars().all(|c| c.is_alphanumeric() || " _-".contains(c))
        };
        if name.is_some_and(is_name) {
            return Err(self
                .text
                .error(start, "brackets hold the characters of a class, not an option")
                .with_help(format!("write an option as `{inner}?`, a part of several as `(…)?`")));
        }
        let ranges = self.text.class(class_character)?;
        let item = self.rules.class(start, &ranges);
        Ok(self.literal(item))
    }
}

fn class_character(text: &mut GrammarText<'_>) -> Result<u32> {
    let rest = text.rest();
    let numbered =
        rest.strip_prefix("#x").is_some_and(|r| r.starts_with(|c: char| c.is_ascii_hexdigit()));
    if numbered {
        return code(text);
    }
    // The caller has seen that there is one.
    Ok(text.take().unwrap_or_default().into())
}

/// `#xN`, a code point in hexadecimal.
fn code(text: &mut GrammarText<'_>) -> Result<u32> {
    let start = text.at;
    text.at += 1;
    if !text.eat("x") {
        return Err(text.error(start, "expected `#xN`, a character by its number"));
    }
    let digits = text.take_while(|c| c.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|&code| code <= MAX_CODE_POINT).ok_or_else(|| {
        text.error(start, "no such character")
            .with_help("write its code point in hexadecimal, such as `#x20`")
    })
}
