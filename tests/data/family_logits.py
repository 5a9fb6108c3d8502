"""Logits of small models of every family, computed by the `transformers` library.

Writes tests/data/family_logits/NAME.json for each case: config, names and shapes of the tensors, tokens,
and after each token some logits and the logarithm of the sum of all their exponentials.
tests/model/families.rs makes the same weights (`numbers`) and compares.

usage: family_logits.py [NAME ...]
versions: python 3.11, torch 2.13.0, transformers 5.23.0, safetensors 0.8.0, numpy 2.3.5
"""

import json
import pathlib
import sys
import tempfile

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoModelForCausalLM

FOLDER = pathlib.Path(__file__).with_suffix("")
# Every so many logits are written.
STEP = 13


def numbers(name, shape):
    """Numbers that depend on the name and the index alone: FNV-1a, then SplitMix64."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 % 2**64
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    # From -1 to 1, exact in f32.
    x = (z >> np.uint64(40)).astype(np.float64) / 2**23 - 1
    if "norm" in name:
        x = 1 + 0.5 * x
    elif len(shape) == 1:
        x = 0.5 * x
    else:
        x = x * (1.7 / np.sqrt(shape[-1]))
    return x.astype(np.float32).reshape(shape)


BASE = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "vocab_size": 260,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 400,
    "bos_token_id": 1,
    "eos_token_id": 256,
    "pad_token_id": 0,
}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 100}
GEMMA = {"head_dim": 8, "query_pre_attn_scalar": 12, "sliding_window": 10}
LONG = {"rope_type": "longrope", "short_factor": [1.0, 1.5, 2.0, 3.0],
        "long_factor": [1.0, 4.0, 9.0, 20.0]}


def case(model_type, **fields):
    return {"model_type": model_type, **BASE, **fields}


CASES = {
    "llama": case("llama"),
    "llama-tied-biases": case("llama", tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
                              num_key_value_heads=1, rms_norm_eps=1e-5),
    "llama-llama3-rope": case("llama", head_dim=16, rope_scaling=LLAMA3, rope_theta=500000.0),
    "llama-linear-rope": case("llama", head_dim=8, rope_parameters={
        "rope_type": "linear", "factor": 4.0, "rope_theta": 20000.0}),
    "llama-dynamic-rope": case("llama", head_dim=8, rope_scaling={"type": "dynamic", "factor": 4.0}),
    "llama-yarn-rope": case("llama", head_dim=16, rope_scaling=YARN),
    "llama-yarn-rope-options": case("llama", head_dim=16, rope_scaling={
        **YARN, "beta_fast": 16.0, "beta_slow": 2.0, "attention_factor": 0.9}),
    "mistral-window": case("mistral", sliding_window=10),
    "mistral-no-window": case("mistral", sliding_window=None, head_dim=10),
    "qwen2": case("qwen2", rope_theta=1000000.0),
    "qwen2-windows-tied": case("qwen2", use_sliding_window=True, sliding_window=7, max_window_layers=1,
                               tie_word_embeddings=True),
    "qwen3": case("qwen3", head_dim=8),
    "qwen3-biases-windows": case("qwen3", head_dim=8, attention_bias=True, use_sliding_window=True,
                                 sliding_window=5, tie_word_embeddings=True, layer_types=[
                                     "sliding_attention", "full_attention", "sliding_attention"]),
    "smollm3": case("smollm3", num_hidden_layers=5),
    "smollm3-untied-windows": case("smollm3", no_rope_layers=[0, 1, 1], use_sliding_window=True,
                                   sliding_window=9, tie_word_embeddings=False),
    "phi3": case("phi3", sliding_window=12),
    "phi3-partial-longrope": case("phi3", hidden_size=48, num_attention_heads=6, tie_word_embeddings=True,
                                  partial_rotary_factor=0.5, max_position_embeddings=400,
                                  original_max_position_embeddings=100,
                                  rope_scaling={**LONG, "short_factor": [1.0, 1.5],
                                                "long_factor": [3.0, 7.0]}),
    "gemma2": case("gemma2", **GEMMA),
    "gemma2-small-caps": case("gemma2", **GEMMA, attn_logit_softcapping=0.5, final_logit_softcapping=2.0,
                              num_key_value_heads=6),
    "gemma3": case("gemma3_text", **GEMMA, num_hidden_layers=7),
    "gemma3-rope": case("gemma3_text", **GEMMA, sliding_window_pattern=2, rope_theta=1000000.0,
                        rope_local_base_freq=5000.0, rope_scaling={"rope_type": "linear", "factor": 8.0}),
    "granite": case("granite", embedding_multiplier=3.0, logits_scaling=0.5, residual_multiplier=0.4,
                    attention_multiplier=0.7),
    "granite-biases-tied": case("granite", attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    "olmo2": case("olmo2"),
    "olmo2-biases": case("olmo2", attention_bias=True, num_key_value_heads=6),
    "glm4": case("glm4", head_dim=8),
    "glm4-no-biases": case("glm4", head_dim=16, attention_bias=False, partial_rotary_factor=0.25),
    "cohere2": case("cohere2", num_hidden_layers=5, sliding_window=10),
    "cohere2-biases": case("cohere2", sliding_window=6, sliding_window_pattern=2, attention_bias=True,
                           logit_scale=2.0, layer_norm_eps=1e-3),
    "arcee": case("arcee"),
    "arcee-biases": case("arcee", attention_bias=True, mlp_bias=True, head_dim=10),
    "ernie4_5": case("ernie4_5", head_dim=8),
    "ernie4_5-biases": case("ernie4_5", head_dim=4, use_bias=True, tie_word_embeddings=False),
    "exaone4": case("exaone4", num_hidden_layers=5, sliding_window=10),
    "exaone4-no-window": case("exaone4", sliding_window=None, layer_types=["full_attention"] * 3),
    "seed_oss": case("seed_oss", head_dim=8),
    "seed_oss-biases": case("seed_oss", head_dim=8, attention_out_bias=True, mlp_bias=True),
    "mixtral": case("mixtral", num_local_experts=5),
    "mixtral-window": case("mixtral", num_local_experts=4, num_experts_per_tok=3, sliding_window=9),
    "qwen3_moe": case("qwen3_moe", head_dim=8, num_experts=6, num_experts_per_tok=2,
                      moe_intermediate_size=16, mlp_only_layers=[1]),
    "qwen3_moe-normed": case("qwen3_moe", head_dim=8, num_experts=6, num_experts_per_tok=3,
                             moe_intermediate_size=16, norm_topk_prob=True, decoder_sparse_step=2,
                             attention_bias=True),
}


def text_tokens(count):
    return [(i * i * 31 + 7 * i + 3) % 256 for i in range(count)]


def logits(name, config):
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as folder:
        for place in (made, folder):
            pathlib.Path(place, "config.json").write_text(json.dumps(config))
        # The names and shapes of a checkpoint as the library writes it.
        AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(made)).save_pretrained(made)
        with safe_open(pathlib.Path(made, "model.safetensors"), "np") as file:
            shapes = {key: file.get_slice(key).get_shape() for key in sorted(file.keys())}
        weights = {key: numbers(key, shape) for key, shape in shapes.items()}
        save_file(weights, pathlib.Path(folder, "model.safetensors"), metadata={"format": "pt"})
        model, info = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
        assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
        tokens = text_tokens(40)
        with torch.no_grad():
            y = model.eval()(torch.tensor([tokens])).logits[0]
    sums = torch.logsumexp(y.double(), 1)
    short = lambda x: float(f"{float(x):.8g}")
    return {
        "config": config,
        "tensors": shapes,
        "tokens": tokens,
        "step": STEP,
        "logits": [[short(x) for x in row[::STEP]] for row in y],
        "log_sums": [short(x) for x in sums],
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, config in CASES.items():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            text = json.dumps(logits(name, config), separators=(",", ":"))
            pathlib.Path(FOLDER, f"{name}.json").write_text(text.replace(',"', ',\n"', 5) + "\n")
            print(name)
