#!/usr/bin/env python3
"""llama.cpp's prefill and decoding of GGUF files, in tokens a second of processor time, on one thread.

    pip install xllamacpp
    python llama_times.py FILE.gguf …

Processor time leaves out what else the machine does. Beside it, the matrices of the same random models
(`random_gguf.py`) in our kernels: `cargo run --release -p maskwright-kernels --example token_matrices`.
"""

import json
import multiprocessing
import os
import sys
import time
import urllib.request

PROMPT, TOKENS = 128, 64


def times(file):
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.port = 8199
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_parallel, params.n_ctx, params.fit_params = 1, 1024, False
    server = xllamacpp.Server(params)

    def seconds(tokens):
        body = {"prompt": [(i * 31 + 7) % 250 for i in range(PROMPT)], "n_predict": tokens, "ignore_eos": True,
                "cache_prompt": False, "temperature": 0}
        request = urllib.request.Request(f"{server.listening_address}/completion", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        begin = time.process_time()
        with urllib.request.urlopen(request) as answer:
            json.load(answer)
        return time.process_time() - begin

    seconds(1)
    prefill, whole = seconds(1), seconds(1 + TOKENS)
    print(f"{os.path.basename(file)}: prefill {PROMPT / prefill:.0f}/s, decode {TOKENS / (whole - prefill):.1f}/s", flush=True)
    os._exit(0)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        process = multiprocessing.Process(target=times, args=(path,))
        process.start()
        process.join()
