//! `config.json`: the shape of a model and what its layers compute, and the refusal of what is not
//! supported.
//!
//! A key that is overlooked gives wrong text without an error. So every key is read, known to be
//! harmless, or refused ([`keys`]). A [family](families) turns its keys into the [description of a
//! decoder](decoder).

pub(super) mod decoder;
mod errors;
mod families;
mod fields;
mod keys;
mod rope;

use serde_json::Value;

use super::checkpoint::ModelFiles;
use crate::error::Result;
use crate::vocabulary::read_with_infinities;
pub use decoder::Config;
use errors::{config_error, refused, shown};
use families::{ADAPTED, FAMILIES, Family};
use fields::ConfigFields;

/// The file's name in a model folder.
const FILE: &str = "config.json";

/// Reads `config.json`.
///
/// Errors on other architectures and on features that would change the model's text if they were left out.
pub(super) fn read(files: &ModelFiles) -> Result<Config> {
    let value = value(files)?;
    refuse_unbuilt(&value)
        .and_then(|()| refuse_other_tasks(&value))
        .and_then(|()| refuse_other_dtypes(&value))
        .and_then(|()| from_json(&value))
        .map_err(|error| match files {
            ModelFiles::Gguf(file) => file.in_terms_of_metadata(error),
            _ => error,
        })
        .map_err(|error| error.in_file(files.path(FILE)))
}

/// Errors on a model whose classes all are of other tasks than writing text: its last layer, which the
/// checkpoint holds, is none of logits.
fn refuse_other_tasks(value: &Value) -> Result<()> {
    /// The ends of the names of such classes in the `transformers` library.
    const OTHERS: [&str; 8] = [
        "ForSequenceClassification",
        "ForTokenClassification",
        "ForQuestionAnswering",
        "ForMaskedLM",
        "ForMultipleChoice",
        "ForReward",
        "RewardModel",
        "ForTextEncoding",
    ];
    let classes = value.get("architectures").and_then(Value::as_array);
    let classes: Vec<&str> = classes.into_iter().flatten().filter_map(Value::as_str).collect();
    let is_other = |class: &&str| OTHERS.iter().any(|end| class.ends_with(end));
    match classes.first() {
        Some(class) if classes.iter().all(is_other) => {
            let message =
                format!("a `{}` writes no text", shown(&(*class).into()).trim_matches('"'));
            Err(config_error(&message)
                .at_pointer("/architectures")
                .with_help("give a model for text generation, such as a …ForCausalLM"))
        }
        _ => Ok(()),
    }
}

/// Errors on a dtype of weights that are not read.
fn refuse_other_dtypes(value: &Value) -> Result<()> {
    const KNOWN: [&str; 8] =
        ["float32", "float16", "bfloat16", "float64", "float", "half", "double", "auto"];
    for key in ["torch_dtype", "dtype"] {
        let Some(stated) = value.get(key).filter(|value| !value.is_null()) else { continue };
        let name = stated.as_str().map(|name| name.strip_prefix("torch.").unwrap_or(name));
        if !name.is_some_and(|name| KNOWN.contains(&name)) {
            return Err(refused(key, stated, "is not supported")
                .with_help("weights in float32, float16 and bfloat16 are read"));
        }
    }
    Ok(())
}

/// The file as JSON, also with infinities in it.
fn value(files: &ModelFiles) -> Result<Value> {
    let bytes = files.require(FILE)?;
    let json = files.json(FILE).map(Option::unwrap_or_default);
    json.or_else(|error| read_with_infinities(&bytes).map_err(|_| error))
}

/// Errors on a model that candle-transformers computes, in a build without it.
fn refuse_unbuilt(value: &Value) -> Result<()> {
    let name = value.get("model_type").and_then(Value::as_str);
    match ADAPTED.iter().find(|family| Some(family.model_type) == name) {
        Some(family) if !cfg!(feature = "candle-transformers") => {
            let message = format!(
                "models of type `{}` need the crate candle-transformers",
                family.model_type
            );
            Err(config_error(&message)
                .at_pointer("/model_type")
                .with_help("build with `--features candle-transformers`"))
        }
        _ => Ok(()),
    }
}

/// Reads an object with the keys of a `config.json`.
fn from_json(value: &Value) -> Result<Config> {
    let Value::Object(object) = value else {
        return Err(config_error("not an object").with_help("it must describe a model"));
    };
    let fields = ConfigFields::new(object, "");
    let config = (family(&fields)?.read)(&fields)?;
    keys::refuse_unread(&fields, config.adapted.is_some())?;
    Ok(config)
}

fn family(fields: &ConfigFields<'_>) -> Result<&'static Family> {
    let name = fields.text("model_type")?;
    let mut all = FAMILIES.iter().chain(ADAPTED);
    all.find(|family| Some(family.model_type) == name).ok_or_else(|| {
        let is_built = cfg!(feature = "candle-transformers");
        let all = FAMILIES.iter().chain(if is_built { ADAPTED } else { &[] });
        let known: Vec<&str> = all.map(|family| family.model_type).collect();
        let message = match name {
            Some(name) => {
                let name = shown(&name.into());
                format!("a model of type `{}` is not supported", name.trim_matches('"'))
            }
            None => "`model_type` is missing, which tells the model's family".to_owned(),
        };
        config_error(&message)
            .at_pointer("/model_type")
            .with_help(format!(
                "models of these types are: {}; convert it to one of them if its layers are the same, \
                 or constrain it in transformers, vLLM, SGLang or llama.cpp with the Python package",
                known.join(", ")
            ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn base() -> Value {
        json!({
            "model_type": "llama", "hidden_size": 64, "intermediate_size": 172, "vocab_size": 512,
            "num_hidden_layers": 5, "num_attention_heads": 8, "rms_norm_eps": 1e-5,
            "max_position_embeddings": 512
        })
    }

    fn with(fields: Value) -> Result<Config> {
        let mut config = base();
        if let (Value::Object(config), Value::Object(fields)) = (&mut config, fields) {
            config.extend(fields);
        }
        from_json(&config)
    }

    fn without(field: &str, fields: Value) -> Result<Config> {
        let mut config = base();
        if let (Value::Object(config), Value::Object(fields)) = (&mut config, fields) {
            config.remove(field);
            config.extend(fields);
        }
        from_json(&config)
    }

    fn llama3(fields: Value) -> Value {
        let mut rope = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0});
        if let (Value::Object(rope), Value::Object(fields)) = (&mut rope, fields) {
            rope.extend(fields);
        }
        rope
    }

    fn first(config: &Config) -> &decoder::AttentionConfig {
        &config.decoder.layers[0].attention
    }

    /// The angle of the second pair between two positions.
    fn frequency(config: &Config) -> f64 {
        first(config).rope.as_ref().map_or(0.0, |rope| rope.frequencies[1])
    }

    #[test]
    fn what_is_not_said_has_the_default_of_the_family() -> Result<()> {
        let config = with(json!({}))?;
        assert_eq!((first(&config).kv_heads, first(&config).width), (8, 8));
        assert_eq!(frequency(&config), 0.1);
        assert!(!config.tie_word_embeddings && !first(&config).qkv_bias);
        assert_eq!((&config.bos_token_id, &config.eos_token_ids), (&None, &vec![]));
        let config = with(json!({
            "model_type": "qwen2", "eos_token_id": [3, 4], "bos_token_id": 2, "head_dim": 16,
            "use_sliding_window": false, "sliding_window": 4096, "rope_theta": 1e8,
            "num_key_value_heads": 2
        }))?;
        assert!(first(&config).qkv_bias && !first(&config).output_bias);
        assert_eq!((config.bos_token_id, &config.eos_token_ids), (Some(2), &vec![3, 4]));
        assert_eq!((first(&config).width, frequency(&config)), (16, 0.1));
        let config = with(json!({"rope_parameters": {"rope_type": "default", "rope_theta": 1e8}}))?;
        assert!((frequency(&config) - 0.01).abs() < 1e-12);

        assert_eq!(without("rms_norm_eps", json!({}))?.decoder.norm.eps, 1e-6);
        let context = |fields| {
            without("max_position_embeddings", fields).map(|config| config.max_position_embeddings)
        };
        assert_eq!(context(json!({}))?, 2048);
        assert_eq!(context(json!({"max_position_embeddings": 1024.0}))?, 1024);
        assert!(context(json!({"max_position_embeddings": 1024.5})).is_err());
        let layers = with(json!({"num_hidden_layers": 99_999_999})).unwrap_err().to_string();
        assert!(layers.contains("/num_hidden_layers") && layers.contains("10000"), "{layers}");
        let mistral = json!({"model_type": "mistral", "num_attention_heads": 16});
        assert_eq!(context(mistral.clone())?, 131_072);
        let qwen2 = json!({"model_type": "qwen2", "num_attention_heads": 32});
        assert_eq!(context(qwen2.clone())?, 32_768);
        assert_eq!(first(&with(mistral)?).kv_heads, 8);
        assert_eq!(first(&with(qwen2)?).kv_heads, 32);
        Ok(())
    }

    #[test]
    fn what_says_the_same_in_other_words_is_taken() -> Result<()> {
        assert!(with(json!({"hidden_act": "swish"})).is_ok());
        // Twice, and the same; other programs write both.
        let rope = llama3(json!({"type": "llama3", "rope_theta": 5e5}));
        let both = json!({"rope_scaling": rope, "rope_parameters": rope, "rope_theta": 5e5,
            "original_max_position_embeddings": 100});
        let once = json!({"rope_scaling": llama3(json!({"rope_theta": 5e5,
            "original_max_position_embeddings": 100}))});
        assert_eq!(with(both)?, with(once)?);
        // The context, where nothing else is said.
        let stated = llama3(json!({"original_max_position_embeddings": 512}));
        let stated = with(json!({"rope_scaling": stated}))?;
        assert_eq!(with(json!({"rope_scaling": llama3(json!({}))}))?, stated);
        // The slowest pair, 1/1000, is slowed by the factor.
        let rope = first(&stated).rope.as_ref();
        assert!(rope.is_some_and(|rope| (rope.frequencies[3] - 0.001 / 8.0).abs() < 1e-12));
        Ok(())
    }

    #[test]
    fn keys_that_published_files_have_are_taken() -> Result<()> {
        // Qwen3-Coder.
        let coder = |norms: bool, shared: usize| {
            with(json!({"model_type": "qwen3_moe", "num_experts": 4, "num_experts_per_tok": 2,
                "moe_intermediate_size": 32, "num_key_value_heads": 8, "use_qk_norm": norms,
                "shared_expert_intermediate_size": shared}))
        };
        assert!(coder(true, 0).is_ok() && coder(false, 0).is_err() && coder(true, 8).is_err());
        // DeepSeek's distillation of Qwen3, and the first models with YaRN.
        let yarn = |more: Value| {
            let mut scaling = json!({"rope_type": "yarn", "factor": 4.0,
                "original_max_position_embeddings": 128});
            if let (Value::Object(scaling), Value::Object(more)) = (&mut scaling, more) {
                scaling.extend(more);
            }
            with(json!({"rope_scaling": scaling}))
        };
        let stated = yarn(json!({"attn_factor": 0.878, "finetuned": true}))?;
        assert_eq!(stated, yarn(json!({}))?);
        // GPT-NeoX, as versions of the library wrote it.
        let neox = |base: f64| {
            without(
                "rms_norm_eps",
                json!({"model_type": "gpt_neox", "layer_norm_eps": 1e-5,
                "rotary_pct": 0.5, "partial_rotary_factor": 0.5, "rotary_emb_base": base,
                "rope_theta": 10_000}),
            )
        };
        assert!(neox(10_000.0).is_ok() && neox(20_000.0).is_err());
        // Command R.
        let cohere = json!({"model_type": "cohere", "model_max_length": 4096});
        assert_eq!(without("rms_norm_eps", cohere)?.context_length(), 4096);
        // Qwen2.5 for a million tokens.
        let chunks = json!({"chunk_size": 300, "local_size": 44});
        let million = json!({"model_type": "qwen2", "num_key_value_heads": 8,
            "dual_chunk_attention_config": chunks});
        assert_eq!(with(million)?.context_length(), 256);
        assert!(with(json!({"chunk_size_feed_forward": 0})).is_ok());
        assert!(with(json!({"chunk_size_feed_forward": 8})).is_err());
        Ok(())
    }

    #[test]
    fn windows_are_those_of_the_family() -> Result<()> {
        let windows = |model_type: &str, fields: Value| {
            let mut all = json!({"model_type": model_type, "num_key_value_heads": 8});
            if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
                all.extend(fields);
            }
            let config = with(all)?;
            let windows = config.decoder.layers.iter().map(|l| l.attention.window.unwrap_or(0));
            Ok::<Vec<usize>, crate::error::Error>(windows.collect())
        };
        let (none, all) = ([0; 5], [100; 5]);
        assert_eq!(windows("mistral", json!({}))?, [4096; 5]);
        assert_eq!(windows("mistral", json!({"sliding_window": null}))?, none);
        assert_eq!(windows("mistral", json!({"sliding_window": 100}))?, all);
        assert_eq!(windows("qwen2", json!({"sliding_window": 100}))?, none);
        let on = |fields: Value| {
            let mut all = json!({"use_sliding_window": true, "sliding_window": 100});
            if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
                all.extend(fields);
            }
            windows("qwen3", all)
        };
        // There are 5 layers, and the default is the layers from 28 on.
        assert_eq!(on(json!({}))?, none);
        assert_eq!(on(json!({"max_window_layers": 4}))?, [0, 0, 0, 0, 100]);
        assert_eq!(on(json!({"max_window_layers": 0}))?, all);
        let types = json!([
            "full_attention",
            "sliding_attention",
            "full_attention",
            "full_attention",
            "sliding_attention"
        ]);
        assert_eq!(on(json!({"layer_types": types}))?, [0, 100, 0, 0, 100]);
        assert_eq!(windows("gemma2", json!({"sliding_window": 100}))?, [100, 0, 100, 0, 100]);
        Ok(())
    }

    #[test]
    fn short_factors_hold_for_the_original_context() -> Result<()> {
        let config = with(json!({"model_type": "phi3", "rope_scaling": {"type": "longrope",
            "short_factor": [1, 1, 1, 2], "long_factor": [9, 9, 9, 9]},
            "original_max_position_embeddings": 128}))?;
        assert_eq!((config.context_length(), config.short_context()), (512, Some(128)));
        let rope = first(&config).rope.as_ref();
        let long = rope.and_then(|rope| rope.long_frequencies.as_ref());
        // The first pair turns by 1 a position, and the long factors are 9.
        assert!(long.is_some_and(|long| (long[0] - 1.0 / 9.0).abs() < 1e-12));
        assert!(rope.is_some_and(|rope| rope.frequencies[0] == 1.0));
        Ok(())
    }

    /// Files as they were published, of which only the sizes are smaller here.
    #[test]
    fn published_files_load() -> Result<()> {
        // Gemma 3 4B leaves out what the class of the text part has.
        let gemma = from_json(&json!({"model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
            "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
            "sliding_window": 1024}}))?;
        assert_eq!((gemma.vocab_size, gemma.num_hidden_layers), (262_208, 34));
        assert_eq!((first(&gemma).heads, first(&gemma).kv_heads, first(&gemma).width), (8, 4, 256));
        for published in [
            json!({"model_type": "gemma2", "num_key_value_heads": 8, "sliding_window": 4096,
                "sliding_window_size": 4096, "hidden_act": "gelu_pytorch_tanh"}),
            json!({"model_type": "phi3", "full_attn_mod": 1, "interpolate_factor": 1}),
            json!({"model_type": "cohere2", "position_embedding_type": "rope_gptj", "rms_norm_eps": null,
                "rotary_pct": 1.0, "use_qk_norm": false}),
            json!({"model_type": "starcoder2", "attention_softmax_in_fp32": true, "rms_norm_eps": null,
                "scale_attention_softmax_in_fp32": true, "scale_attn_weights": true}),
            json!({"model_type": "stablelm", "num_key_value_heads": 8, "norm_eps": 1e-5, "rms_norm_eps": null,
                "rope_pct": 0.25, "rotary_scaling_factor": 1.0}),
            json!({"model_type": "qwen2", "num_key_value_heads": 8, "sliding_window": 0,
                "use_sliding_window": false}),
            json!({"model_type": "qwen2_moe", "num_key_value_heads": 8, "sliding_window": 0,
                "use_sliding_window": false}),
        ] {
            let shown = published.to_string();
            let loaded = with(published).map(drop).map_err(|error| error.to_string());
            assert_eq!(loaded, Ok(()), "{shown}");
        }
        Ok(())
    }

    /// As the cards of Qwen2.5 and Qwen3 say how to read longer texts.
    #[test]
    fn yarn_makes_the_context_longer() -> Result<()> {
        let yarn = |fields: Value| {
            let config = with(json!({"rope_scaling": fields}))?;
            Ok::<usize, crate::error::Error>(config.context_length())
        };
        assert_eq!(yarn(json!({"type": "yarn", "factor": 4.0}))?, 2048);
        let original =
            json!({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64});
        // It says more by itself.
        assert_eq!(yarn(original)?, 512);
        Ok(())
    }

    /// The help or the message of a config that is refused.
    fn refusal(fields: Value) -> String {
        with(fields).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn quantised_experts_are_read_and_other_methods_refused() {
        let oss = |quantisation: Value| {
            json!({"model_type": "gpt_oss", "intermediate_size": 64, "experts_per_token": 4,
                "quantization_config": quantisation})
        };
        let names = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"];
        let mxfp4 = json!({"quant_method": "mxfp4", "modules_to_not_convert": names});
        assert!(with(oss(mxfp4)).is_ok());
        for (quantisation, expected) in [
            (json!({"quant_method": "gptq"}), "weights quantised by \"gptq\" are not supported"),
            (json!({"bits": 4}), "weights quantised by \"\" are not supported"),
            (json!({"quant_method": "mxfp4", "bits": 3}), "at /quantization_config/bits: "),
            (
                json!({"quant_method": "mxfp4", "modules_to_not_convert": ["model.norm"]}),
                "all experts must be quantised, and nothing else",
            ),
        ] {
            let error = refusal(oss(quantisation));
            assert!(error.contains(expected), "{error}");
        }
        let mut narrow = oss(json!({"quant_method": "mxfp4"}));
        narrow["intermediate_size"] = json!(40);
        assert!(refusal(narrow).contains("must be multiples of 32"));
        let twice = json!({"model_type": "gpt_oss", "experts_per_token": 3});
        assert!(refusal(twice).contains("`num_experts_per_tok` says otherwise"));
    }

    #[test]
    fn routers_are_refused_by_the_key_that_is_not_supported() {
        let ling = json!({"num_experts": 8, "moe_intermediate_size": 8, "score_function": "sigmoid",
            "moe_router_enable_expert_bias": true, "n_group": 2, "topk_group": 1,
            "partial_rotary_factor": 0.5});
        for (model_type, fields, expected) in [
            ("glm4_moe", json!({"n_group": 3}), "at /n_group: `n_group`: 3 does not divide 128"),
            ("glm4_moe", json!({"n_group": 64, "topk_group": 3}), "at /topk_group: "),
            ("glm4_moe", json!({"num_experts_per_tok": 129}), "is more than the 128 experts"),
            ("dots1", json!({}), "`n_routed_experts` is missing"),
            ("solar_open", json!({"scoring_func": "softmax"}), "at /scoring_func: "),
            ("minimax_m2", json!({"attn_type_list": [1, 1, 0, 1, 1]}), "at /attn_type_list: "),
            ("minimax_m2", json!({"rotary_dim": 200}), "is more than the 128 dimensions"),
            ("ernie4_5_moe", json!({"moe_k": 65}), "at /moe_k: "),
            ("ernie4_5_moe", json!({"moe_layer_end_index": -2}), "at /moe_layer_end_index: "),
            ("hunyuan_v1_moe", json!({"moe_topk": [1, 1, 1, 1, 2]}), "and the same in all"),
            ("hunyuan_v1_moe", json!({"moe_layer_num_skipped": 1}), "at /moe_layer_num_skipped: "),
            ("bailing_moe", json!({"norm_head": true}), "at /norm_head: "),
            ("bailing_moe", json!({"partial_rotary_factor": null}), "at /partial_rotary_factor: "),
            ("bailing_moe", json!({"rotary_dim": 8}), "`partial_rotary_factor` says otherwise"),
            ("bailing_moe", json!({"norm_topk_prob": false}), "a sigmoid router is normed"),
            ("bailing_moe", json!({"n_group": null}), "at /n_group: "),
            ("bailing_moe", json!({"scoring_func": "softmax"}), "`score_function` says otherwise"),
            (
                "bailing_moe",
                json!({"score_function": "softmax", "moe_router_enable_expert_bias": false,
                "n_group": 1, "routed_scaling_factor": 2.0}),
                "at /routed_scaling_factor: ",
            ),
            ("bailing_moe_v2", json!({}), ""),
        ] {
            let mut all = json!({"model_type": model_type, "num_key_value_heads": 8});
            for more in [ling.clone(), fields] {
                let Value::Object(more) = more else { return };
                let is_own = model_type.starts_with("bailing") || more.len() < 7;
                if let Value::Object(all) = &mut all
                    && is_own
                {
                    all.extend(more);
                }
            }
            let error = refusal(all);
            assert!(error.contains(expected), "{model_type}: {error}");
            assert_eq!(error.is_empty(), expected.is_empty(), "{model_type}: {error}");
        }
    }

    #[test]
    fn parts_of_a_model_are_refused_by_their_place() {
        let Value::Object(base) = base() else { return };
        let text = |model_type: &str| {
            let mut text = base.clone();
            text.insert("model_type".to_owned(), json!(model_type));
            text
        };
        let whole =
            |text: Value| from_json(&json!({"model_type": "mistral3", "text_config": text}));
        assert!(whole(json!(text("ministral3"))).is_ok());
        let mut unknown = text("mistral");
        unknown.insert("use_qk_norm".to_owned(), json!(true));
        let mut no_beta = text("ministral3");
        no_beta.insert("rope_scaling".to_owned(), json!({"rope_type": "yarn", "factor": 4.0}));
        for (text, expected) in [
            (json!(text("qwen2")), "at /text_config/model_type: a text part of type \"qwen2\""),
            (json!(null), "`text_config` is missing"),
            (json!(unknown), "at /text_config/use_qk_norm: "),
            (json!(no_beta), "at /rope_scaling/llama_4_scaling_beta: "),
        ] {
            let error = whole(text).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(expected), "{error}");
        }
        for (fields, expected) in [
            (json!({"use_bidirectional_attention": "all"}), "at /use_bidirectional_attention: "),
            (json!({"num_kv_shared_layers": 5}), "at /num_kv_shared_layers: "),
            (json!({"enable_moe_block": true}), "at /num_experts: `num_experts` is missing"),
            (json!({"per_layer_config": {"4": {"heads": 2}}}), "at /per_layer_config/4/heads: "),
            (json!({"vocab_size_per_layer_input": 5}), "at /vocab_size_per_layer_input: "),
            (
                json!({"num_key_value_heads": 8, "attention_k_eq_v": true,
                "num_global_key_value_heads": 3}),
                "8 attention heads cannot share 3",
            ),
        ] {
            let mut all = json!({"model_type": "gemma4_text", "num_key_value_heads": 8});
            if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
                all.extend(fields);
            }
            let error = refusal(all);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn keys_of_real_models_that_change_nothing_are_read_over() -> Result<()> {
        with(json!({
            "_name_or_path": "x", "_attn_implementation_autoset": true, "architectures": ["A"],
            "attention_dropout": 0.1, "auto_map": {"AutoConfig": "x"}, "dtype": "bfloat16",
            "hidden_dropout": 0.0, "id2label": {"0": "a"}, "initializer_range": 0.02,
            "is_causal": true, "is_decoder": true, "keys_to_ignore_at_inference": ["x"],
            "layer_norm_eps": 1e-5, "max_length": 20, "max_window_layers": 28,
            "model_max_length": 4096, "num_experts": 1, "output_attentions": false,
            "pad_token_id": 0, "partial_rotary_factor": 1.0, "position_embedding_type": "absolute",
            "pretraining_tp": 2, "quantization_config": null, "rope_interleaved": false,
            "rope_scaling": null, "rope_parameters": {}, "tokenizer_class": "T", "top_p": 0.9,
            "torch_dtype": "float16", "transformers.js_config": {"dtype": "q4"},
            "transformers_version": "5.0", "unsloth_fixed": true, "use_bfloat16": true,
            "use_cache": true, "use_mrope": false
        }))
        .map(|_| ())
    }

    #[test]
    fn what_would_change_the_text_is_refused_by_name() {
        for (fields, expected) in [
            (json!({"model_type": "rwkv"}), "at /model_type: a model of type `rwkv`"),
            (json!({"hidden_act": "mish"}), "at /hidden_act: `hidden_act`: \"mish\" is not"),
            (json!({"num_local_experts": 8}), "at /num_local_experts: "),
            (json!({"quantization_config": {"bits": 4}}), "at /quantization_config: "),
            (
                json!({"quantization_config": {"bits": 4, "desc_act": false, "quant_method": "gptq"}}),
                "weights that are quantised by `gptq` are not supported",
            ),
            (json!({"is_causal": false}), "at /is_causal: `is_causal`: false is not supported"),
            (json!({"logits_scaling": 8}), "at /logits_scaling: `logits_scaling`: 8 is not"),
            (json!({"per_layer_config": {"0": {"head_dim": 4}}}), "at /per_layer_config: "),
            (json!({"final_logit_softcapping": 30.0}), "this key is not known; take it out"),
            (json!({"use_qk_norm": true}), "at /use_qk_norm: "),
            (json!({"attention_multiplier": 0.1}), "at /attention_multiplier: "),
            (json!({"layer_types": ["chunked_attention"]}), "at /layer_types: `layer_types` is"),
            (
                json!({"num_hidden_layers": 1, "layer_types": ["sliding_attention"]}),
                "at /layer_types: `layer_types` is [\"sliding_attention\"]; a layer of",
            ),
            (
                json!({"model_type": "phi3", "partial_rotary_factor": 0.1}),
                "at /partial_rotary_factor: 0.1 of a head of 8 is 0",
            ),
            (
                json!({"sliding_window": 100}),
                "at /sliding_window: `sliding_window`: 100: this key is",
            ),
            // Rotary positions.
            (
                json!({"rope_scaling": {"type": "mrope"}}),
                "at /rope_scaling/type: rotary scaling of type `mrope` is not supported",
            ),
            (
                json!({"rope_parameters": {"rope_type": "axial", "factor": 2}}),
                "at /rope_parameters/rope_type: rotary scaling of type `axial` is not supported",
            ),
            (
                json!({"rope_scaling": {"type": "llama3"}}),
                "at /rope_scaling/factor: `factor` is missing; rotary scaling of type `llama3` needs it",
            ),
            (json!({"rope_scaling": "linear"}), "at /rope_scaling: `rope_scaling` is \"linear\""),
            (json!({"rope_scaling": []}), "at /rope_scaling: `rope_scaling` is []; it must be an"),
            (json!({"rope_scaling": {"type": 5}}), "at /rope_scaling/type: `type` is 5; it must"),
            (
                json!({"rope_scaling": {"type": "default", "rope_type": "llama3"}}),
                "at /rope_scaling/rope_type: `rope_type` is \"llama3\", and `type` is \"default\"",
            ),
            (
                json!({"rope_scaling": {"factor": 8.0}}),
                "at /rope_scaling/factor: `factor`: 8.0: rotary scaling of type `default` has none",
            ),
            (
                json!({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}),
                "at /rope_parameters: `rope_parameters` is {",
            ),
            (
                json!({"rope_scaling": llama3(json!({"factor": 0}))}),
                "at /rope_scaling/factor: `factor` is 0; it must be a number above 0",
            ),
            (json!({"rope_scaling": llama3(json!({"factor": -8.0}))}), "`factor` is -8.0"),
            (
                json!({"rope_scaling": llama3(json!({"low_freq_factor": 4.0}))}),
                "`high_freq_factor` is 4.0; it must be above `low_freq_factor`",
            ),
            (
                json!({"rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6}}),
                "at /rope_parameters/rope_theta: it is 1000000 here, and 10000 at /rope_theta; leave",
            ),
            (
                json!({"rope_scaling": llama3(json!({})), "rope_parameters": {"rope_type": "default"}}),
                "at /rope_scaling: `rope_scaling` says otherwise than `rope_parameters`; leave one",
            ),
            (
                json!({"original_max_position_embeddings": 100, "rope_parameters":
                    llama3(json!({"original_max_position_embeddings": 200}))}),
                "it is 200 here, and 100 at /original_max_position_embeddings",
            ),
            // Values that are out of range or of another type.
            (json!({"hidden_size": "64"}), "at /hidden_size: `hidden_size` is \"64\"; it must be"),
            (json!({"num_attention_heads": 0}), "at /num_attention_heads: "),
            (json!({"head_dim": 1u64 << 40}), "at /head_dim: `head_dim` is 1099511627776; it must"),
            (json!({"rope_theta": -1.0}), "at /rope_theta: `rope_theta` is -1"),
            (json!({"num_key_value_heads": 3}), "8 attention heads cannot share 3"),
            (
                json!({"head_dim": 1_000_000}),
                "at /head_dim: heads of 1000000 numbers are more than",
            ),
            (json!({"head_dim": 7}), "at /head_dim: 1 of a head of 7 is 7 dimensions"),
            (json!({"rms_norm_eps": "x"}), "at /rms_norm_eps: `rms_norm_eps` is \"x\"; it must be"),
            (json!({"rms_norm_eps": -1}), "at /rms_norm_eps: `rms_norm_eps` is -1; it must be"),
            (json!({"eos_token_id": -1}), "at /eos_token_id: `eos_token_id` is -1; it must be"),
            (json!({"tie_word_embeddings": "yes"}), "at /tie_word_embeddings: "),
            // Keys that the library ignores in models of these types.
            (
                json!({"partial_rotary_factor": 0.5}),
                "at /partial_rotary_factor: `partial_rotary_factor` is 0.5; transformers ignores it",
            ),
            (
                json!({"model_type": "gpt_neox", "partial_rotary_factor": 0.5}),
                "at /partial_rotary_factor: `partial_rotary_factor`: 0.5 is not supported",
            ),
            (
                json!({"model_type": "phi3", "rope_scaling":
                    {"type": "longrope", "original_max_position_embeddings": 64}}),
                "it is 64 here, and 4096 at /original_max_position_embeddings",
            ),
            (
                json!({"model_type": "gpt_neox", "num_key_value_heads": 2}),
                "`num_key_value_heads`: 2 is not supported",
            ),
            (
                json!({"model_type": "gemma3_text", "attn_logit_softcapping": 50.0}),
                "`attn_logit_softcapping`: 50.0 is not supported",
            ),
            (
                json!({"model_type": "gemma2", "num_key_value_heads": 8, "sliding_window": 100,
                    "sliding_window_size": 50}),
                "`sliding_window_size`: 50 is not supported",
            ),
            (json!({"position_embedding_type": "rope_gptj"}), "`position_embedding_type`: "),
            (
                json!({"model_type": "mistral", "sliding_window": 0}),
                "at /sliding_window: `sliding_window` is 0; it must be",
            ),
        ] {
            let shown = fields.to_string();
            let error = with(fields).map_err(|e| e.to_string());
            assert!(
                matches!(&error, Err(e) if e.contains(expected)),
                "{shown}: {error:?} lacks {expected}"
            );
        }
        let error = without("vocab_size", json!({})).map_err(|e| e.to_string());
        let expected =
            "at /vocab_size: `vocab_size` is missing; a config.json of this model type states it";
        assert_eq!(error.err().as_deref(), Some(expected));
    }
}
