//! The syntax of Lark's grammars.

use serde_json::Value;

use super::ast::{Definition, Expr, ExprKind, File, Import, Options, is_terminal};
use crate::ebnf::text::{NESTING, Text};
use crate::ebnf::tokens;
use crate::error::Result;

pub(super) struct Parser<'a> {
    pub(super) text: Text<'a>,
}

/// Skips blanks and comments, and line breaks where they mean nothing.
pub(super) fn space(text: &mut Text<'_>, lines: bool) {
    while let Some(c) = text.peek() {
        match c {
            ' ' | '\t' | '\u{c}' => text.at += 1,
            '#' => text.skip_line(),
            '/' if text.starts_with("//") => text.skip_line(),
            '\n' | '\r' if lines => text.at += 1,
            _ => return,
        }
    }
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: Text<'a>) -> Self {
        Self { text }
    }

    pub(super) fn file(&mut self) -> Result<File> {
        let mut file = File::default();
        space(&mut self.text, true);
        while self.text.peek().is_some() {
            if self.text.peek() == Some('%') {
                self.statement(&mut file)?;
            } else {
                let definition = self.definition()?;
                file.definitions.push(definition);
            }
            space(&mut self.text, false);
            if !matches!(self.text.peek(), None | Some('\n' | '\r')) {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("unexpected {found}"))
                    .with_help(
                        "a rule ends at the line's end, alternatives are separated by `|`",
                    ));
            }
            space(&mut self.text, true);
        }
        Ok(file)
    }

    pub(super) fn word(&mut self) -> &'a str {
        self.text.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-')
    }

    fn statement(&mut self, file: &mut File) -> Result<()> {
        let start = self.text.at;
        self.text.at += 1;
        let name = self.word();
        space(&mut self.text, false);
        match name {
            "ignore" => {
                let ignored = self.choice()?;
                file.ignored.push(ignored);
                Ok(())
            }
            "import" => self.import(start, file),
            // XGrammar has it by the second name.
            "llguidance" | "grammar_options" => self.options(start, &mut file.options),
            "declare" | "override" | "extend" => Err(self
                .text
                .error(start, format!("`%{name}` has no meaning without a lexer of one's own"))
                .with_help("define the terminal in this grammar")),
            _ => Err(self
                .text
                .error(start, format!("unknown statement `%{name}`"))
                .with_help("known are %import, %ignore and %llguidance")),
        }
    }

    /// `common.NAME`, `common.NAME -> ALIAS` or `common (A, B)`.
    fn import(&mut self, start: usize, file: &mut File) -> Result<()> {
        let path_at = self.text.at;
        let path = self.text.take_while(|c| c.is_alphanumeric() || "_.".contains(c));
        let (library, one) = match path.split_once('.') {
            Some((library, name)) => (library, Some(name)),
            None => (path, None),
        };
        if library != "common" {
            return Err(self
                .text
                .error(path_at, format!("there is no library `{path}`"))
                .with_help("import from `common`, or copy the rules into this grammar"));
        }
        if let Some(name) = one {
            space(&mut self.text, false);
            let mut alias = name.to_owned();
            if self.text.eat("->") {
                space(&mut self.text, false);
                alias = self.word().to_owned();
            }
            file.imports.push(Import { at: path_at, name: name.to_owned(), alias });
            return Ok(());
        }
        space(&mut self.text, false);
        if !self.text.eat("(") {
            return Err(self
                .text
                .error(start, "expected what is imported")
                .with_help("write `%import common.INT` or `%import common (INT, WS)`"));
        }
        loop {
            space(&mut self.text, true);
            let at = self.text.at;
            let name = self.word().to_owned();
            file.imports.push(Import { at, alias: name.clone(), name });
            space(&mut self.text, true);
            if self.text.eat(")") {
                return Ok(());
            }
            if !self.text.eat(",") {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("expected `,` or `)`, found {found}")));
            }
        }
    }

    /// `%llguidance {…}`: what it sets about speed means nothing here.
    fn options(&mut self, start: usize, options: &mut Options) -> Result<()> {
        let value: Value = serde_json::from_str(self.braces()?)
            .map_err(|error| self.text.error(start, format!("the options are no JSON: {error}")))?;
        for (key, value) in value.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("no_forcing", _) => {}
                ("allow_initial_skip", Value::Bool(skips)) => options.begins_with_text = !skips,
                ("skip_repetition", Value::String(times)) if times == "once" => {
                    options.ignored_once = true;
                }
                ("skip_repetition", Value::String(times)) if times == "repeat" => {
                    options.ignored_once = false;
                }
                ("allow_invalid_utf8", Value::Bool(false)) => {}
                _ => {
                    let message = format!("the option `{key}` is not supported with {value}");
                    return Err(self.text.error(start, message).with_help("leave it out"));
                }
            }
        }
        Ok(())
    }

    fn definition(&mut self) -> Result<Definition> {
        let at = self.text.at;
        self.text.take_while(|c| c == '?' || c == '!');
        let name = self.word().to_owned();
        let good = name.trim_start_matches('_').starts_with(|c: char| c.is_alphabetic());
        if !good {
            self.text.at = at;
            let found = self.text.found();
            return Err(self
                .text
                .error(at, format!("expected a rule or terminal, found {found}"))
                .with_help("a rule is `name: …`, a terminal `NAME: …`"));
        }
        let mut definition = Definition {
            at,
            name,
            parameters: Vec::new(),
            parametric: false,
            lazy: false,
            suffix: None,
            body: Expr { at, kind: ExprKind::Sequence(Vec::new()) },
        };
        if self.text.eat("::") {
            if self.word() != "_" {
                return Err(self
                    .text
                    .error(at, format!("the parameter of `{}` has no name", definition.name))
                    .with_help(format!("define the rule as `{}::_: …`", definition.name)));
            }
            definition.parametric = true;
        }
        if self.text.eat("{") {
            definition.parameters = self.parameters()?;
        }
        if self.text.eat("[") {
            self.attributes(&mut definition)?;
        }
        if self.text.eat(".") {
            self.text.eat("-");
            let digits = self.text.take_while(|c| c.is_ascii_digit());
            if digits.is_empty() {
                return Err(self
                    .text
                    .error(self.text.at, "expected a priority after `.`")
                    .with_help("write a whole number, such as `NAME.2: …`"));
            }
        }
        space(&mut self.text, false);
        if !self.text.eat(":") {
            let (name, found) = (&definition.name, self.text.found());
            return Err(self
                .text
                .error(self.text.at, format!("expected `:` after `{name}`, found {found}")));
        }
        space(&mut self.text, false);
        if !self.is_empty_rule() {
            space(&mut self.text, true);
            definition.body = self.choice()?;
        }
        Ok(definition)
    }

    /// Whether nothing stands behind the colon of a rule, here: the line ends, and the next one
    /// begins another rule or statement, or there is none.
    fn is_empty_rule(&mut self) -> bool {
        let before = self.text.at;
        if !matches!(self.text.peek(), None | Some('\n' | '\r')) {
            return false;
        }
        space(&mut self.text, true);
        let is_empty = match self.text.peek() {
            None | Some('%') => {
                !["%json", "%regex", "%lark"].iter().any(|word| self.text.starts_with(word))
            }
            _ => self.begins_definition(),
        };
        self.text.at = before;
        is_empty
    }

    /// Whether a rule or terminal is defined here.
    fn begins_definition(&mut self) -> bool {
        let before = self.text.at;
        self.text.take_while(|c| c == '?' || c == '!');
        let mut is_head = !self.word().is_empty();
        if self.text.eat("::") {
            is_head &= self.word() == "_";
        }
        for (open, close) in [("{", '}'), ("[", ']')] {
            if self.text.eat(open) {
                self.text.take_while(|c| c != close && c != '\n');
                self.text.take();
            }
        }
        if self.text.eat(".") {
            self.text.eat("-");
            self.text.take_while(|c| c.is_ascii_digit());
        }
        space(&mut self.text, false);
        is_head &= self.text.starts_with(":") && !self.text.starts_with("::");
        self.text.at = before;
        is_head
    }

    fn parameters(&mut self) -> Result<Vec<String>> {
        let mut parameters = Vec::new();
        loop {
            space(&mut self.text, true);
            let at = self.text.at;
            let name = self.word();
            if name.is_empty() {
                return Err(self.text.error(at, "expected the name of a parameter"));
            }
            parameters.push(name.to_owned());
            space(&mut self.text, true);
            if self.text.eat("}") {
                return Ok(parameters);
            }
            if !self.text.eat(",") {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("expected `,` or `}}`, found {found}")));
            }
        }
    }

    /// `[capture, lazy, suffix="…"]` behind the name of a rule.
    fn attributes(&mut self, definition: &mut Definition) -> Result<()> {
        loop {
            space(&mut self.text, true);
            let at = self.text.at;
            let key = self.word();
            space(&mut self.text, true);
            let value = if self.text.eat("=") {
                space(&mut self.text, true);
                Some(self.attribute()?)
            } else {
                None
            };
            match (key, value) {
                ("capture", _) => {}
                ("lazy", None) => definition.lazy = true,
                ("suffix", Some(Some(suffix))) => {
                    definition.lazy = true;
                    definition.suffix = Some(suffix);
                }
                ("stop" | "stop_capture", _) => {
                    return Err(self
                        .text
                        .error(at, format!("`{key}` takes text back after it was written"))
                        .with_help("use `suffix`, or `lazy`"));
                }
                ("max_tokens" | "temperature", _) => {
                    return Err(self
                        .text
                        .error(at, format!("`{key}` is no matter of the language"))
                        .with_help("set it in the request"));
                }
                ("max_chars", _) => {
                    return Err(self
                        .text
                        .error(at, "`max_chars` gives way where the text cannot end there")
                        .with_help("bound the text itself, as in `/(?s:.){0,100}/`"));
                }
                _ => {
                    return Err(self
                        .text
                        .error(at, format!("unknown attribute `{key}`"))
                        .with_help("known are capture, lazy and suffix=\"…\""));
                }
            }
            space(&mut self.text, true);
            if self.text.eat("]") {
                return Ok(());
            }
            if !self.text.eat(",") {
                let found = self.text.found();
                return Err(self
                    .text
                    .error(self.text.at, format!("expected `,` or `]`, found {found}")));
            }
        }
    }

    /// The value of an attribute, if it is a terminal.
    fn attribute(&mut self) -> Result<Option<Expr>> {
        if self.text.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.text.take_while(|c| c.is_ascii_digit() || c == '.');
            return Ok(None);
        }
        self.atom()
    }

    fn choice(&mut self) -> Result<Expr> {
        let at = self.text.at;
        let mut ways = Vec::new();
        loop {
            let way_at = self.text.at;
            let mut way = self.conjunction()?;
            self.alias()?;
            if self.text.eat("%if") {
                let condition = self.condition()?;
                way = Expr { at: way_at, kind: ExprKind::If(Box::new(way), condition) };
                self.alias()?;
            }
            ways.push(way);
            if !self.text.eat("|") {
                return Ok(Expr { at, kind: one_or(ways, ExprKind::Choice) });
            }
        }
    }

    /// `-> name`, which names a branch of the parse.
    fn alias(&mut self) -> Result<()> {
        self.text.inner_space(space);
        if self.text.eat("->") {
            space(&mut self.text, false);
            let at = self.text.at;
            if self.word().is_empty() {
                return Err(self.text.error(at, "expected a name after `->`"));
            }
            self.text.inner_space(space);
        }
        Ok(())
    }

    fn conjunction(&mut self) -> Result<Expr> {
        let at = self.text.at;
        let mut parts = Vec::new();
        loop {
            parts.push(self.sequence()?);
            if !self.text.eat("&") {
                return Ok(Expr { at, kind: one_or(parts, ExprKind::And) });
            }
            space(&mut self.text, true);
        }
    }

    fn sequence(&mut self) -> Result<Expr> {
        let at = self.text.at;
        let mut parts = Vec::new();
        loop {
            self.text.inner_space(space);
            match self.repeated()? {
                Some(part) => parts.push(part),
                None => return Ok(Expr { at, kind: one_or(parts, ExprKind::Sequence) }),
            }
        }
    }

    fn repeated(&mut self) -> Result<Option<Expr>> {
        let Some(mut expr) = self.atom()? else { return Ok(None) };
        for repeats in 0.. {
            space(&mut self.text, false);
            if repeats == NESTING {
                let message = format!("more than {NESTING} repeats of one item");
                return Err(self.text.error(self.text.at, message).with_help("one is enough"));
            }
            let start = self.text.at;
            let (min, max) = if self.text.eat("*") {
                (0, None)
            } else if self.text.eat("+") {
                (1, None)
            } else if self.text.eat("?") {
                (0, Some(1))
            } else if self.text.starts_with("{") {
                self.text.at += 1;
                self.count_in_braces()?
            } else if let Some(count) = self.tilde()? {
                count
            } else {
                return Ok(Some(expr));
            };
            self.text.in_order(min, max, start)?;
            expr = Expr { at: expr.at, kind: ExprKind::Repeat(Box::new(expr), min, max) };
        }
        Ok(Some(expr))
    }

    fn count_in_braces(&mut self) -> Result<(u32, Option<u32>)> {
        space(&mut self.text, true);
        let digit = |text: &Text<'_>| text.peek().is_some_and(|c| c.is_ascii_digit());
        let min = if digit(&self.text) { Some(self.text.bound()?) } else { None };
        space(&mut self.text, true);
        let count = if self.text.eat(",") {
            space(&mut self.text, true);
            let max = if digit(&self.text) { Some(self.text.bound()?) } else { None };
            (min.is_some() || max.is_some()).then_some((min.unwrap_or(0), max))
        } else {
            min.map(|min| (min, Some(min)))
        };
        space(&mut self.text, true);
        match count {
            Some(count) if self.text.eat("}") => Ok(count),
            _ => Err(self
                .text
                .error(self.text.at, "expected the bounds of a repeat")
                .with_help("write `{2}`, `{2,}`, `{,5}` or `{2,5}`")),
        }
    }

    /// `~n` or `~n..m`; a `~` before anything else is a negation, which is not read here.
    fn tilde(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let before = self.text.at;
        if !self.text.eat("~") {
            return Ok(None);
        }
        space(&mut self.text, false);
        if !self.text.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.text.at = before;
            return Ok(None);
        }
        let min = self.text.bound()?;
        space(&mut self.text, false);
        if !self.text.eat("..") {
            return Ok(Some((min, Some(min))));
        }
        space(&mut self.text, false);
        Ok(Some((min, Some(self.text.bound()?))))
    }

    fn atom(&mut self) -> Result<Option<Expr>> {
        let at = self.text.at;
        let expr = |kind| Ok(Some(Expr { at, kind }));
        match self.text.peek() {
            Some('"') => {
                let text = self.string()?;
                let end_of_text = self.text.at;
                space(&mut self.text, false);
                if self.text.starts_with("..") {
                    self.text.at += 2;
                    space(&mut self.text, false);
                    let end = self.text.at;
                    if self.text.peek() != Some('"') {
                        return Err(self
                            .text
                            .error(end, "expected the end of the range in quotes"));
                    }
                    let last = self.string()?;
                    return match (single(&text), single(&last)) {
                        (Some(first), Some(last)) if first <= last => {
                            expr(ExprKind::Range(first, last))
                        }
                        (Some(_), Some(_)) => {
                            Err(self.text.error(at, "the range ends before it begins"))
                        }
                        _ => Err(self
                            .text
                            .error(at, "the ends of a range are single characters")
                            .with_help("write `\"a\"..\"z\"`")),
                    };
                }
                self.text.at = end_of_text;
                let caseless = self.text.eat("i");
                expr(ExprKind::Text { text, caseless })
            }
            Some('/') => {
                let pattern = self.pattern()?;
                expr(ExprKind::Pattern(pattern))
            }
            Some('<') => {
                let inner = tokens::enclosed(&mut self.text)?.to_owned();
                expr(ExprKind::Special(inner))
            }
            Some('(') => {
                self.text.enter("(")?;
                space(&mut self.text, true);
                let inner = self.choice()?;
                self.text.leave(")", at)?;
                expr(inner.kind)
            }
            Some('[') => {
                self.text.enter("[")?;
                space(&mut self.text, true);
                let inner = self.choice()?;
                self.text.leave("]", at)?;
                expr(ExprKind::Repeat(Box::new(inner), 0, Some(1)))
            }
            Some('~') => {
                self.text.enter("~")?;
                space(&mut self.text, true);
                let Some(inner) = self.atom()? else {
                    return Err(self.text.error(at, "expected a terminal after `~`"));
                };
                // A `~` has no closing sign.
                self.text.leave("", at)?;
                expr(ExprKind::Not(Box::new(inner)))
            }
            Some('@') => {
                self.text.at += 1;
                let name = self.word().to_owned();
                if name.is_empty() {
                    return Err(self.text.error(at, "expected the name of a grammar after `@`"));
                }
                expr(ExprKind::Grammar(name))
            }
            Some('%') if self.text.starts_with("%if") => Ok(None),
            Some('%') => {
                self.text.at += 1;
                let name = self.word();
                space(&mut self.text, true);
                match name {
                    "json" => expr(ExprKind::Json(self.braces()?.to_owned())),
                    "regex" => expr(ExprKind::Regex(self.braces()?.to_owned())),
                    "lark" => {
                        let inner = self.braces()?;
                        expr(ExprKind::Lark(inner[1..inner.len() - 1].to_owned()))
                    }
                    _ => Err(self
                        .text
                        .error(at, format!("unexpected `%{name}`"))
                        .with_help("within a rule stand %json {…}, %regex {…} and %lark {…}")),
                }
            }
            Some('*' | '+' | '?' | '{') => Err(self
                .text
                .error(at, "nothing to repeat")
                .with_help("put a string, pattern, name or group before it")),
            Some(c) if c.is_alphabetic() || c == '_' || c == '!' => self.name(at),
            _ => Ok(None),
        }
    }

    fn name(&mut self, at: usize) -> Result<Option<Expr>> {
        self.text.eat("!");
        let name = self.word().to_owned();
        if name.is_empty() {
            return Err(self.text.error(at, "expected a name"));
        }
        if self.text.eat("::") {
            let function = self.function()?;
            return Ok(Some(Expr { at, kind: ExprKind::Parametric(name, function) }));
        }
        // A brace right behind a rule's name holds the arguments of a template, unless a number
        // or comma says that it counts.
        let rest = self.text.rest();
        let counts = rest.starts_with('{')
            && rest[1..].trim_start().starts_with(|c: char| c.is_ascii_digit() || c == ',');
        if is_terminal(&name) || !rest.starts_with('{') || counts {
            return Ok(Some(Expr { at, kind: ExprKind::Name(name) }));
        }
        self.text.enter("{")?;
        let mut arguments = Vec::new();
        loop {
            space(&mut self.text, true);
            arguments.push(self.choice()?);
            if !self.text.eat(",") {
                break;
            }
        }
        self.text.leave("}", at)?;
        Ok(Some(Expr { at, kind: ExprKind::Template(name, arguments) }))
    }

    fn string(&mut self) -> Result<String> {
        let start = self.text.at;
        self.text.at += 1;
        let mut text = String::new();
        loop {
            let at = self.text.at;
            match self.text.take() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(at)?),
                Some('\n') | None => {
                    return Err(self
                        .text
                        .error(start, "the string is not closed")
                        .with_help("end it with `\"`, write a literal one as `\\\"`"));
                }
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, start: usize) -> Result<char> {
        let code = match self.text.take() {
            Some('n') => return Ok('\n'),
            Some('t') => return Ok('\t'),
            Some('r') => return Ok('\r'),
            Some('f') => return Ok('\u{c}'),
            Some('v') => return Ok('\u{b}'),
            Some('b') => return Ok('\u{8}'),
            Some('0') => return Ok('\0'),
            Some('x') => self.text.hex(2, start)?,
            Some('u') => self.text.hex(4, start)?,
            Some('U') => self.text.hex(8, start)?,
            Some(c) if c.is_ascii_punctuation() => return Ok(c),
            other => {
                let other = other.map_or("the end".into(), |c| format!("`\\{c}`"));
                return Err(self
                    .text
                    .error(start, format!("unknown escape {other}"))
                    .with_help(r#"known are \n \t \r \f \v \b \0 \\ \" \xNN \uNNNN \UNNNNNNNN"#));
            }
        };
        self.text.character(code, start)
    }

    /// `/…/flags`, as a pattern with its flags in it.
    fn pattern(&mut self) -> Result<String> {
        let start = self.text.at;
        self.text.at += 1;
        let mut escaped = false;
        loop {
            match self.text.take() {
                None | Some('\n') => {
                    return Err(self
                        .text
                        .error(start, "the pattern is not closed")
                        .with_help("end it with `/`, write a literal one as `\\/`"));
                }
                Some(_) if escaped => escaped = false,
                Some('\\') => escaped = true,
                // The first bare slash ends a pattern, in a class or not.
                Some('/') => break,
                Some(_) => {}
            }
        }
        let body = self.text.between(start + 1, self.text.at - 1).to_owned();
        let at = self.text.at;
        let flags = self.text.take_while(|c| c.is_ascii_lowercase());
        if let Some(bad) = flags.chars().find(|c| !"imsux".contains(*c)) {
            return Err(self
                .text
                .error(at, format!("the flag `{bad}` is not supported"))
                .with_help("known are i, m, s, u and x"));
        }
        // Unicode is the default.
        let flags: String = flags.chars().filter(|&c| c != 'u').collect();
        Ok(if flags.is_empty() { body } else { format!("(?{flags}:{body})") })
    }

    /// A text in braces, with them; braces within strings do not count.
    fn braces(&mut self) -> Result<&'a str> {
        let start = self.text.at;
        if self.text.peek() != Some('{') {
            let found = self.text.found();
            return Err(self.text.error(start, format!("expected `{{`, found {found}")));
        }
        let (mut depth, mut in_string) = (0usize, false);
        loop {
            match self.text.take() {
                None => {
                    return Err(self
                        .text
                        .error(start, "the braces are not closed")
                        .with_help("end them with `}`"));
                }
                Some('\\') if in_string => {
                    self.text.take();
                }
                Some('"') => in_string = !in_string,
                Some('{') if !in_string => depth += 1,
                Some('}') if !in_string => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(self.text.between(start, self.text.at));
                    }
                }
                Some(_) => {}
            }
        }
    }
}

fn single(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn one_or(mut parts: Vec<Expr>, many: impl Fn(Vec<Expr>) -> ExprKind) -> ExprKind {
    match parts.len() {
        1 => parts.swap_remove(0).kind,
        _ => many(parts),
    }
}
