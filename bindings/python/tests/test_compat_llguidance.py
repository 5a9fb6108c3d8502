"""Programs that are written for llguidance run on the facade: the tests run on llguidance itself where that is
installed and means the same."""

import importlib
import json

import pytest

numpy = pytest.importorskip("numpy")

MODULES = ["maskwright.compat.llguidance"]
try:
    import llguidance

    MODULES.append("llguidance")
except ImportError:
    pass


@pytest.fixture(params=MODULES)
def name(request):
    return request.param


class Bytes:
    """A tokenizer of single bytes, an end and a special token."""

    eos_token_id, bos_token_id = 256, None
    tokens = [bytes([byte]) for byte in range(256)] + [b"<eos>", b"<tool>"]
    special_token_ids = [256, 257]

    def __call__(self, text):
        return list(text if isinstance(text, bytes) else text.encode())


@pytest.fixture
def llg(name):
    return importlib.import_module(name)


@pytest.fixture
def arrays(name):
    return importlib.import_module(name + ".numpy")


@pytest.fixture
def tokenizer(llg):
    return llg.LLTokenizer(llg.TokenizerWrapper(Bytes()))


def allowed(matcher, arrays, width=258):
    bitmask = arrays.allocate_token_bitmask(1, width)
    arrays.fill_next_token_bitmask(matcher, bitmask)
    return [token for token in range(width) if bitmask[0, token // 32] >> (token % 32) & 1]


def accepts(llg, tokenizer, grammar, text):
    matcher = llg.LLMatcher(tokenizer, grammar, log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return matcher.try_consume_tokens(list(text.encode())) == len(text.encode()) and matcher.is_accepting()


def test_tokenizers(tokenizer):
    assert tokenizer.vocab_size == 258 and tokenizer.eos_token == 256 and tokenizer.is_special_token(256)
    assert tokenizer.tokenize_str("ab") == [97, 98] == tokenizer.tokenize_bytes(b"ab")
    assert tokenizer.decode_str([97, 98]) == "ab" and tokenizer.decode_bytes([200]) == b"\xc8"
    assert tokenizer.greedy_tokenize("ab") == [97, 98]


def test_a_text_from_start_to_end(llg, arrays, tokenizer):
    matcher = llg.LLMatcher(tokenizer, llg.LLMatcher.grammar_from_regex("a(b|/)+"), log_level=0)
    assert allowed(matcher, arrays) == [97] and not matcher.is_accepting()
    assert matcher.consume_token(97) and matcher.consume_tokens([98, 47]) and matcher.is_accepting()
    assert allowed(matcher, arrays) == [47, 98, 256]
    assert matcher.validate_tokens([98, 98, 99]) == 2 and matcher.try_consume_tokens([98, 99]) == 1
    copy = matcher.deep_copy()
    assert matcher.rollback(3) and allowed(matcher, arrays) == [47, 98]
    assert copy.consume_token(256) and copy.is_stopped() and copy.stop_reason() == "EndOfSentence"
    # An end that is fed again changes nothing.
    assert copy.consume_token(256) and copy.is_stopped() and not copy.is_error()
    assert matcher.reset() and allowed(matcher, arrays) == [97]
    bias = matcher.compute_logit_bias()
    assert bias[97] == 200 and bias[98] == 0 and len(matcher.compute_bitmask()) >= 33


def test_errors_are_a_state(llg, tokenizer):
    matcher = llg.LLMatcher(tokenizer, "start: (", log_level=0)
    assert matcher.is_error() and matcher.get_error() and matcher.is_stopped()
    assert not matcher.consume_token(97) and not matcher.is_accepting()
    matcher = llg.LLMatcher(tokenizer, llg.LLMatcher.grammar_from_regex("ab"), log_level=0)
    assert not matcher.is_error() and not matcher.consume_token(98) and matcher.is_error()
    assert not matcher.consume_token(97)
    for wrong in ('{"grammars": [1]}', '{"grammars": 5}', '{"grammars": {"a": {}}}', '{"grammars":' + "[" * 100_000):
        assert llg.LLMatcher(tokenizer, wrong, log_level=0).is_error(), wrong[:30]
        assert llg.LLMatcher.validate_grammar(wrong, tokenizer), wrong[:30]
    deep = llg.LLMatcher.grammar_from_json_schema("[" * 100_000)
    assert llg.LLMatcher(tokenizer, deep, log_level=0).is_error()
    assert llg.LLMatcher.validate_grammar(llg.LLMatcher.grammar_from_lark("start: x"), tokenizer)
    assert not llg.LLMatcher.validate_grammar(llg.LLMatcher.grammar_from_lark("start: /x/"), tokenizer)


def test_grammars_without_a_tokenizer(llg):
    for grammar in ("start: <|python_tag|> /a/", 'start: <[100264]> "b"'):
        assert llg.LLMatcher.validate_grammar(grammar) == ""
    assert llg.LLMatcher.validate_grammar("start: <|python_tag|> x")


def test_patterns_with_line_breaks(llg, tokenizer):
    for pattern, text in (("a\nb", b"a\nb"), ("[^\n]+", b"abc"), ("a/\r\nb", b"a/\r\nb")):
        matcher = llg.LLMatcher(tokenizer, llg.LLMatcher.grammar_from_regex(pattern), log_level=0)
        assert matcher.consume_tokens(list(text)) and matcher.is_accepting(), (pattern, matcher.get_error())


def test_forced_text(llg, tokenizer):
    matcher = llg.LLMatcher(tokenizer, llg.LLMatcher.grammar_from_lark('start: "abc" /[0-9]/'), log_level=0)
    assert matcher.compute_ff_bytes() == b"abc"
    assert matcher.compute_ff_tokens() in (list(b"abc"), [])


@pytest.mark.parametrize(
    "options, good, bad",
    [
        ({}, '{"a": 1}', '{"a": "x"}'),
        ({"whitespace_flexible": False}, '{"a":1}', '{"a": 1}'),
        ({"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}, '{"a": 1}', '{"a":1}'),
    ],
)
def test_json_schemas(llg, tokenizer, options, good, bad):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    for given in (schema, json.dumps(schema)):
        grammar = llg.LLMatcher.grammar_from_json_schema(given, overrides=options)
        assert accepts(llg, tokenizer, grammar, good) and not accepts(llg, tokenizer, grammar, bad)


def test_formats_of_grammars(llg, tokenizer):
    both = {"grammars": [{"lark_grammar": 'start: "x" @y'}, {"name": "y", "json_schema": {"type": "boolean"}}]}
    for form, text, good, bad in [
        ("lark", 'start: "a" | "b"', "a", "c"),
        ("json_schema", '{"type": "boolean"}', "true", "1"),
        ("regex", "[0-9]{2}", "12", "a"),
        ("choice", '["yes", "no"]', "no", "x"),
        ("llguidance", json.dumps(both), "xtrue", "true"),
    ]:
        grammar = llg.grammar_from(form, text)
        assert accepts(llg, tokenizer, grammar, good) and not accepts(llg, tokenizer, grammar, bad), form
    with pytest.raises(ValueError):
        llg.grammar_from("xml", "")


def test_structural_tags(llg, tokenizer):
    tags = [
        llg.StructTag(trigger="[f", begin="[f=one]", grammar={"type": "boolean"}, end="[/f]"),
        llg.StructTag(trigger="[f", begin="[f=two]", grammar="start: /[0-9]+/", end="[/f]"),
    ]
    grammar = llg.StructTag.to_grammar(tags, assume_special=False)
    assert accepts(llg, tokenizer, grammar, "so [f=one]true[/f] and [f=two]12[/f]!")
    assert not accepts(llg, tokenizer, grammar, "so [f=one]1[/f]")


def test_batches(llg, arrays, tokenizer):
    executor = llg.LLExecutor(2)
    matchers = [llg.LLMatcher(tokenizer, llg.LLMatcher.grammar_from_regex(text), log_level=0) for text in ("ab", "x", "6")]
    bitmask = arrays.allocate_token_bitmask(5, 258)
    arrays.fill_next_token_bitmask_par(executor, [(matchers[0], 4), (matchers[1], 0), (matchers[2], 2)], bitmask)
    for matcher, row in zip(matchers, (4, 0, 2)):
        alone = arrays.allocate_token_bitmask(1, 258)
        arrays.fill_next_token_bitmask(matcher, alone)
        assert (alone[0] == bitmask[row]).all()
    rows = arrays.allocate_token_bitmask(3, 258)
    arrays.fill_next_token_bitmask_par_with_draft_tokens(executor, [(matchers[0], 0, [97, 98])], rows)
    assert rows[1, 3] == 1 << (98 - 96) and rows[2, 8] & 1
    assert arrays.consume_token_par(executor, [(matchers[0], 97), (matchers[1], 97)]) == [True, False]


def test_bitmasks_on_logits(arrays):
    logits = numpy.zeros((2, 3), dtype=numpy.float32)
    arrays.apply_token_bitmask_inplace(logits, numpy.array([[0b101], [0b010]], dtype=numpy.int32))
    assert numpy.isfinite(logits).tolist() == [[True, False, True], [False, True, False]]
    assert arrays.get_bitmask_shape(3, 33) == (3, 2)


def test_tokenizers_by_name_and_by_shape(llg):
    """llguidance's tokenizer of bytes, and one that only has the members of its wrapper."""

    class Wrapper:
        is_tokenizer_wrapper = True
        tokens = [bytes([byte]) for byte in range(256)] + [b"<end>", b"<other>"]
        eos_token_id, bos_token_id, special_token_ids = 256, None, []

        def __call__(self, text):
            return list(text.encode())

    assert llg.LLTokenizer("byte").tokenize_str("ab") == [97, 98]
    assert llg.LLTokenizer(Wrapper()).eos_tokens == [256]
    assert llg.LLTokenizer(Wrapper(), eos_token=[256, 257]).eos_tokens == [256, 257]
    for tokenizer in (llg.LLTokenizer("byte"), llg.LLTokenizer(Wrapper())):
        matcher = llg.LLMatcher(tokenizer, 'start: "ab" | "ac"')
        assert matcher.validate_tokens([97, 99]) == 2 and matcher.validate_tokens([98]) == 0


def test_the_tokenizer_of_bytes(llg):
    tokenizer = llg.LLTokenizer("byte")
    assert tokenizer.vocab_size == 262 and tokenizer.eos_tokens == [261]
    assert [token for token in range(262) if tokenizer.is_special_token(token)] == list(range(255, 262))
    matcher = llg.LLMatcher(tokenizer, 'start: "a" <|tool|> "b"')
    assert matcher.validate_tokens([97, 256, 98, 261]) >= 3 and matcher.validate_tokens([97, 257]) == 1


def test_masks_after_an_error_end_the_text(llg, arrays, tokenizer):
    """A text that went wrong takes no other text of its batch with it."""
    wrong = llg.LLMatcher(tokenizer, "start: (", log_level=0)
    refused = llg.LLMatcher(tokenizer, 'start: "ab"', log_level=0)
    good = llg.LLMatcher(tokenizer, 'start: "ab"', log_level=0)
    assert not refused.consume_token(98) and allowed(wrong, arrays) == allowed(refused, arrays) == [256]
    bitmask = arrays.allocate_token_bitmask(3, 258)
    arrays.fill_next_token_bitmask_par(llg.LLExecutor(), [(wrong, 0), (good, 1), (refused, 2)], bitmask)
    assert bitmask[0, 8] & 3 == bitmask[2, 8] & 3 == 1 and bitmask[1, 3] == 1 << 1 and bitmask[1, 8] & 3 == 0
    bias = wrong.compute_logit_bias()
    assert [token for token in range(258) if bias[token]] == [256]
    for tokens in ([300], [97, 300]):
        matcher = llg.LLMatcher(tokenizer, 'start: "ab"', log_level=0)
        assert matcher.validate_tokens(tokens) == 0
        assert not matcher.consume_tokens(tokens) and "out of range" in matcher.get_error()


def test_batches_at_an_address(llg, arrays, tokenizer):
    executor = llg.LLExecutor()
    one, other = (llg.LLMatcher(tokenizer, f'start: "{text}"', log_level=0) for text in ("ab", "cd"))
    bitmask = arrays.allocate_token_bitmask(4, 258)
    address, row = bitmask.ctypes.data, 4 * bitmask.shape[1]
    executor.unsafe_compute_mask_ptr([(one, 2), (other, 0)], address, row, 4)
    assert bitmask[2, 3] == 1 << 1 and bitmask[0, 3] == 1 << 3 and (bitmask[[1, 3]] == -1).all()
    executor.unsafe_compute_mask_ptr_with_draft_token([(one, 0, [97]), (other, 2, [98])], address, row, 4)
    assert bitmask[1, 3] == 1 << 2 and bitmask[2, 3] == 1 << 3
    for wrong, error in [
        (([(one, 0)], 0, row, 4), ValueError),
        (([(one, 0)], address + 1, row, 4), ValueError),
        (([(one, 0)], address, row + 4, 4), ValueError),
        (([(one, 4)], address, row, 4), ValueError),
        (([], address, row, 4), ValueError),
        (([(one, 0, 1)], address, row, 4), ValueError),
        (([(one, 0), (one, 1)], address, row, 4), RuntimeError),
        (([one], address, row, 4), TypeError),
        (([(tokenizer, 0)], address, row, 4), TypeError),
    ]:
        with pytest.raises(error):
            executor.unsafe_compute_mask_ptr(*wrong)
