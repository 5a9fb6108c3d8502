//! The macros of XGrammar's EBNF (its "EBNF Grammar", "Macros"): `Regex("…")`, `Substring("…", …)`,
//! `Token(7, …)`, `ExcludeToken(7, …)` (any token without arguments),
//! `TagDispatch(("<tool>", rule), …)` and `TokenTagDispatch((7, rule), …)`.

use super::lexical::GbnfParser;
use crate::ebnf::expression::{RuleExpr, RuleExprKind};
use crate::error::{Error, Result};
use crate::grammar::{SpecialToken, TokenSet};
use crate::regular::{Dialect, Language, Triggers, quotation};

const NAMES: [&str; 6] =
    ["Regex", "Substring", "Token", "ExcludeToken", "TagDispatch", "TokenTagDispatch"];

/// Whether a macro has this name.
pub(super) fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// An argument, with its byte offset.
struct MacroArgument {
    at: usize,
    value: MacroValue,
}

enum MacroValue {
    Text(String),
    Number(u32),
    Flag(bool),
    Rule(String),
    Tuple(Vec<MacroArgument>),
}

/// The kind of tags that a dispatch macro looks for.
#[derive(Clone, Copy)]
enum DispatchBy {
    Text,
    Token,
}

/// The arguments of a call.
struct MacroArguments {
    by_place: Vec<MacroArgument>,
    by_name: Vec<(String, MacroArgument)>,
}

impl MacroArguments {
    /// Takes the argument of a name.
    fn take(&mut self, name: &str) -> Option<MacroArgument> {
        let at = self.by_name.iter().position(|(known, _)| known == name)?;
        Some(self.by_name.swap_remove(at).1)
    }
}

impl GbnfParser<'_> {
    /// A call of a macro, from its opening parenthesis.
    pub(super) fn call_macro(&mut self, at: usize, name: &str) -> Result<RuleExpr> {
        let mut arguments = self.arguments()?;
        let item = match name {
            "Regex" => self.regex(at, &mut arguments),
            "Substring" => self.substring(at, &arguments),
            "Token" => {
                let tokens = TokenSet::OneOf(self.ids(at, &arguments.by_place)?.into());
                Ok(RuleExpr::new(at, RuleExprKind::Special(tokens)))
            }
            "ExcludeToken" => {
                let tokens = if arguments.by_place.is_empty() {
                    Vec::new()
                } else {
                    self.ids(at, &arguments.by_place)?
                };
                let tokens = TokenSet::Except(tokens.into());
                Ok(RuleExpr::new(at, RuleExprKind::Special(tokens)))
            }
            "TokenTagDispatch" => self.dispatch(at, DispatchBy::Token, &mut arguments),
            _ => self.dispatch(at, DispatchBy::Text, &mut arguments),
        }?;
        match arguments.by_name.first() {
            None => Ok(item),
            Some((unknown, argument)) => {
                let message = format!("`{name}` has no argument `{unknown}`");
                Err(self.text.error(argument.at, message).with_help("leave it out"))
            }
        }
    }

    fn arguments(&mut self) -> Result<MacroArguments> {
        let open = self.text.at;
        self.text.enter("(")?;
        let mut arguments = MacroArguments { by_place: Vec::new(), by_name: Vec::new() };
        loop {
            self.skip_blanks_and_lines();
            if self.text.starts_with(")") {
                break;
            }
            let argument = self.argument()?;
            self.skip_blanks_and_lines();
            match argument.value {
                MacroValue::Rule(name) if self.text.eat("=") => {
                    self.skip_blanks_and_lines();
                    let value = self.argument()?;
                    arguments.by_name.push((name, value));
                    self.skip_blanks_and_lines();
                }
                value => arguments.by_place.push(MacroArgument { at: argument.at, value }),
            }
            if !self.text.eat(",") {
                break;
            }
        }
        self.text.leave(")", open)?;
        Ok(arguments)
    }

    fn argument(&mut self) -> Result<MacroArgument> {
        let at = self.text.at;
        let value = match self.text.peek() {
            Some('"') => MacroValue::Text(self.string()?),
            Some('(') => {
                self.text.enter("(")?;
                let mut values = Vec::new();
                loop {
                    self.skip_blanks_and_lines();
                    if self.text.starts_with(")") {
                        break;
                    }
                    values.push(self.argument()?);
                    self.skip_blanks_and_lines();
                    if !self.text.eat(",") {
                        break;
                    }
                }
                self.text.leave(")", at)?;
                MacroValue::Tuple(values)
            }
            Some(c) if c.is_ascii_digit() => {
                let digits = self.text.take_while(|c| c.is_ascii_digit());
                MacroValue::Number(
                    digits.parse().map_err(|_| self.text.error(at, "no such token id"))?,
                )
            }
            _ => match self.name().as_deref() {
                Some("true") => MacroValue::Flag(true),
                Some("false") => MacroValue::Flag(false),
                Some(name) => MacroValue::Rule(name.to_owned()),
                None => {
                    let message = format!("expected an argument, found {}", self.text.found());
                    return Err(self
                        .text
                        .error(at, message)
                        .with_help("write a text, a number, true, false, a rule or a tuple"));
                }
            },
        };
        Ok(MacroArgument { at, value })
    }

    fn expected(&self, at: usize, wanted: &str) -> Error {
        self.text.error(at, format!("expected {wanted} as an argument"))
    }

    fn flag(&self, argument: Option<MacroArgument>, default: bool) -> Result<bool> {
        match argument {
            None => Ok(default),
            Some(MacroArgument { value: MacroValue::Flag(flag), .. }) => Ok(flag),
            Some(other) => Err(self.expected(other.at, "true or false")),
        }
    }

    fn texts<'v>(&self, arguments: &'v [MacroArgument]) -> Result<Vec<&'v str>> {
        let text = |argument: &'v MacroArgument| match &argument.value {
            MacroValue::Text(text) => Ok(text.as_str()),
            _ => Err(self.expected(argument.at, "a text in quotes")),
        };
        arguments.iter().map(text).collect()
    }

    /// Tokens by their ids, at least one.
    fn ids(&self, at: usize, arguments: &[MacroArgument]) -> Result<Vec<SpecialToken>> {
        if arguments.is_empty() {
            return Err(self.expected(at, "a token id"));
        }
        let id = |argument: &MacroArgument| match argument.value {
            MacroValue::Number(id) => Ok(SpecialToken::Id(id)),
            _ => Err(self.expected(argument.at, "a token id")),
        };
        arguments.iter().map(id).collect()
    }

    /// A pattern, in ECMA-262's syntax like XGrammar's. A `.` matches line breaks unless the argument `flags` is
    /// given and lacks `s`.
    fn regex(&mut self, at: usize, arguments: &mut MacroArguments) -> Result<RuleExpr> {
        let [pattern] = self.texts(&arguments.by_place)?[..] else {
            return Err(self.expected(at, "one pattern"));
        };
        let flags = match arguments.by_name.iter().find(|(name, _)| name == "flags") {
            None => "s".to_owned(),
            Some((_, argument)) => match &argument.value {
                MacroValue::Text(flags) if flags.chars().all(|flag| "isu".contains(flag)) => {
                    flags.chars().filter(|&flag| flag != 'u').collect()
                }
                _ => return Err(self.expected(argument.at, "some of the flags \"isu\"")),
            },
        };
        let dialect = self.rules.pattern_dialect(Dialect::Ecma);
        // The pattern alone says whether it is one, and the places of its errors.
        self.rules.pattern(&self.text, at, pattern, dialect)?;
        let pattern =
            if flags.is_empty() { pattern.to_owned() } else { dialect.with_flags(&flags, pattern) };
        arguments.take("flags");
        let json = self.flag(arguments.take("json_string"), false)?;
        let item = self.rules.pattern(&self.text, at, &pattern, dialect)?;
        if !json {
            return Ok(item);
        }
        // Characters that JSON strings hold without an escape.
        let bare = self.rules.pattern(&self.text, at, r#"[^"\\\x00-\x1F]*"#, Dialect::Rust)?;
        Ok(RuleExpr::new(at, RuleExprKind::And(vec![item, bare])))
    }

    /// Any run of consecutive chunks, the empty one included.
    fn substring(&mut self, at: usize, arguments: &MacroArguments) -> Result<RuleExpr> {
        let chunks = self.texts(&arguments.by_place)?;
        let languages = self.rules.builder.languages();
        let runs = quotation(languages, &chunks).map_err(|error| self.text.embed(at, &error))?;
        Ok(RuleExpr::new(at, RuleExprKind::Regular(languages.union([Language::EPSILON, runs]))))
    }

    /// Free text until one of some tags (or tokens), then its rule, then free text again.
    fn dispatch(
        &mut self,
        at: usize,
        by: DispatchBy,
        arguments: &mut MacroArguments,
    ) -> Result<RuleExpr> {
        let loops = self.flag(arguments.take("loop_after_dispatch"), true)?;
        let excludes = match arguments.take("excludes") {
            None => Vec::new(),
            Some(MacroArgument { value: MacroValue::Tuple(values), .. }) => values,
            Some(other) => return Err(self.expected(other.at, "a tuple")),
        };
        let (mut tags, mut rules) = (Vec::new(), Vec::new());
        for pair in &arguments.by_place {
            let wanted = match by {
                DispatchBy::Token => "a pair of token id and rule",
                DispatchBy::Text => "a pair of tag and rule",
            };
            let MacroValue::Tuple(parts) = &pair.value else {
                return Err(self.expected(pair.at, wanted));
            };
            let [tag, MacroArgument { at, value: MacroValue::Rule(rule) }] = &parts[..] else {
                return Err(self.expected(pair.at, wanted));
            };
            tags.push(tag);
            rules.push(self.rules.call(rule, *at));
        }
        let (free, heads) = match by {
            DispatchBy::Token => self.around_tokens(at, &tags, &excludes)?,
            DispatchBy::Text => self.around_texts(at, &tags, &excludes)?,
        };
        let call = |(head, rule)| RuleExpr::new(at, RuleExprKind::Sequence(vec![head, rule]));
        let calls: Vec<RuleExpr> = heads.into_iter().zip(rules).map(call).collect();
        if !loops {
            return Ok(RuleExpr::new(
                at,
                RuleExprKind::Choice(calls.into_iter().chain([free]).collect()),
            ));
        }
        let calls = RuleExpr::new(at, RuleExprKind::Choice(calls)).repeat(0, None);
        Ok(RuleExpr::new(at, RuleExprKind::Sequence(vec![calls, free])))
    }

    /// Free text, and for each tag free text that ends with it. Free text holds no tag and none of
    /// `excludes`.
    fn around_texts(
        &mut self,
        at: usize,
        tags: &[&MacroArgument],
        excludes: &[MacroArgument],
    ) -> Result<(RuleExpr, Vec<RuleExpr>)> {
        let text = |argument: &MacroArgument| match &argument.value {
            MacroValue::Text(text) if !text.is_empty() => Ok(text.clone()),
            _ => Err(self.expected(argument.at, "a text that is not empty")),
        };
        let texts: Vec<String> = tags.iter().map(|tag| text(tag)).collect::<Result<_>>()?;
        let excludes: Vec<String> = excludes.iter().map(text).collect::<Result<_>>()?;
        let triggers = Triggers::new(self.rules.builder.languages(), &texts, &excludes)
            .map_err(|error| self.text.embed(at, &error))?;
        let regular = |language| RuleExpr::new(at, RuleExprKind::Regular(language));
        let heads = triggers.heads.into_iter().map(regular).collect();
        Ok((regular(triggers.free), heads))
    }

    /// Free text, and for each token free text that ends with it.
    fn around_tokens(
        &mut self,
        at: usize,
        tags: &[&MacroArgument],
        excludes: &[MacroArgument],
    ) -> Result<(RuleExpr, Vec<RuleExpr>)> {
        let mut tokens = Vec::new();
        for argument in tags.iter().copied().chain(excludes) {
            tokens.extend(self.ids(at, std::slice::from_ref(argument))?);
        }
        let free = || {
            let one = TokenSet::Except(tokens.clone().into());
            RuleExpr::new(at, RuleExprKind::Special(one)).repeat(0, None)
        };
        let mut heads = Vec::with_capacity(tags.len());
        for token in &tokens[..tags.len()] {
            let token = RuleExpr::new(at, RuleExprKind::Special(token.clone().into()));
            heads.push(RuleExpr::new(at, RuleExprKind::Sequence(vec![free(), token])));
        }
        Ok((free(), heads))
    }
}
