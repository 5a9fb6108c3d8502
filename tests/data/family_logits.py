"""Logits of small models of every family, computed by the `transformers` library.

Writes tests/data/family_logits/NAME.json for each case: config, names and shapes of the tensors, tokens,
and after each token some logits and the logarithm of the sum of all their exponentials.
tests/model/families.rs makes the same weights (`numbers`) and compares. Cases of model types that
candle-transformers computes go to tests/data/adapted_logits, for tests/model/adapted.rs.

usage: family_logits.py [NAME ...]
versions: python 3.11, torch 2.13.0, transformers 5.23.0, safetensors 0.8.0, numpy 2.3.5
"""

import json
import pathlib
import re
import sys
import tempfile

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

FOLDER = pathlib.Path(__file__).with_suffix("")
# Every so many logits are written.
STEP = 13


def hashes(name, count):
    """64 bits that depend on the name and the index alone: FNV-1a, then SplitMix64."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def numbers(name, shape):
    """The weights of a tensor."""
    z = hashes(name, int(np.prod(shape)))
    if name.endswith("_blocks"):
        return (z >> np.uint64(56)).astype(np.uint8).reshape(shape)
    if name.endswith("_scales"):
        return (121 + (z >> np.uint64(62))).astype(np.uint8).reshape(shape)
    # From -1 to 1, exact in f32.
    x = (z >> np.uint64(40)).astype(np.float64) / 2**23 - 1
    if "norm" in name or "scalar" in name:
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


GEMMA4 = {"head_dim": 8, "global_head_dim": 16, "sliding_window": 10, "num_hidden_layers": 4,
          "vocab_size_per_layer_input": 260, "hidden_size_per_layer_input": 32,
          "layer_types": ["sliding_attention", "full_attention"] * 2}
OSS = {"hidden_size": 32, "intermediate_size": 32, "head_dim": 8, "num_local_experts": 6,
       "num_experts_per_tok": 3, "sliding_window": 10}
MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": [
    "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}
VISION = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
          "image_size": 28, "patch_size": 14}
ROUTED = {"n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_shared_experts": 1,
          "norm_topk_prob": True, "routed_scaling_factor": 1.5}
LING2 = {"head_dim": 8, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
         "num_shared_experts": 1, "first_k_dense_replace": 1, "partial_rotary_factor": 0.5, "use_qk_norm": True,
         "score_function": "sigmoid", "moe_router_enable_expert_bias": True, "norm_topk_prob": True,
         "routed_scaling_factor": 2.5, "rope_theta": 600000.0}
GPT2 = {"n_embd": 24, "n_layer": 3, "n_head": 6, "n_positions": 400}


def case(model_type, **fields):
    return {"model_type": model_type, **BASE, **fields}


def gpt2(**fields):
    base = {key: BASE[key] for key in ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")}
    return {"model_type": "gpt2", **base, **GPT2, **fields}


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
    # Longer than the original context: the long factors.
    "phi3-beyond-longrope": case("phi3", hidden_size=48, original_max_position_embeddings=30, rope_scaling=LONG),
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
    "gpt_oss": case("gpt_oss", **OSS),
    "gpt_oss-no-biases": case("gpt_oss", **OSS, attention_bias=False, swiglu_limit=0.5, swiglu_alpha=1.2,
                              tie_word_embeddings=True, rope_theta=1000.0, rope_scaling={
                                  **YARN, "truncate": False}),
    "gpt_oss-mxfp4": case("gpt_oss", **OSS, quantization_config=MXFP4),
    "gemma4": case("gemma4_text", **GEMMA4),
    "gemma4-shared": case("gemma4_text", **GEMMA4, num_kv_shared_layers=2, use_double_wide_mlp=True,
                          final_logit_softcapping=2.0, attention_bias=True),
    "gemma4-experts": case("gemma4_text", **{**GEMMA4, "hidden_size_per_layer_input": 0},
                           attention_k_eq_v=True, num_global_key_value_heads=1, enable_moe_block=True,
                           num_experts=5, top_k_experts=2, moe_intermediate_size=40,
                           tie_word_embeddings=False),
    "gemma4-rope": case("gemma4_text", **{**GEMMA4, "layer_types": None}, rope_parameters={
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "factor": 2.0,
                           "rope_theta": 5000.0},
        "sliding_attention": {"rope_type": "linear", "factor": 3.0, "rope_theta": 7000.0}}),
    "gemma4-per-layer-config": case("gemma4_text", **{**GEMMA4, "global_head_dim": None}, per_layer_config={
        "1": {"head_dim": 12, "num_key_value_heads": 3}, "3": {"head_dim": 12, "num_key_value_heads": 3}}),
    "olmo3": case("olmo3", num_hidden_layers=5, sliding_window=10),
    "olmo3-yarn": case("olmo3", num_hidden_layers=5, sliding_window=10, rope_theta=20000.0,
                       rope_scaling=YARN, attention_bias=True),
    "ministral3": case("ministral3", head_dim=8, rope_parameters={
        **YARN, "original_max_position_embeddings": 8, "llama_4_scaling_beta": 0.3, "rope_theta": 1e6,
        "mscale": 1.0, "mscale_all_dim": 1.0, "max_position_embeddings": 400}),
    "ministral3-window": case("ministral3", head_dim=8, sliding_window=10),
    "mistral3": {"model_type": "mistral3", "vision_config": {"model_type": "pixtral", **VISION},
                 "text_config": case("ministral3", head_dim=8), "tie_word_embeddings": True},
    "mistral3-mistral": {"model_type": "mistral3", "vision_config": {"model_type": "pixtral", **VISION},
                         "text_config": case("mistral", head_dim=8, sliding_window=None),
                         "multimodal_projector_bias": True},
    "gemma3-images": {"model_type": "gemma3", "mm_tokens_per_image": 1,
                      "vision_config": {"model_type": "siglip_vision_model", **VISION},
                      "text_config": case("gemma3_text", **GEMMA)},
    "gemma4-images": {"model_type": "gemma4", "text_config": case("gemma4_text", **GEMMA4), "audio_config": None,
                      "vision_config": {"model_type": "gemma4_vision", **VISION, "head_dim": 8,
                                        "num_key_value_heads": 2, "position_embedding_size": 16}},
    "hunyuan": case("hunyuan_v1_dense", head_dim=8, use_qk_norm=True, rope_scaling={
        "type": "dynamic", "alpha": 50.0, "factor": 1.0, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
        "mscale_all_dim": 1.0}),
    "hunyuan-biases-tied": case("hunyuan_v1_dense", head_dim=12, attention_bias=True,
                                tie_word_embeddings=True),
    "qwen2_moe": case("qwen2_moe", num_experts=6, num_experts_per_tok=2, moe_intermediate_size=16,
                      shared_expert_intermediate_size=20, mlp_only_layers=[1]),
    "qwen2_moe-windows": case("qwen2_moe", num_experts=6, num_experts_per_tok=3, moe_intermediate_size=16,
                              shared_expert_intermediate_size=20, norm_topk_prob=True, qkv_bias=False,
                              use_sliding_window=True, sliding_window=9, max_window_layers=2,
                              num_hidden_layers=5),
    "glm4_moe": case("glm4_moe", head_dim=8, use_qk_norm=True, attention_bias=True, first_k_dense_replace=1,
                     num_nextn_predict_layers=0, **ROUTED),
    "glm4_moe-groups": case("glm4_moe", head_dim=8, first_k_dense_replace=0, n_group=3, topk_group=2,
                            partial_rotary_factor=0.25, num_nextn_predict_layers=1,
                            **{**ROUTED, "norm_topk_prob": False, "n_shared_experts": 2}),
    "dots1": case("dots1", head_dim=8, first_k_dense_replace=1, sliding_window=None, **ROUTED),
    "dots1-windows": case("dots1", head_dim=10, n_group=2, topk_group=1, sliding_window=9, max_window_layers=1,
                          attention_bias=True, tie_word_embeddings=True, **{**ROUTED, "num_experts_per_tok": 3}),
    "ernie4_5_moe": case("ernie4_5_moe", moe_intermediate_size=16, moe_k=2, moe_num_experts=6,
                         num_hidden_layers=5, moe_layer_interval=2),
    "ernie4_5_moe-biases": case("ernie4_5_moe", moe_intermediate_size=16, moe_k=3, moe_num_experts=5,
                                moe_num_shared_experts=1, use_bias=True, num_hidden_layers=4,
                                moe_layer_start_index=1, moe_layer_end_index=2, head_dim=8, tie_word_embeddings=False),
    "hunyuan_moe": case("hunyuan_v1_moe", head_dim=8, num_experts=5, moe_topk=2, tie_word_embeddings=True),
    "hunyuan_moe-lists": case("hunyuan_v1_moe", head_dim=12, num_experts=6, moe_topk=[3, 3, 3],
                              moe_intermediate_size=[40, 40, 40], num_shared_expert=[1, 1, 1],
                              moe_layer_num_skipped=0, attention_bias=True, rope_scaling={
                                  "type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32,
                                  "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 0.0}),
    "minimax_m2": case("minimax_m2", head_dim=8, rotary_dim=4, num_local_experts=6, num_experts_per_tok=2),
    "solar_open": case("solar_open", head_dim=8, **{**ROUTED, "n_shared_experts": 1}),
    # Families that the library has no class of, computed by another one's: see `twin`.
    "bailing": case("bailing_moe", num_experts=5, num_shared_experts=0, moe_intermediate_size=16, norm_topk_prob=True,
                    num_experts_per_tok=3),
    "bailing2": case("bailing_moe_v2", **LING2, n_group=1, topk_group=1),
    "bailing2-groups": case("bailing_moe_v2", **{**LING2, "use_qk_norm": False, "first_k_dense_replace": 0},
                            n_group=3, topk_group=2, use_qkv_bias=True),
    "olmoe": case("olmoe", num_experts=6, num_experts_per_tok=2),
    "olmoe-clip": case("olmoe", num_experts=6, num_experts_per_tok=3, clip_qkv=0.4, norm_topk_prob=True,
                       attention_bias=True),
    "granitemoe": case("granitemoe", num_local_experts=5, embedding_multiplier=3.0, logits_scaling=0.5,
                       residual_multiplier=0.4, attention_multiplier=0.7),
    "granitemoeshared": case("granitemoeshared", num_local_experts=5, num_experts_per_tok=3,
                             shared_intermediate_size=20, attention_bias=True, tie_word_embeddings=True),
    "gemma": case("gemma", head_dim=8),
    "gemma-untied": case("gemma", head_dim=8, hidden_act="gelu", tie_word_embeddings=False,
                         num_key_value_heads=1),
    "cohere": case("cohere"),
    "cohere-biases": case("cohere", attention_bias=True, logit_scale=2.0),
    "glm": case("glm", head_dim=8),
    "starcoder2": case("starcoder2"),
    "starcoder2-window": case("starcoder2", sliding_window=9, use_bias=False, tie_word_embeddings=False),
    "stablelm": case("stablelm", hidden_size=48),
    "stablelm-parallel": case("stablelm", use_parallel_residual=True, use_qkv_bias=True,
                              partial_rotary_factor=0.5, tie_word_embeddings=True),
    "phi": case("phi"),
    "phi-partial": case("phi", hidden_size=48, partial_rotary_factor=0.25, hidden_act="gelu"),
    "gpt_neox": case("gpt_neox", hidden_size=48, num_key_value_heads=None),
    "gpt_neox-serial": case("gpt_neox", num_key_value_heads=None, use_parallel_residual=False,
                            rotary_pct=0.5, rotary_emb_base=500, hidden_act="relu", attention_bias=False,
                            tie_word_embeddings=True),
    "gpt2": gpt2(),
    "gpt2-scales": gpt2(n_inner=40, scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False,
                        activation_function="gelu"),
}


TEXT = {key: BASE[key] for key in ("vocab_size", "num_hidden_layers", "bos_token_id", "eos_token_id", "pad_token_id")}
DEEPSEEK = {"num_key_value_heads": 6, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
            "v_head_dim": 10, "n_routed_experts": 6, "n_shared_experts": 2, "num_experts_per_tok": 2,
            "moe_intermediate_size": 16, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
            "topk_method": "greedy", "norm_topk_prob": False, "aux_loss_alpha": 0.001, "seq_aux": True}
GRANITE_HYBRID = {"num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 40,
                  "layer_types": ["attention"] * 3, "position_embedding_type": "rope",
                  "mamba_n_heads": 6, "tie_word_embeddings": True}
RECURRENT = {"num_hidden_layers": 4, "head_dim": 4, "lru_width": 24, "attention_window_size": 64,
             "block_types": ["recurrent", "recurrent", "attention"]}

# Model types that candle-transformers computes.
ADAPTED = {
    "helium": case("helium", head_dim=4),
    "helium-biases-tied": case("helium", head_dim=4, mlp_bias=True, tie_word_embeddings=True, rope_theta=500.0,
                               rms_norm_eps=1e-5),
    "lfm2": case("lfm2", layer_types=["conv", "full_attention", "conv"], block_multiple_of=8),
    "lfm2-older-keys": case("lfm2", full_attn_idxs=[0], block_ff_dim=60, block_multiple_of=8, conv_L_cache=4,
                            block_ffn_dim_multiplier=1.3, tie_embedding=False, rope_theta=5000.0),
    "lfm2-not-adjusted": case("lfm2", full_attn_idxs=[2], block_auto_adjust_ff_dim=False),
    "mamba": {"model_type": "mamba", **TEXT, "hidden_size": 24, "time_step_rank": "auto"},
    "mamba2": {"model_type": "mamba2", **TEXT, "hidden_size": 24, "num_heads": 6, "head_dim": 8, "state_size": 16,
               "n_groups": 1, "chunk_size": 16, "tie_word_embeddings": True},
    "olmo": case("olmo"),
    "olmo-clip-biases-tied": case("olmo", clip_qkv=0.4, attention_bias=True, tie_word_embeddings=True,
                                  rope_theta=500.0),
    "gpt_bigcode": {**gpt2(), "model_type": "gpt_bigcode"},
    "gpt_bigcode-inner": {**gpt2(n_inner=40, layer_norm_epsilon=1e-3), "model_type": "gpt_bigcode"},
    "recurrent_gemma": case("recurrent_gemma", **RECURRENT, logits_soft_cap=2.0),
    "recurrent_gemma-one-kv-head": case("recurrent_gemma", **{**RECURRENT, "lru_width": 48, "hidden_size": 48,
                                                              "head_dim": 8}, num_key_value_heads=1),
    "deepseek_v2": case("deepseek_v2", **DEEPSEEK, q_lora_rank=None),
    "deepseek_v2-lora-yarn": case("deepseek_v2", **DEEPSEEK, q_lora_rank=12, routed_scaling_factor=1.5,
                                  rope_scaling={**YARN, "beta_fast": 32, "beta_slow": 1, "mscale": 0.7,
                                                "mscale_all_dim": 0.7}),
    "granitemoehybrid": case("granitemoehybrid", **GRANITE_HYBRID),
    "granitemoehybrid-multipliers": case("granitemoehybrid", **GRANITE_HYBRID, embedding_multiplier=3.0,
                                         logits_scaling=0.5, residual_multiplier=0.4,
                                         attention_multiplier=0.7, rope_theta=500.0),
}


def text_tokens(count):
    return [(i * i * 31 + 7 * i + 3) % 256 for i in range(count)]


def unpacked(shapes):
    """The weights of a checkpoint whose experts are 4-bit numbers, as the library unpacks them; the shapes of
    the packed tensors replace those of the experts in `shapes`."""
    weights = {}
    for key, shape in list(shapes.items()):
        if not key.endswith((".gate_up_proj", ".down_proj")):
            weights[key] = numbers(key, shape)
            continue
        experts, inputs, outputs = shapes.pop(key)
        shapes[f"{key}_scales"] = [experts, outputs, inputs // 32]
        shapes[f"{key}_blocks"] = [experts, outputs, inputs // 32, 16]
        blocks, scales = (torch.from_numpy(numbers(name, shapes[name]))
                          for name in (f"{key}_blocks", f"{key}_scales"))
        weights[key] = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32).numpy()
    return weights


def twin(config):
    """The config of a model of another family that computes the same; `None` for the families of the library."""
    same = {key: config[key] for key in BASE if key in config}
    if config["model_type"] == "bailing_moe":
        return {"model_type": "mixtral", **same, "intermediate_size": config["moe_intermediate_size"],
                "num_local_experts": config["num_experts"], "sliding_window": None, "rms_norm_eps": 1e-5,
                "num_experts_per_tok": config["num_experts_per_tok"], "rope_theta": 10000.0}
    if config["model_type"] == "bailing_moe_v2":
        keys = ["head_dim", "num_experts_per_tok", "moe_intermediate_size", "first_k_dense_replace", "use_qk_norm",
                "partial_rotary_factor", "norm_topk_prob", "routed_scaling_factor", "rope_theta", "n_group",
                "topk_group"]
        return {"model_type": "glm4_moe", **same, **{key: config[key] for key in keys}, "rms_norm_eps": 1e-5,
                "n_routed_experts": config["num_experts"], "n_shared_experts": config["num_shared_experts"],
                "attention_bias": config.get("use_qkv_bias", False), "num_nextn_predict_layers": 0}
    return None


def of_twin(shapes):
    """The tensors of a family without a class by those of its twin, whose `shapes` they replace."""
    parts = {}
    for key in sorted(shapes, key=lambda key: "qkv".find(key.rsplit("_proj", 1)[0][-1])):
        own = key
        for pattern, name in [
            (r"embed_tokens", "word_embeddings"), (r"self_attn\.[qkv]_proj", "attention.query_key_value"),
            (r"self_attn\.o_proj", "attention.dense"), (r"self_attn\.q_norm", "attention.query_layernorm"),
            (r"self_attn\.k_norm", "attention.key_layernorm"), (r"e_score_correction_bias", "expert_bias"),
            (r"block_sparse_moe", "mlp"), (r"\.w1\.", ".gate_proj."), (r"\.w3\.", ".up_proj."),
            (r"\.w2\.", ".down_proj."),
        ]:
            own = re.sub(pattern, name, own)
        parts.setdefault(own, []).append(key)
    weights, own_shapes = {}, {}
    for own, keys in parts.items():
        own_shapes[own] = [sum(shapes[key][0] for key in keys), *shapes[keys[0]][1:]]
        rest = numbers(own, own_shapes[own])
        for key in keys:
            weights[key], rest = rest[:shapes[key][0]], rest[shapes[key][0]:]
    shapes.clear()
    shapes.update(dict(sorted(own_shapes.items())))
    return weights


def logits(name, config):
    auto = AutoModelForImageTextToText if "text_config" in config else AutoModelForCausalLM
    plain = {key: value for key, value in config.items() if key != "quantization_config"}
    plain = twin(config) or plain
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as folder:
        for place in (made, folder):
            pathlib.Path(place, "config.json").write_text(json.dumps(plain))
        # The names and shapes of a checkpoint as the library writes it.
        auto.from_config(AutoConfig.from_pretrained(made)).save_pretrained(made)
        with safe_open(pathlib.Path(made, "model.safetensors"), "np") as file:
            shapes = {key: file.get_slice(key).get_shape() for key in sorted(file.keys())}
        if twin(config):
            weights = of_twin(shapes)
        elif plain == config:
            weights = {key: numbers(key, shape) for key, shape in shapes.items()}
        else:
            weights = unpacked(shapes)
        save_file(weights, pathlib.Path(folder, "model.safetensors"), metadata={"format": "pt"})
        model, info = auto.from_pretrained(
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
    for folder, cases in [(FOLDER, CASES), (FOLDER.with_name("adapted_logits"), ADAPTED)]:
        folder.mkdir(exist_ok=True)
        for name, config in cases.items():
            if len(sys.argv) == 1 or name in sys.argv[1:]:
                text = json.dumps(logits(name, config), separators=(",", ":"))
                pathlib.Path(folder, f"{name}.json").write_text(text.replace(',"', ',\n"', 5) + "\n")
                print(name)
