"""Schemas that list many values, with texts, in the form of MaskBench's corpus, for `schemas --corpus DIR`.

    python benches/peers/list_corpus.py DIR [COUNT …]

For each COUNT (10000, 100000 and 1000000) a schema {"enum": […]} of made-up names of about 23 bytes and one of
integers of up to 12 digits, 200 of the values as valid texts, 20 near misses as invalid ones.
"""

import json
import pathlib
import random
import sys

SYLLABLES = "ka ro mi ten vel or an bri dos lu sha per qui zen tor gal ne fi mon ste wa pol ri cu".split()


def names(count):
    draw = random.Random(5)
    word = lambda: "".join(draw.choice(SYLLABLES) for _ in range(draw.randint(2, 4)))
    words = [word().capitalize() for _ in range(30_000)]
    found = {}
    while len(found) < count:
        parts = [draw.choice(words) for _ in range(draw.randint(2, 3))]
        found[" ".join(parts + [str(draw.randint(1, 9999))] * (draw.random() < 0.3))] = None
    return list(found)


def integers(count):
    draw = random.Random(6)
    return draw.sample(range(10**12), count)


def write(path, listed, near_miss):
    known = set(listed)
    valid = listed[:: max(1, len(listed) // 200)][:200]
    invalid = [miss for miss in map(near_miss, valid[:20]) if miss not in known]
    tests = [{"valid": True, "data": value} for value in valid]
    tests += [{"valid": False, "data": value} for value in invalid]
    path.write_text(json.dumps({"id": path.stem, "schema": {"enum": listed}, "tests": tests}))


def main(folder, *counts):
    for count in map(int, counts or (10_000, 100_000, 1_000_000)):
        write(pathlib.Path(folder) / f"names-{count}.jsonl", names(count), lambda name: name + "x")
        write(pathlib.Path(folder) / f"integers-{count}.jsonl", integers(count), lambda value: value * 10 + 7)


main(*sys.argv[1:])
