//! Settings of a compiler by name, as one JSON object: for callers in other languages.
//!
//! Every name is honoured or refused; [`NAMES`] is the list.

use std::time::Duration;

use serde_json::{Map, Value};

use super::compiler::Compiler;
use super::named_limit::{LimitValue, NamedLimit};
use crate::error::{Error, ErrorKind, Result, listed, shortened};
use crate::json_schema::punctuation::check_whitespace;
use crate::json_schema::string::written::{check_escapes, check_excludes};
use crate::json_schema::{
    Draft, OneOf, Options, PropertyOrder, Spelling, Strictness, Style, Whitespace,
};
use crate::limits::Limits;

/// The names of all settings.
const NAMES: [&str; 14] = [
    "whitespace",
    "max_whitespace",
    "spelling",
    "property_order",
    "style",
    "strict",
    "one_of",
    "excludes",
    "escapes",
    "digits",
    "formats",
    "draft",
    "resources",
    "limits",
];

/// Names of whitespace, beside which every other text is a pattern.
const WHITESPACE: [(&str, Whitespace); 8] = [
    ("tidy", Whitespace::Tidy),
    ("plain", Whitespace::Plain),
    ("compact", Whitespace::Compact),
    ("indent-2", Whitespace::Indent2),
    ("indent-4", Whitespace::Indent4),
    ("indent-tab", Whitespace::IndentTab),
    ("flexible", Whitespace::Flexible),
    ("any", Whitespace::Any),
];

const SPELLINGS: [(&str, Spelling); 3] =
    [("canonical", Spelling::Canonical), ("escapes", Spelling::Escapes), ("any", Spelling::Any)];

const ORDERS: [(&str, PropertyOrder); 2] =
    [("schema", PropertyOrder::Schema), ("any", PropertyOrder::Any)];

const ONE_OF: [(&str, OneOf); 2] = [("exactly", OneOf::Exactly), ("at-least", OneOf::AtLeast)];

const DRAFTS: [(&str, Draft); 5] = [
    ("4", Draft::Draft4),
    ("6", Draft::Draft6),
    ("7", Draft::Draft7),
    ("2019-09", Draft::Draft201909),
    ("2020-12", Draft::Draft202012),
];

impl Compiler {
    /// The same with settings by name, as a JSON object. What it does not name stays as it is.
    ///
    /// | name | value |
    /// |---|---|
    /// | `whitespace` | `tidy`, `plain`, `compact`, `indent-2`, `indent-4`, `indent-tab`, `flexible`, `any`, or a pattern |
    /// | `max_whitespace` | the greatest number of blanks and line breaks in a gap |
    /// | `spelling` | `canonical`, `escapes`, `any` |
    /// | `property_order` | `schema`, `any` |
    /// | `style` | the notation of values, such as `json` or `qwen_xml` |
    /// | `strict` | whether objects are closed unless the schema says otherwise |
    /// | `one_of` | `exactly`, `at-least` |
    /// | `excludes` | a list of texts that no string holds |
    /// | `escapes` | the characters that may follow a backslash; `null` for all |
    /// | `digits` | digits on each side of a number's point |
    /// | `formats` | whether `format` is enforced |
    /// | `draft` | `4`, `6`, `7`, `2019-09`, `2020-12` |
    /// | `resources` | documents that `$ref` may lead to, by URI |
    /// | `limits` | limits by name ([`NamedLimit`]); times in seconds, `null` for none |
    ///
    /// Errors with [`ErrorKind::Request`] on other names and values, at their JSON pointer.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// # use serde_json::json;
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
    /// let settings = json!({"whitespace": "compact", "strict": true, "limits": {"depth": 50}});
    /// let compiler = compiler.with_settings(&settings)?;
    /// let mut matcher = compiler.json_schema(&json!({"items": {"type": "integer"}, "type": "array"}))?.matcher();
    /// assert!(matcher.accept_bytes(b"[1, 2]").is_err());
    /// matcher.accept_bytes(b"[1,2]")?;
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn with_settings(self, settings: &Value) -> Result<Self> {
        let Value::Object(settings) = settings else {
            return Err(wrong("", "the settings are a JSON object"));
        };
        if settings.contains_key("whitespace") && settings.contains_key("max_whitespace") {
            let message = "`max_whitespace` stands beside `whitespace`";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("write one of them")
                .at_pointer("/max_whitespace"));
        }
        let mut options = self.context.json_options.clone();
        let mut limits = self.context.limits.clone();
        for (name, value) in settings {
            let at = format!("/{name}");
            read(name, value, &mut options, &mut limits).map_err(|error| {
                if error.place().pointer.is_some() { error } else { error.at_pointer(at) }
            })?;
        }
        let has_limits = limits != self.context.limits;
        let compiler = self.with_json_options(options);
        Ok(if has_limits { compiler.with_limits(limits) } else { compiler })
    }
}

fn read(name: &str, value: &Value, options: &mut Options, limits: &mut Limits) -> Result<()> {
    match name {
        "whitespace" => options.whitespace = whitespace(value)?,
        "max_whitespace" => options.whitespace = Whitespace::at_most(count(value)?),
        "spelling" => options.spelling = one_of(&SPELLINGS, value)?,
        "property_order" => options.property_order = one_of(&ORDERS, value)?,
        "style" => options.style = Style::named(text(value)?)?,
        "strict" => {
            options.strictness =
                if flag(value)? { Strictness::Closed } else { Strictness::AsWritten };
        }
        "one_of" => options.one_of = one_of(&ONE_OF, value)?,
        "excludes" => {
            options.excludes = texts(value)?;
            check_excludes(&options.excludes)?;
        }
        "escapes" if value.is_null() => options.escapes = None,
        "escapes" => {
            let escapes = text(value)?;
            check_escapes(escapes)?;
            options.escapes = Some(escapes.to_owned());
        }
        "digits" => options.digits = positive(value)?,
        "formats" => options.formats = flag(value)?,
        "draft" => options.draft = Some(one_of(&DRAFTS, value)?),
        "resources" => {
            for (uri, document) in object(value)? {
                options.resources =
                    std::mem::take(&mut options.resources).with_value(uri, document.clone())?;
            }
        }
        "limits" => {
            for (name, value) in object(value)? {
                let at = format!("/limits/{name}");
                limit(name, value, options, limits).map_err(|error| error.at_pointer(at))?;
            }
        }
        _ => {
            let message = format!("`{name}` is no setting of a compiler");
            let help = format!("there are {}", listed(NAMES));
            return Err(Error::new(ErrorKind::Request, message).with_help(help));
        }
    }
    Ok(())
}

fn limit(name: &str, value: &Value, options: &mut Options, limits: &mut Limits) -> Result<()> {
    let limit = NamedLimit::find(name)?;
    let value = match limit.default_value() {
        LimitValue::Count(_) => LimitValue::Count(count(value)?),
        LimitValue::Time(_) => LimitValue::Time(time(value)?),
    };
    limit.set(limits, options, value)
}

fn whitespace(value: &Value) -> Result<Whitespace> {
    let name = text(value)?;
    let known = WHITESPACE.iter().find(|(known, _)| *known == name);
    let Some((_, known)) = known else {
        let pattern = Whitespace::Pattern(name.to_owned());
        check_whitespace(&pattern).map_err(|error| {
            let names = listed(WHITESPACE.iter().map(|(name, _)| *name));
            error.with_help(format!("write one of {names}, or a pattern of whitespace"))
        })?;
        return Ok(pattern);
    };
    Ok(known.clone())
}

/// The value of a name in a table.
fn one_of<T: Copy>(table: &[(&'static str, T)], value: &Value) -> Result<T> {
    let name = text(value)?;
    table.iter().find(|(known, _)| *known == name).map(|&(_, known)| known).ok_or_else(|| {
        let names = listed(table.iter().map(|(name, _)| *name));
        wrong(&value.to_string(), &format!("it is one of {names}"))
    })
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| wrong(&value.to_string(), "it is a text"))
}

fn texts(value: &Value) -> Result<Vec<String>> {
    let list =
        value.as_array().ok_or_else(|| wrong(&value.to_string(), "it is a list of texts"))?;
    list.iter().map(|item| text(item).map(str::to_owned)).collect()
}

fn flag(value: &Value) -> Result<bool> {
    value.as_bool().ok_or_else(|| wrong(&value.to_string(), "it is true or false"))
}

fn object(value: &Value) -> Result<&Map<String, Value>> {
    value.as_object().ok_or_else(|| wrong(&value.to_string(), "it is an object"))
}

fn count<T: TryFrom<u64>>(value: &Value) -> Result<T> {
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| wrong(&value.to_string(), "it is a whole number from 0"))
}

fn positive(value: &Value) -> Result<u32> {
    let number = count(value).ok().filter(|&number| number > 0);
    number.ok_or_else(|| wrong(&value.to_string(), "it is a whole number from 1"))
}

/// Seconds; `null` for no bound.
fn time(value: &Value) -> Result<Option<Duration>> {
    if value.is_null() {
        return Ok(None);
    }
    let time = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.map(Some).ok_or_else(|| wrong(&value.to_string(), "it is a number of seconds, or null"))
}

fn wrong(shown: &str, wanted: &str) -> Error {
    let message = match shown {
        "" => "not an object".to_owned(),
        _ => format!("{} does not fit", shortened(shown)),
    };
    Error::new(ErrorKind::Request, message).with_help(wanted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Vocabulary;
    use crate::constraint::context::CompileContext;

    fn compiler() -> Compiler {
        let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
        Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap())
    }

    #[test]
    fn every_setting_reaches_its_field() {
        let settings = json!({
            "spelling": "any", "property_order": "any", "style": "qwen_xml", "strict": true,
            "one_of": "at-least", "excludes": ["x"], "escapes": "n", "digits": 3,
            "formats": false, "draft": "7", "resources": {"urn:a": true}, "max_whitespace": 2,
            "limits": {
                "work": 1, "alternatives": 2, "grammar_size": 3, "language_states": 4,
                "states_per_step": 5, "depth": 6, "time_per_constraint": 0.5,
                "time_per_mask": null, "cache_bytes": 7, "split_bytes": 8, "split_nodes": 9,
            },
        });
        let CompileContext { json_options, limits, .. } =
            compiler().with_settings(&settings).unwrap().context;
        let Options { whitespace, spelling, property_order, style, .. } = &json_options;
        assert_eq!(*whitespace, Whitespace::at_most(2));
        assert_eq!((*spelling, *property_order), (Spelling::Any, PropertyOrder::Any));
        assert_eq!((style.name(), json_options.strictness), ("qwen_xml", Strictness::Closed));
        assert_eq!(
            (json_options.one_of, &json_options.excludes[..]),
            (OneOf::AtLeast, &["x".to_owned()][..])
        );
        assert_eq!((json_options.escapes.as_deref(), json_options.digits), (Some("n"), 3));
        assert_eq!((json_options.formats, json_options.draft), (false, Some(Draft::Draft7)));
        assert!(!json_options.resources.is_empty());
        assert_eq!((json_options.work, json_options.alternatives), (1, 2));
        let expected = Limits {
            grammar_size: 3,
            language_states: 4,
            states_per_step: 5,
            depth: 6,
            time_per_constraint: Some(Duration::from_millis(500)),
            time_per_mask: None,
            cache_bytes: 7,
            split_bytes: 8,
            split_nodes: 9,
        };
        assert_eq!(limits, expected);
        for (name, whitespace) in WHITESPACE {
            let compiler = compiler().with_settings(&json!({"whitespace": name})).unwrap();
            assert_eq!(compiler.context.json_options.whitespace, whitespace);
        }
        let pattern = compiler().with_settings(&json!({"whitespace": " ?"})).unwrap();
        assert_eq!(pattern.context.json_options.whitespace, Whitespace::Pattern(" ?".into()));
    }

    #[test]
    fn wrong_settings_are_refused_at_their_place() {
        for (settings, expected) in [
            (json!([]), "not an object; the settings are a JSON object"),
            (
                json!({"white": 1}),
                "at /white: `white` is no setting of a compiler; there are whitespace",
            ),
            (
                json!({"whitespace": "plain", "max_whitespace": 1}),
                "at /max_whitespace: `max_whitespace` stands beside `whitespace`",
            ),
            (
                json!({"spelling": "odd"}),
                "at /spelling: \"odd\" does not fit; it is one of canonical, escapes, any",
            ),
            (json!({"digits": -1}), "at /digits: -1 does not fit; it is a whole number from 1"),
            (json!({"digits": 0}), "at /digits: 0 does not fit"),
            (
                json!({"whitespace": "tight"}),
                "at /whitespace: the white space pattern \"tight\": it matches more than JSON's \
                 white space; write one of tidy,",
            ),
            (json!({"digits": 1_u64 << 40}), "at /digits: 1099511627776 does not fit"),
            (json!({"strict": "yes"}), "at /strict: \"yes\" does not fit; it is true or false"),
            (json!({"excludes": "x"}), "at /excludes: "),
            (json!({"excludes": [""]}), "at /excludes: every text holds the empty one"),
            (json!({"escapes": "nz"}), "at /escapes: JSON has no escape of a backslash and 'z'"),
            (json!({"limits": {"depth": null}}), "at /limits/depth: null does not fit"),
            (
                json!({"limits": {"deep": 1}}),
                "at /limits/deep: there is no limit `deep`; there are work",
            ),
            (
                json!({"limits": {"time_per_mask": -1}}),
                "at /limits/time_per_mask: -1 does not fit; it is a number of",
            ),
        ] {
            let error = compiler().with_settings(&settings).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Request);
            assert!(error.to_string().starts_with(expected), "{settings}: {error}");
        }
    }
}
