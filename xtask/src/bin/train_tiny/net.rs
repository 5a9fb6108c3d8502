//! The network that is trained: a Llama (RMS norms, rotary positions, shared key heads, SwiGLU,
//! tied embeddings), with its matrices laid out for training and saved as Hugging Face names them.

use std::collections::HashMap;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, Var};
use rand::RngExt;
use serde_json::{Value, json};

use xtask::tiny_data::words::Rng;
use xtask::tiny_ops::{
    Attention, CrossEntropy, EPSILON, HEAD, ROPE_THETA, RmsNorm, Sequences, SwiGlu,
};

/// The sizes of the network.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub vocabulary: usize,
    pub hidden: usize,
    pub inner: usize,
    pub layers: usize,
    pub heads: usize,
    pub key_heads: usize,
}

/// Positions that the configuration allows; training sees a few hundred.
const POSITIONS: usize = 2048;

struct Layer {
    attention_norm: Var,
    /// Queries, keys and values in one, input by output.
    mix_in: Var,
    mix_out: Var,
    inner_norm: Var,
    /// Gate and up in one.
    inner_in: Var,
    inner_out: Var,
}

/// The network and its weights.
pub struct Net {
    pub size: Size,
    embedding: Var,
    layers: Vec<Layer>,
    norm: Var,
}

/// A batch of sequences, one behind the other.
pub struct Batch {
    pub tokens: Vec<u32>,
    pub sequences: Arc<Sequences>,
    /// The rows whose next token counts, with that token and its weight.
    pub rows: Vec<u32>,
    pub targets: Vec<u32>,
    pub weights: Vec<f32>,
}

impl Net {
    /// Random weights: normal, narrower where a layer writes to the residual stream.
    pub fn new(size: Size, rng: &mut Rng) -> Result<Self> {
        let narrow = 1.0 / (2.0 * size.layers as f32).sqrt();
        let mut matrix = |rows: usize, columns: usize, scale: f32| {
            let data: Vec<f32> = (0..rows * columns).map(|_| normal(rng) * scale).collect();
            Var::from_vec(data, (rows, columns), &Device::Cpu)
        };
        let ones = || Var::ones(size.hidden, DType::F32, &Device::Cpu);
        let scale = |rows: usize| 1.0 / (rows as f32).sqrt();
        let mixed = (size.heads + 2 * size.key_heads) * HEAD;
        let attended = size.heads * HEAD;
        let embedding = matrix(size.vocabulary, size.hidden, 0.05)?;
        let layers = (0..size.layers)
            .map(|_| {
                Ok(Layer {
                    attention_norm: ones()?,
                    mix_in: matrix(size.hidden, mixed, scale(size.hidden))?,
                    mix_out: matrix(attended, size.hidden, scale(attended) * narrow)?,
                    inner_norm: ones()?,
                    inner_in: matrix(size.hidden, 2 * size.inner, scale(size.hidden))?,
                    inner_out: matrix(size.inner, size.hidden, scale(size.inner) * narrow)?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self { size, embedding, layers, norm: ones()? })
    }

    /// Every weight under the name it has in checkpoints, in a fixed order.
    pub fn weights(&self) -> Vec<(String, &Var)> {
        let mut all =
            vec![("embedding".to_owned(), &self.embedding), ("norm".to_owned(), &self.norm)];
        for (at, layer) in self.layers.iter().enumerate() {
            all.extend([
                (format!("{at}.attention_norm"), &layer.attention_norm),
                (format!("{at}.mix_in"), &layer.mix_in),
                (format!("{at}.mix_out"), &layer.mix_out),
                (format!("{at}.inner_norm"), &layer.inner_norm),
                (format!("{at}.inner_in"), &layer.inner_in),
                (format!("{at}.inner_out"), &layer.inner_out),
            ]);
        }
        all
    }

    /// The logits of the batch's counted rows.
    pub fn logits(&self, batch: &Batch) -> Result<Tensor> {
        let device = &Device::Cpu;
        let tokens = Tensor::new(batch.tokens.as_slice(), device)?;
        let mut x = self.embedding.index_select(&tokens, 0)?;
        for layer in &self.layers {
            let normed = x.apply_op2(&layer.attention_norm, RmsNorm)?;
            let attended = normed.matmul(&layer.mix_in)?.apply_op1(Attention {
                sequences: batch.sequences.clone(),
                heads: self.size.heads,
                key_heads: self.size.key_heads,
            })?;
            x = (x + attended.matmul(&layer.mix_out)?)?;
            let normed = x.apply_op2(&layer.inner_norm, RmsNorm)?;
            let inner = normed.matmul(&layer.inner_in)?.apply_op1(SwiGlu)?;
            x = (x + inner.matmul(&layer.inner_out)?)?;
        }
        let rows = Tensor::new(batch.rows.as_slice(), device)?;
        x.index_select(&rows, 0)?.apply_op2(&self.norm, RmsNorm)?.matmul(&self.embedding.t()?)
    }

    /// The batch's loss, weighted as the batch says.
    pub fn loss(&self, batch: &Batch) -> Result<Tensor> {
        self.logits(batch)?.apply_op1(CrossEntropy {
            targets: batch.targets.clone(),
            weights: batch.weights.clone(),
        })
    }

    /// The weights as a Hugging Face Llama folder has them, in half precision.
    pub fn to_hugging_face(&self) -> Result<HashMap<String, Tensor>> {
        let half = |tensor: Tensor| tensor.contiguous()?.to_dtype(DType::F16);
        let mut out = HashMap::from([
            ("model.embed_tokens.weight".to_owned(), half(self.embedding.as_tensor().clone())?),
            ("model.norm.weight".to_owned(), half(self.norm.as_tensor().clone())?),
        ]);
        let (queries, keys) = (self.size.heads * HEAD, self.size.key_heads * HEAD);
        for (at, layer) in self.layers.iter().enumerate() {
            let mix_in = layer.mix_in.t()?;
            let inner_in = layer.inner_in.t()?;
            for (name, tensor) in [
                ("input_layernorm", layer.attention_norm.as_tensor().clone()),
                ("post_attention_layernorm", layer.inner_norm.as_tensor().clone()),
                ("self_attn.q_proj", mix_in.narrow(0, 0, queries)?),
                ("self_attn.k_proj", mix_in.narrow(0, queries, keys)?),
                ("self_attn.v_proj", mix_in.narrow(0, queries + keys, keys)?),
                ("self_attn.o_proj", layer.mix_out.t()?),
                ("mlp.gate_proj", inner_in.narrow(0, 0, self.size.inner)?),
                ("mlp.up_proj", inner_in.narrow(0, self.size.inner, self.size.inner)?),
                ("mlp.down_proj", layer.inner_out.t()?),
            ] {
                out.insert(format!("model.layers.{at}.{name}.weight"), half(tensor)?);
            }
        }
        Ok(out)
    }

    /// Sets the weights to those of a Hugging Face Llama folder of the same sizes.
    pub fn set_hugging_face(&self, tensors: &HashMap<String, Tensor>) -> Result<()> {
        let weight = |name: &str| match tensors.get(&format!("{name}.weight")) {
            Some(tensor) => tensor.to_dtype(DType::F32),
            None => candle_core::bail!("the model has no {name}.weight"),
        };
        self.embedding.set(&weight("model.embed_tokens")?)?;
        self.norm.set(&weight("model.norm")?)?;
        for (at, layer) in self.layers.iter().enumerate() {
            let part = |name: &str| weight(&format!("model.layers.{at}.{name}"));
            // Input by output, several side by side.
            let joined = |names: &[&str]| {
                let parts = names.iter().map(|name| part(name)).collect::<Result<Vec<_>>>()?;
                Tensor::cat(&parts, 0)?.t()?.contiguous()
            };
            layer.attention_norm.set(&part("input_layernorm")?)?;
            layer.inner_norm.set(&part("post_attention_layernorm")?)?;
            let mix_in = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"];
            layer.mix_in.set(&joined(&mix_in)?)?;
            layer.mix_out.set(&joined(&["self_attn.o_proj"])?)?;
            layer.inner_in.set(&joined(&["mlp.gate_proj", "mlp.up_proj"])?)?;
            layer.inner_out.set(&joined(&["mlp.down_proj"])?)?;
        }
        Ok(())
    }

    /// The `config.json` that belongs to the weights.
    pub fn config(&self, bos: u32, eos: u32) -> Value {
        json!({
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": self.size.vocabulary,
            "hidden_size": self.size.hidden,
            "intermediate_size": self.size.inner,
            "num_hidden_layers": self.size.layers,
            "num_attention_heads": self.size.heads,
            "num_key_value_heads": self.size.key_heads,
            "head_dim": HEAD,
            "hidden_act": "silu",
            "rms_norm_eps": f64::from((EPSILON * 1e6).round()) / 1e6,
            "rope_theta": ROPE_THETA,
            "max_position_embeddings": POSITIONS,
            "tie_word_embeddings": true,
            "attention_bias": false,
            "mlp_bias": false,
            "bos_token_id": bos,
            "eos_token_id": eos,
            "torch_dtype": "float16",
        })
    }
}

/// A draw from the standard normal distribution (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f32 {
    let radius = (-2.0 * (1.0 - rng.random::<f32>()).ln()).sqrt();
    radius * (std::f32::consts::TAU * rng.random::<f32>()).cos()
}
