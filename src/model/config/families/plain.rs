//! The decoder that families differ from: Llama's.

use maskwright_kernels::{Activation, RotaryPairs};

use crate::error::Result;
use crate::model::config::decoder::{
    AttentionConfig, Config, DecoderConfig, GatedConfig, LayerConfig, MlpConfig, NormConfig,
    NormKind, NormPlaces, Prefixes, ProjectionLayout, TensorNames,
};
use crate::model::config::errors::{config_error, refused};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::{self, RopeDefaults};

/// Values of keys that a file leaves out, and the names of keys that differ.
#[derive(Clone, Copy)]
pub(super) struct Defaults {
    /// Heads of keys and values; `None`: as many as there are attention heads.
    pub(super) kv_heads: Option<usize>,
    /// Width of a head; `None`: the width of the stream by the number of heads.
    pub(super) head_dim: Option<usize>,
    pub(super) max_position_embeddings: usize,
    pub(super) eps_key: &'static str,
    pub(super) eps: f64,
    pub(super) is_tied: bool,
    pub(super) activation_key: &'static str,
    pub(super) activation: Activation,
    pub(super) norm: NormKind,
    pub(super) rope: RopeDefaults,
    /// Sizes that every file states but those of a family that leave out what its class in the
    /// `transformers` library has.
    pub(super) sizes: &'static [(&'static str, usize)],
}

impl Defaults {
    pub(super) const LLAMA: Self = Self {
        kv_heads: None,
        head_dim: None,
        max_position_embeddings: 2048,
        eps_key: "rms_norm_eps",
        eps: 1e-6,
        is_tied: false,
        activation_key: "hidden_act",
        activation: Activation::Silu,
        norm: NormKind::Rms,
        rope: RopeDefaults::LLAMA,
        sizes: &[],
    };

    /// A size that must be stated, unless the family has it.
    fn size(&self, fields: &ConfigFields<'_>, name: &str, least: usize) -> Result<usize> {
        let own = self.sizes.iter().find(|(known, _)| *known == name);
        match (fields.integer(name, least)?, own) {
            (Some(stated), _) => Ok(stated),
            (None, Some(&(_, own))) => Ok(own),
            (None, None) => fields.required(name, least),
        }
    }
}

/// Layers of a model; the largest published ones have some 130.
const MAX_LAYERS: usize = 10_000;

/// Numbers of a head; the largest published ones have 512.
const MAX_HEAD_DIM: usize = 65_536;

/// The names of a model of text alone.
const PREFIXES: &[Prefixes] = &[Prefixes { decoder: "model.", head: "" }];

/// Reads a decoder with the same rotary positions in all layers.
pub(super) fn read(fields: &ConfigFields<'_>, defaults: &Defaults) -> Result<Config> {
    let mut config = read_without_rope(fields, defaults)?;
    set_rope(&mut config, fields, &defaults.rope, |_| true)?;
    Ok(config)
}

/// Reads the rotary positions of some layers, whose heads are of one width.
pub(super) fn set_rope(
    config: &mut Config,
    fields: &ConfigFields<'_>,
    defaults: &RopeDefaults,
    turns: impl Fn(usize) -> bool,
) -> Result<()> {
    let context = config.max_position_embeddings;
    let first = config.decoder.layers.iter().enumerate().find(|(index, _)| turns(*index));
    let width = first.map_or(config.head_width, |(_, layer)| layer.attention.width);
    let rope = rope::read(fields, defaults, width, context)?;
    config.short_context = config.short_context.or(rope.short_context);
    config.max_position_embeddings = context.max(rope.scaled_context.unwrap_or(0));
    for (index, layer) in config.decoder.layers.iter_mut().enumerate() {
        if turns(index) {
            layer.attention.rope = Some(rope.config.clone());
        }
    }
    Ok(())
}

/// Reads a decoder whose layers know no positions yet.
pub(super) fn read_without_rope(fields: &ConfigFields<'_>, defaults: &Defaults) -> Result<Config> {
    let inner = defaults.size(fields, "intermediate_size", 1)?;
    read_with_inner(fields, defaults, inner)
}

/// The same with a width inside feed-forward parts that is known.
pub(super) fn read_with_inner(
    fields: &ConfigFields<'_>,
    defaults: &Defaults,
    inner: usize,
) -> Result<Config> {
    only_causal_decoders(fields, defaults)?;
    let heads = defaults.size(fields, "num_attention_heads", 1)?;
    let hidden_size = defaults.size(fields, "hidden_size", 1)?;
    let kv_heads = match defaults.kv_heads {
        Some(default) if !fields.has("num_key_value_heads") => default,
        _ => fields.size("num_key_value_heads")?.unwrap_or(heads),
    };
    if !heads.is_multiple_of(kv_heads) {
        let message = format!("{heads} attention heads cannot share {kv_heads} key-value heads");
        return Err(config_error(&message)
            .at_pointer("/num_key_value_heads")
            .with_help("the first must be a multiple of the second"));
    }
    let width = match defaults.head_dim {
        Some(default) if !fields.has("head_dim") => default,
        _ => fields.size("head_dim")?.unwrap_or(hidden_size / heads),
    };
    // Rotary positions are computed before the shapes of tensors are compared with it.
    if width > MAX_HEAD_DIM {
        return Err(config_error(&format!(
            "heads of {width} numbers are more than {MAX_HEAD_DIM}"
        ))
        .at_pointer("/head_dim")
        .with_help("get a complete copy of the file"));
    }
    let layers = defaults.size(fields, "num_hidden_layers", 0)?;
    check_layers(fields, layers)?;
    let context =
        fields.size("max_position_embeddings")?.unwrap_or(defaults.max_position_embeddings);
    let norm = read_norm(fields, defaults)?;
    let attention = AttentionConfig {
        heads,
        kv_heads,
        width,
        qkv_bias: false,
        output_bias: false,
        projections: ProjectionLayout::Separate,
        kv_of_layer: None,
        head_norm: None,
        value_norm: None,
        clip_qkv: None,
        rope: None,
        window: None,
        soft_cap: None,
        scale: 1.0 / (width as f64).sqrt(),
        temperature_tuning: None,
        sinks: None,
    };
    let mlp = MlpConfig::Gated(GatedConfig {
        inner,
        activation: activation(fields, defaults)?,
        bias: false,
        is_fused: false,
    });
    let layer = LayerConfig {
        norms: NormPlaces::PRE,
        norm,
        attention,
        mlp,
        residual_scale: 1.0,
        scalar: None,
    };
    let decoder = decoder(vec![layer; layers], norm);
    let config = config_of(fields, defaults, (hidden_size, layers, context), decoder)?;
    Ok(Config { head_width: width, ..config })
}

/// A decoder with Llama's names.
fn decoder(layers: Vec<LayerConfig>, norm: NormConfig) -> DecoderConfig {
    DecoderConfig {
        prefixes: PREFIXES,
        names: TensorNames::LLAMA,
        has_transposed_matrices: false,
        learned_positions: None,
        per_layer_embeddings: None,
        is_tie_assumed: false,
        head_bias: false,
        mtp_layers: 0,
        other_parts: &[],
        embedding_scale: 1.0,
        layers,
        norm,
        logit_scale: 1.0,
        logit_soft_cap: None,
    }
}

/// Reads what every model has beside its layers: vocabulary, head, tokens.
fn config_of(
    fields: &ConfigFields<'_>,
    defaults: &Defaults,
    (hidden_size, layers, context): (usize, usize, usize),
    decoder: DecoderConfig,
) -> Result<Config> {
    Ok(Config {
        model_type: fields.text("model_type")?.unwrap_or_default().to_owned(),
        hidden_size,
        vocab_size: defaults.size(fields, "vocab_size", 1)?,
        num_hidden_layers: layers,
        max_position_embeddings: context,
        tie_word_embeddings: fields.flag("tie_word_embeddings")?.unwrap_or(defaults.is_tied),
        bos_token_id: fields.token_ids("bos_token_id")?.first().copied(),
        eos_token_ids: fields.token_ids("eos_token_id")?,
        short_context: None,
        head_width: 0,
        adapted: None,
        decoder,
    })
}

/// Errors on more layers than any model has: each takes memory before its weights are looked for.
fn check_layers(fields: &ConfigFields<'_>, layers: usize) -> Result<()> {
    if layers > MAX_LAYERS {
        let wanted = format!("it must be a number from 1 to {MAX_LAYERS}");
        return Err(fields.wrong("num_hidden_layers", &wanted));
    }
    Ok(())
}

/// Reads a model without attention, whose layers are no decoder's.
pub(super) fn read_without_attention(
    fields: &ConfigFields<'_>,
    defaults: &Defaults,
) -> Result<Config> {
    only_causal_decoders(fields, defaults)?;
    let hidden_size = fields.required("hidden_size", 1)?;
    let layers = fields.required("num_hidden_layers", 0)?;
    check_layers(fields, layers)?;
    let context =
        fields.size("max_position_embeddings")?.unwrap_or(defaults.max_position_embeddings);
    let norm = read_norm(fields, defaults)?;
    let decoder = decoder(Vec::new(), norm);
    config_of(fields, defaults, (hidden_size, layers, context), decoder)
}

fn read_norm(fields: &ConfigFields<'_>, defaults: &Defaults) -> Result<NormConfig> {
    let eps = fields.number(defaults.eps_key, "it must be a number from 0", |eps| eps >= 0.0)?;
    Ok(NormConfig { kind: defaults.norm, eps: eps.unwrap_or(defaults.eps) })
}

/// `attention_bias`: biases on all projections of attention.
pub(super) fn read_attention_bias(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    let bias = fields.flag("attention_bias")?.unwrap_or(false);
    for layer in &mut config.decoder.layers {
        layer.attention.qkv_bias |= bias;
        layer.attention.output_bias |= bias;
    }
    Ok(())
}

/// Puts a feed-forward part without a gate into each layer.
pub(super) fn remove_gates(config: &mut Config, bias: bool) {
    for layer in &mut config.decoder.layers {
        if let MlpConfig::Gated(GatedConfig { inner, activation, .. }) = layer.mlp {
            layer.mlp = MlpConfig::Plain { inner, activation, bias };
        }
    }
}

/// Changes the heads of queries, keys and values of each layer.
pub(super) fn for_attention(config: &mut Config, mut change: impl FnMut(&mut AttentionConfig)) {
    config.decoder.layers.iter_mut().for_each(|layer| change(&mut layer.attention));
}

/// `mlp_bias`: biases on all projections of the feed-forward part.
pub(super) fn read_mlp_bias(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    let all = fields.flag("mlp_bias")?.unwrap_or(false);
    for layer in &mut config.decoder.layers {
        match &mut layer.mlp {
            MlpConfig::Gated(GatedConfig { bias, .. }) | MlpConfig::Plain { bias, .. } => {
                *bias = all;
            }
            MlpConfig::Experts(_) | MlpConfig::GatedBesideExperts(..) => {}
        }
    }
    Ok(())
}

/// The layers with an attention window: those that `layer_types` names, or else those of a rule.
pub(super) fn read_windows(
    config: &mut Config,
    fields: &ConfigFields<'_>,
    window: Option<usize>,
    has_window: impl Fn(usize) -> bool,
) -> Result<()> {
    let windowed = match layer_types(fields, config.num_hidden_layers)? {
        Some(windowed) => windowed,
        None => (0..config.num_hidden_layers).map(has_window).collect(),
    };
    for (layer, windowed) in config.decoder.layers.iter_mut().zip(windowed) {
        if windowed && window.is_none() {
            let wanted =
                "a layer of sliding_attention needs a window, which `sliding_window` gives";
            return Err(fields.wrong("layer_types", wanted));
        }
        layer.attention.window = window.filter(|_| windowed);
    }
    Ok(())
}

/// For each layer whether `layer_types` gives it a window. `None` if the key is absent.
fn layer_types(fields: &ConfigFields<'_>, layers: usize) -> Result<Option<Vec<bool>>> {
    let wanted = format!("{layers} layers of full_attention and sliding_attention are supported");
    let Some(types) = fields.list("layer_types")? else { return Ok(None) };
    let windowed = types.iter().map(|layer| match layer.as_str() {
        Some("full_attention") => Some(false),
        Some("sliding_attention") => Some(true),
        _ => None,
    });
    let windowed: Option<Vec<bool>> = windowed.collect();
    let windowed = windowed.filter(|windowed| windowed.len() == layers);
    windowed.map(Some).ok_or_else(|| fields.wrong("layer_types", &wanted))
}

pub(super) fn activation(fields: &ConfigFields<'_>, defaults: &Defaults) -> Result<Activation> {
    let key = defaults.activation_key;
    match fields.text(key)? {
        None => Ok(defaults.activation),
        // Several names of one function.
        Some("silu" | "swish") => Ok(Activation::Silu),
        Some("gelu_pytorch_tanh" | "gelu_new" | "gelu_fast") => Ok(Activation::GeluTanh),
        Some("gelu") => Ok(Activation::Gelu),
        Some("relu") => Ok(Activation::Relu),
        Some("relu2") => Ok(Activation::SquaredRelu),
        Some(other) => Err(refused(key, &other.into(), "is not supported")
            .with_help("silu, gelu, gelu_pytorch_tanh, relu and relu2 are supported")),
    }
}

/// Errors on models that are no causal decoders with rotary positions.
fn only_causal_decoders(fields: &ConfigFields<'_>, defaults: &Defaults) -> Result<()> {
    let refused = |key: &str| match fields.get(key) {
        Some(value) => Err(refused(key, value, "is not supported")),
        None => Ok(()),
    };
    if fields.flag("is_causal")? == Some(false) {
        return refused("is_causal");
    }
    if fields.flag("is_encoder_decoder")? == Some(true) {
        return refused("is_encoder_decoder");
    }
    match fields.text("position_embedding_type")? {
        // "absolute" is what earlier versions wrote for every model.
        None | Some("absolute" | "rope") => Ok(()),
        // The rotary positions of GPT-J.
        Some("rope_gptj") if defaults.rope.pairs == RotaryPairs::Neighbours => Ok(()),
        Some(_) => refused("position_embedding_type"),
    }
}
