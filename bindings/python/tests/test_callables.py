"""Logits processors of hosts with one text at a time: llama-cpp-python's arrays, and mlx-lm where it is installed."""

import pytest

numpy = pytest.importorskip("numpy")

import maskwright
import maskwright.llama_cpp
from stories import stories

CHOICES = ["a red ball", "a little girl", "blue", "the dog"]


def test_arrays_of_llama_cpp(compiler):
    """A made-up model that prefers one byte after the other; calls begin again, with the same prompt and another."""
    processor = maskwright.llama_cpp.LogitsProcessor(compiler.choice(CHOICES))
    generator = numpy.random.default_rng(5)
    found = set()
    for prompt in ([1, 2, 3], [1, 2, 3], [7], [1, 2, 3, 4, 5, 6, 7]) * 5:
        tokens = list(prompt)
        while tokens[-1] != 256:
            scores = generator.standard_normal(300).astype(numpy.single)
            masked = processor(numpy.array(tokens, dtype=numpy.intc), scores)
            assert masked.dtype == numpy.single and (masked[numpy.isfinite(masked)] == scores[numpy.isfinite(masked)]).all()
            tokens.append(int(masked.argmax()))
        text = bytes(tokens[len(prompt) : -1]).decode()
        assert text in CHOICES
        found.add(text)
    assert len(found) > 1
    processor.reset()
    scores = numpy.zeros(300, dtype=numpy.single)
    assert numpy.isfinite(processor(numpy.array([1]), scores)).sum() == 3
    # A token that the constraint does not allow ends the prompt of another text.
    begun = processor(numpy.array([1]), scores)
    assert (processor(numpy.array([1, 0]), scores) == begun).all()


@pytest.fixture(scope="module")
def mlx(shared, tmp_path_factory):
    mlx_lm = pytest.importorskip("mlx_lm")
    folder = stories(shared, tmp_path_factory.mktemp("models"))
    return mlx_lm, *mlx_lm.load(str(folder))


def test_texts_of_mlx(mlx):
    import maskwright.mlx
    from mlx_lm.sample_utils import make_sampler

    mlx_lm, model, tokenizer = mlx
    compiler = maskwright.mlx.compiler(model, tokenizer)
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}
    for constraint, holds in [
        (compiler.choice(CHOICES), lambda text: text in CHOICES),
        (compiler.json_schema(schema, whitespace="plain"), lambda text: maskwright.check(schema, text)),
    ]:
        processor = maskwright.mlx.LogitsProcessor(constraint)
        for prompt in ("Once upon a time, there was", "Once upon a time, there was", "The end"):
            for options in ({}, {"draft_model": model, "num_draft_tokens": 3}):
                parts = list(mlx_lm.stream_generate(
                    model, tokenizer, prompt, max_tokens=60, logits_processors=[processor], sampler=make_sampler(1.0), **options
                ))
                text = "".join(part.text for part in parts)
                assert parts[-1].finish_reason == "stop" and holds(text.strip()), (text, options)


def test_rows_of_mlx_share_a_processor(mlx):
    import maskwright.mlx

    mlx_lm, model, tokenizer = mlx
    constraint = maskwright.mlx.compiler(model, tokenizer).choice(CHOICES)
    processor = maskwright.mlx.LogitsProcessor(constraint)
    prompts = [tokenizer.encode(text) for text in ("Once", "The big dog", "Once")]
    for _ in range(2):
        texts = mlx_lm.batch_generate(model, tokenizer, prompts, max_tokens=60, logits_processors=[processor]).texts
        assert all(text.strip() in CHOICES for text in texts), texts
