"""The backend of SGLang at unit level: registry, kinds of grammars, batches, rollback, drafts, many requests at once."""

import concurrent.futures
import json
import types

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sglang")
transformers = pytest.importorskip("transformers")

import maskwright
import maskwright.sglang as ours
from sglang.srt.constrained import base_grammar_backend as host


@pytest.fixture(scope="module")
def backend(shared):
    file = str(shared / "tokenizers/gpt2/tokenizer.json")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=file, eos_token="<|endoftext|>")
    ours.register()
    ours.register()
    assert host.GRAMMAR_BACKEND_REGISTRY["maskwright"] is ours.make_backend
    return ours.MaskwrightBackend(tokenizer, 50304, {50256})


#: An engine of one process.
ONE = types.SimpleNamespace(tp_size=1, pp_size=1)


def follow(grammar, backend, text):
    for token in backend.compiler.tokenizer.encode(text):
        grammar.accept_token(token)


@pytest.mark.parametrize("parser", [None, "qwen3"])
def test_reasoning_is_the_host_s(backend, shared, monkeypatch, parser):
    from sglang.srt import runtime_context
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend

    serving = types.SimpleNamespace(reasoning_parser=parser, enable_strict_thinking=False)
    monkeypatch.setattr(runtime_context, "get_serving", lambda: serving)
    file = str(shared / "tokenizers/gpt2/tokenizer.json")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=file, eos_token="<|endoftext|>")
    made = ours.make_backend(ONE, tokenizer, 50304, {50256})
    assert isinstance(made, ReasonerGrammarBackend if parser else ours.MaskwrightBackend)
    if parser:
        serving.enable_strict_thinking = True
        with pytest.raises(ValueError, match="strict thinking"):
            ours.make_backend(ONE, tokenizer, 50304, {50256})
        serving.enable_strict_thinking, serving.reasoning_parser = False, "inkling"
        with pytest.raises(ValueError, match="frame around the answers of inkling"):
            ours.make_backend(ONE, tokenizer, 50304, {50256})
    serving.constrained_json_disable_any_whitespace = True
    with pytest.raises(ValueError, match="--constrained-json-disable-any-whitespace"):
        ours.make_backend(ONE, tokenizer, 50304, {50256})


def test_thoughts_are_free(shared, monkeypatch):
    """Drafts are taken and rolled back over the end of the thoughts."""
    from sglang.srt import runtime_context

    serving = types.SimpleNamespace(reasoning_parser="qwen3", enable_strict_thinking=False)
    monkeypatch.setattr(runtime_context, "get_serving", lambda: serving)
    file = str(shared / "tokenizers/gpt2/tokenizer.json")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=file, eos_token="<|endoftext|>")
    made = ours.make_backend(ONE, tokenizer, 50304, {50256})
    value, _ = made.get_cached_or_future_value(("regex", "ab"), True)
    grammar = value.result()
    grammar.maybe_init_reasoning(True)
    mask = grammar.allocate_vocab_mask(50304, 1, "cpu")
    thoughts = [*tokenizer.encode("Hm, zebras. "), *tokenizer.encode("</think>")]
    for _ in range(2):
        for token in thoughts:
            mask.fill_(-1)
            grammar.fill_vocab_mask(mask, 0)
            assert (mask == -1).all(), "thoughts are not constrained"
            grammar.accept_token(token)
        grammar.fill_vocab_mask(mask, 0)
        allowed = [token for token in range(50304) if mask[0, token // 32] >> token % 32 & 1]
        assert sorted(map(tokenizer.decode, allowed)) == ["a", "ab"]
        grammar.rollback(len(thoughts))
    for token in [*thoughts, *tokenizer.encode("ab")]:
        grammar.accept_token(token)
    assert not grammar.is_terminated()
    grammar.accept_token(50256)
    assert grammar.is_terminated()


def test_a_text_that_is_no_text_is_refused(backend):
    assert isinstance(backend.dispatch_regex("\ud800"), host.InvalidGrammarObject)


def test_kinds(backend):
    tag = '{"type": "structural_tag", "format": {"type": "const_string", "value": "x"}}'
    for grammar, text in [
        (backend.dispatch_json('{"type": "boolean"}'), "true"),
        (backend.dispatch_json("$$ANY$$"), '{"a": [1]}'),
        (backend.dispatch_regex("[0-9]{2}"), "12"),
        (backend.dispatch_ebnf('root ::= "a" | "b"'), "b"),
        (backend.dispatch_ebnf('start: "a" | "b"'), "b"),
        (backend.dispatch_ebnf('// not a ::= b\nstart: "a" | "b"'), "b"),
        (backend.dispatch_structural_tag(tag), "x"),
    ]:
        follow(grammar, backend, text)
        assert not grammar.is_terminated()
        grammar.accept_token(50256)
        assert grammar.is_terminated()
        grammar.rollback(1)
        assert not grammar.is_terminated()
        with pytest.raises(ValueError, match="is not accepted"):
            grammar.copy().accept_token(50256)


def test_bad_grammars_are_of_their_request(backend):
    for made in (backend.dispatch_json('{"type": "strin"}'), backend.dispatch_regex("("), backend.dispatch_ebnf("root ::= x")):
        assert isinstance(made, host.InvalidGrammarObject)
    assert "/type" in str(vars(backend.dispatch_json('{"type": "strin"}')))


def test_rows(backend):
    one, two = backend.dispatch_regex("a"), backend.dispatch_regex("b")
    mask = one.allocate_vocab_mask(50304, 4, "cpu")
    assert mask.shape == (4, 1572)
    rows = [types.SimpleNamespace(row=3, grammar=one), types.SimpleNamespace(row=1, grammar=two)]
    ours.MaskwrightGrammar.fill_vocab_mask_batched(rows, mask)
    alone = one.allocate_vocab_mask(50304, 1, "cpu")
    for row, grammar in ((3, one), (1, two)):
        grammar.fill_vocab_mask(alone, 0)
        assert (mask[row] == alone[0]).all()
    assert (mask[[0, 2]] == -1).all()
    logits = torch.zeros((4, 50304))
    one.apply_vocab_mask(logits, one.move_vocab_mask(mask, "cpu"))
    assert logits[3].isfinite().nonzero().flatten().tolist() == one.matcher.allowed_tokens()
    assert logits[0].isfinite().all()
    one.reset_vocab_mask(mask)
    assert (mask == -1).all()


def test_trees_of_drafts(backend):
    spec = pytest.importorskip("sglang.srt.speculative.spec_utils")
    grammar = backend.dispatch_regex("a(b|c)d")
    encode = backend.compiler.tokenizer.encode
    a, b, x = encode("a")[0], encode("b")[0], encode("x")[0]
    draft, child, sibling = torch.tensor([0, a, b, x]), torch.tensor([1, 2, -1, -1]), torch.tensor([-1, -1, 3, -1])
    mask = grammar.allocate_vocab_mask(50304, 4, "cpu")
    spec.traverse_tree(child, sibling, draft, grammar, mask, 50304)
    after = grammar.copy()
    alone = grammar.allocate_vocab_mask(50304, 1, "cpu")
    for row, token in enumerate([None, a, b]):
        if token is not None:
            after.accept_token(token)
        after.fill_vocab_mask(alone, 0)
        assert (mask[row] == alone[0]).all()
    assert grammar.matcher.steps == 0


def test_equal_requests_are_compiled_once(backend):
    before = backend.compiler.cache_info
    pattern = "(a red ball|the dog|" + "|".join(f"w{index}" for index in range(500)) + ")"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        grammars = list(pool.map(backend.dispatch_regex, [pattern] * 8))
    after = backend.compiler.cache_info
    assert after[3] - before[3] == 1 and after[2] - before[2] == 7
    assert len({id(grammar.matcher) for grammar in grammars}) == 8


def test_what_came_too_late_is_tried_again(backend, monkeypatch):
    """The host keeps refusals, but not those for want of time; of grammars it keeps the last."""
    monkeypatch.setenv("MASKWRIGHT_SETTINGS", '{"time_limit": 0}')
    hurried = ours.MaskwrightBackend(backend.compiler.tokenizer, 50304, {50256})
    late = hurried.dispatch_regex("a{3,90}b|" * 50)
    assert isinstance(late, host.InvalidGrammarObject) and "time_per_constraint" in late.error_message
    hurried.set_cache(("regex", "late"), late.copy())
    assert isinstance(hurried.get_cached_or_future_value(("regex", "late"), False)[0], concurrent.futures.Future)
    wrong = backend.dispatch_regex("(")
    assert wrong.copy() is wrong
    for number in range(200):
        hurried.set_cache(("regex", str(number)), wrong)
    assert len(hurried.cache) == 64 and ("regex", "199") in hurried.cache


def test_ranks_have_no_clock(backend, monkeypatch):
    """Each of them compiles for itself."""
    tokenizer = backend.compiler.tokenizer
    limits = json.loads(ours.MaskwrightBackend(tokenizer, 50304, {50256}, 4).compiler.regex("a").spec)["settings"]["limits"]
    assert limits["time_per_constraint"] is None and limits["time_per_mask"] is None
    monkeypatch.setenv("MASKWRIGHT_SETTINGS", '{"limits": {"time_per_mask": 3}}')
    ours.MaskwrightBackend(tokenizer, 50304, {50256}, 1)
    with pytest.raises(ValueError, match="`time_per_mask` in MASKWRIGHT_SETTINGS would part the ranks"):
        ours.MaskwrightBackend(tokenizer, 50304, {50256}, 4)


def test_a_limit_is_of_its_request(backend):
    """A text that reaches a limit may take a token without text, which is refused; the text beside it goes on."""
    slow = maskwright.Compiler(backend.compiler.tokenizer, limits={"time_per_mask": 0})
    failing, good = ours.MaskwrightGrammar(slow.json_object(), 50303), backend.dispatch_regex("ab")
    alone = good.allocate_vocab_mask(50304, 1, "cpu")
    good.fill_vocab_mask(alone, 0)
    for _ in range(2):
        mask = good.allocate_vocab_mask(50304, 2, "cpu")
        good.fill_vocab_mask_batched([host.GrammarRow(0, failing), host.GrammarRow(1, good)], mask)
        assert (mask[1] == alone[0]).all()
        assert [token for token in range(50304) if mask[0][token // 32] >> token % 32 & 1] == [50303]
    for token in (50303, 50256, 5):
        with pytest.raises(ValueError, match="time_per_mask"):
            failing.accept_token(token)
    assert ours._failing_token(backend.compiler.tokenizer) == 50303


def test_a_limit_in_a_tree_of_drafts(backend):
    """A limit that a draft reaches is no exception, and is forgotten with the draft."""
    spec = pytest.importorskip("sglang.srt.speculative.spec_utils")
    grammar = backend.dispatch_regex("a(b|c)d")
    encode = backend.compiler.tokenizer.encode
    a, b, end = encode("a")[0], encode("b")[0], 50256
    draft, child, sibling = torch.tensor([0, a, end, b]), torch.tensor([1, 2, -1, -1]), torch.tensor([-1, -1, 3, -1])
    mask = grammar.allocate_vocab_mask(50304, 4, "cpu")
    grammar.fill_vocab_mask(mask, 0)
    first = mask[0].clone()

    class Limited:
        """A matcher that reaches a limit after `a`."""

        def __init__(self, matcher, at_accept):
            self._matcher, self._at_accept = matcher, at_accept

        def __getattr__(self, name):
            return getattr(self._matcher, name)

        def accept(self, token):
            if self._at_accept:
                raise maskwright.Error("a limit")
            return self._matcher.accept(token)

        def fill(self, mask, index):
            if self._matcher.steps:
                raise maskwright.Error("a limit")
            return self._matcher.fill(mask, index)

    inner = grammar.matcher
    for at_accept in (False, True):
        grammar.matcher = Limited(inner, at_accept)
        spec.traverse_tree(child, sibling, draft, grammar, mask, 50304)
        assert (mask[0] == first).all() and inner.steps == 0
        assert [token for token in range(50304) if mask[1][token // 32] >> token % 32 & 1] == [50303]
        # The text itself: the token after it is refused.
        grammar.accept_token(a)
        grammar.fill_vocab_mask(mask, 0)
        with pytest.raises(ValueError, match="a limit"):
            grammar.accept_token(50303)
        grammar.rollback(1)
        assert inner.steps == 0
