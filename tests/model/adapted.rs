//! Model types that candle-transformers computes: their logits against the `transformers` library, texts
//! under a schema, and what is refused; and our decoder against candle-transformers on the same weights.

#![allow(clippy::unwrap_used)]

use serde_json::json;

#[cfg(not(feature = "candle-transformers"))]
#[test]
fn a_build_without_the_feature_names_it() {
    use crate::families::Case;

    for case in Case::of_folder("adapted_logits") {
        let error = case.load("adapted-unbuilt").unwrap_err().to_string();
        let expected = format!(
            "config.json: at /model_type: models of type `{}` need the crate candle-transformers; build with \
             `--features candle-transformers`",
            case.model_type()
        );
        assert!(error.contains(&expected), "{error}");
    }
    let unknown = Case {
        name: "rwkv".to_owned(),
        value: json!({"config": {"model_type": "rwkv"}, "tensors": {}}),
    };
    let error = unknown.load("adapted-unbuilt").unwrap_err().to_string();
    assert!(!error.contains("lfm2") && error.contains("starcoder2"), "{error}");
}

#[cfg(feature = "candle-transformers")]
mod built {
    use std::collections::{BTreeSet, HashMap};
    use std::ops::ControlFlow;

    use candle_core::{DType, Device, Tensor};
    use candle_nn::VarBuilder;
    use maskwright::engine::{
        BeamSearch, Engine, EngineOptions, Labels, Prompt, Request, Speculation,
    };
    use maskwright::model::{self, Chunk, KvCache, LogitRows, Model, ModelOptions, ModelSource};
    use maskwright::sampling::SamplingParams;
    use maskwright::{Compiler, Error};
    use serde_json::Value;

    use super::json;
    use crate::families::{Case, numbers};
    use crate::model_support::write_model;

    fn cases() -> Vec<Case> {
        Case::of_folder("adapted_logits")
    }

    /// The first case of each model type.
    fn one_of_each_type() -> Vec<Case> {
        let mut seen = BTreeSet::new();
        cases().into_iter().filter(|case| seen.insert(case.model_type().to_owned())).collect()
    }

    fn case(name: &str) -> Case {
        cases().into_iter().find(|case| case.name == name).unwrap()
    }

    #[test]
    fn every_adapted_type_has_the_logits_of_transformers() {
        let mut bad = Vec::new();
        for case in cases() {
            let worst = match case.load("adapted-logits") {
                Ok(model) => case.worst(&model),
                Err(error) => {
                    bad.push(format!("{}: {error}", case.name));
                    continue;
                }
            };
            eprintln!("{}: within {worst:.1e}", case.name);
            if worst.is_nan() || worst > 5e-5 {
                bad.push(format!("{} {worst:e}", case.name));
            }
        }
        assert!(bad.is_empty(), "{bad:?}");
    }

    /// The greatest difference between two rows of logits.
    fn distance(a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    fn next(model: &Model, tokens: &[u32], cache: &mut KvCache) -> Vec<f32> {
        model.forward(tokens, cache).unwrap().to_vec().unwrap()
    }

    #[test]
    fn sequences_are_cut_forked_and_read_in_pieces_as_alone() {
        for case in one_of_each_type() {
            let (model, tokens) = (case.load("adapted-pieces").unwrap(), case.tokens());
            let alone = |tokens: &[u32]| next(&model, tokens, &mut model.new_cache().unwrap());
            let expected = alone(&tokens);
            let check = |found: &[f32], expected: &[f32], what: &str| {
                let worst = distance(found, expected);
                assert!(worst < 5e-5, "{} {what}: {worst:e}", case.name);
            };
            for size in [1, 7, 39] {
                let mut cache = model.new_cache().unwrap();
                let rows = tokens.chunks(size).map(|piece| next(&model, piece, &mut cache));
                check(&rows.last().unwrap(), &expected, "in pieces");
                assert_eq!(cache.len(), tokens.len());
                // A cut sequence goes on elsewhere, and a fork as its own.
                let mut fork = cache.fork();
                cache.truncate(20);
                let other = [&tokens[..20], &[5, 6]].concat();
                check(&next(&model, &[5, 6], &mut cache), &alone(&other), "after a cut");
                let longer = [&tokens[..], &[9]].concat();
                check(&next(&model, &[9], &mut fork), &alone(&longer), "in a fork");
                model.keep(&mut fork, 38, &[0, 2]).unwrap();
                let kept = [&tokens[..39], &[9, 8]].concat();
                check(&next(&model, &[8], &mut fork), &alone(&kept), "after a choice");
            }
            // Two sequences that take turns in one pass.
            let (mut one, mut other) = (model.new_cache().unwrap(), model.new_cache().unwrap());
            let mut rows = Vec::new();
            for (a, b) in [(&tokens[..9], &tokens[20..33]), (&tokens[9..12], &tokens[33..])] {
                let chunks = &mut [Chunk::new(a, &mut one), Chunk::new(b, &mut other)];
                rows = model.forward_batch(chunks).unwrap();
            }
            check(&rows[0][0].to_vec().unwrap(), &alone(&tokens[..12]), "beside another");
            check(&rows[1][0].to_vec().unwrap(), &alone(&tokens[20..]), "beside another");
        }
    }

    const SCHEMA: &str = r#"{"type": "object", "required": ["name", "age", "tags"], "additionalProperties": false,
        "properties": {"name": {"type": "string", "minLength": 2, "maxLength": 12},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "tags": {"type": "array", "items": {"enum": ["a", "bc"]}, "maxItems": 3}}}"#;

    #[test]
    fn every_adapted_type_writes_texts_of_a_schema() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        for case in one_of_each_type() {
            let engine = Engine::new(case.load("adapted-texts").unwrap());
            let compiler = Compiler::new(engine.vocabulary().clone());
            let request = |seed| Request {
                constraint: Some(compiler.json_schema_str(SCHEMA).unwrap()),
                max_tokens: 120,
                prompt: Prompt::Tokens(case.tokens()[..8].to_vec()),
                sampling: SamplingParams { seed: Some(seed), ..SamplingParams::default() },
                ..Request::text("")
            };
            // Submitted together, and written one after the other.
            let requests = [1, 2, 3].map(request);
            let together = engine.generate_each(&requests, &mut |_, _| {
                assert!(engine.stats().running <= 1);
                ControlFlow::Continue(())
            });
            let mut texts = BTreeSet::new();
            for (request, response) in requests.iter().zip(together.unwrap()) {
                assert!(response.complete, "{}", response.text);
                let value: Value = serde_json::from_str(&response.text).unwrap();
                assert!(jsonschema::is_valid(&schema, &value), "{}: {value}", case.name);
                let alone = engine.generate(request, &mut |_| ControlFlow::Continue(())).unwrap();
                assert_eq!(alone.text, response.text, "{}", case.name);
                texts.insert(response.text);
            }
            assert_eq!(texts.len(), 3);
        }
    }

    #[test]
    fn features_that_go_back_are_refused_by_name() {
        let model = case("mamba").load("adapted-refusals").unwrap();
        let engine = Engine::new(model.clone())
            .with_options(EngineOptions { max_running: 8, ..EngineOptions::default() });
        let text = || Request { raw: true, max_tokens: 3, ..Request::text("a") };
        let labels = Some(Labels::new(["a", "b"]));
        for (field, request) in [
            ("speculate", Request { speculate: Speculation::Forced, ..text() }),
            ("speculate", Request { speculate: Speculation::Grammar, ..text() }),
            ("speculate", Request { speculate: Speculation::Ngram, ..text() }),
            ("beam", Request { beam: Some(BeamSearch::new(2)), ..text() }),
            ("labels", Request { labels, ..text() }),
        ] {
            let error = engine.generate(&request, &mut |_| ControlFlow::Continue(())).unwrap_err();
            let expected = format!(
                "`{field}` is not supported for models of type `mamba`, which candle-transformers computes"
            );
            assert!(error.to_string().contains(&expected), "{error}");
        }
        let says = |error: Error, what: &str| {
            let expected = format!("{what} are not supported for models of type `mamba`");
            assert!(error.to_string().contains(&expected), "{error}");
        };
        says(model.first_layers(1).unwrap_err(), "draft models");
        says(engine.clone().with_draft(model.clone()).unwrap_err(), "draft models");
        let mut cache = model.new_cache().unwrap();
        says(model.forward_tree(&[1, 2, 3], &[0, 0], &mut cache).unwrap_err(), "trees of tokens");
        assert!(cache.is_empty() && cache.block(0).is_none() && model.kv_blocks().is_none());
        // What needs no way back.
        let asked = Request { prompt_logprobs: Some(2), best_of: 2, logprobs: true, ..text() };
        let best = engine.generate_ranked(&asked).unwrap();
        assert_eq!(best.len(), 2);
        assert_eq!(best[0].prompt_logprobs.as_ref().unwrap().len(), 1);
        // Errors leave a sequence as it was.
        let expected = next(&model, &[1, 2, 3], &mut model.new_cache().unwrap());
        next(&model, &[1, 2], &mut cache);
        assert!(model.forward(&[260], &mut cache).is_err());
        assert_eq!(next(&model, &[3], &mut cache), expected);
        // The cache of one model is not another's.
        let other = case("olmo").load("adapted-refusals").unwrap();
        assert!(other.forward(&[1], &mut cache).unwrap_err().to_string().contains("another model"));
    }

    /// The error of a case with other members in its config.
    fn refusal(name: &str, members: Value) -> String {
        let mut case = case(name);
        let config = case.value["config"].as_object_mut().unwrap();
        config.extend(members.as_object().unwrap().clone());
        case.load("adapted-config").map(|_| String::new()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn keys_that_would_change_the_logits_are_refused_by_name() {
        for (name, members, expected) in [
            (
                "mamba",
                json!({"state_size": 32}),
                "at /state_size: `state_size`: 32 is not supported",
            ),
            ("mamba", json!({"use_bias": true}), "`use_bias`: true is not supported; candle-"),
            ("mamba", json!({"time_step_rank": 3}), "`time_step_rank`: 3 is not supported"),
            ("mamba", json!({"conv_dim": 3}), "at /conv_dim: `conv_dim`: 3: this key is not known"),
            ("mamba", json!({"quantization_config": {"bits": 4}}), "at /quantization_config: "),
            ("lfm2", json!({"conv_bias": true}), "at /conv_bias: "),
            ("lfm2", json!({"layer_types": ["conv"]}), "3 layers of full_attention and conv"),
            ("lfm2", json!({"head_dim": 8}), "heads that are 24 wide together"),
            ("lfm2", json!({"rope_scaling": {"type": "linear", "factor": 2}}), "scaled"),
            ("helium", json!({"attention_bias": true}), "at /attention_bias: "),
            ("olmo", json!({"num_local_experts": 4}), "at /num_local_experts: "),
            ("olmo", json!({"sliding_window": 9}), "at /sliding_window: "),
            ("olmo", json!({"num_hidden_layers": 0}), "at /num_hidden_layers: "),
            ("mamba2", json!({"n_groups": 2}), "at /n_groups: `n_groups`: 2 is not supported"),
            ("mamba2", json!({"time_step_limit": [0.0, 0.1]}), "without a limit: [0.0, Infinity]"),
            ("mamba2", json!({"num_heads": 5}), "heads of 8 must be 48 wide together"),
            ("gpt_bigcode", json!({"multi_query": false}), "at /multi_query: "),
            ("gpt_bigcode", json!({"activation_function": "gelu"}), "at /activation_function: "),
            ("gpt_bigcode", json!({"n_head": 7}), "the heads must divide the width"),
            ("recurrent_gemma", json!({"partial_rotary_factor": 1.0}), "computes with 0.5"),
            ("recurrent_gemma", json!({"block_types": ["mamba"]}), "at /block_types: "),
            ("recurrent_gemma", json!({"lru_width": 25}), "at /lru_width: "),
            ("deepseek_v2", json!({"topk_method": "group_limited_greedy"}), "at /topk_method: "),
            ("deepseek_v2", json!({"norm_topk_prob": true}), "at /norm_topk_prob: "),
            ("deepseek_v2", json!({"rms_norm_eps": 1e-5}), "at /rms_norm_eps: "),
            ("deepseek_v2", json!({"num_experts_per_tok": 7}), "more than the 6 experts"),
            (
                "deepseek_v2",
                json!({"rope_scaling": {"type": "yarn", "factor": 2.0, "mscale": 0.7}}),
                "at /rope_scaling: rotary positions of this kind are not supported",
            ),
            (
                "granitemoehybrid",
                json!({"layer_types": ["mamba", "attention", "attention"]}),
                "3 layers of attention, and none of mamba",
            ),
            ("granitemoehybrid", json!({"num_local_experts": 8}), "at /num_local_experts: "),
            (
                "granitemoehybrid",
                json!({"position_embedding_type": null}),
                "at /position_embedding_type: ",
            ),
        ] {
            let error = refusal(name, members);
            assert!(error.contains(expected), "{name}: {error} lacks {expected}");
        }
        assert_eq!(refusal("lfm2", json!({"block_dim": 24, "unsloth_fixed": true})), "");
        // Python's infinity is no JSON.
        let case = case("mamba2");
        let folder =
            write_model("adapted-infinity", &case.value["config"], &case.tensors(), "F32", 1);
        let text = case.value["config"].to_string();
        let text = text.replacen('{', r#"{"time_step_limit": [0.0, Infinity], "#, 1);
        std::fs::write(folder.join("config.json"), text).unwrap();
        crate::model_support::load(folder.clone());
        std::fs::write(folder.join("config.json"), r#"{"vocab_size": Infinity, }"#).unwrap();
        let source = ModelSource::Folder(folder);
        let error = Model::load(&ModelOptions { source, ..Default::default() }).unwrap_err();
        assert!(error.to_string().contains("not valid JSON"), "{error}");
    }

    #[test]
    fn attention_without_a_window_is_read_as_far_as_the_window() {
        let model = case("recurrent_gemma").load("adapted-window").unwrap();
        assert_eq!(model.context_length(), 64);
        let error = model.forward(&[1; 65], &mut model.new_cache().unwrap()).unwrap_err();
        assert!(error.to_string().contains("65 tokens do not fit the model's context of 64"));
        assert_eq!(case("mamba").load("adapted-window").unwrap().context_length(), 1 << 20);
    }

    #[test]
    fn checkpoints_that_do_not_fit_are_refused_by_the_tensor() {
        let with = |name: &str, tensor: &str, shape: Option<Value>| {
            let mut case = case(name);
            let tensors = case.value["tensors"].as_object_mut().unwrap();
            match shape {
                Some(shape) => tensors.insert(tensor.to_owned(), shape),
                None => tensors.remove(tensor),
            };
            case.load("adapted-tensors").map(|_| String::new()).unwrap_or_else(|e| e.to_string())
        };
        let bias = "backbone.layers.1.mixer.in_proj.bias";
        let error = with("mamba", bias, Some(json!([96])));
        assert!(
            error.contains(&format!("model.safetensors: tensor `{bias}` has no place")),
            "{error}"
        );
        let error = with("mamba", "backbone.norm_f.weight", None);
        assert!(error.contains("there is no tensor `backbone.norm_f.weight`"), "{error}");
        let error = with("mamba", "backbone.embeddings.weight", Some(json!([260, 25])));
        assert!(error.contains("`backbone.embeddings.weight` is [260, 25]"), "{error}");
        let error = with("mamba", "lm_head.weight", Some(json!([260, 24])));
        assert!(error.contains("`lm_head.weight` that differs from `backbone.embedd"), "{error}");
        let error = with("olmo", "lm_head.weight", None);
        assert!(error.contains("there is no tensor `lm_head.weight`"), "{error}");
        // Weights are of one width.
        let case = case("mamba");
        let tensors = case.tensors();
        let folder = write_model("adapted-dtype", &case.value["config"], &tensors, "BF16", 2);
        let load = |dtype| {
            let source = ModelSource::Folder(folder.clone());
            Model::load(&ModelOptions { source, dtype, ..Default::default() })
        };
        assert!(load(model::DType::F32).is_ok());
        let error = load(model::DType::BF16).unwrap_err().to_string();
        assert!(error.contains("the dtype `bf16` is not supported") && error.contains("use `f32`"));
    }

    /// The weights of a case for the constructors of candle-transformers.
    fn builder(case: &Case) -> VarBuilder<'static> {
        let tensors = case.tensors().into_iter().map(|(name, (shape, _))| {
            let tensor = Tensor::from_vec(numbers(&name, &shape), shape, &Device::Cpu).unwrap();
            (name, tensor)
        });
        let tensors: HashMap<String, Tensor> = tensors.collect();
        VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu)
    }

    /// The greatest difference of logits between our decoder and a reference that reads one token at a
    /// position.
    fn distance_of_decoder(
        name: &str,
        mut reference: impl FnMut(&Tensor, usize) -> candle_core::Result<Tensor>,
    ) -> f32 {
        let case = Case::all().into_iter().find(|case| case.name == name).unwrap();
        let (model, tokens) = (case.load("adapted-reference").unwrap(), case.tokens());
        let mut cache = model.new_cache().unwrap();
        let chunk = Chunk::new(&tokens, &mut cache).with_logits(LogitRows::All);
        let rows = model.forward_batch(&mut [chunk]).unwrap().remove(0);
        let mut worst: f32 = 0.0;
        for (position, (row, token)) in rows.iter().zip(tokens).enumerate() {
            let token = Tensor::new(&[[token]], &Device::Cpu).unwrap();
            let expected = reference(&token, position).unwrap().flatten_all().unwrap();
            let expected: Vec<f32> = expected.to_vec1().unwrap();
            worst = worst.max(distance(&row.to_vec().unwrap(), &expected));
        }
        worst
    }

    #[test]
    fn our_decoder_computes_as_candle_transformers_does() {
        use candle_transformers::models::{llama, qwen2, qwen3, starcoder2};

        let check = |name: &str, worst: f32| {
            eprintln!("{name}: within {worst:.1e}");
            assert!(worst < 5e-5, "{name}: {worst:e}");
        };
        let find = |name: &str| Case::all().into_iter().find(|case| case.name == name).unwrap();
        let with = |case: &Case, members: Value| {
            let mut config = case.value["config"].clone();
            config.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            config
        };
        let case = find("llama");
        let config = with(&case, json!({"rms_norm_eps": 1e-6}));
        let config: llama::LlamaConfig = serde_json::from_value(config).unwrap();
        let config = config.into_config(false);
        let model = llama::Llama::load(builder(&case), &config).unwrap();
        let mut cache = llama::Cache::new(true, DType::F32, &config, &Device::Cpu).unwrap();
        let worst = distance_of_decoder("llama", |token, at| model.forward(token, at, &mut cache));
        check("llama", worst);

        let case = find("qwen2");
        let members = json!({"rms_norm_eps": 1e-6, "sliding_window": 400, "max_window_layers": 3,
            "tie_word_embeddings": false, "use_sliding_window": false, "hidden_act": "silu"});
        let config: qwen2::Config = serde_json::from_value(with(&case, members.clone())).unwrap();
        let mut model = qwen2::ModelForCausalLM::new(&config, builder(&case)).unwrap();
        let worst = distance_of_decoder("qwen2", |token, at| model.forward(token, at));
        check("qwen2", worst);

        let case = find("qwen3");
        let mut config = with(&case, members);
        config["attention_bias"] = json!(false);
        config["rope_theta"] = json!(10_000.0);
        let config: qwen3::Config = serde_json::from_value(config).unwrap();
        let mut model = qwen3::ModelForCausalLM::new(&config, builder(&case)).unwrap();
        let worst = distance_of_decoder("qwen3", |token, at| model.forward(token, at));
        check("qwen3", worst);

        let case = find("starcoder2");
        let members = json!({"norm_epsilon": 1e-5, "use_bias": true, "rope_theta": 10_000.0,
            "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": true, "sliding_window": null});
        let config: starcoder2::Config = serde_json::from_value(with(&case, members)).unwrap();
        let mut model = starcoder2::Model::new(&config, builder(&case)).unwrap();
        let worst = distance_of_decoder("starcoder2", |token, at| model.forward(token, at));
        check("starcoder2", worst);
    }
}
