//! Rotary positions in `config.json`: `rope_theta` and `rope_scaling`, or `rope_parameters` with
//! both, which transformers 5 writes.
//!
//! Programs disagree about files that state a value twice, so two statements that differ are
//! refused.

use serde_json::{Map, Value};

use super::errors::{config_error, shown};
use super::fields::ConfigFields;
use crate::error::Result;

const DEFAULT_THETA: f64 = 10_000.0;
/// The objects that may hold base and scaling.
const OBJECTS: [&str; 2] = ["rope_parameters", "rope_scaling"];
const ORIGINAL: &str = "original_max_position_embeddings";
const LLAMA3: [&str; 3] = ["factor", "low_freq_factor", "high_freq_factor"];

/// Llama 3.1's rotary scaling: long wavelengths are slowed by `factor`, short ones kept, those in
/// between blended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Llama3Rope {
    /// By how much long wavelengths are slowed.
    pub factor: f64,
    /// Wavelengths above the original context divided by this are long.
    pub low_freq_factor: f64,
    /// Wavelengths below the original context divided by this are short.
    pub high_freq_factor: f64,
    /// The context that the model was first trained on.
    pub original_max_position_embeddings: usize,
}

/// Reads the base of the frequencies and their scaling. `context` is `max_position_embeddings`.
pub(super) fn read(config: &ConfigFields<'_>, context: usize) -> Result<(f64, Option<Llama3Rope>)> {
    let mut theta = Statement::new(config.positive("rope_theta")?, "/rope_theta".to_owned());
    let original = config.size(ORIGINAL)?;
    let mut scaling: Option<(Option<Llama3Rope>, &str)> = None;
    no_partial_rotation(config)?;
    for name in OBJECTS {
        let Some(object) = config.object(name)?.filter(|object| !object.is_empty()) else {
            continue;
        };
        let at = format!("/{name}");
        let fields = ConfigFields::new(object, &at);
        theta.join(fields.positive("rope_theta")?, fields.pointer("rope_theta"))?;
        let found = self::scaling(&fields, original, context)?;
        match scaling {
            Some((other, place)) if other != found => {
                let message = format!("`{name}` says otherwise than `{place}`");
                return Err(config_error(&message)
                    .at_pointer(at)
                    .with_help("leave one of the two out"));
            }
            _ => scaling = Some((found, name)),
        }
    }
    Ok((theta.value.unwrap_or(DEFAULT_THETA), scaling.and_then(|(scaling, _)| scaling)))
}

/// The scaling in an object, `None` where it says that there is none.
fn scaling(
    rope: &ConfigFields<'_>,
    original: Option<usize>,
    context: usize,
) -> Result<Option<Llama3Rope>> {
    let (new, old) = (rope.text("rope_type")?, rope.text("type")?);
    if let (Some(new), Some(old)) = (new, old)
        && new != old
    {
        let (new, old) = (shown(&new.into()), shown(&old.into()));
        let message = format!("`rope_type` is {new}, and `type` is {old}");
        return Err(config_error(&message)
            .at_pointer(rope.pointer("rope_type"))
            .with_help("leave one of the two out"));
    }
    let kind_at = rope.pointer(if new.is_some() { "rope_type" } else { "type" });
    let kind = new.or(old).unwrap_or("default");
    if !["default", "llama3"].contains(&kind) {
        let kind = shown(&kind.into());
        let kind = kind.trim_matches('"');
        return Err(config_error(&format!("rotary scaling of type `{kind}` is not supported"))
            .at_pointer(kind_at)
            .with_help("`default` and `llama3` are supported"));
    }
    no_partial_rotation(rope)?;
    check_keys(rope, kind)?;
    if kind == "default" {
        return Ok(None);
    }
    let number = |name: &str| {
        let help = format!("`llama3` needs {}", LLAMA3.join(", "));
        rope.positive(name)?.ok_or_else(|| {
            config_error(&format!("`{name}` is missing"))
                .at_pointer(rope.pointer(name))
                .with_help(help)
        })
    };
    let [factor, low_freq_factor, high_freq_factor] =
        [number("factor")?, number("low_freq_factor")?, number("high_freq_factor")?];
    if low_freq_factor >= high_freq_factor {
        return Err(rope.wrong("high_freq_factor", "it must be above `low_freq_factor`"));
    }
    let mut stated = Statement::new(original, format!("/{ORIGINAL}"));
    stated.join(rope.size(ORIGINAL)?, rope.pointer(ORIGINAL))?;
    let original_max_position_embeddings = stated.value.unwrap_or(context);
    Ok(Some(Llama3Rope {
        factor,
        low_freq_factor,
        high_freq_factor,
        original_max_position_embeddings,
    }))
}

/// Errors on keys that the kind of scaling does not have.
fn check_keys(rope: &ConfigFields<'_>, kind: &str) -> Result<()> {
    let object: &Map<String, Value> = rope.object;
    let is_known = |key: &str| {
        let always = ["rope_type", "type", "rope_theta", "partial_rotary_factor", ORIGINAL];
        always.contains(&key) || kind == "llama3" && LLAMA3.contains(&key)
    };
    match object.iter().find(|(key, value)| !is_known(key) && !value.is_null()) {
        None => Ok(()),
        Some((key, value)) => {
            let message =
                format!("`{key}`: {}: rotary scaling of type `{kind}` has none", shown(value));
            let help = "take it out, or name the type of scaling that it belongs to";
            Err(config_error(&message).at_pointer(rope.pointer(key)).with_help(help))
        }
    }
}

fn no_partial_rotation(fields: &ConfigFields<'_>) -> Result<()> {
    let name = "partial_rotary_factor";
    fields.number(name, "only whole heads are rotated here: it must be 1", |x| x == 1.0)?;
    Ok(())
}

/// A value that may stand at several places of the file; all must agree.
struct Statement<T> {
    value: Option<T>,
    at: String,
}

impl<T: Copy + PartialEq + std::fmt::Display> Statement<T> {
    fn new(value: Option<T>, at: String) -> Self {
        Self { value, at }
    }

    /// Errors if another place says something else.
    fn join(&mut self, value: Option<T>, at: String) -> Result<()> {
        match (self.value, value) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                let message = format!("it is {theirs} here, and {ours} at {}", self.at);
                Err(config_error(&message).at_pointer(at).with_help("leave one of the two out"))
            }
            (None, Some(_)) => {
                (self.value, self.at) = (value, at);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
