#!/usr/bin/env python3
"""A Llama of random quantised weights as GGUF: 220 million parameters, of which no cache holds much.

    pip install gguf numpy
    python random_gguf.py Q8_0|Q4_0|Q4_K_M|MXFP4|… OUT.gguf [--layers N]

Blocks have random codes and sound scales: how long they take does not depend on what they say. Q4_K_M is llama.cpp's
mixture: Q6_K for the head and half of the value and down projections, Q4_K for the others.
"""

import argparse
from pathlib import Path

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

WIDTH, INNER, HEADS, KV_HEADS, VOCAB = 1024, 4096, 16, 8, 32_000
# The places of half-precision numbers in a block.
HALVES = {"Q4_1": [0, 2], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q2_K": [80, 82], "Q3_K": [108], "Q6_K": [208]}


def matrix(random, kind, rows, columns):
    weights, size = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
    blocks = random.integers(0, 256, (rows, columns // weights, size), dtype=np.uint8)
    if kind == "MXFP4":
        blocks[..., 0] = 118
    for at in HALVES.get(kind, [] if kind == "MXFP4" else [0]):
        # 2^-13 to 2^-12 in half precision.
        blocks[..., at] = random.integers(0, 256, blocks.shape[:2])
        blocks[..., at + 1] = 0x08
    return blocks.reshape(rows, -1)


def byte_tokens():
    """GPT-2's printable stand-ins for bytes."""
    spare = iter(range(0x100, 0x200))
    is_printable = lambda b: 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b <= 0xFF
    return [chr(b) if is_printable(b) else chr(next(spare)) for b in range(256)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind")
    parser.add_argument("out", type=Path)
    parser.add_argument("--layers", type=int, default=12, help="[12]")
    args = parser.parse_args()
    random = np.random.default_rng(1)
    is_mixture = args.kind == "Q4_K_M"
    usual, better = ("Q4_K", "Q6_K") if is_mixture else (args.kind, args.kind)
    out = gguf.GGUFWriter(args.out, "llama")
    out.add_name(args.out.stem)
    out.add_context_length(4096)
    out.add_embedding_length(WIDTH)
    out.add_block_count(args.layers)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_freq_base(10000.0)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(VOCAB)
    tokens = byte_tokens()
    tokens += [f"<{number}>" for number in range(len(tokens), VOCAB - 1)] + ["<|end|>"]
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    out.add_token_types([1] * (VOCAB - 1) + [3])
    out.add_token_merges(["q z"])
    out.add_eos_token_id(VOCAB - 1)
    out.add_add_bos_token(False)

    def add(name, rows, columns, kind):
        out.add_tensor(f"{name}.weight", matrix(random, kind, rows, columns), raw_dtype=GGMLQuantizationType[kind])

    add("token_embd", VOCAB, WIDTH, usual)
    add("output", VOCAB, WIDTH, better)
    out.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    kv = WIDTH // HEADS * KV_HEADS
    for layer in range(args.layers):
        kind = better if layer % 2 else usual
        prefix = f"blk.{layer}."
        out.add_tensor(f"{prefix}attn_norm.weight", np.ones(WIDTH, np.float32))
        out.add_tensor(f"{prefix}ffn_norm.weight", np.ones(WIDTH, np.float32))
        add(f"{prefix}attn_q", WIDTH, WIDTH, usual)
        add(f"{prefix}attn_k", kv, WIDTH, usual)
        add(f"{prefix}attn_v", kv, WIDTH, kind)
        add(f"{prefix}attn_output", WIDTH, WIDTH, usual)
        add(f"{prefix}ffn_gate", INNER, WIDTH, usual)
        add(f"{prefix}ffn_up", INNER, WIDTH, usual)
        add(f"{prefix}ffn_down", WIDTH, INNER, kind)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    main()
