"""The logits processor in `generate`: greedy, sampled, beams, assisted, prompt lookup, batches, reuse."""

import json
import re
import types

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import maskwright
import maskwright.transformers as hosts
from stories import stories

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[a-z]{1,6}$"}, "age": {"type": "integer", "maximum": 150, "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
PROMPT = "Once upon a time, there was"


def trained(shared, tmp_path_factory):
    """A trained model of 260 thousand weights, and its tokenizer."""
    folder = stories(shared, tmp_path_factory.mktemp("models"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval(), tokenizer


def noise(shared, _):
    """A model of random weights whose logits are wider than its tokenizer."""
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=50304, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=512, bos_token_id=50256, eos_token_id=50256,
    )
    file = str(shared / "tokenizers/gpt2/tokenizer.json")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=file, eos_token="<|endoftext|>")
    return transformers.LlamaForCausalLM(config).eval(), tokenizer


@pytest.fixture(scope="module", params=[trained, noise], ids=lambda make: make.__name__)
def host(request, shared, tmp_path_factory):
    torch.set_num_threads(1)
    model, tokenizer = request.param(shared, tmp_path_factory)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    return model, tokenizer, hosts.compiler(model, tokenizer)


def texts(host, processor, prompts=PROMPT, **options):
    model, tokenizer, _ = host
    inputs = tokenizer(prompts, return_tensors="pt", padding=True)
    inputs.pop("token_type_ids", None)
    length = inputs["input_ids"].shape[1]
    options = {"do_sample": False, "max_new_tokens": 60, "pad_token_id": tokenizer.eos_token_id, **options}
    rows = model.generate(**inputs, logits_processor=transformers.LogitsProcessorList([processor]), **options)
    compiler = host[2]
    ends = set(compiler.tokenizer.stop_token_ids)
    made = []
    for row in rows[:, length:].tolist():
        assert ends & set(row), "a text without an end"
        made.append(compiler.tokenizer.decode(row).decode())
    return made


MODES = {
    "greedy": {},
    "sampled": {"do_sample": True, "num_return_sequences": 4},
    "beams": {"num_beams": 3, "num_return_sequences": 3},
    "prompt lookup": {"prompt_lookup_num_tokens": 3},
    "assisted": {"assistant_model": None},
}


@pytest.mark.parametrize("mode", MODES)
def test_every_text_is_one_of_the_constraint(host, mode):
    options = dict(MODES[mode])
    if "assistant_model" in options:
        options["assistant_model"] = host[0]
    constraint = host[2].json_schema(SCHEMA, whitespace="plain")
    processor = hosts.LogitsProcessor(constraint)
    torch.manual_seed(0)
    first = texts(host, processor, **options)
    for text in first:
        assert maskwright.check(constraint, text), text
        assert set(json.loads(text)) == {"name", "age"}
    # The same processor again, for the same prompt and for another.
    if mode in ("greedy", "beams", "assisted"):
        assert texts(host, processor, **options) == first
    for text in texts(host, processor, "The end", **options):
        assert maskwright.check(constraint, text), text


def test_a_prompt_may_begin_with_an_earlier_one(host):
    """One processor for prompts that grow, by one token and by more."""
    processor = hosts.LogitsProcessor(host[2].regex("[0-9]{5}"))
    for prompt in ("Once upon", "Once upon a", "Once upon a time there was", "Once upon a time there was a dog"):
        for options in ({}, {"num_beams": 2}):
            assert re.fullmatch("[0-9]{5}", texts(host, processor, prompt, **options)[0])
    for prompts in (["Once upon", "The"], ["Once upon a", "The dog"], ["Once upon a time", "The dog was"]):
        for text in texts(host, processor, prompts):
            assert re.fullmatch("[0-9]{5}", text)


def test_a_draft_model_of_another_tokenizer_is_refused(host):
    processor = hosts.LogitsProcessor(host[2].regex("[0-9]{5}"))
    width = host[2].tokenizer.width
    for prompt, logits in (([[1, 2]], width), ([[1, 2]], width + 32), ([[1, 2, 3, 4]], width + 32)):
        processor(torch.tensor(prompt), torch.zeros((1, logits)))
    with pytest.raises(maskwright.Error, match="own tokenizer"):
        processor(torch.tensor([[5, 6]]), torch.zeros((1, width)))
    processor.reset()
    processor(torch.tensor([[5, 6]]), torch.zeros((1, width)))


def test_speculation_changes_no_greedy_text(host):
    constraint = host[2].choice(["a red ball", "a little girl", "blue", "the dog"])
    greedy = texts(host, hosts.LogitsProcessor(constraint))
    assert texts(host, hosts.LogitsProcessor(constraint), assistant_model=host[0]) == greedy
    assert texts(host, hosts.LogitsProcessor(constraint), prompt_lookup_num_tokens=3) == greedy


def test_more_beams_than_texts(host):
    """Dead beams are no error."""
    constraint = host[2].choice(["yes", "no"])
    found = texts(host, hosts.LogitsProcessor(constraint), num_beams=4, num_return_sequences=2)
    assert set(found) <= {"no", "yes"}


def test_prompts_of_a_batch_have_constraints_of_their_own(host):
    compiler = host[2]
    constraints = [compiler.regex("[0-9]{3}"), compiler.choice(["yes", "no"]), compiler.regex("[a-c]{2,4}")]
    prompts = [PROMPT, "One day", "The"]
    for options in ({}, {"num_beams": 2, "num_return_sequences": 2}):
        found = texts(host, hosts.LogitsProcessor(constraints), prompts, **options)
        each = len(found) // 3
        for index, text in enumerate(found):
            assert re.fullmatch(["[0-9]{3}", "yes|no", "[a-c]{2,4}"][index // each], text), found
    with pytest.raises(maskwright.Error, match="2 constraints"):
        texts(host, hosts.LogitsProcessor(constraints[:2]), prompts)


def test_the_processor_of_xgrammar_s_interface(host):
    """As XGrammar's example for transformers has it, and again, which XGrammar's own refuses."""
    import maskwright.compat.xgrammar as xgr

    model, tokenizer, _ = host
    info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=model.config.vocab_size)
    compiled = xgr.GrammarCompiler(info).compile_regex("[0-9]{3}(yes|no)")
    processor = xgr.contrib.hf.LogitsProcessor(compiled)
    assert xgr.hf.LogitsProcessor is type(processor)
    for _ in range(2):
        assert re.fullmatch("[0-9]{3}(yes|no)", texts(host, processor)[0])
    prompts = [PROMPT, "One day"]
    other = xgr.GrammarCompiler(info).compile_regex("[a-c]{2}")
    found = texts(host, xgr.contrib.hf.LogitsProcessor([compiled, other]), prompts)
    assert re.fullmatch("[0-9]{3}(yes|no)", found[0]) and re.fullmatch("[a-c]{2}", found[1])


def test_rows_without_a_constraint_are_free(host):
    scores = torch.randn(2, host[2].tokenizer.width)
    processor = hosts.LogitsProcessor([None, host[2].choice(["a"])])
    masked = processor(torch.ones((2, 3), dtype=torch.long), scores)
    assert (masked[0] == scores[0]).all()
    assert masked[1].isfinite().sum() >= 1 and masked[1].isinf().any()


def test_a_bitmask_is_copied_before_the_call_returns():
    """The caller writes the next masks into the same memory."""

    class Watched(torch.Tensor):
        def to(self, *arguments, **named):
            assert not named.get("non_blocking")
            return super().to(*arguments, **named)

    logits = torch.zeros((1, 32))
    hosts.apply_bitmask(logits, torch.tensor([[5]], dtype=torch.int32).as_subclass(Watched))
    assert logits[0].isfinite().nonzero().flatten().tolist() == [0, 2]


@pytest.mark.parametrize("head, width", [
    (types.SimpleNamespace(out_features=70), 70),  # GPTQ
    (types.SimpleNamespace(out_features=70, weight=torch.zeros((1000, 1))), 70),  # bitsandbytes in 4 bits
    (types.SimpleNamespace(weight=torch.zeros((96, 2))), 96),
    (types.SimpleNamespace(qweight=torch.zeros((8, 2))), 64),
    (None, 64),
])
def test_the_width_of_quantised_heads(head, width):
    model = types.SimpleNamespace(
        config=types.SimpleNamespace(get_text_config=lambda: types.SimpleNamespace(vocab_size=64)),
        generation_config=types.SimpleNamespace(eos_token_id=1),
        get_output_embeddings=lambda: head,
    )
    assert hosts.compiler(model, [b"a", None]).tokenizer.width == width


def test_bitmasks_of_torch(host):
    compiler = host[2]
    width, words = compiler.tokenizer.width, compiler.tokenizer.words
    matcher = compiler.choice(["a", "b"]).matcher()
    for bitmask in (torch.full((3, words), 7, dtype=torch.int32), torch.full((3, words + 5), 7, dtype=torch.int32)[:, :words]):
        matcher.fill(bitmask, 1)
        assert bitmask[1].contiguous().numpy().tobytes() == matcher.mask_bytes() and (bitmask[[0, 2]] == 7).all()
        logits = torch.zeros((1, width + 3))
        hosts.apply_bitmask(logits, bitmask[1:2])
        assert logits[0].isfinite().nonzero().flatten().tolist() == matcher.allowed_tokens()
    # Memory that is exchanged between two calls is seen.
    bitmask = torch.zeros((1, words), dtype=torch.int32)
    matcher.fill(bitmask)
    bitmask.data = torch.zeros((3, words), dtype=torch.int32)
    matcher.fill(bitmask, 2)
    assert bitmask[2].numpy().tobytes() == matcher.mask_bytes() and (bitmask[:2] == 0).all()
    with pytest.raises(IndexError, match="row 3"):
        matcher.fill(bitmask, 3)
    with pytest.raises(ValueError, match="words"):
        matcher.fill(torch.zeros((1, words + 1), dtype=torch.int32))
    with pytest.raises(ValueError, match="memory of the CPU"):
        matcher.fill(torch.zeros((1, words), dtype=torch.int32, device="meta"))
    with pytest.raises(TypeError, match="int32"):
        matcher.fill(torch.zeros((1, words)))
    with pytest.raises(TypeError, match="int32"):
        matcher.fill(torch.zeros((1, words), dtype=torch.int64))
