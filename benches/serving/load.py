#!/usr/bin/env python3
"""Load on a server that speaks OpenAI's chat completions: throughput, waiting times, memory, disconnects.

    python3 benches/serving/random_model.py TOKENIZER_FOLDER /tmp/model
    python3 benches/serving/load.py all --corpus MASKBENCH --json figures.json -- \\
        target/release/maskwright serve --model /tmp/model --port 8123

What follows `--` is started, measured and ended; without it the server at --url is measured from outside. Each
measurement is a row of a Markdown table, and an object in the JSON file:

- `prefill`: prompts of 512 tokens, one at a time, one token of answer.
- `throughput`: N clients that ask again as soon as they are answered, with constraints and without. Answers
  without one are as long as the constrained answer in their place, so that both do the same work.
- `arrivals`: requests at random times (a Poisson process), each fifth with a long prompt.
- `short`: a short request while another client reads an answer of 2,000 tokens.
- `chaos`: clients of which a third hang up, for minutes; then blocks and memory beside those before. Blocks that are
  cached stay, and their memory: none may be held, and nobody running or waiting.
- `load`: `throughput` and then `chaos`, both at the largest of --streams, with constrained over unconstrained
  tokens a second, which some --rounds make exact; the exit status is 1 if there was an error, or a block was held when all was over:

      python3 benches/serving/load.py load --corpus MASKBENCH --streams 64 --minutes 5 -- \\
          target/release/maskwright serve --port 8123
- `same`: texts and log probabilities of every way of decoding, alone, then side by side, then again over cached
  prefixes; those that differ are reported.

Constraints are JSON schemas of the corpus (folder of MaskBench's *.jsonl), a stride through all of them. Throughput
is tokens that came within the time measured, after a start that is not; a machine that others use too shows in
"others", the cores that were busy with something else, and "tok/cpu s" says what a second of processor gave.
"""

import argparse
import asyncio
import itertools
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

try:
    import jsonschema_rs
except ImportError:
    jsonschema_rs = None

from client import Answer, Server, ask, machine_cpu, words

PERSON = Path(__file__).parents[2] / "examples/schemas/person.json"
PROMPT_TOKENS = 32  # As in a short question.
ANSWER_TOKENS = 128  # The most of an answer.


def schemas(corpus, count):
    """A stride of `count` through the schemas of a folder; without a folder the one of the examples."""
    if corpus is None:
        return [json.loads(PERSON.read_text())]
    lines = [line for file in sorted(corpus.glob("*.jsonl")) for line in file.open()]
    if not lines:
        sys.exit(f"there is no *.jsonl in {corpus}")
    return [json.loads(line)["schema"] for line in lines[:: max(len(lines) // count, 1)]][:count]


def constrained(schema):
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}}


def free(tokens):
    """Settings of an answer of so many tokens."""
    return {"max_tokens": tokens, "min_tokens": tokens, "ignore_eos": True}


class Work:
    """Requests in a fixed order: the same seeds, and answers of the same lengths, with constraints and without."""

    def __init__(self, schemas, temperature):
        self.schemas, self.temperature = schemas, temperature
        self.lengths = {}  # Tokens of the constrained answer by the request's number.
        self.prompts = itertools.count()  # No prompt comes twice, so that no prefix cache helps.

    async def ask(self, server, number, mode, prompt=PROMPT_TOKENS, answer=None):
        """Asks for the answer of this number and notes its length."""
        text, settings = self.request(number, mode, prompt)
        answer = await ask(server, text, answer, **settings)
        answer.schema = self.schemas[number % len(self.schemas)] if mode == "constrained" else None
        if mode == "constrained" and answer.tokens:
            self.lengths[number] = answer.tokens
        return answer

    def request(self, number, mode, prompt=PROMPT_TOKENS, most=ANSWER_TOKENS):
        schema = self.schemas[number % len(self.schemas)]
        settings = constrained(schema) | {"max_tokens": most}
        if mode == "free":
            known = self.lengths.values()
            settings = free(self.lengths.get(number) or (round(sum(known) / len(known)) if known else most))
        return words(prompt, next(self.prompts)), settings | {"temperature": self.temperature, "seed": number}


class Usage:
    """Time, processor time and memory of a stretch of a measurement."""

    def __init__(self, server):
        self.server = server
        self.start, self.cpu, self.all = time.perf_counter(), server.cpu(), machine_cpu()
        self.client = time.process_time()

    def row(self):
        seconds = time.perf_counter() - self.start
        cpu = self.server.cpu() - self.cpu
        client = time.process_time() - self.client
        return {
            "seconds": seconds,
            "server cores": cpu / seconds,
            "client cores": client / seconds,
            "other cores": (machine_cpu() - self.all - cpu - client) / seconds,
            "RSS MB": self.server.rss(),
        }


def percentiles(name, times):
    """p50, p95 and p99 in ms."""
    times = sorted(times)
    at = lambda share: times[min(int(share * len(times)), len(times) - 1)] * 1e3 if times else None
    return {f"{name} p{share}": at(share / 100) for share in (50, 95, 99)}


def is_valid(answer):
    """Whether the text is JSON that its schema accepts; where jsonschema-rs is not installed, or does not take the
    schema, whether it is JSON."""
    try:
        value = json.loads(answer.text)
        return jsonschema_rs is None or answer.schema is None or jsonschema_rs.is_valid(answer.schema, value)
    except jsonschema_rs.ValidationError if jsonschema_rs else ():
        return True
    except ValueError:
        return False


def outcome(answers, mode):
    """Counts of what became of `answers`."""
    done = [answer for answer in answers if answer.tokens]
    refused = [answer for answer in answers if answer.is_refused()]
    errors = [answer for answer in answers if answer.error and not answer.is_refused()]
    for error, count in Counter(answer.error for answer in errors).most_common(3):
        print(f"{count} times: {error}", file=sys.stderr)
    row = {"answers": len(done), "refused": len(refused), "errors": len(errors)}
    if mode == "constrained" and done:
        row["valid"] = sum(map(is_valid, done)) / len(done)
    return row


async def throughput(server, work, mode, streams, seconds, start=4.0):
    """`streams` clients at once; tokens of `seconds` after a start of `start`."""
    numbers = itertools.count()
    answers = []

    async def client():
        while True:
            answers.append(answer := Answer(0.0))
            await work.ask(server, next(numbers), mode, answer=answer)
            if answer.error and not answer.is_refused():
                await asyncio.sleep(0.5)

    clients = [asyncio.create_task(client()) for _ in range(streams)]
    await asyncio.sleep(start)
    usage = Usage(server)
    await asyncio.sleep(seconds)
    row = usage.row()
    begin, end = usage.start, usage.start + row["seconds"]
    for task in clients:
        task.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    whole = [answer for answer in answers if answer.tokens]
    pieces = sum(len(answer.arrivals) for answer in whole)
    # Bytes of a character may be several tokens and one piece.
    per_piece = sum(answer.tokens for answer in whole) / pieces if pieces else 1.0
    came = sum(begin <= time < end for answer in answers for time in answer.arrivals)
    rate = came * per_piece / row["seconds"]
    within = [answer for answer in answers if answer.arrivals and begin <= answer.sent < end]
    gaps = [gap for answer in answers for gap in answer.gaps()]
    return {
        "measured": f"throughput {mode}",
        "streams": streams,
        "tok/s": rate,
        "tok/cpu s": rate / row["server cores"] if row["server cores"] else None,
        **percentiles("TTFT", [answer.first for answer in within]),
        **percentiles("ITL", gaps),
        **outcome(whole + [answer for answer in answers if answer.error], mode),
        **row,
    }


async def prefill(server, work, seconds, tokens=512):
    """Prompts of `tokens` one at a time; the time to their first token."""
    usage, answers = Usage(server), []
    while time.perf_counter() < usage.start + seconds:
        settings = free(1) | {"temperature": 0, "seed": 1}
        answers.append(await ask(server, words(tokens, next(work.prompts)), **settings))
    # A token without text of its own has no piece: the end of the answer counts.
    times = sorted((answer.end - answer.sent) / max(answer.prompt_tokens, 1) for answer in answers if answer.tokens)
    best, middle = (1 / times[0], 1 / times[len(times) // 2]) if times else (None, None)
    return {
        "measured": f"prefill of {tokens}", "streams": 1, "tok/s": middle, "best tok/s": best,
        **percentiles("TTFT", [answer.end - answer.sent for answer in answers if answer.tokens]),
        **outcome(answers, "free"), **usage.row(),
    }


async def arrivals(server, work, mode, rate, seconds):
    """Requests at `rate` a second, each fifth with a prompt of 1,000 to 2,000 tokens."""
    draw, tasks = random.Random(1), []
    usage = Usage(server)
    at = usage.start
    for number in itertools.count():
        at += draw.expovariate(rate)
        if at > usage.start + seconds:
            break
        await asyncio.sleep(max(at - time.perf_counter(), 0))
        length = draw.randrange(1000, 2000) if number % 5 == 4 else draw.randrange(16, 128)
        tasks.append(asyncio.create_task(work.ask(server, number, mode, length)))
    answers = await asyncio.gather(*tasks)
    row = usage.row()
    long = [answer.first for answer in answers[4::5] if answer.arrivals]
    short = [answer.first for number, answer in enumerate(answers) if number % 5 != 4 and answer.arrivals]
    return {
        "measured": f"{rate} arrivals/s {mode}",
        "tok/s": sum(answer.tokens for answer in answers) / row["seconds"],
        **percentiles("TTFT", short),
        **percentiles("TTFT of long prompts", long),
        **percentiles("ITL", [gap for answer in answers for gap in answer.gaps()]),
        **outcome(answers, mode), **row,
    }


async def short(server, work, mode, seconds, tokens=2000):
    """Short requests one after the other behind a stream of `tokens`, until it ends or time is over."""
    usage = Usage(server)
    stream = Answer(0.0)
    settings = free(tokens) | {"temperature": 0, "seed": 1}
    long = asyncio.create_task(ask(server, words(PROMPT_TOKENS, next(work.prompts)), stream, **settings))
    while not stream.arrivals and not long.done():
        await asyncio.sleep(0.05)
    answers = []
    while time.perf_counter() < usage.start + seconds and not long.done():
        answers.append(answer := Answer(0.0))
        prompt, settings = work.request(len(answers), mode, 16)
        try:
            await asyncio.wait_for(ask(server, prompt, answer, **settings), seconds)
        except TimeoutError:
            answer.error = f"no answer after {seconds} s"
    behind = [answer.first for answer in answers if answer.arrivals]
    long.cancel()
    await asyncio.gather(long, return_exceptions=True)
    return {
        "measured": f"short {mode} behind {tokens} tokens",
        **percentiles("TTFT", behind),
        **{f"stream {name}": value for name, value in percentiles("ITL", stream.gaps()).items()},
        **outcome(answers, mode), **usage.row(),
    }


async def chaos(server, work, streams, minutes):
    """Clients of which a third hang up at a random time; memory and blocks before and after."""
    draw, numbers, answers, left = random.Random(2), itertools.count(), [], 0

    def gauges():
        told = server.metrics().items()
        return {name: value for name, value in told if "block" in name or "running" in name or "waiting" in name}

    async def clients(seconds):
        nonlocal left
        end = time.perf_counter() + seconds

        async def client():
            nonlocal left
            while time.perf_counter() < end:
                number = next(numbers)
                mode = "constrained" if number % 2 else "free"
                length = 600 if number % 10 == 9 else PROMPT_TOKENS
                prompt, settings = work.request(number, mode, length)
                patience = draw.expovariate(0.5) if draw.random() < 1 / 3 else None
                answer = Answer(0.0)
                try:
                    await asyncio.wait_for(ask(server, prompt, answer, **settings), patience)
                    answers.append(answer)
                    if answer.error:
                        await asyncio.sleep(0.2)
                except TimeoutError:
                    left += 1

        await asyncio.gather(*(client() for _ in range(streams)))

    await clients(15)  # What the first requests leave in caches is not a leak.
    idle_before = await idle(gauges)
    before, memory = gauges(), server.rss()
    answers.clear()
    left = 0
    usage, peak = Usage(server), 0.0
    load = asyncio.create_task(clients(60 * minutes))
    while not load.done():
        peak = max(peak, server.rss())
        await asyncio.sleep(1)
    await load
    row = usage.row()
    idle_after = await idle(gauges)
    after = gauges()
    return {
        "measured": f"chaos for {minutes} min", "streams": streams, "hung up": left,
        "tok/s": sum(answer.tokens for answer in answers) / row["seconds"],
        **percentiles("TTFT", [answer.first for answer in answers if answer.arrivals]),
        **percentiles("ITL", [gap for answer in answers for gap in answer.gaps()]),
        **outcome(answers, "free"),
        **row, "RSS before": memory, "RSS peak": peak, "RSS MB": server.rss(),
        "gauges before": before, "gauges after": after,
        "seconds to idle before": idle_before, "seconds to idle after": idle_after, "still held": still_held(after),
    }


async def idle(gauges, most=10):
    """Seconds, `most` at most, until a server without clients holds nothing any more."""
    began = time.perf_counter()
    while still_held(gauges()) and time.perf_counter() < began + most:
        await asyncio.sleep(0.05)
    return time.perf_counter() - began


def still_held(gauges):
    """Figures of a server without requests that are not 0: what runs, waits, or is held for somebody."""
    kinds = ("running", "waiting", "held")
    return [name for name, value in gauges.items() if value and any(kind in name for kind in kinds)]


def ratio(rows):
    """Constrained over unconstrained tokens a second, and a processor second, of the rows of `throughput`."""

    def rates(mode):
        rounds = [row for row in rows if row["measured"] == f"throughput {mode}"]
        tokens = sum(row["tok/s"] * row["seconds"] for row in rounds)
        seconds = sum(row["seconds"] for row in rounds)
        cpu = sum(row["server cores"] * row["seconds"] for row in rounds)
        return (tokens / seconds, tokens / cpu) if tokens and cpu else None

    constrained, free = rates("constrained"), rates("free")
    return [a / b for a, b in zip(constrained, free)] if constrained and free else None


WAYS = {
    "greedy": {"temperature": 0},
    "drawn": {},
    "top_p, top_k, min_p": {"top_p": 0.9, "top_k": 50, "min_p": 0.01},
    "typical_p": {"typical_p": 0.8},
    "top_n_sigma": {"top_n_sigma": 1.5},
    "penalties": {"repetition_penalty": 1.2, "frequency_penalty": 0.3, "presence_penalty": 0.2},
    "dry": {"dry_multiplier": 0.8},
    "xtc": {"xtc_probability": 0.5, "xtc_threshold": 0.001},
    "mirostat": {"mirostat": 2},
    "bias": {"logit_bias": {"300": 5, "301": -100}},
    "n": {"n": 3},
    "best_of": {"n": 2, "best_of": 4},
    "beams": {"n": 2, "num_beams": 3},
    "stop": {"stop": ["a"]},
    "healing": {"token_healing": True},
    "reasoning": {"reasoning_budget": 8},
    "n-gram guesses": {"speculate": "ngram"},
    "grammar's guesses": {"speculate": "grammar"},
    "forced tokens": {"speculate": "forced"},
}


async def same(server, work, streams, tokens=24):
    """Each way of decoding with and without a constraint; first alone, then `streams` at once, twice."""
    asked = []
    for number, ((way, settings), mode) in enumerate(itertools.product(WAYS.items(), ("free", "constrained"))):
        length = 500 if number % 4 == 3 else PROMPT_TOKENS
        prompt, base = work.request(number, mode, length, 2 * tokens if mode == "constrained" else tokens)
        asked.append((f"{way} {mode}", prompt, base | {"logprobs": True} | settings))
    usage = Usage(server)
    alone = [await ask(server, prompt, **settings) for _, prompt, settings in asked]
    gate, draw, different = asyncio.Semaphore(streams), random.Random(3), set()

    async def again(number):
        async with gate:
            name, prompt, settings = asked[number]
            answer = await ask(server, prompt, **settings)
            expected = alone[number]
            if (answer.texts, answer.logprobs) != (expected.texts, expected.logprobs):
                texts = "text" if answer.texts != expected.texts else "log probabilities"
                different.add(f"{name} ({texts})")
            return answer

    order = draw.sample(range(len(asked)), len(asked)) + draw.sample(range(len(asked)), len(asked))
    answers = await asyncio.gather(*map(again, order))
    refused = [f"{name}: {answer.error}" for (name, *_), answer in zip(asked, alone) if answer.error]
    return {
        "measured": "same alone and side by side", "streams": streams,
        **outcome(alone + answers, "free"), **usage.row(),
        "different": ", ".join(sorted(different)) or "none", "not done": "; ".join(refused) or "none",
    }


COLUMNS = [
    "measured", "streams", "tok/s", "tok/cpu s", "TTFT p50", "TTFT p95", "TTFT p99", "ITL p50", "ITL p95", "ITL p99",
    "answers", "valid", "refused", "errors", "RSS MB", "server cores", "other cores",
]


def shown(value):
    match value:
        case None:
            return ""
        case float() if abs(value) < 10:
            return f"{value:.2f}"
        case float():
            return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}"
    return str(value)


def table(rows, columns=COLUMNS):
    """Rows as Markdown; what no column shows follows below."""
    lines = ["| " + " | ".join(columns) + " |", "|:--" + "|--:" * (len(columns) - 1) + "|"]
    lines += ["| " + " | ".join(shown(row.get(column)) for column in columns) + " |" for row in rows]
    for row in rows:
        more = {name: value for name, value in row.items() if name not in {*columns, "seconds", "client cores"}}
        if more:
            lines.append(f"\n{row.get('measured')}: " + ", ".join(f"{name} {shown(more[name])}" for name in more))
    return "\n".join(lines)


async def measure(server, args):
    work = Work(schemas(args.corpus, args.schemas), args.temperature)
    what = args.what
    if what in ("prefill", "all"):
        yield await prefill(server, work, args.seconds / 2)
    if what in ("throughput", "all"):
        for streams in args.streams:
            for _ in range(args.rounds):
                for mode in ("constrained", "free"):
                    yield await throughput(server, work, mode, streams, args.seconds)
    if what in ("arrivals", "all"):
        for mode in ("constrained", "free"):
            yield await arrivals(server, work, mode, args.rate, args.seconds)
    if what in ("short", "all"):
        for mode in ("constrained", "free"):
            yield await short(server, work, mode, args.seconds)
    if what in ("same", "all"):
        yield await same(server, work, 16)
    if what == "load":
        for _ in range(args.rounds):
            for mode in ("constrained", "free"):
                yield await throughput(server, work, mode, max(args.streams), args.seconds)
    if what in ("chaos", "load", "all"):
        yield await chaos(server, work, max(args.streams), args.minutes)


async def run(args):
    server = Server(args.url, args.model, args.command)
    rows = []
    try:
        async for row in measure(server, args):
            print(table([row]).splitlines()[2], file=sys.stderr)
            rows.append(row)
    finally:
        server.stop()
        print(table(rows))
        is_comparable = args.what == "load" or args.what == "throughput" and len(args.streams) == 1
        if is_comparable and (ratios := ratio(rows)):
            print(f"\nconstrained / free: {ratios[0]:.3f} of tokens a second, {ratios[1]:.3f} of tokens a processor second")
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1))
    if args.what == "load":
        sys.exit(any(row.get("errors") or row.get("still held") for row in rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["all", "prefill", "throughput", "arrivals", "short", "same", "chaos", "load"])
    parser.add_argument("--corpus", type=Path, help="folder of *.jsonl with a schema a line [the example's schema]")
    parser.add_argument("--schemas", type=int, default=200, help="schemas of the corpus [200]")
    parser.add_argument("--streams", type=lambda text: [int(n) for n in text.split(",")], default=[1, 4, 16, 64])
    parser.add_argument("--seconds", type=float, default=30, help="of each measurement [30]")
    parser.add_argument("--rounds", type=int, default=1, help="of each throughput, in turn [1]")
    parser.add_argument("--rate", type=float, default=1.0, help="arrivals a second [1]")
    parser.add_argument("--minutes", type=float, default=5, help="of chaos [5]")
    parser.add_argument("--temperature", type=float, default=1.0, help="[1]")
    parser.add_argument("--url", default="http://127.0.0.1:8123", help="[http://127.0.0.1:8123]")
    parser.add_argument("--model", help="name of the model in requests [what the server lists]", default="")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes all figures")
    command = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = parser.parse_args(sys.argv[1:command])
    args.command = sys.argv[command + 1 :]
    asyncio.run(run(args))


if __name__ == "__main__":
    main()
