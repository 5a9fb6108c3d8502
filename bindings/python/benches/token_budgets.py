"""Masks of rules with `max_tokens`, from the first to the last token, beside llguidance.

    MASKWRIGHT_SHARED=FOLDER python benches/token_budgets.py

Each grammar is a text of at most 30 tokens by one rule, then a closing sign. A text of tokens that both engines
accept is drawn once (seeded); each engine then fills a mask before every token of it, with a new compiler, so that
nothing is known. The tokenizer is Llama 3.2's (128,256 tokens). Times are milliseconds of one mask.
"""

import os
import pathlib
import random
import time

import llguidance
import llguidance.numpy
import numpy

import maskwright

SHARED = pathlib.Path(os.environ["MASKWRIGHT_SHARED"])
TOKENIZER = SHARED / "tokenizers/llama-3.2/tokenizer.json"
OBJECT = (
    '{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer"}},'
    '"required":["name","n"],"additionalProperties":false}'
)
GRAMMARS = {
    "until a tag": 'start: text "</a>"\ntext[stop="</a>", max_tokens=30]: /(.|\\n)*/',
    "JSON": f'start: object "x"\nobject[max_tokens=30]: %json {OBJECT}',
    "words": 'start: words "."\nwords[max_tokens=30]: /[A-Za-z ]*/',
    "string": 'start: string ";"\nstring[max_tokens=30]: /"([^"\\\\]|\\\\.)*"/',
}


def masks(fill, accept, text):
    """Milliseconds of each mask along a text."""
    taken = []
    for token in text:
        begin = time.perf_counter()
        fill()
        taken.append((time.perf_counter() - begin) * 1e3)
        if not accept(token):
            break
    return taken


def main():
    source = TOKENIZER.read_text()
    tokenizer = maskwright.Tokenizer(source)
    theirs = llguidance.LLTokenizer(source, eos_token=128009)
    bitmask = maskwright.allocate_bitmask(1, tokenizer)
    random.seed(7)
    for name, grammar in GRAMMARS.items():
        matcher = maskwright.Compiler(tokenizer).lark(grammar).matcher()
        other = llguidance.LLMatcher(theirs, grammar, log_level=0)
        text = []
        while len(text) < 32:
            allowed = [token for token in matcher.allowed_tokens() if token not in tokenizer.stop_token_ids]
            random.shuffle(allowed)
            # Texts go on for as long as they may: closing signs are left for the end.
            token = next((token for token in allowed if other.deep_copy().consume_token(token)), None)
            if token is None:
                break
            other.consume_token(token)
            matcher.accept(token)
            text.append(token)
        matcher = maskwright.Compiler(maskwright.Tokenizer(source)).lark(grammar).matcher()
        other = llguidance.LLMatcher(theirs, grammar, log_level=0)
        row = numpy.zeros((1, (theirs.vocab_size + 31) // 32), numpy.int32)
        taken = {
            "maskwright": masks(lambda: matcher.fill(bitmask, 0), matcher.accept, text),
            "llguidance": masks(
                lambda: llguidance.numpy.fill_next_token_bitmask(other, row), other.consume_token, text
            ),
        }
        for engine, each in taken.items():
            print(
                f"{name:12} {engine:11} {len(each):3} masks: sum {sum(each):8.2f} ms, "
                f"median {sorted(each)[len(each) // 2]:7.3f}, max {max(each):7.2f}",
                flush=True,
            )


main()
