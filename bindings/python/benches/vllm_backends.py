"""Maskwright beside vLLM's own backends of structured output, in vLLM itself: throughput and share of valid answers.

    python benches/vllm_backends.py MODEL CORPUS [--backends maskwright xgrammar guidance] [--requests 16] [--rounds 2]

MODEL is a folder that vLLM loads (`benches/serving/random_model.py` of the repository writes one; with `--width 192
--layers 4` the model is so small that the cost of masks is seen). CORPUS is a folder of *.jsonl with a `schema` a line;
the schemas are a stride through those that every backend takes. A backend has a process of its own; all requests of a
round run side by side, and each backend's turn comes in every round. *first* is the round in which the schemas are
new to the process, *again* the next one; *free* are texts of the same lengths without constraint, in the same process.
An answer counts as *ended* if the end token was written, as *valid* if a validator of its own takes it (pip install
jsonschema-rs), as *cut off* at --max-tokens.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

# Backends of vLLM that write whitespace without bounds by default are told not to.
OPTIONS = {
    "maskwright": {},
    "xgrammar": {"disable_any_whitespace": True},
    "guidance": {"disable_any_whitespace": True},
    "outlines": {},
}


def schemas(corpus, count):
    """A stride through the schemas of a folder."""
    lines = [line for path in sorted(corpus.glob("*.jsonl")) for line in path.open()]
    step = max(1, len(lines) // count)
    return [json.dumps(json.loads(line)["schema"]) for line in lines[::step]][:count]


def serve(args):
    """The process of a backend: answers lines of standard input, each a task, by lines."""
    os.environ.update(
        HF_HUB_OFFLINE="1", VLLM_NO_USAGE_STATS="1", VLLM_CPU_KVCACHE_SPACE="1", VLLM_LOGGING_LEVEL="ERROR",
        VLLM_CPU_OMP_THREADS_BIND="nobind", OMP_NUM_THREADS="1", VLLM_ENABLE_V1_MULTIPROCESSING="0",
    )
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if args.serve == "maskwright":
        import maskwright.vllm  # noqa: F401, registers before the configuration is read
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    engine = LLM(
        model=args.model, dtype="float32", enforce_eager=True, max_model_len=512, max_num_seqs=args.requests, seed=0,
        enable_prefix_caching=False, structured_outputs_config={"backend": args.serve, **OPTIONS[args.serve]},
    )

    def run(params):
        before = time.perf_counter()
        outputs = [out.outputs[0] for out in engine.generate(["Hello"] * len(params), params, use_tqdm=False)]
        return outputs, time.perf_counter() - before

    for line in sys.stdin:
        task = json.loads(line)
        if task["kind"] == "check":
            params = SamplingParams(max_tokens=1, structured_outputs=StructuredOutputsParams(json=task["schema"]))
            try:
                output = engine.generate(["Hello"], params, use_tqdm=False)[0].outputs[0]
                answer = output.finish_reason in ("length", "stop")
            except Exception as error:  # whatever a backend refuses a schema with
                print(f"{args.serve}: {str(error)[:200]}", file=sys.stderr)
                answer = False
        elif task["kind"] == "free":
            params = [
                SamplingParams(temperature=1.0, seed=i, max_tokens=n, ignore_eos=True)
                for i, n in enumerate(task["lengths"])
            ]
            outputs, seconds = run(params)
            answer = {"seconds": seconds, "tokens": sum(len(out.token_ids) for out in outputs)}
        else:
            params = [
                SamplingParams(
                    temperature=1.0, seed=task["seed"] + i, max_tokens=args.max_tokens,
                    structured_outputs=StructuredOutputsParams(json=schema),
                )
                for i, schema in enumerate(task["schemas"])
            ]
            outputs, seconds = run(params)
            answer = {
                "seconds": seconds, "tokens": sum(len(out.token_ids) for out in outputs),
                "lengths": [len(out.token_ids) for out in outputs],
                "texts": [(out.text, out.finish_reason) for out in outputs],
            }
        print(json.dumps(answer), file=answers, flush=True)


class Backend:
    """A process with a backend."""

    def __init__(self, name, args):
        self.name = name
        command = [sys.executable, __file__, str(args.model), str(args.corpus), "--serve", name,
                   "--requests", str(args.requests), "--max-tokens", str(args.max_tokens)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, kind, **task):
        print(json.dumps({"kind": kind, **task}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def counted(round_, schemas, validators):
    """The numbers of answers that are valid, invalid, and cut off."""
    valid = invalid = cut = 0
    for (text, reason), validator in zip(round_["texts"], validators):
        if reason != "stop":
            cut += 1
            continue
        try:
            holds = validator.is_valid(json.loads(text))
        except ValueError:
            holds = False
        valid, invalid = valid + holds, invalid + (not holds)
    return valid, invalid, cut


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--backends", nargs="+", default=["maskwright", "xgrammar", "guidance"], choices=list(OPTIONS))
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2, help="pairs of rounds, each with other schemas")
    parser.add_argument("--max-tokens", type=int, default=120)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        args.model = str(args.model)
        return serve(args)
    import jsonschema_rs

    backends = [Backend(name, args) for name in args.backends]
    wanted, chosen = args.requests * args.rounds, []
    refused = {backend.name: 0 for backend in backends}
    pool = schemas(args.corpus, wanted * 2)
    for schema in pool:
        if len(chosen) == wanted:
            break
        try:
            validator = jsonschema_rs.validator_for(json.loads(schema))
        except ValueError:
            continue
        takes = {backend.name: backend.ask("check", schema=schema) for backend in backends}
        for name, is_taken in takes.items():
            refused[name] += not is_taken
        if all(takes.values()):
            chosen.append((schema, validator))
    for backend in backends:  # new processes, so that the schemas are new
        backend.end()
    backends = [Backend(name, args) for name in args.backends]
    rows = {backend.name: {"first": [], "again": [], "free": [], "counts": (0, 0, 0)} for backend in backends}
    for backend in backends:  # what a process does once
        backend.ask("round", schemas=['{"type": "boolean"}'] * args.requests, seed=0)
        backend.ask("free", lengths=[8] * args.requests)
    for number in range(args.rounds):
        part = chosen[number * args.requests : (number + 1) * args.requests]
        texts, validators = [schema for schema, _ in part], [validator for _, validator in part]
        for backend in backends:
            row = rows[backend.name]
            for kind in ("first", "again"):
                round_ = backend.ask("round", schemas=texts, seed=number)
                row[kind].append(round_["tokens"] / round_["seconds"])
                counts = counted(round_, texts, validators)
                row["counts"] = tuple(a + b for a, b in zip(row["counts"], counts))
            free = backend.ask("free", lengths=round_["lengths"])
            row["free"].append(free["tokens"] / free["seconds"])
    print(f"{len(chosen)} schemas, {args.requests} requests side by side, at most {args.max_tokens} tokens each\n")
    print("| backend | first tok/s | again tok/s | free tok/s | again of free | valid | invalid | cut off | refused while choosing |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, row in rows.items():
        first, again, free = (statistics.mean(row[kind]) for kind in ("first", "again", "free"))
        valid, invalid, cut = row["counts"]
        print(f"| {name} | {first:.0f} | {again:.0f} | {free:.0f} | {again / free:.2f} | {valid} | {invalid} | {cut} | {refused[name]} |")
    for backend in backends:
        backend.end()


if __name__ == "__main__":
    main()
