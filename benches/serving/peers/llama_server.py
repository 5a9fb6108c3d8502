#!/usr/bin/env python3
"""llama.cpp's server, from the wheel of xllamacpp: OpenAI's chat completions with parallel slots.

    pip install xllamacpp
    python llama_server.py MODEL.gguf --port 8124 --slots 16 --threads 2
"""

import argparse
import os
import time

# On a machine with other work, threads that spin at OpenMP's barriers make a step take seconds.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import xllamacpp  # noqa: E402  (after the setting that it reads)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=8124)
    parser.add_argument("--slots", type=int, default=16, help="requests side by side [16]")
    parser.add_argument("--threads", type=int, default=2, help="[2]")
    parser.add_argument("--context", type=int, default=32768, help="tokens of all slots together [32768]")
    parser.add_argument("--kv-type", choices=["f32", "f16"], default="f16", help="numbers of the KV cache [f16]")
    args = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = args.model
    params.port = args.port
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = args.threads
    params.n_parallel, params.n_ctx, params.kv_unified = args.slots, args.context, True
    params.cache_type_k = params.cache_type_v = getattr(xllamacpp.ggml_type, f"GGML_TYPE_{args.kv_type.upper()}")
    params.fit_params = False
    params.endpoint_metrics = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
