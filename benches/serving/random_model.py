#!/usr/bin/env python3
"""A Llama of random weights that no cache holds: a model folder to measure serving with.

Speed depends on a model's shape, not on its knowledge. A processor's cache holds a toy model whole, so that
a batch saves nothing; this one has 201 million parameters (805 MB in f32), which every step reads from
memory:

    embedding, also the output layer   128,256 x 576                     73.9 M   37%
    36 layers                          attention 0.88 M + MLP 2.65 M    127.4 M   63%

It is SmolLM2-135M's shape with six more layers and the vocabulary of Llama 3, because masks and sampling cost
what the vocabulary costs. The files are those of Hugging Face; `peers/to_gguf.py` makes llama.cpp's of them.

    python3 benches/serving/random_model.py TOKENIZER_FOLDER MODEL_FOLDER

Standard library alone: rows of a tensor are windows into one pool of normal numbers, each at a place of
its own, which is random enough and takes seconds.
"""

import argparse
import array
import json
import random
import shutil
import struct
from pathlib import Path

POOL_NUMBERS = 1 << 22  # Normal numbers in the pool; more than rows in any tensor.
CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message.content }}{% endfor %}"
BEGIN_TOKEN, END_TOKEN = 128_000, 128_009  # <|begin_of_text|> and <|eot_id|>


def config(args):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": args.width,
        "intermediate_size": args.mlp_width,
        "num_hidden_layers": args.layers,
        "num_attention_heads": args.width // 64,
        "num_key_value_heads": args.width // 192,
        "head_dim": 64,
        "vocab_size": 128_256,
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "rope_theta": 100_000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": BEGIN_TOKEN,
        "eos_token_id": END_TOKEN,
        "attention_bias": False,
        "mlp_bias": False,
        "torch_dtype": "float32",
    }


def shapes(config):
    """Name, shape and scale of each tensor; a scale of None means ones (norms)."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    queries = config["num_attention_heads"] * config["head_dim"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    yield "model.embed_tokens.weight", (config["vocab_size"], width), 0.1
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        yield name + "input_layernorm.weight", (width,), None
        for part, rows, columns in [
            ("self_attn.q_proj", queries, width),
            ("self_attn.k_proj", keys, width),
            ("self_attn.v_proj", keys, width),
            ("self_attn.o_proj", width, queries),
            ("mlp.gate_proj", inner, width),
            ("mlp.up_proj", inner, width),
            ("mlp.down_proj", width, inner),
        ]:
            yield f"{name}{part}.weight", (rows, columns), columns**-0.5
        yield name + "post_attention_layernorm.weight", (width,), None
    yield "model.norm.weight", (width,), None


def write_safetensors(path, tensors, seed):
    """Writes `tensors` as f32; returns the number of parameters."""
    draw = random.Random(seed)
    pool = [draw.gauss(0.0, 1.0) for _ in range(POOL_NUMBERS)]
    pools = {}
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, _ in tensors:
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape, scale in tensors:
            if scale is None:
                file.write(array.array("f", [1.0] * shape[0]).tobytes())
                continue
            if scale not in pools:
                pools[scale] = memoryview(array.array("f", (scale * number for number in pool)).tobytes())
            rows, columns = shape
            for place in draw.sample(range(POOL_NUMBERS - columns), rows):
                file.write(pools[scale][4 * place : 4 * (place + columns)])
    return end // 4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path, help="folder with the tokenizer.json of Llama 3")
    parser.add_argument("out", type=Path, help="the model folder to write")
    parser.add_argument("--width", type=int, default=576, help="a multiple of 192 [576]")
    parser.add_argument("--mlp-width", type=int, default=1536, help="[1536]")
    parser.add_argument("--layers", type=int, default=36, help="[36]")
    parser.add_argument("--seed", type=int, default=1, help="[1]")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(args.tokenizer / "tokenizer.json", args.out / "tokenizer.json")
    shape = config(args)
    files = {
        "config.json": json.dumps(shape, indent=1),
        "chat_template.jinja": CHAT_TEMPLATE,
        "generation_config.json": json.dumps({"bos_token_id": BEGIN_TOKEN, "eos_token_id": END_TOKEN}),
        "tokenizer_config.json": json.dumps({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<|begin_of_text|>",
            "eos_token": "<|eot_id|>",
            "model_max_length": shape["max_position_embeddings"],
            "chat_template": CHAT_TEMPLATE,
        }, indent=1),
    }
    for name, text in files.items():
        (args.out / name).write_text(text)
    count = write_safetensors(args.out / "model.safetensors", list(shapes(shape)), args.seed)
    embedding = shape["vocab_size"] * args.width
    print(f"{count / 1e6:.1f} M parameters, {embedding / 1e6:.1f} M of them the embedding: {args.out}")


if __name__ == "__main__":
    main()
