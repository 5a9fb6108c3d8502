"""Programs that are written for XGrammar run on the facade: each test is what its documentation shows, and runs on
XGrammar itself where that is installed and means the same."""

import json

import pytest

torch = pytest.importorskip("torch")

import maskwright
import maskwright.compat.xgrammar as ours

MODULES = [ours]
try:
    import xgrammar

    MODULES.append(xgrammar)
except ImportError:
    pass

VOCABULARY = ["<s>", "</s>", "a", "abc", 'b"', '"', ':"', "{", "}", ", ", "6", ":", "\n", " ", '"a":true', "1", "-", "x", "true", "<", ">", "f", "/", "s", "o", "t", "r", "u", "e"]


@pytest.fixture(params=MODULES, ids=lambda module: module.__name__)
def xgr(request):
    return request.param


def info(xgr):
    return xgr.TokenizerInfo(VOCABULARY, vocab_size=40)


def allowed(matcher, xgr, width=40):
    bitmask = xgr.allocate_token_bitmask(1, width)
    matcher.fill_next_token_bitmask(bitmask)
    return [token for token in range(width) if bitmask[0, token // 32] >> token % 32 & 1]


def test_tokenizers(xgr):
    tokenizer = info(xgr)
    assert (tokenizer.vocab_size, tokenizer.stop_token_ids) == (40, [1])
    assert tokenizer.decoded_vocab[3] == b"abc" and set(tokenizer.special_token_ids) <= {0, 1, *range(29, 40)}
    fallback = xgr.TokenizerInfo(["<0x1B>", "\u2581a"], xgr.VocabType.BYTE_FALLBACK, stop_token_ids=[])
    assert fallback.decoded_vocab == [b"\x1b", b" a"]
    level = xgr.TokenizerInfo(["\u0120a", "\u010a"], xgr.VocabType.BYTE_LEVEL, stop_token_ids=[])
    assert level.decoded_vocab == [b" a", b"\n"]


def test_a_text_from_start_to_end(xgr):
    compiler = xgr.GrammarCompiler(info(xgr), max_threads=1)
    matcher = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a" ("b\\"" | "6")*'))
    assert allowed(matcher, xgr) == [2]
    assert matcher.accept_token(2) and not matcher.accept_token(3)
    assert allowed(matcher, xgr) == [1, 4, 10] and matcher.is_completed() and not matcher.is_terminated()
    assert matcher.accept_string('b"6') and matcher.accept_token(1) and matcher.is_terminated()
    assert not matcher.accept_token(2)
    matcher.rollback(1)
    assert not matcher.is_terminated()
    fork = matcher.fork()
    assert fork.accept_token(10)
    matcher.reset()
    assert allowed(matcher, xgr) == [2] and matcher.stop_token_ids == [1] and matcher.max_rollback_tokens == -1


def test_options_of_matchers(xgr):
    compiler = xgr.GrammarCompiler(info(xgr))
    compiled = compiler.compile_regex("a6")
    matcher = xgr.GrammarMatcher(compiled, terminate_without_stop_token=True)
    assert matcher.accept_token(2) and not matcher.is_terminated() and matcher.accept_token(10)
    assert matcher.is_terminated()
    # Also where the text could go on; a stop token does not end it then.
    matcher = xgr.GrammarMatcher(compiler.compile_regex("a+"), terminate_without_stop_token=True)
    assert matcher.accept_token(2) and matcher.is_terminated() and not matcher.accept_token(1)
    matcher = xgr.GrammarMatcher(compiled, override_stop_tokens=[17])
    assert matcher.accept_string("a6") and allowed(matcher, xgr) == [17] and matcher.stop_token_ids == [17]
    matcher = xgr.GrammarMatcher(compiled, default_temperature=0.5)
    assert matcher.temperature == 0.5


def test_other_stop_tokens_are_compiled_once(monkeypatch):
    compiled = ours.GrammarCompiler(info(ours), cache_enabled=False).compile_regex("a6")
    load, loaded = compiled._compiler.load, []

    def counted(spec, *, stop_token_ids):
        loaded.append(stop_token_ids)
        return load(spec, stop_token_ids=stop_token_ids)

    monkeypatch.setattr(compiled._compiler, "load", counted)
    for stop in (1, [1], [17], [17, 18], [18, 17], 17):
        matcher = ours.GrammarMatcher(compiled, override_stop_tokens=stop)
        assert set(matcher.stop_token_ids) == ({stop} if isinstance(stop, int) else set(stop))
    assert loaded == [[17], [17, 18]]


@pytest.mark.parametrize(
    "options, good, bad",
    [
        ({}, '{"a": 1}', '{"a": "x"}'),
        ({"any_whitespace": False}, '{"a": 1}', '{"a":1}'),
        ({"any_whitespace": False, "separators": (",", ":")}, '{"a":1}', '{"a": 1}'),
        ({"any_whitespace": False, "indent": 2}, '{\n  "a": 1\n}', '{"a": 1}'),
        ({"strict_mode": True}, '{"a": 1}', '{"a": 1, "x": 1}'),
        ({"strict_mode": False}, '{"a": 1, "x": 1}', "1"),
    ],
)
def test_json_schemas(xgr, options, good, bad):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    compiler = xgr.GrammarCompiler(info(xgr))
    for given in (schema, json.dumps(schema)):
        compiled = compiler.compile_json_schema(given, **options)
        assert _accepts(xgr, compiled, good) and not _accepts(xgr, compiled, bad)
    again = compiler.compile_grammar(xgr.Grammar.from_json_schema(schema, **options))
    assert _accepts(xgr, again, good) and not _accepts(xgr, again, bad)


def _accepts(xgr, compiled, text):
    matcher = xgr.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.is_completed()


def test_grammars(xgr):
    compiler = xgr.GrammarCompiler(info(xgr))
    union = xgr.Grammar.union(xgr.Grammar.from_ebnf('root ::= "a"'), xgr.Grammar.from_regex("x+"))
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<", "content": {
        "type": "regex", "pattern": "[0-9]"}, "end": ">"}}
    for compiled, good, bad in [
        (compiler.compile_builtin_json_grammar(), '{"a": [1]}', "{"),
        (compiler.compile_grammar('x ::= "1"\nroot ::= "a"', root_rule_name="x"), "1", "a"),
        (compiler.compile_grammar(union), "xx", "ax"),
        (compiler.compile_structural_tag(tag), "<1>", "<a>"),
        (compiler.compile_lark('start: "a"+'), "aa", "b"),
    ]:
        assert _accepts(xgr, compiled, good) and not _accepts(xgr, compiled, bad)
        assert compiled.memory_size_bytes > 0
    compiler.clear_cache()


def test_older_structural_tags(xgr):
    items = [xgr.StructuralTagItem(begin="<f>", schema='{"type": "boolean"}', end="</f>")]
    compiled = xgr.GrammarCompiler(info(xgr)).compile_structural_tag(items, ["<f"])
    assert _accepts(xgr, compiled, "so <f>true</f>") and not _accepts(xgr, compiled, "<f>1</f>")


def test_objects_in_structural_tags_are_closed(xgr):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    content = {"type": "json_schema", "json_schema": schema}
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<f>", "content": content, "end": "</f>"}}
    compiler = xgr.GrammarCompiler(info(xgr))
    compiled = [
        compiler.compile_structural_tag(tag),
        compiler.compile_grammar(xgr.Grammar.from_structural_tag(tag)),
        compiler.compile_structural_tag([xgr.StructuralTagItem(begin="<f>", schema=json.dumps(schema), end="</f>")], ["<f"]),
    ]
    for one in compiled:
        assert _accepts(xgr, one, '<f>{"a": 1}</f>') and not _accepts(xgr, one, '<f>{"a": 1, "z": 2}</f>')


def test_jump_forward(xgr):
    compiler = xgr.GrammarCompiler(info(xgr))
    matcher = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a" "bc" [0-9]'))
    assert matcher.find_jump_forward_string() == "abc"


def test_batches(xgr):
    compiler = xgr.GrammarCompiler(info(xgr))
    matchers = [xgr.GrammarMatcher(compiler.compile_regex(text)) for text in ("a|1", "x", "6")]
    bitmask = xgr.allocate_token_bitmask(5, 40)
    xgr.BatchGrammarMatcher(2).batch_fill_next_token_bitmask(matchers, bitmask, [4, 0, 2])
    alone = xgr.allocate_token_bitmask(1, 40)
    for matcher, row in zip(matchers, (4, 0, 2)):
        matcher.fill_next_token_bitmask(alone)
        assert (bitmask[row] == alone[0]).all()
    assert (bitmask[1] == -1).all()
    assert xgr.BatchGrammarMatcher.batch_accept_token(matchers, [2, 2, 10]) == [True, False, True]
    assert xgr.BatchGrammarMatcher.batch_accept_string(matchers[1:2], ["x"]) == [True]
    xgr.BatchGrammarMatcher.batch_rollback(matchers, 1)
    assert xgr.BatchGrammarMatcher.batch_accept_token(matchers, [15, 17, 10]) == [True, True, True]


def test_trees_of_drafts(xgr):
    compiler = xgr.GrammarCompiler(info(xgr))
    matcher = xgr.GrammarMatcher(compiler.compile_regex("a(1|6x)"))
    # 0 (the text so far) -> a -> [1, 6 -> x]
    child, sibling = torch.tensor([1, 2, -1, 4, -1]), torch.tensor([-1, -1, 3, -1, -1])
    bitmask = xgr.allocate_token_bitmask(5, 40)
    assert matcher.traverse_draft_tree(child, sibling, torch.tensor([0, 2, 15, 10, 17]), bitmask)
    rows = [[token for token in range(40) if row[token // 32] >> token % 32 & 1] for row in bitmask]
    assert rows == [[2], [10, 15], [1], [17], [1]] and allowed(matcher, xgr) == [2]


def test_the_rest_of_a_character_is_no_string():
    """Where XGrammar raises UnicodeDecodeError."""
    tokenizer = ours.TokenizerInfo([b"\xc3", b"\xa9", b"!", b"</s>"], stop_token_ids=[3])
    matcher = ours.GrammarMatcher(ours.GrammarCompiler(tokenizer).compile_grammar('root ::= "é!"'))
    assert matcher.find_jump_forward_string() == "é!"
    assert matcher.accept_token(0) and matcher.find_jump_forward_string() == ""


def test_rows_of_refused_drafts(xgr):
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info(xgr)).compile_regex("a(1|6x)"))
    # 0 (the text so far) -> [padding, x -> a, a]
    child, sibling = torch.tensor([1, -1, 3, -1, -1]), torch.tensor([-1, 2, 4, -1, -1])
    bitmask = xgr.allocate_token_bitmask(5, 40)
    assert matcher.traverse_draft_tree(child, sibling, torch.tensor([0, -1, 17, 2, 2]), bitmask)
    assert (bitmask[1:3] == 0).all() and (bitmask[3] == -1).all()
    rows = [[token for token in range(40) if row[token // 32] >> token % 32 & 1] for row in bitmask[[0, 4]]]
    assert rows == [[2], [10, 15]]


def test_grammars_are_checked_at_once(xgr):
    for make in (
        lambda: xgr.Grammar.from_ebnf('root ::= "a'),
        lambda: xgr.Grammar.from_regex("(a"),
        lambda: xgr.Grammar.from_regex("a.)|(b"),
        lambda: xgr.Grammar.from_lark("start: x"),
        lambda: xgr.Grammar.from_json_schema("{not json"),
        lambda: xgr.Grammar.from_structural_tag({"type": "structural_tag", "format": {"type": "tig"}}),
    ):
        with pytest.raises(RuntimeError):
            make()
    with pytest.raises(xgr.exception.InvalidStructuralTagError):
        xgr.Grammar.from_structural_tag({"type": "structural_tag", "format": {"type": "tig"}})
    # Tokens are looked up later.
    tag = {"type": "structural_tag", "format": {"type": "token", "token": 1000}}
    assert xgr.Grammar.from_structural_tag(tag) is not None


def test_wrong_use_is_a_runtime_error(xgr):
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info(xgr)).compile_regex("a"))
    lax = xgr.Grammar.from_json_schema("{}", strict_mode=False)
    for make in (
        lambda: matcher.rollback(5),
        lambda: xgr.Grammar.union(xgr.Grammar.from_json_schema("{}"), lax),
        lambda: xgr.Grammar.from_lark("start: @x", named_grammars={"x": xgr.Grammar.from_regex("a")}),
        lambda: matcher.fill_next_token_bitmask(xgr.allocate_token_bitmask(1, 40), 3),
        lambda: matcher.fill_next_token_bitmask(xgr.allocate_token_bitmask(1, 640)[:, :1]),
    ):
        with pytest.raises(RuntimeError):
            make()


def test_older_structural_tags(xgr):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    items = [xgr.StructuralTagItem(begin="<f>", schema=schema, end="</f>")]
    tag = xgr.StructuralTag.from_legacy_structural_tag(items, ["<f"])
    compiled = xgr.GrammarCompiler(info(xgr)).compile_structural_tag(tag)
    assert _accepts(xgr, compiled, 'x<f>{"a": 1}</f>x') and not _accepts(xgr, compiled, '<f>{"a": x}</f>')
    assert json.loads(items[0].model_dump_json())["end"] == "</f>"


def test_a_draft_tree_has_temperatures(xgr):
    grammar = 'start: "a" (one | "6" "x")\none[temperature=0.5]: "1"+'
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info(xgr)).compile_lark(grammar))
    # 0 (the text so far) -> a -> [1 -> 1, 6 -> x]
    child, sibling = torch.tensor([1, 2, 3, -1, 5, -1]), torch.tensor([-1, -1, 4, -1, -1, -1])
    bitmask, temperatures = xgr.allocate_token_bitmask(6, 40), torch.zeros(6)
    draft = torch.tensor([0, 2, 15, 15, 10, 17])
    assert matcher.traverse_draft_tree(child, sibling, draft, bitmask, temperatures=temperatures)
    assert temperatures.tolist() == [-1, 0.5, 0.5, 0.5, -1, -1]


def test_bitmasks(xgr):
    assert xgr.get_bitmask_shape(3, 33) == (3, 2) and xgr.bitmask_dtype == torch.int32
    bitmask = torch.tensor([[0b101], [0b010]], dtype=torch.int32)
    logits = torch.zeros((2, 3))
    xgr.apply_token_bitmask_inplace(logits, bitmask)
    assert logits.isfinite().tolist() == [[True, False, True], [False, True, False]]
    logits = torch.zeros((2, 3))
    xgr.apply_token_bitmask_inplace(logits, bitmask, indices=[1])
    assert logits.isfinite().tolist() == [[True, True, True], [False, True, False]]
    xgr.reset_token_bitmask(bitmask)
    assert (bitmask == -1).all()


def test_serialisation(xgr):
    tokenizer = info(xgr)
    compiled = xgr.GrammarCompiler(tokenizer).compile_regex("a[16]")
    again = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), tokenizer)
    assert _accepts(xgr, again, "a6") and not _accepts(xgr, again, "b")
    back = xgr.TokenizerInfo.deserialize_json(tokenizer.serialize_json())
    named = xgr.TokenizerInfo.from_vocab_and_metadata(VOCABULARY, tokenizer.dump_metadata())
    for other in (back, named):
        assert (other.vocab_size, other.stop_token_ids, other.vocab_type) == (40, [1], tokenizer.vocab_type)
        assert other.decoded_vocab[3] == b"abc" and other.add_prefix_space is False
        again = xgr.GrammarCompiler(other).compile_regex("a[16]")
        assert _accepts(xgr, again, "a6") and not _accepts(xgr, again, "b")
    metadata = {"vocab_type": 0, "vocab_size": 40, "add_prefix_space": False, "stop_token_ids": [1]}
    assert json.loads(tokenizer.dump_metadata()) == metadata
    with pytest.raises(Exception):
        xgr.TokenizerInfo.deserialize_json(tokenizer.serialize_json().replace("__VERSION__", "version"))


def test_a_serialised_tokenizer_has_special_tokens_and_bytes():
    info = ours.TokenizerInfo([b"\xff\x00", "</s>", "<s>"], stop_token_ids=[1])
    back = ours.TokenizerInfo.deserialize_json(info.serialize_json())
    assert back.tokenizer.special("<s>") == 2 and back.tokenizer.token_bytes(0) == b"\xff\x00"
    for text in ("", "[]", info.serialize_json().replace("maskwright-1", "v16")):
        with pytest.raises(maskwright.Error):
            ours.TokenizerInfo.deserialize_json(text)


def test_grammars_by_name():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
    grammar = ours.Grammar.from_lark(
        'start: "<" @arguments ">" @status',
        named_grammars={"arguments": ours.Grammar.from_json_schema(schema, any_whitespace=False), "status": 'start: "x" | "b"'},
    )
    bytes_info = ours.TokenizerInfo([bytes([byte]) for byte in range(256)] + ["</s>"], stop_token_ids=[256])
    again = ours.Grammar.deserialize_json(grammar.serialize_json())
    for made in (grammar, again):
        compiled = ours.GrammarCompiler(bytes_info).compile_grammar(made)
        for text, accepted in [('<{"a": 6}>x', True), ('<{"a": 6}>b', True), ('<{"a": 6}>c', False), ('<{"b": 6}>x', False), ('<{"a":6}>x', False)]:
            matcher = ours.GrammarMatcher(compiled, terminate_without_stop_token=True)
            assert (matcher.accept_string(text) and matcher.is_terminated()) == accepted, text


def test_a_union_has_the_settings_of_its_parts():
    schema = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
    info = ours.TokenizerInfo([bytes([byte]) for byte in range(256)] + ["</s>"], stop_token_ids=[256])
    texts = ours.Grammar.union(ours.Grammar.from_regex("x"), ours.Grammar.from_regex("y"))
    union = ours.Grammar.union(ours.Grammar.from_json_schema(schema), texts)
    compiled = ours.GrammarCompiler(info).compile_grammar(union)
    for text, accepted in [("x", True), ('{"a": 1}', True), ('{"a": 1, "b": 2}', False)]:
        matcher = ours.GrammarMatcher(compiled, terminate_without_stop_token=True)
        assert (matcher.accept_string(text) and matcher.is_terminated()) == accepted, text
    with pytest.raises(maskwright.Error, match="different settings"):
        ours.Grammar.union(ours.Grammar.from_json_schema(schema), ours.Grammar.builtin_json_grammar())


def test_what_is_refused():
    with pytest.raises(maskwright.Error, match="`x` is a regex"):
        ours.Grammar.from_lark("start: @x", named_grammars={"x": ours.Grammar.from_regex("a")})
    with pytest.raises(TypeError):
        ours.Grammar.from_json_schema({}, any_whitespce=True)
    with pytest.raises(AttributeError, match="no `testing`"):
        ours.testing


def test_errors_are_caught_as_there():
    compiler = ours.GrammarCompiler(ours.TokenizerInfo([bytes([byte]) for byte in range(256)]))
    for make in (
        lambda: compiler.compile_json_schema('{"type": "strin"}'),
        lambda: ours.Grammar.deserialize_json("{"),
        lambda: compiler.compile_structural_tag({"type": "structural_tag", "format": {"type": "nothing"}}),
        lambda: compiler.compile_regex("("),
    ):
        with pytest.raises(RuntimeError):
            make()
    with pytest.raises(ours.InvalidJSONError):
        compiler.compile_json_schema('{"type": "strin"}')


def test_structural_tags_as_objects():
    compiler = ours.GrammarCompiler(ours.TokenizerInfo([bytes([byte]) for byte in range(256)]))
    tag = {"type": "structural_tag", "format": {"type": "const_string", "value": "ab"}}
    for given in (ours.StructuralTag(tag["format"]), ours.StructuralTag.from_json(tag), ours.StructuralTag.from_json(json.dumps(tag))):
        matcher = ours.GrammarMatcher(compiler.compile_structural_tag(given))
        assert matcher.accept_string("ab") and matcher.is_completed() and not matcher.accept_token(-1)
    with pytest.raises(ours.DeserializeFormatError, match="format"):
        ours.StructuralTag.from_json({})


def test_what_is_no_tree_or_no_mask():
    torch = pytest.importorskip("torch")
    compiler = ours.GrammarCompiler(ours.TokenizerInfo([bytes([byte]) for byte in range(256)]))
    compiled = compiler.compile_regex("a+")
    longs = lambda *values: torch.tensor(values, dtype=torch.int64)
    masks = ours.allocate_token_bitmask(2, 256)
    with pytest.raises(ValueError, match="no tree"):
        ours.GrammarMatcher(compiled).traverse_draft_tree(longs(1, 1), longs(-1, -1), longs(0, 97), masks)
    logits = torch.zeros(2, 256)
    for wrong in (
        lambda: ours.apply_token_bitmask_inplace(logits, masks.to(torch.int64)),
        lambda: ours.apply_token_bitmask_inplace(logits, masks[0]),
        lambda: ours.apply_token_bitmask_inplace(logits, masks, vocab_size=999),
        lambda: ours.apply_token_bitmask_inplace(logits, masks, indices=[-1]),
        lambda: ours.apply_token_bitmask_inplace(logits, masks, backend="abacus"),
    ):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            wrong()
    ours.GrammarMatcher(compiled).fill_next_token_bitmask(masks, 1)
    ours.apply_token_bitmask_inplace(logits, masks, indices=torch.tensor([1]))
    assert logits.isfinite().sum(1).tolist() == [256, 1]
    # One matcher for two rows, as there.
    matcher = ours.GrammarMatcher(compiled)
    ours.BatchGrammarMatcher().batch_fill_next_token_bitmask([matcher, matcher], masks)
    assert (masks[0] == masks[1]).all()


def test_stop_tokens_are_the_end_token_of_the_tokenizer():
    """As there; other tokens that end texts are given."""
    tokenizers = pytest.importorskip("tokenizers")
    source = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "<|endoftext|>": 1, "<|im_end|>": 2}, []))
    source.pre_tokenizer, source.decoder = tokenizers.pre_tokenizers.ByteLevel(False), tokenizers.decoders.ByteLevel()
    source.add_special_tokens(["<|endoftext|>", "<|im_end|>"])
    source.eos_token_id = 2
    assert ours.TokenizerInfo.from_huggingface(source).stop_token_ids == [2]
    # A model that was made smaller than its tokenizer.
    assert ours.TokenizerInfo.from_huggingface(source, vocab_size=1, stop_token_ids=[0]).vocab_size == 1
    assert ours.TokenizerInfo.from_huggingface(source, stop_token_ids=[1, 2]).stop_token_ids == [1, 2]


def test_what_is_refused():
    compiled = ours.GrammarCompiler(info(ours)).compile_regex("a")
    with pytest.raises(RuntimeError, match="candidates of captures"):
        ours.GrammarMatcher(compiled).get_captures(deduplicate=False)


def test_a_dot_is_any_character(xgr):
    matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(info(xgr)).compile_regex("^a.1$"))
    assert matcher.accept_string("a\n1") and matcher.is_completed()
