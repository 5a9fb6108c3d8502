#!/usr/bin/env python3
"""Answers by the schemas of a corpus, judged by a validator that shares nothing with the server.

    pip install jsonschema-rs
    python3 benches/serving/corpus.py MASKBENCH --requests 2000 -- target/release/maskwright serve --port 8123

What follows `--` is started and ended; without it the server at --url is asked. Schemas are a stride through all
*.jsonl of the folder (a JSON object with a `schema` a line), each asked for once, 32 at a time, every second one as a
stream. Each answer is one of these:

- `valid`: it ended by itself, parses, and the validator accepts it.
- `cut off`: the finish reason is `length` and the answer says that it is not complete; the server's own
  `/v1/constraints/mask` must read it as the beginning of an answer.
- `refused`: status 400 with OpenAI's error object and a message, before anything was written.
- `unjudged`: the validator does not take the schema, or says that it looked for too long.

Anything else is a failure: it is printed with its schema, and the exit status is 1. Whether texts keep to `format`,
of which validators differ in what they accept, is told apart.
"""

import argparse
import collections
import concurrent.futures
import http.client
import json
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path

import jsonschema_rs

from client import Server

PROMPT = "Write an example of the data that this schema describes."


def chosen(corpus, count):
    """A stride through a folder: `count` names and schemas, as requests and as the validator have them."""
    files = sorted(corpus.glob("*.jsonl"))
    lines = [(file.stem, line) for file in files for line in file.open()]
    if not lines:
        sys.exit(f"there is no *.jsonl in {corpus}")
    picked = [lines[number * len(lines) // count] for number in range(min(count, len(lines)))]
    for name, line in picked:
        case = json.loads(line)
        # For the validator with decimal numbers, as they were written.
        exact = json.loads(line, parse_float=Decimal)
        yield case.get("id", name), case["schema"], exact["schema"]


class Outcome:
    """The kind of one answer, and why."""

    def __init__(self, kind, why="", text="", first=None):
        self.kind, self.why, self.text, self.first = kind, why, text, first


class Client:
    """Asks one server; a connection for each request, as of different clients."""

    def __init__(self, server, args):
        self.server, self.args = server, args

    def post(self, path, body):
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=self.args.patience)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return connection, connection.getresponse()

    def ask(self, number, schema, exact):
        """The outcome of one request."""
        constraint = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}
        body = {
            "model": self.server.model, "messages": [{"role": "user", "content": PROMPT}],
            "response_format": constraint, "temperature": 1, "seed": number, "max_tokens": self.args.max_tokens,
        }
        if number % 2:
            body["stream"] = True
        began = time.perf_counter()
        try:
            connection, response = self.post("/v1/chat/completions", body)
            if response.status == 400:
                return self.refusal(json.loads(response.read()))
            if response.status != 200:
                return Outcome("failed", f"status {response.status}: {response.read(300)!r}")
            text, choice, first = self.stream(response) if number % 2 else self.whole(response)
            connection.close()
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            return Outcome("failed", f"no whole answer after {time.perf_counter() - began:.0f} s: {error!r}")
        outcome = self.judge(exact, text, choice, body)
        outcome.text, outcome.first = text, first and first - began
        return outcome

    @staticmethod
    def refusal(error):
        told = error.get("error", {})
        named = told.get("type") == "invalid_request_error" and told.get("message")
        return Outcome("refused", told.get("message", "")) if named else Outcome("failed", f"400 without a reason: {error}")

    @staticmethod
    def whole(response):
        choice = json.loads(response.read())["choices"][0]
        return choice["message"]["content"], choice, None

    @staticmethod
    def stream(response):
        text, end, first, done = "", {}, None, False
        for line in response:
            if not line.startswith(b"data: "):
                continue
            if line.strip() == b"data: [DONE]":
                done = True
                continue
            event = json.loads(line[6:])
            if "error" in event:
                raise ValueError(event["error"])
            for choice in event["choices"]:
                piece = choice["delta"].get("content")
                if piece:
                    first = first or time.perf_counter()
                    text += piece
                if choice.get("finish_reason"):
                    end = choice
        if not done:
            raise ValueError("the stream ended without [DONE]")
        return text, end, first

    def judge(self, schema, text, choice, body):
        """The outcome of an answer that ended."""
        reason = choice.get("finish_reason")
        if reason == "length" and choice.get("complete") is False:
            connection, response = self.post(
                "/v1/constraints/mask",
                {"response_format": body["response_format"], "prefix": text, "limit": 1},
            )
            told = json.loads(response.read())
            connection.close()
            if response.status == 200 and (told["allowed"] or told["accepting"]):
                return Outcome("cut off", f"after {len(text)} characters")
            return Outcome("failed", f"cut off, and no beginning of an answer: {told}")
        if reason not in ("stop", "length") or choice.get("complete") is not True:
            return Outcome("failed", f"finish reason {reason}, complete {choice.get('complete')}")
        try:
            value = json.loads(text, parse_float=Decimal)
        except ValueError as error:
            return Outcome("failed", f"no JSON: {error}")
        return self.validate(schema, value)

    def validate(self, schema, value):
        try:
            strict = jsonschema_rs.validator_for(schema, validate_formats=True)
            plain = jsonschema_rs.validator_for(schema, validate_formats=False)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            return Outcome("unjudged", f"{error}".splitlines()[0])
        try:
            for error in plain.iter_errors(value):
                where = "".join(f"/{part}" for part in error.schema_path)
                return Outcome("failed", f"{where}: {error.message[:200]}")
            error = next(strict.iter_errors(value), None)
        except ValueError as error:
            return Outcome("unjudged", f"{error}".splitlines()[0])
        return Outcome("valid", f"format: {error.message[:120]}" if error else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder of *.jsonl with a schema a line")
    parser.add_argument("--requests", type=int, default=200, help="[200]")
    parser.add_argument("--concurrency", type=int, default=32, help="[32]")
    parser.add_argument("--max-tokens", type=int, default=512, help="of an answer [512]")
    parser.add_argument("--patience", type=float, default=600, help="seconds for one answer [600]")
    parser.add_argument("--url", default="http://127.0.0.1:8123", help="[http://127.0.0.1:8123]")
    parser.add_argument("--model", default="", help="name of the model in requests [what the server lists]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes every outcome but valid ones")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = parser.parse_args(sys.argv[1:split])
    server = Server(args.url, args.model, sys.argv[split + 1 :])
    client, cases = Client(server, args), list(chosen(args.corpus, args.requests))
    counts, told, lock = collections.Counter(), [], threading.Lock()
    began = time.perf_counter()

    def one(number):
        name, schema, exact = cases[number]
        outcome = client.ask(number, schema, exact)
        with lock:
            counts[outcome.kind, number % 2] += 1
            if outcome.kind == "valid" and outcome.why:
                counts["format", number % 2] += 1
            if outcome.kind != "valid" or outcome.why:
                told.append({"number": number, "case": name, "kind": outcome.kind, "why": outcome.why,
                             "text": outcome.text, "schema": schema})
            if outcome.kind == "failed":
                print(f"\n{number} {name}: {outcome.why}\n  {outcome.text[:300]}\n  {json.dumps(schema)[:300]}",
                      file=sys.stderr)
        return outcome

    try:
        with concurrent.futures.ThreadPoolExecutor(args.concurrency) as pool:
            outcomes = list(pool.map(one, range(len(cases))))
        alive = server.get("/health") is not None
    finally:
        seconds = time.perf_counter() - began
        rss = server.rss()
        server.stop()
        if args.json:
            args.json.write_text(json.dumps(told, indent=1))
    kinds = ["valid", "cut off", "refused", "unjudged", "failed"]
    print(f"| of {len(cases)} | " + " | ".join(kinds) + " | valid, `format` doubted |\n|:--" + "|--:" * 6 + "|")
    for streamed, name in enumerate(("whole", "streamed")):
        row = [counts[kind, streamed] for kind in [*kinds, "format"]]
        print(f"| {name} | " + " | ".join(map(str, row)) + " |")
    first = sorted(outcome.first for outcome in outcomes if outcome.first)
    middle = f"{first[len(first) // 2]:.2f} s" if first else "unknown"
    print(f"\n{seconds:.0f} s, {len(cases) / seconds:.1f} answers/s, median time to the first text {middle}, "
          f"RSS {rss:.0f} MB")
    for why, count in collections.Counter(o.why for o in outcomes if o.kind == "refused").most_common(12):
        print(f"  refused {count} times: {why[:160]}")
    sys.exit(not alive or any(outcome.kind == "failed" for outcome in outcomes))


if __name__ == "__main__":
    main()
