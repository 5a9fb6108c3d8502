"""A copy of a Llama model whose attention heads are 32 wide, and that computes the same, with tokens around thoughts.

    python wide_heads.py FROM TO

The kernels of vLLM for the CPU begin at heads of 32; those of stories260K have 8. A pair of dimensions that is turned
by the frequency theta^(-2i/d) goes to the pair that is turned by the same frequency in a wider head; the other
dimensions are zero. Queries are scaled by sqrt(D/d), since the scale of the scores becomes 1/sqrt(D). `<think>` and
`</think>` are two more tokens whose embeddings are zero, so that their logits are, too.
"""

import json
import math
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

HEAD = 32
THOUGHTS = ["<think>", "</think>"]


def main():
    source, made = map(pathlib.Path, sys.argv[1:])
    made.mkdir(parents=True, exist_ok=True)
    config = json.loads((source / "config.json").read_text())
    heads, shared_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head = config.get("head_dim") or config["hidden_size"] // heads
    step, half = HEAD // head, HEAD // 2
    places = torch.tensor([step * i for i in range(head // 2)] + [half + step * i for i in range(head // 2)])
    weights = load_file(source / "model.safetensors")
    for name, weight in weights.items():
        if "o_proj" in name:
            wide = torch.zeros(weight.shape[0], heads, HEAD)
            wide[:, :, places] = weight.view(weight.shape[0], heads, head)
            weights[name] = wide.view(weight.shape[0], -1).contiguous()
        elif any(part in name for part in ("q_proj", "k_proj", "v_proj")):
            is_query = "q_proj" in name
            wide = torch.zeros(heads if is_query else shared_heads, HEAD, weight.shape[1])
            wide[:, places] = weight.view(wide.shape[0], head, -1) * (math.sqrt(HEAD / head) if is_query else 1.0)
            weights[name] = wide.view(-1, weight.shape[1]).contiguous()
    embeddings = "model.embed_tokens.weight"
    assert config["tie_word_embeddings"], "logits are products with the embeddings"
    weights[embeddings] = torch.nn.functional.pad(weights[embeddings], (0, 0, 0, len(THOUGHTS)))
    save_file(weights, made / "model.safetensors", metadata={"format": "pt"})
    width = config["vocab_size"] + len(THOUGHTS)
    (made / "config.json").write_text(json.dumps({**config, "head_dim": HEAD, "vocab_size": width}))
    tokenizer = json.loads((source / "tokenizer.json").read_text())
    for token, text in enumerate(THOUGHTS, config["vocab_size"]):
        tokenizer["added_tokens"].append({**tokenizer["added_tokens"][0], "id": token, "content": text, "special": False})
    (made / "tokenizer.json").write_text(json.dumps(tokenizer))
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "model_max_length": 512}
    (made / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **names}))


if __name__ == "__main__":
    main()
