"""The logits processor in outlines, which resets it between texts."""

import json

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
outlines = pytest.importorskip("outlines")

import maskwright
import maskwright.transformers as hosts
from stories import stories

CHOICES = ["a red ball", "a little girl", "blue", "the dog"]


def test_texts_of_a_generator(shared, tmp_path):
    from outlines.generator import SteerableGenerator

    folder = stories(shared, tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.pad_token = tokenizer.eos_token
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    compiler = hosts.compiler(model, tokenizer)
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 99}},
              "required": ["n"], "additionalProperties": False}
    host = outlines.from_transformers(model, tokenizer)
    for constraint, holds in [
        (compiler.choice(CHOICES), lambda text: text in CHOICES),
        (compiler.json_schema(schema, whitespace="plain"), lambda text: 0 <= json.loads(text)["n"] <= 99),
    ]:
        generator = SteerableGenerator.from_processor(host, hosts.LogitsProcessor(constraint))
        for prompt in ("Once upon a time, there was", "Once upon a time, there was", "The end"):
            text = generator(prompt, max_new_tokens=40)
            assert holds(text) and maskwright.check(constraint, text), text
