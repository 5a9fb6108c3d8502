//! Models on an NVIDIA GPU: the logits and texts of the CPU. Skipped, and said so, where there is none.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::ops::ControlFlow;
use std::sync::Arc;

use maskwright::engine::{BeamSearch, Engine, EngineOptions, Request, Speculation};
use maskwright::model::{DType, Device, Model, ModelOptions, ModelSource};
use maskwright::sampling::SamplingParams;
use maskwright::{Compiler, TokenMask};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde_json::json;

use crate::batch::{Reference, assert_batches_are_as, assert_trees_are_as_paths_of};
use crate::engine_loop::requests;
use crate::families::Case;
use crate::llama::{config, random_tensors};
use crate::model_support::write_model;

/// Options for the first GPU. `None` where there is none.
fn gpu() -> Option<ModelOptions> {
    let options = ModelOptions { device: Device::Cuda(0), ..Default::default() };
    match Model::load(&options) {
        Ok(_) => Some(options),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

#[test]
fn families_have_the_logits_of_transformers() {
    let Some(gpu) = gpu() else { return };
    let (mut bad, mut refused, mut computed) = (Vec::new(), Vec::new(), 0);
    for case in Case::all() {
        match case.load_with("cuda-logits", gpu.clone()) {
            Ok(model) => {
                let worst = case.worst(&model);
                eprintln!("{}: within {worst:.1e}", case.name);
                computed += 1;
                if worst.is_nan() || worst > 5e-5 {
                    bad.push(format!("{} {worst:e}", case.name));
                }
            }
            Err(error) if error.to_string().contains("computed on the CPU alone") => {
                refused.push(case.name);
            }
            Err(error) => bad.push(format!("{}: {error}", case.name)),
        }
    }
    eprintln!("computed: {computed}; refused: {refused:?}");
    assert!(bad.is_empty(), "{bad:?}");
    assert!(computed > 40);
}

#[test]
fn batches_and_trees_have_the_logits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for case in Case::all() {
        let Ok(model) = case.load_with("cuda-batches", gpu.clone()) else { continue };
        eprintln!("{}", case.name);
        let cpu = case.load("cuda-batches-reference").unwrap();
        let reference = Reference { model: &cpu, tolerance: Some(5e-4) };
        assert_batches_are_as(reference, &model, 3, &mut ChaCha8Rng::seed_from_u64(9));
        assert_trees_are_as_paths_of(reference, &model, 3);
    }
}

#[test]
fn weights_of_16_bits_have_nearly_the_logits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let config = config(json!({"hidden_size": 96, "intermediate_size": 210, "head_dim": 24}));
    let folder = write_model("cuda-half", &config, &random_tensors(&config, 5), "F32", 1);
    let tokens: Vec<u32> = (0..40).map(|i| i * 7 % 100).collect();
    // In parts of the spread of the logits. The CPU keeps sums in f32, the GPU rounds after each product.
    for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F16, 1e-2), (DType::BF16, 8e-2)] {
        let source = ModelSource::Folder(folder.clone());
        let options = ModelOptions { source, dtype, ..Default::default() };
        let logits = |options: &ModelOptions| {
            let model = Model::load(options).unwrap();
            let mut cache = model.new_cache().unwrap();
            model.forward(&tokens, &mut cache).unwrap().to_vec().unwrap()
        };
        let expected = logits(&options);
        let logits = logits(&ModelOptions { device: gpu.device, ..options });
        let spread = expected.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let worst = expected.iter().zip(&logits).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        eprintln!("{dtype:?}: within {:.1e} of {spread:.2}", worst);
        assert!(worst <= tolerance * spread, "{dtype:?}: {worst} of {spread}");
    }
}

#[test]
fn masks_forbid_on_the_device_what_they_forbid_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let model = Model::load(&gpu).unwrap();
    let logits = model.forward(&[1, 2, 3], &mut model.new_cache().unwrap()).unwrap();
    let mut mask = TokenMask::new(logits.width());
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for id in 0..logits.width() as u32 {
        if rng.next_u32().is_multiple_of(3) {
            mask.allow(id);
        }
    }
    let (all, masked) = (logits.to_vec().unwrap(), logits.masked(&mask).unwrap().to_vec().unwrap());
    for (id, (all, masked)) in (0..).zip(all.iter().zip(&masked)) {
        let expected = if mask.contains(id) { *all } else { f32::NEG_INFINITY };
        assert_eq!(expected.to_bits(), masked.to_bits(), "{id}");
    }
}

#[test]
fn the_embedded_model_writes_what_it_writes_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let [cpu, gpu] = [ModelOptions::default(), gpu].map(|options| {
        let model = Model::load(&options).unwrap();
        let draft = model.first_layers(1).unwrap();
        Engine::new(model).with_draft(draft).unwrap()
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "age": { "type": "integer" },
            "email": { "type": "string" },
        },
        "required": ["name", "age", "email"],
        "additionalProperties": false,
    });
    let constraint = Compiler::new(Arc::clone(cpu.vocabulary())).json_schema(&schema).unwrap();
    let mut wanted = Vec::new();
    for name in ["Ada Lovelace", "Brun Tolvik", "Sela Ortmann"] {
        let plain = Request {
            constraint: Some(constraint.clone()),
            sampling: SamplingParams::greedy(),
            max_tokens: 100,
            ..Request::text(format!(
                "{name}, 36, lives in London and writes to {name}@example.org."
            ))
        };
        let sampled = SamplingParams { seed: Some(7), ..Default::default() };
        wanted.push(("sampled", Request { sampling: sampled, ..plain.clone() }));
        wanted.push(("beams", Request { beam: Some(BeamSearch::new(3)), ..plain.clone() }));
        for speculate in [Speculation::Forced, Speculation::Grammar, Speculation::Draft] {
            wanted.push(("speculation", Request { speculate, ..plain.clone() }));
        }
        wanted.push(("plain", plain));
    }
    for (name, request) in wanted {
        let [cpu, gpu] = [&cpu, &gpu].map(|engine| {
            engine.generate(&request, &mut |_| ControlFlow::Continue(())).unwrap().text
        });
        eprintln!("{name}: {gpu}");
        assert_eq!(cpu, gpu, "{name}");
    }
}

#[test]
fn requests_side_by_side_write_what_they_write_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let config = config(json!({}));
    let folder = write_model("cuda-loop", &config, &random_tensors(&config, 3), "F32", 1);
    let source = ModelSource::Folder(folder);
    let engine = |device, max_running, blocks: Option<usize>| {
        let source = source.clone();
        let model = Model::load(&ModelOptions { source, device, ..Default::default() }).unwrap();
        let draft = model.clone();
        let kv_cache_bytes =
            blocks.map(|blocks| blocks * model.kv_blocks().unwrap().bytes_per_block);
        let options = EngineOptions { max_running, kv_cache_bytes, ..Default::default() };
        Engine::new(model).with_draft(draft).unwrap().with_options(options)
    };
    let cpu = engine(Device::Cpu, 16, None);
    let requests = requests(&cpu, 64, &mut ChaCha8Rng::seed_from_u64(4));
    let texts = |engine: &Engine| -> Vec<Vec<u32>> {
        let responses =
            engine.generate_each(&requests, &mut |_, _| ControlFlow::Continue(())).unwrap();
        responses.into_iter().map(|response| response.tokens).collect()
    };
    let expected = texts(&cpu);
    for (max_running, blocks) in [(1, None), (16, None), (64, None), (64, Some(24))] {
        let engine = engine(gpu.device, max_running, blocks);
        // Twice: then the prompts are in the prefix cache.
        for _ in 0..2 {
            let texts = texts(&engine);
            let pairs = texts.iter().zip(&expected);
            let same = pairs.filter(|(text, expected)| text == expected).count();
            eprintln!("{max_running} side by side, {blocks:?} blocks: {same} as on the CPU");
            // A draw that falls within rounding of a border goes the other way.
            assert!(same >= 63, "{same}");
        }
        let stats = engine.stats();
        assert!(stats.prefix_hits > 0);
        assert_eq!(stats.preemptions > 0, blocks.is_some(), "{}", stats.preemptions);
    }
}
