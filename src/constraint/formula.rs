//! Constraints made of constraints: and, or, not.

use serde_json::Value;

use super::compiled::Constraint;
use super::compiler::Compiler;
use super::grammar_options::GrammarOptions;
use crate::ebnf::{self, Dialect};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{Grammar, GrammarBuilder};
use crate::json_schema::Schema;
use crate::regular;
use crate::regular::{Anchoring, Language, Languages, QuoteBy, Utf8, any_text};

/// The member of a formula that names the start rule of a grammar.
const START: &str = "start";
/// The member of a formula that names the dialect of its regular expressions.
const REGEX_DIALECT: &str = "regex_dialect";

/// A constraint made of others. [`Any`](Self::Any) joins constraints of every kind; [`All`](Self::All) and
/// [`Not`](Self::Not) need regular ones, whose rules do not call themselves and name no special tokens.
///
/// ```
/// # use maskwright::{Compiler, Vocabulary};
/// use maskwright::constraint::Formula;
/// use serde_json::json;
/// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
/// # let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
/// let formula = Formula::read(&json!({"allOf": [
///     {"regex": "[a-z]{1,8}"},
///     {"not": {"choice": ["admin", "root"]}},
/// ]}), &compiler)?;
/// let mut matcher = formula.compile(&compiler)?.matcher();
/// assert!(matcher.accept_bytes(b"roots").is_ok() && matcher.is_accepting());
/// matcher.rollback(1)?;
/// assert!(matcher.accept_bytes(b"root").is_ok() && !matcher.is_accepting());
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Formula {
    /// Text of a grammar; the name is for messages.
    Is(String, Box<Grammar>),
    /// Text that satisfies all of these; any text if there are none.
    All(Vec<Self>),
    /// Text that satisfies one of these at least.
    Any(Vec<Self>),
    /// Text (UTF-8) that does not satisfy this.
    Not(Box<Self>),
}

impl Formula {
    /// A formula of a JSON object with one member: `allOf` or `anyOf` (a list of formulas), `not` (a
    /// formula), or a constraint: `regex`, `search` (a pattern somewhere in the text), `choice` (a
    /// list of texts), `schema`, `quote` (a text), `grammar` (the name of one that comes with the
    /// crate), `gbnf`, `lark`, `ebnf`, `iso-ebnf` or `abnf` (the text of a grammar). Beside a pattern
    /// or the text of a grammar `regex_dialect` may name a [dialect](regular::Dialect::name), and
    /// beside the text of a grammar `start` the start rule.
    ///
    /// Errors name the place by a JSON pointer.
    pub fn read(value: &Value, compiler: &Compiler) -> Result<Self> {
        Self::read_at(value, compiler, "")
    }

    fn read_at(value: &Value, compiler: &Compiler, at: &str) -> Result<Self> {
        let bad = |pointer: &str, message: String| {
            Error::new(ErrorKind::Request, message).at_pointer(pointer).with_help(
                "write {\"allOf\": […]}, {\"anyOf\": […]}, {\"not\": …}, or a constraint: {\"regex\": \
                 \"…\"}, or one of search, choice, schema, quote, grammar, gbnf, lark, ebnf, \
                 iso-ebnf, abnf; \"start\" may stand beside a grammar's text, \"regex_dialect\" beside \
                 that or a regular expression",
            )
        };
        let members = value.as_object().into_iter().flatten();
        let (options, kinds): (Vec<_>, Vec<_>) =
            members.partition(|(key, _)| matches!(key.as_str(), START | REGEX_DIALECT));
        let [(key, inner)] = kinds[..] else {
            return Err(bad(at, "a formula is an object with one member".to_owned()));
        };
        let pointer = format!("{at}/{key}");
        let text_of_grammar = Dialect::ALL.into_iter().find(|dialect| dialect.name() == key);
        let mut grammar_options = GrammarOptions::default();
        let mut other_dialect = None;
        for (option, value) in options {
            let option_at = format!("{at}/{option}");
            let value = value
                .as_str()
                .ok_or_else(|| bad(&option_at, format!("the value of `{option}` is a text")))?;
            let is_pattern = matches!(key.as_str(), "regex" | "search");
            match option.as_str() {
                START if text_of_grammar.is_some() => {
                    grammar_options.start = Some(value.to_owned());
                }
                REGEX_DIALECT if is_pattern || text_of_grammar.is_some() => {
                    let dialect: regular::Dialect = value
                        .parse()
                        .map_err(|error: Error| error.at_pointer(option_at.as_str()))?;
                    other_dialect = Some(compiler.clone().with_regex_dialect(dialect));
                }
                _ => return Err(bad(&option_at, format!("`{option}` does not apply to `{key}`"))),
            }
        }
        let compiler = other_dialect.as_ref().unwrap_or(compiler);
        let list = || match inner.as_array() {
            None => Err(bad(&pointer, format!("`{key}` is a list of formulas"))),
            Some(list) => list
                .iter()
                .enumerate()
                .map(|(i, inner)| Self::read_at(inner, compiler, &format!("{pointer}/{i}")))
                .collect(),
        };
        let text = || {
            inner.as_str().ok_or_else(|| bad(&pointer, format!("the value of `{key}` is a text")))
        };
        let grammar = match key.as_str() {
            "allOf" => return Ok(Self::All(list()?)),
            "anyOf" => return Ok(Self::Any(list()?)),
            "not" => {
                let inner = Self::read_at(inner, compiler, &pointer)?;
                return Ok(Self::Not(Box::new(inner)));
            }
            "regex" => compiler.regex_grammar(text()?, Anchoring::Whole),
            "search" => compiler.regex_grammar(text()?, Anchoring::Search),
            "quote" => compiler.quotation_grammar(&QuoteBy::default().units(text()?)),
            "grammar" => ebnf::grammar_by_name(compiler, text()?),
            "choice" => {
                let texts = inner.as_array().map(|list| list.iter().map(Value::as_str));
                let texts: Option<Vec<&str>> = texts.and_then(Iterator::collect);
                let wrong = || {
                    let message = "`choice` is a list of texts";
                    let error = Error::new(ErrorKind::Request, message).at_pointer(&pointer);
                    error.with_help("write one text or several in brackets: [\"yes\", \"no\"]")
                };
                compiler.choice_grammar(&texts.ok_or_else(wrong)?)
            }
            "schema" => {
                Schema::from_value(inner).and_then(|schema| schema.grammar(compiler.json_options()))
            }
            other => match text_of_grammar {
                Some(dialect) => {
                    compiler.parse_grammar_with_options(text()?, dialect, &grammar_options)
                }
                None => return Err(bad(at, format!("`{other}` is no kind of constraint"))),
            },
        };
        match grammar {
            Ok(grammar) => Ok(Self::Is(pointer, Box::new(grammar))),
            Err(error) if key == "schema" => Err(error.below_pointer(&pointer)),
            // A pointer into a schema in a grammar says where it stands there.
            Err(error) if error.place().pointer.is_some() => Err(error),
            Err(error) => Err(error.at_pointer(pointer)),
        }
    }

    /// The grammar of texts that satisfy it.
    ///
    /// Errors, naming the constraint, if one that is joined by and, or negated, is not regular.
    pub fn grammar(&self) -> Result<Grammar> {
        let mut builder = GrammarBuilder::new();
        let body = match self {
            Self::Is(_, grammar) => return Ok(Grammar::clone(grammar)),
            Self::Any(parts) => {
                let mut alternatives = Vec::new();
                for part in parts {
                    let rule = builder.embed(&part.grammar()?)?;
                    alternatives.push(builder.call(rule));
                }
                builder.choice(alternatives)
            }
            Self::All(parts) if parts.len() == 1 => return parts[0].grammar(),
            Self::All(_) | Self::Not(_) => {
                let language = self.language(builder.languages())?;
                builder.regular(language)
            }
        };
        let start = builder.rule("formula", body);
        builder.finish(start)
    }

    fn language(&self, languages: &mut Languages) -> Result<Language> {
        match self {
            Self::Is(name, grammar) => {
                grammar.language(languages).map_err(|error| match error.place().pointer {
                    Some(_) => error,
                    None => error.at_pointer(name.as_str()),
                })
            }
            Self::All(parts) => {
                let mut all = vec![any_text(languages, &Utf8)];
                for part in parts {
                    all.push(part.language(languages)?);
                }
                Ok(languages.intersect(all))
            }
            Self::Any(parts) => {
                let parts: Result<Vec<Language>> =
                    parts.iter().map(|part| part.language(languages)).collect();
                Ok(languages.union(parts?))
            }
            Self::Not(part) => {
                let (text, part) = (any_text(languages, &Utf8), part.language(languages)?);
                Ok(languages.difference(text, part))
            }
        }
    }

    /// The constraint of texts that satisfy it.
    pub fn compile(&self, compiler: &Compiler) -> Result<Constraint> {
        compiler.compile(self.grammar()?)
    }
}
