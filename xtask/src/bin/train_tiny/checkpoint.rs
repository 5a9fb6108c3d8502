//! Files of training: checkpoints to resume from, and the model for others to load.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use candle_core::{Device, Result, Tensor};

use crate::net::Net;
use crate::optimizer::Optimizer;
use crate::tokenizer::{self, BOS, END, Encoder};

const WEIGHTS: &str = "checkpoint.safetensors";

/// Saves weights, optimizer state and the number of steps taken. The file is replaced in one move.
pub fn save(folder: &Path, net: &Net, optimizer: &mut Optimizer, steps: u64) -> Result<()> {
    let weights = net.weights();
    let mut tensors: HashMap<String, Tensor> =
        weights.iter().map(|(name, var)| (name.clone(), var.as_tensor().clone())).collect();
    optimizer.save(&weights, &mut tensors)?;
    tensors.insert("steps".to_owned(), Tensor::new(&[steps as u32], &Device::Cpu)?);
    let next = folder.join("next.safetensors");
    candle_core::safetensors::save(&tensors, &next)?;
    Ok(fs::rename(next, folder.join(WEIGHTS))?)
}

/// Restores what [`save`] saved and returns the number of steps taken.
pub fn load(folder: &Path, net: &Net, optimizer: &mut Optimizer) -> Result<u64> {
    let tensors = candle_core::safetensors::load(folder.join(WEIGHTS), &Device::Cpu)?;
    let weights = net.weights();
    for (name, var) in &weights {
        match tensors.get(name) {
            Some(tensor) => var.set(tensor)?,
            None => candle_core::bail!("the checkpoint has no {name}"),
        }
    }
    optimizer.load(&weights, &tensors)?;
    match tensors.get("steps") {
        Some(steps) => Ok(u64::from(steps.to_vec1::<u32>()?[0])),
        None => candle_core::bail!("the checkpoint does not say how many steps it took"),
    }
}

/// Writes `config.json` and `model.safetensors` (half precision) in Hugging Face's format.
pub fn export(folder: &Path, net: &Net, encoder: &Encoder) -> Result<()> {
    candle_core::safetensors::save(&net.to_hugging_face()?, folder.join("model.safetensors"))?;
    let config = net.config(encoder.special(BOS), encoder.special(END));
    write_json(&folder.join("config.json"), &config)?;
    write_json(&folder.join("tokenizer_config.json"), &tokenizer::config())
}

fn write_json(path: &Path, value: &serde_json::Value) -> Result<()> {
    Ok(fs::write(path, format!("{value:#}\n"))?)
}
