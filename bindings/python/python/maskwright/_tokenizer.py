"""`Tokenizer`: the vocabulary of a model, from whatever a host has of it."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
from types import SimpleNamespace
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _native
from ._errors import error

Encode = Callable[[bytes], List[int]]


class Tokenizer:
    """The tokens of a model.

    `source` is one of

    - a path of a `tokenizer.json` (or its folder), of a tiktoken file, or of a GGUF file; the text of a
      `tokenizer.json`
    - a tokenizer of `transformers` (fast) or of `tokenizers`, an encoding of `tiktoken`, a tokenizer of `mistral_common`,
      also within one of vLLM's or of `transformers`
    - a list with the bytes of each token, `None` for ids without text

    `width` is the width of the model's logits where it is padded (`config.vocab_size`); mask rows are
    `ceil(width / 32)` words of 32 bits, bit `t % 32` of word `t / 32` being token `t`. `stop_token_ids` are the
    tokens that end a text, instead of those that the source names. A source without settings names them by special tokens
    that are known to end a text or a turn (`<|im_end|>`, `</s>`); an encoding of `tiktoken` without any is refused.

    >>> import maskwright
    >>> tokenizer = maskwright.Tokenizer([b"a", b"b", None], stop_token_ids=[2], width=64)
    >>> tokenizer.width, tokenizer.words, tokenizer.decode([0, 1, 2])
    (64, 2, b'ab')
    """

    def __init__(
        self,
        source: Any,
        *,
        width: Optional[int] = None,
        stop_token_ids: Optional[Iterable[int]] = None,
        special_tokens: Optional[Mapping[str, int]] = None,
        index: Union[str, "os.PathLike[str]", None] = None,
    ) -> None:
        stop = None if stop_token_ids is None else list(stop_token_ids)
        self._native: _native.Tokenizer
        self._encode: Optional[Encode]
        native, encode = _read(source, special_tokens, index)
        if stop is None and not native.stop_token_ids and _is_encoding(source):
            # At the end of a text its masks would allow nothing.
            raise error(
                "none of the encoding's special tokens is known to end a text",
                "give the ids of those that do as `stop_token_ids`",
                "vocabulary",
            )
        if width is not None or stop is not None:
            native = native._with(width, stop)
        self._native = native
        self._encode = encode

    @classmethod
    def of_bytes(cls, stop_token_ids: Optional[Iterable[int]] = None) -> "Tokenizer":
        """A token for each byte, and token 256 as the end: for checks without a model."""
        stop = [256] if stop_token_ids is None else stop_token_ids
        return cls([bytes([byte]) for byte in range(256)] + [None], stop_token_ids=stop)

    @property
    def width(self) -> int:
        """The width of the logits in tokens, padding included."""
        return self._native.width

    @property
    def words(self) -> int:
        """The words of a mask row."""
        return (self._native.width + 31) // 32

    @property
    def stop_token_ids(self) -> List[int]:
        """The tokens that end a text."""
        return self._native.stop_token_ids

    def with_stop_token_ids(self, stop_token_ids: Iterable[int]) -> "Tokenizer":
        """The same with other tokens that end a text."""
        made = object.__new__(Tokenizer)
        made._native = self._native._with(None, list(stop_token_ids))
        made._encode = self._encode
        return made

    def encode(self, text: Union[str, bytes]) -> List[int]:
        """The tokens of a text within a longer one: without a blank that the tokenizer would put before it, and names of
        special tokens as text. By the tokenizer that this was made from (of a `tokenizer.json`, where the package
        `tokenizers` is installed), or where there is none, the longest token first at each place."""
        text = text_bytes(text)
        return self._native.encode_greedily(text) if self._encode is None else self._encode(text)

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes that tokens write."""
        return self._native.decode(list(ids))

    def token_bytes(self, token: int) -> Optional[bytes]:
        """The bytes that a token writes; `None` for special and end tokens and ids without a token."""
        return self._native.token_bytes(token)

    def token_name(self, token: int) -> str:
        """A token as messages show it."""
        return self._native.token_name(token)

    def special(self, name: str) -> Optional[int]:
        """The id of a special or added token."""
        return self._native.special(name)

    def is_special(self, token: int) -> bool:
        """Whether a token writes no text."""
        return self._native.is_special(token)

    def __len__(self) -> int:
        return self._native.width

    def __repr__(self) -> str:
        return repr(self._native)


def text_bytes(text: Union[str, bytes]) -> bytes:
    """The bytes of a text."""
    if isinstance(text, str):
        return text.encode(errors="surrogateescape")
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise error(f"a text is a {type(text).__name__}", "give a str or bytes")


_Read = Tuple[_native.Tokenizer, Optional[Encode]]


def _read(source: Any, special: Optional[Mapping[str, int]], index: Any) -> _Read:
    """The native tokenizer of a source, and its function from text to tokens, if it has one."""
    if special is not None and not isinstance(source, (list, tuple)):
        raise error("`special_tokens` is for a list of token bytes", "leave it out")
    if isinstance(source, Tokenizer):
        return source._native, source._encode
    if isinstance(source, (str, bytes)):
        text = source.encode(errors="surrogateescape") if isinstance(source, str) else source
        text = text[3:] if text.startswith(b"\xef\xbb\xbf") else text
        if text.lstrip()[:1] == b"{":
            native = _native.Tokenizer._from_json(text)
            return native, _encode_of(native, lambda: text)
    if index is not None and not isinstance(source, (str, os.PathLike)):
        raise error("`index` is for a file", "leave it out")
    if isinstance(source, (str, os.PathLike)):
        native = _native.Tokenizer._from_file(source, index)
        path = os.fsdecode(source)
        path = os.path.join(path, "tokenizer.json") if os.path.isdir(path) else path
        if not path.endswith(".json"):
            return native, None
        return native, _encode_of(native, lambda: _content(path))
    if isinstance(source, (list, tuple)):
        names = [(token, name) for name, token in (special or {}).items()]
        wrong = next((token for token in source if not isinstance(token, (bytes, bytearray, type(None)))), None)
        if wrong is not None:
            raise error(f"the token {wrong!r} is a {type(wrong).__name__}", "give the bytes of each token, or None", "vocabulary")
        tokens = [None if token is None else bytes(token) for token in source]
        return _native.Tokenizer._from_tokens(tokens, names, _well_known_ends(special or {})), None
    if _is_encoding(source):
        return _tiktoken(source)
    backend = getattr(source, "backend_tokenizer", None) or getattr(source, "_tokenizer", None)
    backend = source if backend is None else backend
    if hasattr(backend, "to_str"):
        return _hugging_face(source, backend)
    within = _within_mistral(source)
    if within is not None:
        return _tekken(within) if hasattr(within, "id_to_byte_piece") else _sentencepiece(within)
    raise error(
        f"{type(source).__name__} is no tokenizer whose tokens are known",
        "give a fast tokenizer, the path of its tokenizer.json, or the bytes of each token",
        "vocabulary",
    )


def _hugging_face(source: Any, backend: Any) -> _Read:
    native = _native.Tokenizer._from_json(backend.to_str().encode())
    end = getattr(source, "eos_token_id", None)
    ends = end if isinstance(end, (list, tuple)) else [] if end is None else [end]
    missing = [token for token in ends if token not in native.stop_token_ids]
    if missing:
        native = native._with(None, missing + native.stop_token_ids)

    # The object is the caller's: how it reads names of special tokens is not changed.
    return native, _encode_by(native, lambda: type(backend).from_str(backend.to_str()))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _encode_of(native: _native.Tokenizer, json: Callable[[], bytes]) -> Optional[Encode]:
    """The function of a `tokenizer.json`, where the package `tokenizers` is installed."""
    if importlib.util.find_spec("tokenizers") is None:
        return None

    def made() -> Any:
        import tokenizers

        return tokenizers.Tokenizer.from_str(json().decode("utf-8-sig"))

    return _encode_by(native, made)


def _encode_by(native: _native.Tokenizer, made: Callable[[], Any]) -> Encode:
    """The function of a tokenizer of Hugging Face's, which is made when it is first needed."""
    own: List[Any] = []

    def encode(text: bytes) -> List[int]:
        if not own:
            backend = made()
            if hasattr(backend, "encode_special_tokens"):
                backend.encode_special_tokens = True
            # Settings of the last call of the tokenizer it was copied from.
            for setting in ("no_padding", "no_truncation"):
                getattr(backend, setting, lambda: None)()
            own.append(backend)
        return _encode_within(own[-1], native, text)

    return encode


def _encode_within(backend: Any, native: _native.Tokenizer, text: bytes) -> List[int]:
    """The tokens of a text that stands after another one. SentencePiece tokenizers write a blank before the first word
    of what they are given: then the text is cut after a character that no token joins with what follows."""
    try:
        told = text.decode()
    except UnicodeDecodeError:
        return native.encode_greedily(text)
    ids = list(backend.encode(told, add_special_tokens=False).ids)
    if native.decode(ids) == text:
        return ids
    for before in ("\x02", "\n"):
        first = list(backend.encode(before, add_special_tokens=False).ids)
        both = list(backend.encode(before + told, add_special_tokens=False).ids)
        rest = both[len(first) :]
        if both[: len(first)] == first and native.decode(rest) == text:
            return rest
    # A tokenizer that changes texts has none for this one.
    return native.encode_greedily(text)


def _is_encoding(source: Any) -> bool:
    """Whether a source is an encoding of tiktoken."""
    return hasattr(source, "_mergeable_ranks") and hasattr(source, "_special_tokens")


def _well_known_ends(special: Mapping[str, int]) -> List[int]:
    """The ids of special tokens that end a text or a turn in public models, by their names."""
    names = [name for name in special if isinstance(name, str) and name and name.isprintable()]
    # The names are known to the reader of a tokenizer.json, which takes them from its added tokens.
    added = [{"id": index, "content": name, "special": True} for index, name in enumerate(names)]
    model = {"type": "BPE", "vocab": {}, "merges": []}
    text = json.dumps({"added_tokens": added, "decoder": {"type": "ByteLevel"}, "model": model})
    return [special[names[index]] for index in _native.Tokenizer._from_json(text.encode()).stop_token_ids]


def _tiktoken(source: Any) -> _Read:
    tokens: List[Optional[bytes]] = [None] * source.n_vocab
    for text, token in source._mergeable_ranks.items():
        tokens[token] = text
    special = [(token, name) for name, token in source._special_tokens.items()]
    native = _native.Tokenizer._from_tokens(tokens, special, _well_known_ends(source._special_tokens))
    return native, _encode_exactly(native, source.encode_ordinary)


def _encode_exactly(native: _native.Tokenizer, own: Callable[[str], Sequence[int]]) -> Encode:
    """The function of a tokenizer that writes texts as they are, names of special tokens among them."""

    def encode(text: bytes) -> List[int]:
        try:
            return list(own(text.decode()))
        except UnicodeDecodeError:
            return native.encode_greedily(text)

    return encode


def _within_mistral(source: Any) -> Optional[Any]:
    """The tokenizer of mistral_common (Tekken or SentencePiece) that a source is or holds: vLLM's and the instruct
    tokenizers have it as `tokenizer`, that of transformers holds one which has an `instruct_tokenizer`."""
    for _ in range(4):
        if hasattr(source, "id_to_byte_piece") and hasattr(source, "num_special_tokens"):
            return source
        if hasattr(getattr(source, "_model", None), "is_control") and hasattr(source, "eos_id"):
            return source
        inner = getattr(source, "instruct_tokenizer", None)
        source = getattr(source, "tokenizer", None) if inner is None else inner
    return None


def _tekken(source: Any) -> _Read:
    """Reads mistral_common's `Tekkenizer`, whose first ids are special tokens."""
    count = source.num_special_tokens
    arguments: Tuple[Any, ...] = ()
    if "special_token_policy" in inspect.signature(source.id_to_byte_piece).parameters:
        # Without a policy each call would warn.
        from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy

        arguments = (SpecialTokenPolicy.KEEP,)
    special = [(token, source.id_to_piece(token)) for token in range(count)]
    tokens: List[Optional[bytes]] = [None] * count
    tokens += [source.id_to_byte_piece(token, *arguments) for token in range(count, source.n_words)]
    native = _native.Tokenizer._from_tokens(tokens, special, [source.eos_id])
    return native, _encode_exactly(native, lambda text: source.encode(text, bos=False, eos=False))


def _sentencepiece(source: Any) -> _Read:
    """Reads mistral_common's `SentencePieceTokenizer` by the processor of its model."""
    model = source._model
    tokens: List[Optional[bytes]] = []
    special: List[Tuple[int, str]] = []
    for token in range(model.get_piece_size()):
        piece = model.id_to_piece(token)
        text: Optional[bytes] = None
        if model.is_control(token) or model.is_unknown(token):
            special.append((token, piece))
        elif model.is_byte(token):
            # Such as `<0x0A>`.
            text = bytes([int(piece[3:5], 16)])
        elif not model.is_unused(token):
            text = piece.replace("\u2581", " ").encode()
        tokens.append(text)
    native = _native.Tokenizer._from_tokens(tokens, special, [source.eos_id])

    def ids(text: str, add_special_tokens: bool) -> Any:
        return SimpleNamespace(ids=source.encode(text, bos=add_special_tokens, eos=False))

    backend = SimpleNamespace(encode=ids)
    return native, lambda text: _encode_within(backend, native, text)
