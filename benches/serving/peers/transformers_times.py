#!/usr/bin/env python3
"""Prefill and decoding of transformers, as a line of JSON; with XGrammar's logits processor under a schema.

    pip install torch transformers xgrammar
    python transformers_times.py MODEL_FOLDER SCHEMA.json --threads 2

Without XGrammar the rows under a schema are left out.
"""

import argparse
import json
import os
import random
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch  # noqa: E402  (after the setting that it reads)
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

try:
    import xgrammar
    from xgrammar.contrib.hf import LogitsProcessor
except ImportError:
    xgrammar = None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("schema", type=Path)
    parser.add_argument("--threads", type=int, default=2, help="[2]")
    parser.add_argument("--device", default="cpu", help="[cpu]")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"], help="[float32]")
    parser.add_argument("--tokens", type=int, default=48, help="of each answer [48]")
    parser.add_argument("--batches", type=lambda text: [int(n) for n in text.split(",")], default=[1, 16])
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dtype = getattr(torch, args.dtype)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=dtype).to(args.device).eval()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    width = model.config.vocab_size
    if xgrammar:
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=width)
        grammar = xgrammar.GrammarCompiler(info).compile_json_schema(args.schema.read_text(), any_whitespace=False)

    draw = random.Random(1)

    def generate(batch, prompt, tokens, processors=()):
        """Seconds of wall clock and of processor for `tokens` more tokens of `batch` random prompts."""
        ids = [[draw.randrange(1000, 100_000) for _ in range(prompt)] for _ in range(batch)]
        ids = torch.tensor(ids, device=args.device)
        wall, cpu = time.perf_counter(), time.process_time()
        with torch.inference_mode():
            out = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0, top_k=0,
                max_new_tokens=tokens, min_new_tokens=None if processors else tokens, pad_token_id=0,
                logits_processor=list(processors),
            )
            if out.is_cuda:
                torch.cuda.synchronize()
        written = (out.shape[1] - prompt) * batch
        return time.perf_counter() - wall, time.process_time() - cpu, written

    rows = []
    generate(1, 16, 2)
    wall, cpu, _ = min(generate(1, 512, 1) for _ in range(3))
    rows.append({"measured": "prefill of 512", "streams": 1, "tok/s": 512 / wall, "tok/cpu s": 512 / cpu})
    for batch in args.batches:
        for mode in ("constrained", "free") if xgrammar else ("free",):
            wall, cpu, written = generate(
                batch, 32, args.tokens, [LogitsProcessor(grammar)] if mode == "constrained" else []
            )
            rows.append({
                "measured": f"throughput {mode}", "streams": batch, "tok/s": written / wall,
                "tok/cpu s": written / cpu, "server cores": cpu / wall,
            })
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
