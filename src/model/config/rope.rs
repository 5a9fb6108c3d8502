//! Rotary positions in `config.json`: `rope_theta` and `rope_scaling`, or `rope_parameters` with
//! both, which transformers 5 writes, for all layers or for each type of layer.
//!
//! Programs disagree about files that state a value twice, so two statements that differ are
//! refused.

use std::f64::consts::TAU;

use maskwright_kernels::RotaryPairs;
use serde_json::{Map, Value};

use super::decoder::RopeConfig;
use super::errors::{config_error, shown};
use super::fields::ConfigFields;
use crate::error::Result;

/// The objects that may hold base and scaling.
const OBJECTS: [&str; 2] = ["rope_parameters", "rope_scaling"];
/// The types of layers that may have an object each.
const LAYER_TYPES: [&str; 2] = ["full_attention", "sliding_attention"];
const ORIGINAL: &str = "original_max_position_embeddings";
const PARTIAL: &str = "partial_rotary_factor";
const ALPHA: &str = "alpha";

/// The rotary positions of a family, where its file says nothing else.
#[derive(Clone, Copy)]
pub(super) struct RopeDefaults {
    pub(super) theta: f64,
    /// The key of the base beside the objects.
    pub(super) theta_key: &'static str,
    /// The part of a head that is rotated, unless the file says another.
    pub(super) partial: f64,
    /// Whether the family's class in the `transformers` library honours `partial_rotary_factor`.
    pub(super) reads_partial: bool,
    pub(super) pairs: RotaryPairs,
    /// The type of the layers in question, if the file may have an object for each.
    pub(super) layer_type: Option<&'static str>,
    /// Other names of the scalings.
    pub(super) aliases: &'static [(&'static str, &'static str)],
    /// Keys of the object that the scaling does not have, and that the family reads or knows to be
    /// harmless.
    pub(super) more_keys: &'static [&'static str],
    /// The object, in JSON, of a file that has none.
    pub(super) object: Option<&'static str>,
    /// The original context of a file that does not state it beside the objects.
    pub(super) original: Option<usize>,
}

impl RopeDefaults {
    pub(super) const LLAMA: Self = Self {
        theta: 10_000.0,
        theta_key: "rope_theta",
        partial: 1.0,
        reads_partial: false,
        pairs: RotaryPairs::Halves,
        layer_type: None,
        aliases: &[],
        more_keys: &[],
        object: None,
        original: None,
    };
}

/// Rotary positions, and with LongRoPE the longest sequence that the short factors hold for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rope {
    pub(super) config: RopeConfig,
    pub(super) short_context: Option<usize>,
    /// The longest sequence that the scaling was made for, where the rule says it.
    pub(super) scaled_context: Option<usize>,
    /// The base of all frequencies, where nothing scales them.
    pub(super) unscaled_base: Option<f64>,
}

/// A rule by which frequencies are changed for longer sequences than those of the first training.
#[derive(Clone, Debug, PartialEq)]
enum Scaling {
    None,
    Linear {
        factor: f64,
    },
    Llama3 {
        factor: f64,
        low: f64,
        high: f64,
        original: usize,
    },
    Yarn(Yarn),
    LongRope {
        short: Vec<f64>,
        long: Vec<f64>,
        attention_factor: f64,
        original: usize,
    },
    /// NTK-aware scaling: the base is multiplied by alpha^(d / (d − 2)), d the rotary dimensions (HunYuan).
    Alpha(f64),
    /// Only the first pairs are rotated, this part of all, with the frequencies that they have where all are
    /// rotated, divided by the factor (Gemma 4).
    Proportional {
        factor: f64,
        part: f64,
    },
}

/// Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models".
#[derive(Clone, Debug, PartialEq)]
struct Yarn {
    factor: f64,
    attention_factor: f64,
    beta_fast: f64,
    beta_slow: f64,
    truncate: bool,
    original: usize,
}

/// Reads the rotary positions of heads of a width. `context` is `max_position_embeddings`.
pub(super) fn read(
    config: &ConfigFields<'_>,
    defaults: &RopeDefaults,
    width: usize,
    context: usize,
) -> Result<Rope> {
    let key = defaults.theta_key;
    let mut theta = Statement::new(config.positive(key)?, config.pointer(key));
    let is_part = "it must be a number above 0, at most 1";
    let part = |fields: &ConfigFields<'_>| {
        let part = fields.number(PARTIAL, is_part, |x| x > 0.0 && x <= 1.0)?;
        match part {
            Some(part) if part < 1.0 && !defaults.reads_partial => {
                let help = "transformers ignores it in models of this type: take it out";
                Err(fields.wrong(PARTIAL, help))
            }
            part => Ok(part),
        }
    };
    let mut partial = Statement::new(part(config)?, config.pointer(PARTIAL));
    let original = config.size(ORIGINAL)?.or(defaults.original);
    let mut found: Option<(Scaling, &str)> = None;
    let stated = |name: &str| Ok(config.object(name)?.filter(|object| !object.is_empty()));
    let is_stated = stated(OBJECTS[0])?.is_some() || stated(OBJECTS[1])?.is_some();
    // An empty `rope_parameters` is of the type `default` there, which is not what families without one mean.
    let is_empty = config.object(OBJECTS[0])?.is_some_and(Map::is_empty);
    if is_empty && defaults.object.is_some() && !is_stated {
        let help = "take it out for the rotary scaling of the family, or write it out";
        return Err(config.wrong(OBJECTS[0], help));
    }
    let default = defaults.object.filter(|_| !is_stated);
    let default: Option<Map<String, Value>> =
        default.and_then(|text| serde_json::from_str(text).ok());
    for name in OBJECTS {
        let object = match (&default, stated(name)?) {
            (Some(default), _) if name == OBJECTS[0] => default,
            (_, Some(object)) => object,
            (_, None) => continue,
        };
        let mut at = config.pointer(name);
        let Some(object) = of_layer_type(config, (name, object), defaults, &mut at)? else {
            continue;
        };
        let fields = ConfigFields::new(object, &at);
        theta.join(fields.positive("rope_theta")?, fields.pointer("rope_theta"))?;
        partial.join(part(&fields)?, fields.pointer(PARTIAL))?;
        let rotary_dim = match fields.text("rope_type")? {
            Some("proportional") => width,
            _ => rotary_dims(&partial, defaults, width)?,
        };
        let mut scaling = scaling(&fields, defaults, original, context, rotary_dim)?;
        if let Scaling::Proportional { part, .. } = &mut scaling {
            *part = partial.value.unwrap_or(defaults.partial);
        }
        match found {
            Some((other, place)) if other != scaling => {
                let message = format!("`{name}` says otherwise than `{place}`");
                return Err(config_error(&message)
                    .at_pointer(at)
                    .with_help("leave one of the two out"));
            }
            _ => found = Some((scaling, name)),
        }
    }
    let scaling = found.map_or(Scaling::None, |(scaling, _)| scaling);
    let rotary_dim = match scaling {
        Scaling::Proportional { .. } => width,
        _ => rotary_dims(&partial, defaults, width)?,
    };
    let mut theta = theta.value.unwrap_or(defaults.theta);
    if let Scaling::Alpha(alpha) = scaling {
        theta *= alpha.powf(rotary_dim as f64 / (rotary_dim as f64 - 2.0));
    }
    let frequency = |pair: usize| theta.powf(-2.0 * pair as f64 / rotary_dim as f64);
    let frequencies = (0..rotary_dim / 2).map(frequency).collect();
    let pairs = defaults.pairs;
    Ok(scaling.apply(
        RopeConfig { pairs, frequencies, long_frequencies: None, attention_factor: 1.0 },
        theta,
        context,
    ))
}

/// The number of dimensions of a head that are rotated.
fn rotary_dims(partial: &Statement<f64>, defaults: &RopeDefaults, width: usize) -> Result<usize> {
    let part = partial.value.unwrap_or(defaults.partial);
    let rotary_dim = (width as f64 * part) as usize;
    if rotary_dim == 0 || !rotary_dim.is_multiple_of(2) {
        let message = format!("{part} of a head of {width} is {rotary_dim} dimensions");
        let at = if part == 1.0 { "/head_dim" } else { &partial.at };
        return Err(config_error(&message)
            .at_pointer(at)
            .with_help("pairs of dimensions turn: it must be an even number from 2"));
    }
    Ok(rotary_dim)
}

/// The object for the layers in question: the object itself, or its member for their type.
fn of_layer_type<'a>(
    config: &ConfigFields<'a>,
    (name, object): (&str, &'a Map<String, Value>),
    defaults: &RopeDefaults,
    at: &mut String,
) -> Result<Option<&'a Map<String, Value>>> {
    let has_types = object.keys().any(|key| LAYER_TYPES.contains(&key.as_str()));
    match defaults.layer_type {
        None if !has_types => Ok(Some(object)),
        None => Err(config.wrong(name, "this family has one object for all of its layers")),
        // An object without types, as in older files, is that of the full-attention layers.
        Some(layer_type) if !has_types => {
            if name == "rope_parameters" {
                let help = "this family has an object for each type of layer in it";
                return Err(config.wrong(name, help));
            }
            Ok((layer_type == "full_attention").then_some(object))
        }
        Some(layer_type) => {
            if let Some(key) = object.keys().find(|key| !LAYER_TYPES.contains(&key.as_str())) {
                let help = "give an object for each type of layer and nothing beside them";
                return Err(config_error(&format!("`{key}` is no type of layer"))
                    .at_pointer(format!("{at}/{key}"))
                    .with_help(help));
            }
            let stated = object.get(layer_type).filter(|value| !value.is_null());
            let wrong = || ConfigFields::new(object, at).wrong(layer_type, "it must be an object");
            let inner = stated.map(|value| value.as_object().ok_or_else(wrong)).transpose()?;
            *at = format!("{at}/{layer_type}");
            Ok(inner.filter(|object| !object.is_empty()))
        }
    }
}

/// The scaling in an object. `rotary_dim` is the number of dimensions that are rotated.
fn scaling(
    rope: &ConfigFields<'_>,
    defaults: &RopeDefaults,
    original: Option<usize>,
    context: usize,
    rotary_dim: usize,
) -> Result<Scaling> {
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
    let kind = defaults.aliases.iter().find(|(alias, _)| *alias == kind).map_or(kind, |a| a.1);
    let above_0 = |name: &str| {
        rope.positive(name)?.ok_or_else(|| {
            config_error(&format!("`{name}` is missing"))
                .at_pointer(rope.pointer(name))
                .with_help(format!("rotary scaling of type `{kind}` needs it"))
        })
    };
    let mut stated = Statement::new(original, format!("/{ORIGINAL}"));
    stated.join(rope.size(ORIGINAL)?, rope.pointer(ORIGINAL))?;
    let original = stated.value.unwrap_or(context);
    let scaling = match kind {
        "default" => Scaling::None,
        "linear" => Scaling::Linear { factor: above_0("factor")? },
        "dynamic" if defaults.more_keys.contains(&ALPHA) && rope.has(ALPHA) => {
            Scaling::Alpha(above_0(ALPHA)?)
        }
        "proportional" => {
            Scaling::Proportional { factor: rope.positive("factor")?.unwrap_or(1.0), part: 1.0 }
        }
        // Dynamic NTK scaling changes the base only for sequences longer than `max_position_embeddings`;
        // none is here.
        "dynamic" => {
            above_0("factor")?;
            Scaling::None
        }
        "llama3" => {
            let factor = above_0("factor")?;
            let (low, high) = (above_0("low_freq_factor")?, above_0("high_freq_factor")?);
            if low >= high {
                return Err(rope.wrong("high_freq_factor", "it must be above `low_freq_factor`"));
            }
            Scaling::Llama3 { factor, low, high, original }
        }
        "yarn" => Scaling::Yarn(yarn(rope, original, context)?),
        "longrope" => long_rope(rope, original, context, rotary_dim)?,
        _ => {
            let kind = shown(&kind.into());
            let kind = kind.trim_matches('"');
            let message = format!("rotary scaling of type `{kind}` is not supported");
            return Err(config_error(&message).at_pointer(kind_at).with_help(
                "default, linear, dynamic, llama3, yarn, longrope and proportional are supported",
            ));
        }
    };
    check_keys(rope, kind, defaults.more_keys)?;
    Ok(scaling)
}

fn yarn(rope: &ConfigFields<'_>, original: usize, context: usize) -> Result<Yarn> {
    let factor = rope.positive("factor")?.unwrap_or(context as f64 / original as f64);
    let factor_of = |scale: f64| {
        if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 }
    };
    let scales = (rope.positive("mscale")?, rope.positive("mscale_all_dim")?);
    let default = match scales {
        (Some(scale), Some(all)) => factor_of(scale) / factor_of(all),
        _ => factor_of(1.0),
    };
    Ok(Yarn {
        factor,
        attention_factor: rope.positive("attention_factor")?.unwrap_or(default),
        beta_fast: rope.positive("beta_fast")?.unwrap_or(32.0),
        beta_slow: rope.positive("beta_slow")?.unwrap_or(1.0),
        truncate: rope.flag("truncate")?.unwrap_or(true),
        original,
    })
}

fn long_rope(
    rope: &ConfigFields<'_>,
    original: usize,
    context: usize,
    rotary_dim: usize,
) -> Result<Scaling> {
    let factors = |name: &str| -> Result<Vec<f64>> {
        let wanted = format!("it must be a list of {} numbers above 0", rotary_dim / 2);
        let list = rope.list(name)?.ok_or_else(|| rope.wrong(name, &wanted))?;
        let numbers = list.iter().map(|value| value.as_f64().filter(|x| *x > 0.0)).collect();
        let numbers: Option<Vec<f64>> = numbers;
        numbers.filter(|n| n.len() == rotary_dim / 2).ok_or_else(|| rope.wrong(name, &wanted))
    };
    let short = factors("short_factor")?;
    let long = factors("long_factor")?;
    let factor = rope.positive("factor")?.unwrap_or(context as f64 / original as f64);
    let default = || (1.0 + factor.ln() / (original as f64).ln()).sqrt();
    let default = if factor <= 1.0 { 1.0 } else { default() };
    let attention_factor = rope.positive("attention_factor")?.unwrap_or(default);
    Ok(Scaling::LongRope { short, long, attention_factor, original })
}

impl Scaling {
    /// The frequencies with this scaling, as in `modeling_rope_utils.py` of the `transformers` library.
    fn apply(self, mut rope: RopeConfig, theta: f64, context: usize) -> Rope {
        let (mut short_context, mut scaled_context) = (None, None);
        let unscaled_base = (self == Self::None).then_some(theta);
        let pairs = rope.frequencies.len() as f64;
        let all = rope.frequencies.iter_mut();
        match self {
            Self::None | Self::Alpha(_) => {}
            Self::Proportional { factor, part } => {
                let rotated_pairs = (part * pairs) as usize;
                for (pair, frequency) in all.enumerate() {
                    *frequency = if pair < rotated_pairs { *frequency / factor } else { 0.0 };
                }
            }
            Self::Linear { factor } => all.for_each(|frequency| *frequency /= factor),
            Self::Llama3 { factor, low, high, original } => {
                for frequency in all {
                    // The number of rotations within the original context.
                    let turns = original as f64 * *frequency / TAU;
                    let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                    *frequency = (1.0 - kept) * *frequency / factor + kept * *frequency;
                }
            }
            Self::Yarn(yarn) => {
                let width = 2.0 * rope.frequencies.len() as f64;
                let kept = yarn.kept(theta, width);
                for (pair, frequency) in rope.frequencies.iter_mut().enumerate() {
                    let kept = kept(pair as f64);
                    *frequency = (1.0 - kept) * *frequency / yarn.factor + kept * *frequency;
                }
                rope.attention_factor = yarn.attention_factor;
                scaled_context = Some((yarn.original as f64 * yarn.factor).round() as usize);
            }
            Self::LongRope { short, long, attention_factor, original } => {
                let divided = |factors: Vec<f64>| {
                    let pairs = rope.frequencies.iter().zip(factors);
                    pairs.map(|(frequency, factor)| frequency / factor).collect::<Vec<f64>>()
                };
                let (short, long) = (divided(short), divided(long));
                (rope.frequencies, rope.long_frequencies) = (short, Some(long));
                rope.attention_factor = attention_factor;
                short_context = (original < context).then_some(original);
            }
        }
        Rope { config: rope, short_context, scaled_context, unscaled_base }
    }
}

impl Yarn {
    /// The part of the frequency of a pair that is kept, from 0 to 1. `width` dimensions are rotated.
    fn kept(&self, theta: f64, width: f64) -> impl Fn(f64) -> f64 {
        // The pair that makes so many rotations within the original context.
        let pair =
            |turns: f64| width * (self.original as f64 / (turns * TAU)).ln() / (2.0 * theta.ln());
        let (mut from, mut to) = (pair(self.beta_fast), pair(self.beta_slow));
        if self.truncate {
            (from, to) = (from.floor(), to.ceil());
        }
        (from, to) = (from.max(0.0), to.min(width - 1.0));
        if from == to {
            to += 0.001;
        }
        move |pair| 1.0 - ((pair - from) / (to - from)).clamp(0.0, 1.0)
    }
}

/// Errors on keys that the kind of scaling does not have.
fn check_keys(rope: &ConfigFields<'_>, kind: &str, more: &[&str]) -> Result<()> {
    let always = ["rope_type", "type", "rope_theta", PARTIAL, ORIGINAL];
    let own: &[&str] = match kind {
        "linear" | "dynamic" | "proportional" => &["factor"],
        "llama3" => &["factor", "low_freq_factor", "high_freq_factor"],
        "yarn" => &[
            "factor",
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "mscale",
            "mscale_all_dim",
            "truncate",
        ],
        "longrope" => &["factor", "attention_factor", "short_factor", "long_factor"],
        _ => &[],
    };
    // Of YaRN, what published files say and the `transformers` library does not read.
    let unread: &[&str] = if kind == "yarn" { &["attn_factor", "finetuned"] } else { &[] };
    let is_known = |key: &str| [&always, own, more, unread].iter().any(|keys| keys.contains(&key));
    match rope.object.iter().find(|(key, value)| !is_known(key) && !value.is_null()) {
        None => Ok(()),
        Some((key, value)) => {
            let message =
                format!("`{key}`: {}: rotary scaling of type `{kind}` has none", shown(value));
            let help = "take it out, or name the type of scaling that it belongs to";
            Err(config_error(&message).at_pointer(rope.pointer(key)).with_help(help))
        }
    }
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
