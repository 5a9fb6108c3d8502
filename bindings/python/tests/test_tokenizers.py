"""Vocabularies from what hosts have."""

import types

import pytest

import maskwright
from maskwright import Compiler, Error, Tokenizer

TEXT = '{"name": "Zoë", "age": 36}'


def spelled(tokenizer, ids):
    """Every prefix of a text that a tokenizer cut is allowed, and the end after it."""
    matcher = Compiler(tokenizer).json_object().matcher()
    assert matcher.accept_tokens(ids) and matcher.is_accepting
    assert set(tokenizer.stop_token_ids) <= set(matcher.allowed_tokens())


def test_bytes_with_padding_and_names():
    tokenizer = Tokenizer([b"a", None, b"b"], special_tokens={"<|x|>": 1}, stop_token_ids=[3], width=100)
    assert (tokenizer.width, tokenizer.words, len(tokenizer)) == (100, 4, 100)
    assert tokenizer.special("<|x|>") == 1 and tokenizer.is_special(1) and tokenizer.token_name(1) == "<|x|>"
    assert tokenizer.token_bytes(0) == b"a" and tokenizer.token_bytes(3) is None
    assert tokenizer.encode("ab") == [0, 2] and tokenizer.decode([0, 1, 2, 3]) == b"ab"
    matcher = Compiler(tokenizer).regex("[ab]*").matcher()
    assert len(matcher.mask_bytes()) == 16 and matcher.allowed_tokens() == [0, 2, 3]
    assert tokenizer.with_stop_token_ids([2]).stop_token_ids == [2]
    with pytest.raises(Error, match="no token writes byte 1"):
        tokenizer.encode("ac")
    with pytest.raises(Error, match="does not fit the model"):
        Tokenizer([b"a", b"b"], width=1)


def test_what_is_no_tokenizer():
    with pytest.raises(Error, match="int is no tokenizer"):
        Tokenizer(3)
    with pytest.raises(Error) as caught:
        Tokenizer("/nowhere/tokenizer.json")
    assert caught.value.kind == "io"


def test_files(shared, tmp_path):
    folder = shared / "tokenizers/gpt2"
    one, two = Tokenizer(folder), Tokenizer((folder / "tokenizer.json").read_text(), stop_token_ids=[50256])
    indexed = Tokenizer(folder, index=tmp_path)
    again = Tokenizer(folder, index=tmp_path)
    for tokenizer in (one, two, indexed, again):
        assert tokenizer.width == 50257 and tokenizer.stop_token_ids == [50256]
        assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT.encode()
    source = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    # Not the longest token first, which takes another first token.
    text = " temperature_celsius"
    ids = source.encode(text, add_special_tokens=False).ids
    assert [tokenizer.encode(text) for tokenizer in (one, two, indexed)] == [ids] * 3
    assert one._native.encode_greedily(text.encode()) != ids


def test_special_tokens_beyond_the_logits():
    """As placeholders of images are in some models: no logit can draw them."""
    special = {"<e>": 2, "<image>": 3}
    tokenizer = Tokenizer([b"a", b"b"], special_tokens=special, stop_token_ids=[2], width=3)
    assert (tokenizer.width, tokenizer.special("<image>"), tokenizer.special("<e>")) == (3, None, 2)
    assert Compiler(tokenizer).regex("a*").matcher().allowed_tokens() == [0, 2]
    with pytest.raises(Error, match="no token `<image>`"):
        Compiler(tokenizer).lark("start: <image>")
    with pytest.raises(Error, match="end token 2 is beyond the model's 2 logits"):
        Tokenizer([b"a", b"b"], special_tokens=special, stop_token_ids=[2], width=2)
    with pytest.raises(Error, match="does not fit the model: its token ids reach 1"):
        Tokenizer([b"a", b"b"], special_tokens=special, stop_token_ids=[0], width=1)


@pytest.mark.parametrize("name", ["gpt2", "llama-3.2", "qwen2.5", "mistral-7b-v0.1", "gemma-3"])
def test_tokenizers_of_hugging_face(shared, name):
    tokenizers = pytest.importorskip("tokenizers")
    path = shared / "tokenizers" / name / "tokenizer.json"
    source = tokenizers.Tokenizer.from_file(str(path))
    tokenizer = Tokenizer(source)
    ids = tokenizer.encode(TEXT)
    # SentencePiece puts a blank before the first word.
    assert ids[1:] == source.encode(TEXT, add_special_tokens=False).ids[1:]
    if not tokenizer.decode(ids).startswith(b" "):
        spelled(tokenizer, ids)
    assert tokenizer.width == Tokenizer(path).width


def test_settings_of_a_call_stay_in_the_call(shared):
    tokenizers = pytest.importorskip("tokenizers")
    backend = tokenizers.Tokenizer.from_file(str(shared / "tokenizers/gpt2/tokenizer.json"))
    before = Tokenizer(backend)
    backend.enable_padding(length=8)
    backend.enable_truncation(2)
    for tokenizer in (before, Tokenizer(backend)):
        ids = tokenizer.encode("a b c d")
        assert len(ids) == 4 and tokenizer.decode(ids) == b"a b c d"
        # Bytes that are no UTF-8 are those bytes.
        assert tokenizer.decode(tokenizer.encode(b"a\xffb")) == b"a\xffb"


def test_encodings_of_tiktoken():
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b'{"': 256, b'": ': 257}
    source = tiktoken.Encoding(
        "own", pat_str=r".+?|\s", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 258, "<|x|>": 259}
    )
    tokenizer = Tokenizer(source)
    assert tokenizer.stop_token_ids == [258] and tokenizer.special("<|x|>") == 259
    assert tokenizer.encode(TEXT) == source.encode_ordinary(TEXT)
    spelled(tokenizer, tokenizer.encode(TEXT))


def encoding(special):
    """An object with the fields of tiktoken's encodings, and no other."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    width = max([256, *special.values()]) + 1
    fields = {"n_vocab": width, "_mergeable_ranks": ranks, "_special_tokens": special}
    return types.SimpleNamespace(**fields, encode_ordinary=lambda text: list(text.encode()))


@pytest.mark.parametrize("special, ends", [
    ({"<|begin_of_text|>": 256, "<|end_of_text|>": 257, "<|eom_id|>": 258, "<|eot_id|>": 259}, [257, 258, 259]),
    ({"[BOS]": 256, "[EOS]": 257, "<|im_end|>": 300}, [257, 300]),
    ({"<|endoftext|>": 256, "<|return|>": 257, "<|end|>": 258, "<|call|>": 259}, [256, 257, 259]),
])
def test_ends_of_encodings_are_known_by_their_names(special, ends):
    assert sorted(Tokenizer(encoding(special)).stop_token_ids) == ends
    assert Tokenizer(encoding(special), stop_token_ids=[10]).stop_token_ids == [10]
    named = Tokenizer([b"a"] * 256, special_tokens=special)
    assert sorted(named.stop_token_ids) == ends


def test_an_encoding_without_a_known_end_is_refused():
    with pytest.raises(ValueError, match="as `stop_token_ids`"):
        Tokenizer(encoding({"<|x|>": 256}))
    assert Tokenizer(encoding({"<|x|>": 256}), stop_token_ids=[256]).stop_token_ids == [256]
    assert Tokenizer(encoding({"<|x|>": 256}), stop_token_ids=[]).stop_token_ids == []


@pytest.mark.parametrize("name", ["gpt2", "mistral-7b-v0.1", "llama-3.2"])
def test_texts_within_texts(shared, name):
    """No blank is put before a text, and names of special tokens are text."""
    tokenizers = pytest.importorskip("tokenizers")
    path = shared / "tokenizers" / name / "tokenizer.json"
    tokenizer = Tokenizer(tokenizers.Tokenizer.from_file(str(path)))
    for text in ('{"name":', "Hello there", " a", "é東京\n  x", "<|endoftext|></s>", "a</s>b", "\u2581x", "e\u0301"):
        assert tokenizer.decode(tokenizer.encode(text)) == text.encode(), text
    matcher = Compiler(tokenizer).choice(['{"name": 1}']).matcher()
    assert matcher.accept_tokens(matcher.forced_tokens(tokenizer.encode)) and not matcher.forced_bytes()
