"""Schemas that list many names, with texts, in the form of MaskBench's corpus, for `schemas --corpus DIR`.

    python benches/peers/list_corpus.py DIR [COUNT …]

For each COUNT (10000, 100000 and 1000000) a schema {"enum": […]} of made-up names of about 23 bytes, 200 of
them as valid texts, 20 near misses as invalid ones.
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


def main(folder, *counts):
    for count in map(int, counts or (10_000, 100_000, 1_000_000)):
        listed = names(count)
        known = set(listed)
        valid = listed[:: max(1, count // 200)][:200]
        invalid = [name + "x" for name in valid[:20] if name + "x" not in known]
        tests = [{"valid": True, "data": name} for name in valid]
        tests += [{"valid": False, "data": name} for name in invalid]
        schema = {"enum": listed}
        path = pathlib.Path(folder) / f"names-{count}.jsonl"
        path.write_text(json.dumps({"id": path.stem, "schema": schema, "tests": tests}))


main(*sys.argv[1:])
