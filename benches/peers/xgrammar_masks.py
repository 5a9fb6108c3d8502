"""XGrammar on what `schemas --export FILE` or `grammars --export FILE` wrote: the same vocabulary,
schemas or structural tags, and tokens.

    pip install xgrammar
    python benches/peers/xgrammar_masks.py export.jsonl xgrammar.json [SECONDS]

Writes {"version": …, "masks_us": […], "passing": …, "schemas": …} for `schemas --beside`. One thread;
the clock runs over `fill_next_token_bitmask` alone. A schema that takes longer than SECONDS (20) is given up.
"""

import importlib.metadata
import json
import signal
import sys
import time

import torch
import xgrammar



class TooLong(Exception):
    pass


def give_up(*_):
    raise TooLong


def follow(compiler, bitmask, case, masks):
    if "structural_tag" in case:
        grammar = compiler.compile_structural_tag(case["structural_tag"])
    else:
        grammar = compiler.compile_json_schema(
            json.dumps(case["schema"]), any_whitespace=False, strict_mode=False
        )
    right = True
    words = bitmask.numpy().view("uint32")[0]
    for test in case["tests"]:
        matcher = xgrammar.GrammarMatcher(grammar)
        accepted = True
        for token in test["tokens"]:
            before = time.perf_counter_ns()
            matcher.fill_next_token_bitmask(bitmask)
            masks.append(round((time.perf_counter_ns() - before) / 1e3, 3))
            if not int(words[token >> 5]) >> (token & 31) & 1 or not matcher.accept_token(token):
                accepted = False
                break
        if accepted:
            matcher.fill_next_token_bitmask(bitmask)
            end = compiler.end
            accepted = bool(int(words[end >> 5]) >> (end & 31) & 1)
        right &= accepted == test["valid"]
    return right


def main(source, target, seconds="20"):
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, give_up)
    masks, passing, schemas = [], 0, 0
    with open(source) as lines:
        head = json.loads(next(lines))
        tokens = [bytes.fromhex(token) for token in head["tokens_hex"]]
        tokens[head["end"]] = b"</s>"
        info = xgrammar.TokenizerInfo(
            tokens, xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=[head["end"]]
        )
        compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        compiler.end = head["end"]
        bitmask = xgrammar.allocate_token_bitmask(1, info.vocab_size)
        for line in lines:
            schemas += 1
            signal.alarm(int(seconds))
            try:
                passing += follow(compiler, bitmask, json.loads(line), masks)
            except (TooLong, RuntimeError, ValueError, TypeError) as error:
                print(schemas, type(error).__name__, str(error)[:100], file=sys.stderr)
            finally:
                signal.alarm(0)
    version = importlib.metadata.version("xgrammar")
    with open(target, "w") as out:
        json.dump(
            {"version": version, "masks_us": masks, "passing": passing, "schemas": schemas}, out
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
