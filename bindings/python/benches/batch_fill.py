"""Masks of a batch, per decoding step, beside XGrammar and llguidance.

    MASKWRIGHT_SHARED=FOLDER python benches/batch_fill.py [ROWS …]

Each row follows an instance of its own schema (JSON, written as `json.dumps` writes it, cut by the tokenizer). A step
fills the rows of all texts that go on, then accepts their next tokens; only the filling is timed. *Cold* is the first
pass of a constraint over its text, *warm* the second one, with new matchers. XGrammar computes masks while it
compiles, llguidance as texts come to them, and Maskwright by a thread that begins when a constraint is compiled: the
benchmark waits for that thread before the first pass, as a server reads the prompt then, and counts it as compiling.
`maskwright, 0 ms` has no such thread. Compiling is timed as well: what new schemas cost is its time and that of the first
pass together. Every engine gets the same schemas, those that all of them compile and whose instances all
of them accept, on the same number of threads, in one process, one after the other; the tokenizer is Llama 3.2's
(128,256 tokens).

Then the cost of a single `fill` from Python, beside the pure time of the same call with the interpreter's share
measured by a constraint whose mask is known.
"""

import gc
import json
import os
import pathlib
import statistics
import sys
import time

import numpy

import maskwright

SHARED = pathlib.Path(os.environ["MASKWRIGHT_SHARED"])
TOKENIZER = SHARED / "tokenizers/llama-3.2/tokenizer.json"
MAX_TOKENS = 200


def instances(limit):
    """Schemas and instances of the corpus, spread over its files."""
    lines = [line for path in sorted((SHARED / "corpus/maskbench").glob("*.jsonl")) for line in path.open()]
    for line in lines[:: max(1, len(lines) // limit)]:
        data = json.loads(line)
        valid = [test["data"] for test in data.get("tests", []) if test.get("valid")]
        if valid:
            yield json.dumps(data["schema"]), json.dumps(valid[0], ensure_ascii=False)


class Engine:
    def wait(self):
        """Waits for what goes on after compiling."""


class Ours(Engine):
    def __init__(self, text, name="maskwright", **options):
        self.name = name
        tokenizer = maskwright.Tokenizer(text)
        self.compiler = maskwright.Compiler(tokenizer, cache_bytes=0, whitespace="plain", time_limit=5.0, **options)

    def wait(self):
        self.compiler.wait_for_masks()

    def compile(self, schema):
        return self.compiler.json_schema(schema)

    def matcher(self, constraint):
        return constraint.matcher()

    def fill(self, matchers, bitmask, rows):
        maskwright.fill_masks(matchers, bitmask, rows)

    def accept(self, matcher, token):
        return matcher.accept(token)


class Xgrammar(Engine):
    name = "xgrammar"

    def __init__(self, text):
        import torch
        import transformers
        import xgrammar

        torch.set_num_threads(2)
        self.module = xgrammar
        source = transformers.PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER))
        info = xgrammar.TokenizerInfo.from_huggingface(source, vocab_size=len(source), stop_token_ids=[128001, 128009])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=os.cpu_count(), cache_enabled=False)
        self.batch = xgrammar.BatchGrammarMatcher(os.cpu_count())

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, any_whitespace=False, strict_mode=False)

    def matcher(self, compiled):
        return self.module.GrammarMatcher(compiled)

    def fill(self, matchers, bitmask, rows):
        self.batch.batch_fill_next_token_bitmask(matchers, bitmask, rows)

    def accept(self, matcher, token):
        return matcher.accept_token(token)


class Llguidance(Engine):
    name = "llguidance"

    def __init__(self, text):
        import llguidance
        import llguidance.numpy

        self.module, self.numpy = llguidance, llguidance.numpy
        self.tokenizer = llguidance.LLTokenizer(text, eos_token=128009)
        self.executor = llguidance.LLExecutor(os.cpu_count())

    def compile(self, schema):
        options = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
        grammar = self.module.LLMatcher.grammar_from_json_schema(schema, overrides=options)
        matcher = self.module.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def matcher(self, compiled):
        return compiled.deep_copy()

    def fill(self, matchers, bitmask, rows):
        self.numpy.fill_next_token_bitmask_par(self.executor, list(zip(matchers, rows)), bitmask)

    def accept(self, matcher, token):
        return matcher.consume_token(token)


def accepts(engine, schema, tokens):
    """The compiled schema, if the engine accepts the text."""
    try:
        compiled = engine.compile(schema)
        matcher = engine.matcher(compiled)
        return all(engine.accept(matcher, token) for token in tokens)
    except Exception:
        return False


def run(engine, compiled, texts, words):
    """Seconds of filling of each step, and rows of each step."""
    matchers = [engine.matcher(constraint) for constraint in compiled]
    bitmask = numpy.full((len(texts), words), -1, dtype=numpy.int32)
    steps = []
    for step in range(max(map(len, texts))):
        rows = [row for row, text in enumerate(texts) if step < len(text)]
        current = [matchers[row] for row in rows]
        begin = time.perf_counter()
        engine.fill(current, bitmask, rows)
        steps.append((time.perf_counter() - begin, len(rows)))
        for row in rows:
            if not engine.accept(matchers[row], texts[row][step]):
                raise RuntimeError(f"{engine.name} refuses a text that it accepted")
    return steps


def report(name, pass_name, steps, rows):
    whole = [seconds for seconds, live in steps if live > rows / 2]
    per_row = sum(seconds for seconds, _ in steps) / sum(live for _, live in steps)
    print(
        f"{rows:4} rows  {pass_name:4}  {name:16}  step: median {statistics.median(whole) * 1e6:9.1f} us, "
        f"p99 {sorted(whole)[int(len(whole) * 0.99)] * 1e6:10.1f} us, max {max(whole) * 1e6:10.1f} us;  "
        f"row {per_row * 1e6:8.2f} us",
        flush=True,
    )


def report_new(name, compiling, filling, masks, rows):
    print(
        f"{rows:4} rows  new   {name:16}  compile: {compiling / rows * 1e3:8.2f} ms a schema;  compile and first pass: "
        f"{(compiling + filling) * 1e3:9.1f} ms, {(compiling + filling) / masks * 1e6:8.2f} us a mask",
        flush=True,
    )


def overhead(tokenizer):
    """The cost of one `fill` of a mask that is known, from Python, for each kind of memory."""
    compiler = maskwright.Compiler(tokenizer)
    matcher = compiler.json_object().matcher()
    row = numpy.zeros((1, tokenizer.words), numpy.int32)
    kinds = {"numpy": row}
    try:
        import torch

        kinds["torch"] = torch.from_numpy(row)
    except ImportError:
        pass
    address = row.ctypes.data

    def measure(call):
        call()
        best = float("inf")
        for _ in range(7):
            begin = time.perf_counter()
            for _ in range(2000):
                call()
            best = min(best, (time.perf_counter() - begin) / 2000)
        return best * 1e9

    pointer = measure(lambda: matcher.fill_pointer(address, tokenizer.words))
    print(f"one fill of a known mask: at an address {pointer:.0f} ns")
    for name, bitmask in kinds.items():
        print(f"  {name}: {measure(lambda: matcher.fill(bitmask, 0)):.0f} ns")
    small = maskwright.Compiler(maskwright.Tokenizer.of_bytes()).json_object().matcher()
    tiny = numpy.zeros((1, 9), numpy.int32)
    print(f"  numpy, of 257 tokens (the call and little else): {measure(lambda: small.fill(tiny, 0)):.0f} ns")
    print(f"  an empty Python function: {measure(lambda: None):.0f} ns")


def main():
    sizes = [int(size) for size in sys.argv[1:]] or [64, 256]
    text = TOKENIZER.read_text()
    tokenizer = maskwright.Tokenizer(text)
    engines = [Ours(text), Ours(text, "maskwright, 0 ms", precompute=0)]
    for make in (Llguidance, Xgrammar):
        try:
            engines.append(make(text))
        except ImportError as error:
            print(f"without {make.name}: {error}")
    import tokenizers

    encode = tokenizers.Tokenizer.from_file(str(TOKENIZER)).encode
    chosen = []
    for schema, instance in instances(4 * max(sizes)):
        tokens = encode(instance, add_special_tokens=False).ids[:MAX_TOKENS]
        if len(tokens) >= 8 and all(accepts(engine, schema, tokens) for engine in engines):
            chosen.append((schema, tokens))
        if len(chosen) == max(sizes):
            break
    print(f"{len(chosen)} schemas that {', '.join(engine.name for engine in engines)} take; {os.cpu_count()} cores")
    for rows in sizes:
        part = (chosen * (rows // max(1, len(chosen)) + 1))[:rows]
        texts = [tokens for _, tokens in part]
        for engine in engines:
            engine.wait()
            gc.collect()
            begin = time.perf_counter()
            compiled = [engine.compile(schema) for schema, _ in part]
            engine.wait()
            compiling = time.perf_counter() - begin
            for pass_name in ("cold", "warm"):
                gc.collect()
                steps = run(engine, compiled, texts, tokenizer.words)
                report(engine.name, pass_name, steps, rows)
                if pass_name == "cold":
                    report_new(engine.name, compiling, sum(seconds for seconds, _ in steps), sum(map(len, texts)), rows)
            del compiled
    overhead(tokenizer)


if __name__ == "__main__":
    main()
