#!/usr/bin/env python3
"""The random model of `../random_model.py` as GGUF, for llama.cpp: the same weights, f32 or f16.

    pip install gguf safetensors numpy
    python to_gguf.py MODEL_FOLDER OUT.gguf [--f16]

Rows of the query and key projections are reordered: llama.cpp turns pairs (2i, 2i+1) of a head where Hugging
Face's layout turns (i, i + half).
"""

import argparse
import json
import re
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def renamed(name):
    name = name.removesuffix(".weight")
    layer = re.match(r"model\.layers\.(\d+)\.(.*)", name)
    return f"blk.{layer[1]}.{NAMES[layer[2]]}.weight" if layer else NAMES[name] + ".weight"


def interleaved(rows, heads):
    """Rows of each head in the order in which llama.cpp pairs them."""
    parts = rows.reshape(heads, 2, rows.shape[0] // heads // 2, rows.shape[1])
    return np.ascontiguousarray(parts.swapaxes(1, 2)).reshape(rows.shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--f16", action="store_true", help="halves the matrices' numbers")
    args = parser.parse_args()
    config = json.loads((args.model / "config.json").read_text())
    tokenizer = json.loads((args.model / "tokenizer.json").read_text())
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]

    out = gguf.GGUFWriter(args.out, "llama")
    out.add_name(args.model.name)
    out.add_file_type(gguf.LlamaFileType.MOSTLY_F16 if args.f16 else gguf.LlamaFileType.ALL_F32)
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(heads)
    out.add_head_count_kv(kv_heads)
    out.add_rope_dimension_count(config["head_dim"])
    out.add_rope_freq_base(config["rope_theta"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_vocab_size(config["vocab_size"])

    tokens = [""] * config["vocab_size"]
    for text, number in tokenizer["model"]["vocab"].items():
        tokens[number] = text
    types = [gguf.TokenType.NORMAL] * len(tokens)
    for token in tokenizer["added_tokens"]:
        tokens[token["id"]] = token["content"]
        types[token["id"]] = gguf.TokenType.CONTROL
    merges = tokenizer["model"]["merges"]
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("llama-bpe")
    out.add_token_list(tokens)
    out.add_token_types(types)
    out.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    out.add_bos_token_id(config["bos_token_id"])
    out.add_eos_token_id(config["eos_token_id"])
    out.add_add_bos_token(True)
    out.add_chat_template((args.model / "chat_template.jinja").read_text())

    for name, tensor in load_file(args.model / "model.safetensors").items():
        if ".q_proj" in name:
            tensor = interleaved(tensor, heads)
        if ".k_proj" in name:
            tensor = interleaved(tensor, kv_heads)
        tensor = tensor.astype(np.float16 if args.f16 and tensor.ndim == 2 else np.float32)
        out.add_tensor(renamed(name), tensor)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    print(args.out)


if __name__ == "__main__":
    main()
