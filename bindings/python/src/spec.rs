//! [`Spec`]: the source of a constraint, as JSON. It is the key of the cache, and what a serialised
//! constraint holds.

use maskwright::constraint::{Formula, GrammarOptions};
use maskwright::ebnf::{Dialect, GRAMMARS};
use maskwright::json_schema::{Gaps, Whitespace};
use maskwright::regular::QuoteBy;
use maskwright::tools::{
    AfterReasoning, ReasoningFormat, ReasoningStart, Tool, ToolCalls, ToolChoice, ToolFormat,
    structural_tag,
};
use maskwright::{Compiler, Constraint, Error, ErrorKind};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;

use crate::error::NativeError;

/// The kind of a constraint.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    JsonSchema,
    JsonObject,
    Regex,
    RegexSearch,
    Choice,
    Gbnf,
    Lark,
    W3cEbnf,
    IsoEbnf,
    Abnf,
    NamedGrammar,
    Quotation,
    Formula,
    StructuralTag,
    Tools,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::JsonSchema => "json_schema",
            Self::JsonObject => "json_object",
            Self::Regex => "regex",
            Self::RegexSearch => "regex_search",
            Self::Choice => "choice",
            Self::Gbnf => "gbnf",
            Self::Lark => "lark",
            Self::W3cEbnf => "w3c_ebnf",
            Self::IsoEbnf => "iso_ebnf",
            Self::Abnf => "abnf",
            Self::NamedGrammar => "named_grammar",
            Self::Quotation => "quotation",
            Self::Formula => "formula",
            Self::StructuralTag => "structural_tag",
            Self::Tools => "tools",
        }
    }

    fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Gbnf => Some(Dialect::Gbnf),
            Self::Lark => Some(Dialect::Lark),
            Self::W3cEbnf => Some(Dialect::W3c),
            Self::IsoEbnf => Some(Dialect::Iso),
            Self::Abnf => Some(Dialect::Abnf),
            _ => None,
        }
    }
}

/// Separators of JSON: `json.dumps(value, indent=…, separators=(item, key))`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Separators {
    item: String,
    key: String,
    /// The text that indents a level; no line breaks without.
    indent: Option<String>,
}

/// Calls of tools.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Calls {
    format: String,
    /// `auto`, `none`, `required`, or the name of a tool.
    choice: Option<String>,
    /// The name of the one tool that is called.
    named: Option<String>,
    parallel: Option<bool>,
    allowed: Option<Vec<String>>,
    answer_schema: Option<Value>,
}

/// Reasoning before the constrained text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reasoning {
    format: String,
    /// `message`, `prompt` or `optional`.
    start: Option<String>,
}

/// The kind, the text and the settings of a constraint before it is compiled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    pub(crate) kind: Kind,
    /// The schema, pattern, grammar, name, formula, tag or tools.
    #[serde(default)]
    pub(crate) text: String,
    /// The texts of a choice.
    #[serde(default)]
    choices: Vec<String>,
    /// Settings by name, as `Compiler::with_settings` reads them.
    settings: Option<Value>,
    separators: Option<Separators>,
    start: Option<String>,
    regex_dialect: Option<String>,
    calls: Option<Calls>,
    reasoning: Option<Reasoning>,
    /// The tokens that end the text, instead of the tokenizer's.
    pub(crate) stop_token_ids: Option<Vec<u32>>,
}

fn wrong(message: impl Into<String>, help: &str) -> Error {
    Error::new(ErrorKind::Request, message).with_help(help)
}

impl Spec {
    pub(crate) fn read(spec: &str) -> Result<Self, Error> {
        serde_json::from_str(spec).map_err(|error| {
            wrong(format!("the spec of a constraint: {error}"), "take one from `Constraint.spec`")
        })
    }

    /// The compiler with the settings of this spec.
    pub(crate) fn configured(&self, compiler: &Compiler) -> Result<Compiler, Error> {
        let mut compiler = compiler.clone();
        if let Some(settings) = &self.settings {
            compiler = compiler.with_settings(settings)?;
        }
        if let Some(Separators { item, key, indent }) = &self.separators {
            let mut options = compiler.json_options().clone();
            options.whitespace = Whitespace::Separated {
                gaps: indent.clone().map_or(Gaps::Nothing, Gaps::Lines),
                item_separator: item.clone(),
                key_separator: key.clone(),
            };
            compiler = compiler.with_json_options(options);
        }
        if let Some(dialect) = &self.regex_dialect {
            compiler = compiler.with_regex_dialect(dialect.parse()?);
        }
        if let Some(Reasoning { format, start }) = &self.reasoning {
            let start = match start.as_deref() {
                None | Some("message") => ReasoningStart::Message,
                Some("prompt") => ReasoningStart::Prompt,
                Some("optional") => ReasoningStart::Optional,
                Some(other) => {
                    return Err(wrong(
                        format!("reasoning does not start at `{other}`"),
                        "write `message`, `prompt` or `optional`",
                    ));
                }
            };
            let after = match self.kind {
                Kind::Tools => AfterReasoning::ToolFormat,
                _ => AfterReasoning::Answer,
            };
            let prefix =
                ReasoningFormat::named(format)?.grammar(compiler.vocabulary(), start, after)?;
            compiler = compiler.with_prefix(&prefix)?;
        }
        Ok(compiler)
    }

    /// The constraint.
    pub(crate) fn compile(&self, compiler: &Compiler) -> Result<Constraint, Error> {
        let compiler = self.configured(compiler)?;
        if self.start.is_some() && self.kind.dialect().is_none() {
            let message = format!("`start` does not apply to {}", self.kind.name());
            return Err(wrong(message, "leave it out, or give the text of a grammar"));
        }
        match self.kind {
            Kind::JsonSchema => compiler.json_schema_str(&self.text),
            Kind::JsonObject => compiler.json_object(),
            Kind::Regex => compiler.regex(&self.text),
            Kind::RegexSearch => compiler.regex_search(&self.text),
            Kind::Choice => compiler.choice(&self.choices),
            Kind::Gbnf | Kind::Lark | Kind::W3cEbnf | Kind::IsoEbnf | Kind::Abnf => {
                let options = GrammarOptions { start: self.start.clone(), ..Default::default() };
                let dialect = self.kind.dialect().unwrap_or(Dialect::Gbnf);
                compiler.grammar_with_options(&self.text, dialect, &options)
            }
            Kind::NamedGrammar => {
                let formula = serde_json::json!({ "grammar": self.text });
                Formula::read(&formula, &compiler)?.compile(&compiler)
            }
            Kind::Quotation => compiler.quotation(&QuoteBy::default().units(&self.text)),
            Kind::Formula => compiler.formula(&self.json()?),
            Kind::StructuralTag => compiler.compile(structural_tag(&self.json()?, &compiler)?),
            Kind::Tools => self.calls()?.compile(&compiler),
        }
    }

    fn json(&self) -> Result<Value, Error> {
        maskwright::strict_json::parse(&self.text)
    }

    fn calls(&self) -> Result<ToolCalls, Error> {
        let Some(calls) = &self.calls else {
            return Err(wrong("tools without a format", "name the format of the model's calls"));
        };
        let format = ToolFormat::named(&calls.format)?;
        let choice = match (&calls.named, calls.choice.as_deref()) {
            (Some(name), None) => ToolChoice::Named(name.clone()),
            (None, None | Some("auto")) => ToolChoice::Auto,
            (None, Some("none")) => ToolChoice::None,
            (None, Some("required")) => ToolChoice::Required,
            (_, Some(other)) => {
                return Err(wrong(
                    format!("`{other}` is no choice of tools"),
                    "write `auto`, `none` or `required`, or name a tool",
                ));
            }
        };
        let tools = Tool::read(&self.json()?)?;
        for name in calls.allowed.iter().flatten() {
            if !tools.iter().any(|tool| tool.name() == name) {
                let names: Vec<&str> = tools.iter().map(Tool::name).collect();
                let help = format!("the tools are: {}", names.join(", "));
                return Err(wrong(format!("there is no tool `{name}` to allow"), &help));
            }
        }
        let mut made = ToolCalls::new(tools, format)
            .with_choice(choice)
            .with_parallel_calls(calls.parallel.unwrap_or(true));
        if let Some(names) = &calls.allowed {
            made = made.with_allowed(names.iter().cloned());
        }
        if let Some(schema) = &calls.answer_schema {
            made = made.with_answer_schema(schema.clone());
        }
        Ok(made)
    }
}

/// The names of the formats of tool calls, and of the grammars that come with the library.
#[pyfunction(name = "_names")]
pub(crate) fn tool_formats() -> Result<(Vec<String>, Vec<&'static str>), NativeError> {
    let formats = ToolFormat::known()?.iter().map(|format| format.name().to_owned()).collect();
    Ok((formats, GRAMMARS.iter().map(|grammar| grammar.name).collect()))
}
