//! The macros of XGrammar's EBNF (its "EBNF Grammar", "Macros"): `Regex("…")`, `Substring("…", …)`,
//! `Token(7, …)`, `ExcludeToken(7, …)` (any token without arguments), `TagDispatch(("<tool>", rule), …)` and
//! `TokenTagDispatch((7, rule), …)`.

use super::gbnf::{Parser, space};
use super::rules::{Item, Kind};
use super::tokens;
use crate::error::{Error, Result};
use crate::grammar::SpecialToken;
use crate::regular::{Language, Triggers, quotation};

const NAMES: [&str; 6] =
    ["Regex", "Substring", "Token", "ExcludeToken", "TagDispatch", "TokenTagDispatch"];

pub(super) fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// An argument and its place.
struct Argument {
    at: usize,
    value: Value,
}

enum Value {
    Text(String),
    Number(u32),
    Flag(bool),
    Rule(String),
    Tuple(Vec<Argument>),
}

/// What stands between the parentheses of a call.
struct Arguments {
    by_place: Vec<Argument>,
    by_name: Vec<(String, Argument)>,
}

impl Arguments {
    /// Takes the argument of a name.
    fn take(&mut self, name: &str) -> Option<Argument> {
        let at = self.by_name.iter().position(|(known, _)| known == name)?;
        Some(self.by_name.swap_remove(at).1)
    }
}

impl Parser<'_> {
    /// A call of a macro, from its opening parenthesis.
    pub(super) fn call_macro(&mut self, at: usize, name: &str) -> Result<Item> {
        let mut arguments = self.arguments()?;
        let item = match name {
            "Regex" => self.regex(at, &mut arguments),
            "Substring" => self.substring(at, &arguments),
            "Token" => {
                let tokens = self.ids(at, &arguments.by_place)?;
                Ok(Item::new(at, Kind::Special(tokens)))
            }
            "ExcludeToken" => {
                let tokens = match arguments.by_place.is_empty() {
                    true => Vec::new(),
                    false => self.ids(at, &arguments.by_place)?,
                };
                tokens::any_but(&mut self.rules, &self.text, at, &tokens)
            }
            _ => self.dispatch(at, name == "TokenTagDispatch", &mut arguments),
        }?;
        match arguments.by_name.first() {
            None => Ok(item),
            Some((unknown, argument)) => {
                let message = format!("`{name}` has no argument `{unknown}`");
                Err(self.text.error(argument.at, message).with_help("leave it out"))
            }
        }
    }

    fn arguments(&mut self) -> Result<Arguments> {
        let open = self.text.at;
        self.text.enter("(")?;
        let mut arguments = Arguments { by_place: Vec::new(), by_name: Vec::new() };
        loop {
            space(&mut self.text, true);
            if self.text.starts_with(")") {
                break;
            }
            let argument = self.argument()?;
            space(&mut self.text, true);
            match argument.value {
                Value::Rule(name) if self.text.eat("=") => {
                    space(&mut self.text, true);
                    let value = self.argument()?;
                    arguments.by_name.push((name, value));
                    space(&mut self.text, true);
                }
                value => arguments.by_place.push(Argument { at: argument.at, value }),
            }
            if !self.text.eat(",") {
                break;
            }
        }
        self.text.leave(")", open)?;
        Ok(arguments)
    }

    fn argument(&mut self) -> Result<Argument> {
        let at = self.text.at;
        let value = match self.text.peek() {
            Some('"') => Value::Text(self.string()?),
            Some('(') => {
                self.text.enter("(")?;
                let mut values = Vec::new();
                loop {
                    space(&mut self.text, true);
                    if self.text.starts_with(")") {
                        break;
                    }
                    values.push(self.argument()?);
                    space(&mut self.text, true);
                    if !self.text.eat(",") {
                        break;
                    }
                }
                self.text.leave(")", at)?;
                Value::Tuple(values)
            }
            Some(c) if c.is_ascii_digit() => {
                let digits = self.text.take_while(|c| c.is_ascii_digit());
                Value::Number(digits.parse().map_err(|_| self.text.error(at, "no such token id"))?)
            }
            _ => match self.name().as_deref() {
                Some("true") => Value::Flag(true),
                Some("false") => Value::Flag(false),
                Some(name) => Value::Rule(name.to_owned()),
                None => {
                    let message = format!("expected an argument, found {}", self.text.found());
                    return Err(self
                        .text
                        .error(at, message)
                        .with_help("write a text, a number, true, false, a rule or a tuple"));
                }
            },
        };
        Ok(Argument { at, value })
    }

    fn wrong(&self, at: usize, wanted: &str) -> Error {
        self.text.error(at, format!("expected {wanted} as an argument"))
    }

    fn flag(&self, argument: Option<Argument>, default: bool) -> Result<bool> {
        match argument {
            None => Ok(default),
            Some(Argument { value: Value::Flag(flag), .. }) => Ok(flag),
            Some(other) => Err(self.wrong(other.at, "true or false")),
        }
    }

    fn texts<'v>(&self, arguments: &'v [Argument]) -> Result<Vec<&'v str>> {
        let text = |argument: &'v Argument| match &argument.value {
            Value::Text(text) => Ok(text.as_str()),
            _ => Err(self.wrong(argument.at, "a text in quotes")),
        };
        arguments.iter().map(text).collect()
    }

    /// Tokens by their ids, at least one.
    fn ids(&self, at: usize, arguments: &[Argument]) -> Result<Vec<SpecialToken>> {
        if arguments.is_empty() {
            return Err(self.wrong(at, "a token id"));
        }
        let id = |argument: &Argument| match argument.value {
            Value::Number(id) => Ok(SpecialToken::Id(id)),
            _ => Err(self.wrong(argument.at, "a token id")),
        };
        arguments.iter().map(id).collect()
    }

    /// A pattern; where flags are given `.` is no line break without `s`.
    fn regex(&mut self, at: usize, arguments: &mut Arguments) -> Result<Item> {
        let [pattern] = self.texts(&arguments.by_place)?[..] else {
            return Err(self.wrong(at, "one pattern"));
        };
        let flags = match arguments.by_name.iter().find(|(name, _)| name == "flags") {
            None => "s".to_owned(),
            Some((_, argument)) => match &argument.value {
                Value::Text(flags) if flags.chars().all(|flag| "isu".contains(flag)) => {
                    flags.chars().filter(|&flag| flag != 'u').collect()
                }
                _ => return Err(self.wrong(argument.at, "some of the flags \"isu\"")),
            },
        };
        let pattern = match flags.is_empty() {
            true => pattern.to_owned(),
            false => format!("(?{flags}:{pattern})"),
        };
        arguments.take("flags");
        let json = self.flag(arguments.take("json_string"), false)?;
        let item = self.rules.pattern(&self.text, at, &pattern)?;
        if !json {
            return Ok(item);
        }
        // What may stand in a JSON string as it is.
        let bare = self.rules.pattern(&self.text, at, r#"[^"\\\x00-\x1F]*"#)?;
        Ok(Item::new(at, Kind::And(vec![item, bare])))
    }

    /// Any run of the chunks, the empty one included.
    fn substring(&mut self, at: usize, arguments: &Arguments) -> Result<Item> {
        let chunks = self.texts(&arguments.by_place)?;
        let languages = self.rules.builder.languages();
        let runs = quotation(languages, &chunks).map_err(|error| self.text.embed(at, &error))?;
        Ok(Item::new(at, Kind::Regular(languages.union([Language::EPSILON, runs]))))
    }

    /// Free text until one of some tags (or tokens), then its rule, then free text again.
    fn dispatch(&mut self, at: usize, by_token: bool, arguments: &mut Arguments) -> Result<Item> {
        let loops = self.flag(arguments.take("loop_after_dispatch"), true)?;
        let excludes = match arguments.take("excludes") {
            None => Vec::new(),
            Some(Argument { value: Value::Tuple(values), .. }) => values,
            Some(other) => return Err(self.wrong(other.at, "a tuple")),
        };
        let (mut marks, mut rules) = (Vec::new(), Vec::new());
        for pair in &arguments.by_place {
            let wanted =
                if by_token { "a pair of token id and rule" } else { "a pair of tag and rule" };
            let Value::Tuple(parts) = &pair.value else { return Err(self.wrong(pair.at, wanted)) };
            let [mark, Argument { at, value: Value::Rule(rule) }] = &parts[..] else {
                return Err(self.wrong(pair.at, wanted));
            };
            marks.push(mark);
            rules.push(self.rules.call(rule, *at));
        }
        let (free, heads) = match by_token {
            true => self.around_tokens(at, &marks, &excludes)?,
            false => self.around_tags(at, &marks, &excludes)?,
        };
        let call = |(head, rule)| Item::new(at, Kind::Sequence(vec![head, rule]));
        let calls: Vec<Item> = heads.into_iter().zip(rules).map(call).collect();
        if !loops {
            return Ok(Item::new(at, Kind::Choice(calls.into_iter().chain([free]).collect())));
        }
        let calls = Item::new(at, Kind::Choice(calls)).repeat(0, None);
        Ok(Item::new(at, Kind::Sequence(vec![calls, free])))
    }

    /// Free text, and for each tag free text that ends with it.
    fn around_tags(
        &mut self,
        at: usize,
        tags: &[&Argument],
        excludes: &[Argument],
    ) -> Result<(Item, Vec<Item>)> {
        let mut texts = Vec::new();
        for argument in tags.iter().copied().chain(excludes) {
            match &argument.value {
                Value::Text(text) if !text.is_empty() => texts.push(text.clone()),
                _ => return Err(self.wrong(argument.at, "a text that is not empty")),
            }
        }
        let triggers = Triggers::new(self.rules.builder.languages(), &texts)
            .map_err(|error| self.text.embed(at, &error))?;
        let regular = |language| Item::new(at, Kind::Regular(language));
        let heads = triggers.heads.into_iter().take(tags.len()).map(regular).collect();
        Ok((regular(triggers.free), heads))
    }

    /// The same with tokens for tags.
    fn around_tokens(
        &mut self,
        at: usize,
        tags: &[&Argument],
        excludes: &[Argument],
    ) -> Result<(Item, Vec<Item>)> {
        let mut tokens = Vec::new();
        for argument in tags.iter().copied().chain(excludes) {
            tokens.extend(self.ids(at, std::slice::from_ref(argument))?);
        }
        let mut free = || {
            let one = tokens::any_but(&mut self.rules, &self.text, at, &tokens)?;
            Ok(one.repeat(0, None))
        };
        let mut heads = Vec::with_capacity(tags.len());
        for token in &tokens[..tags.len()] {
            let token = Item::new(at, Kind::Special(vec![token.clone()]));
            heads.push(Item::new(at, Kind::Sequence(vec![free()?, token])));
        }
        Ok((free()?, heads))
    }
}
