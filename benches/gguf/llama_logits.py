#!/usr/bin/env python3
"""Log-probabilities of GGUF files by llama.cpp and by `maskwright serve`: the greatest difference of each file.

    pip install gguf xllamacpp
    python llama_logits.py MASKWRIGHT FILE.gguf … [--lengths 1,2,7,20,60]

After prompts of some tokens, the 20 likeliest tokens are compared. llama.cpp keeps keys and values as f32 here and
computes attention without its flash kernel, which rounds to half precision. What still differs is its GELU, which it
looks up in a table of half-precision numbers, and its activations beside quantised weights, which it rounds to 8 bits.
"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

LLAMA_PORT, OUR_PORT = 8199, 8177
LIKELIEST = 20
# ggml's number of f32, and llama.cpp's of no flash attention.
F32, NO_FLASH_ATTENTION = 0, 0


def post(port, path, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def prompt(length, vocabulary):
    return [(at * 31 + 7) % vocabulary for at in range(length)]


def by_llama(file, lengths, vocabulary, out):
    """Sends `[{token: log-probability}]`, of one length after the other, to `out`."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.port = str(file), LLAMA_PORT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_parallel, params.n_ctx, params.fit_params, params.warmup = 1, 256, False, False
    params.cache_type_k = params.cache_type_v = F32
    params.flash_attn_type = NO_FLASH_ATTENTION
    server = xllamacpp.Server(params)
    # One token is chosen by force: of an incomplete character no log-probabilities are reported, and `n_probs`
    # reports them as they were before the force.
    letter = next(i for i, token in enumerate(vocabulary) if token in ("a", "▁a"))
    rows = []
    for length in lengths:
        body = {"prompt": prompt(length, len(vocabulary)), "n_predict": 1, "cache_prompt": False, "temperature": 0,
                "logit_bias": [[letter, 1000.0]], "n_probs": len(vocabulary)}
        answer = post(LLAMA_PORT, "/completion", body)
        top = answer["completion_probabilities"][0]["top_logprobs"]
        rows.append({token["id"]: token["logprob"] for token in top})
    out.send(rows)
    del server


def by_us(program, file, lengths, vocabulary):
    command = [program, "serve", "--model", file, "--port", str(OUR_PORT)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        try:
            while server.poll() is None:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{OUR_PORT}/ready").close()
                    break
                except OSError:
                    time.sleep(0.02)
            else:
                raise RuntimeError(server.stderr.read().decode().strip())
            rows = []
            for length in lengths:
                # The token after the prompt has the distribution that the prompt leads to.
                body = {"model": file.stem, "prompt": [*prompt(length, len(vocabulary)), 0], "max_tokens": 1,
                        "temperature": 0, "prompt_logprobs": LIKELIEST}
                told = post(OUR_PORT, "/v1/completions", body)["choices"][0]["prompt_logprobs"][-1]
                rows.append({int(token): entry["logprob"] for token, entry in told.items()})
            return rows
        finally:
            server.terminate()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--lengths", default="1,2,7,20,60")
    options = parser.parse_args()
    lengths = [int(length) for length in options.lengths.split(",")]
    from gguf import GGUFReader

    for file in options.files:
        vocabulary = GGUFReader(file).fields["tokenizer.ggml.tokens"].contents()
        receiver, sender = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=by_llama, args=(file, lengths, vocabulary, sender))
        process.start()
        sender.close()
        try:
            llama = receiver.recv()
        except EOFError:
            print(f"{file.name}: llama.cpp does not load it", flush=True)
            continue
        finally:
            process.join()
        try:
            ours = by_us(options.program, file, lengths, vocabulary)
        except RuntimeError as error:
            print(f"{file.name}: {error}", flush=True)
            continue
        worst = max(
            (abs(row[token] - other[token]), length)
            for row, other, length in zip(ours, llama, lengths)
            for token in row
        )
        print(f"{file.name}: {worst[0]:.1e} after {worst[1]} tokens", flush=True)


if __name__ == "__main__":
    sys.exit(main())
