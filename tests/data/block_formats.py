"""Blocks of quantised weights and the numbers that they hold, by llama.cpp's Python package `gguf`.

Writes tests/data/block_formats.json: for each format random blocks and their weights in single precision, both as
hexadecimal digits. tests/model/gguf/blocks.rs reads them.

usage: block_formats.py
versions: python 3.11, gguf 0.19.0, numpy 2.3.5
"""

import json
import pathlib

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

FORMATS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4"]
# The places of half-precision numbers, whose random bits must be no infinity.
HALVES = {"Q4_1": [0, 2], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q2_K": [80, 82], "Q3_K": [108],
          "Q6_K": [208], "MXFP4": []}


def blocks(name, random):
    weights, size = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    data = random.integers(0, 256, (512 // weights, size), dtype=np.uint8)
    for at in HALVES.get(name, [0]):
        data[:, at + 1] &= 0xBF
    if name == "MXFP4":
        # All exponents of finite weights in turn, the least and the greatest first.
        data[:, 0] = [0, 1, 2, 252] + [int(e) for e in random.integers(3, 252, len(data) - 4)]
    return data


if __name__ == "__main__":
    random = np.random.default_rng(1)
    made = {}
    for name in FORMATS:
        data = blocks(name, random)
        weights = dequantize(data, GGMLQuantizationType[name]).astype("<f4")
        assert np.isfinite(weights).all(), name
        made[name] = [data.tobytes().hex(), weights.tobytes().hex()]
    text = json.dumps(made, separators=(",", ":")).replace('],"', '],\n"')
    pathlib.Path(__file__).with_suffix(".json").write_text(text + "\n")
