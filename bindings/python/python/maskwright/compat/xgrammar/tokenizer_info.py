"""A tokenizer in XGrammar's spelling of vocabularies."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, List, Optional, Sequence, Tuple, Union

from ..._errors import error
from ..._tokenizer import Tokenizer
from .exception import DeserializeFormatError, DeserializeVersionError, InvalidJSONError, XGrammarError, raising

#: The version of what `TokenizerInfo.serialize_json` writes.
_VERSION = "maskwright-1"


class VocabType(Enum):
    """The way in which a vocabulary writes bytes."""

    RAW = 0
    BYTE_FALLBACK = 1
    BYTE_LEVEL = 2


class TokenizerInfo:
    """A tokenizer. `encoded_vocab` is the text or the bytes of each token, written as `vocab_type` says."""

    def __init__(
        self,
        encoded_vocab: Sequence[Union[str, bytes]],
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: Optional[int] = None,
        stop_token_ids: Union[int, Sequence[int], None] = None,
        add_prefix_space: bool = False,
    ) -> None:
        if not isinstance(vocab_type, VocabType):
            raise TypeError(f"vocab_type is {vocab_type!r}, which is no VocabType")
        tokens = [_decoded(token, vocab_type) for token in encoded_vocab]
        special = {token.decode(): index for index, token in enumerate(tokens) if token in _SPECIAL}
        stop = token_ids(stop_token_ids)
        if stop is None:
            stop = [index for index, token in enumerate(tokens) if token in _ENDS]
        texts: List[Optional[bytes]] = [None if token in _SPECIAL or not token else token for token in tokens]
        self._vocab_type, self._add_prefix_space = vocab_type, add_prefix_space
        self._vocab = tokens + [b""] * max(0, (vocab_size or 0) - len(tokens))
        width = vocab_size or len(tokens)
        with raising(XGrammarError):
            self._set(Tokenizer(texts[:width], width=width, stop_token_ids=stop, special_tokens=special))

    def _set(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    @staticmethod
    def from_huggingface(
        tokenizer: Any, *, vocab_size: Optional[int] = None, stop_token_ids: Union[int, Sequence[int], None] = None
    ) -> "TokenizerInfo":
        made = object.__new__(TokenizerInfo)
        made._vocab = None
        made._vocab_type, made._add_prefix_space = _spelling(tokenizer)
        stop = token_ids(stop_token_ids)
        if stop is None and getattr(tokenizer, "eos_token_id", None) is not None:
            stop = [tokenizer.eos_token_id]
        full = Tokenizer(tokenizer, stop_token_ids=stop)
        made._set(full if vocab_size is None else _of_width(full, vocab_size))
        return made

    @staticmethod
    def from_vocab_and_metadata(encoded_vocab: Sequence[Union[str, bytes]], metadata: str) -> "TokenizerInfo":
        """The tokenizer of a vocabulary and of what `dump_metadata` says of it."""
        found = read_json(metadata, ("vocab_type", "vocab_size", "add_prefix_space", "stop_token_ids"))
        return TokenizerInfo(
            encoded_vocab,
            VocabType(found["vocab_type"]),
            vocab_size=found["vocab_size"],
            stop_token_ids=found["stop_token_ids"],
            add_prefix_space=found["add_prefix_space"],
        )

    def dump_metadata(self) -> str:
        """What a tokenizer is besides its vocabulary, as JSON."""
        return json.dumps(self._metadata())

    def _metadata(self) -> dict:
        return {
            "vocab_type": self._vocab_type.value,
            "vocab_size": self.vocab_size,
            "add_prefix_space": self._add_prefix_space,
            "stop_token_ids": self.stop_token_ids,
        }

    def serialize_json(self) -> str:
        """The tokenizer as JSON, each byte of a token as the character of its number."""
        tokenizer = self.tokenizer
        tokens = [tokenizer.token_bytes(token) for token in range(self.vocab_size)]
        special = [token for token in range(self.vocab_size) if tokenizer.is_special(token)]
        return json.dumps({
            **self._metadata(),
            "tokens": [None if token is None else token.decode("latin-1") for token in tokens],
            "special_tokens": {tokenizer.token_name(token): token for token in special},
            "__VERSION__": _VERSION,
        })

    @staticmethod
    def deserialize_json(json_string: str) -> "TokenizerInfo":
        """The tokenizer that `serialize_json` has written."""
        found = read_json(json_string, ("tokens", "special_tokens", "vocab_type", "__VERSION__"))
        if found["__VERSION__"] != _VERSION:
            with raising(DeserializeVersionError):
                version = found["__VERSION__"]
                raise error(f"a tokenizer of version {version!r}", f"{_VERSION!r} is read: serialise it again")
        made = object.__new__(TokenizerInfo)
        made._vocab_type, made._add_prefix_space = VocabType(found["vocab_type"]), found["add_prefix_space"]
        made._vocab = None
        made._set(
            Tokenizer(
                [None if token is None else token.encode("latin-1") for token in found["tokens"]],
                width=found["vocab_size"],
                stop_token_ids=found["stop_token_ids"],
                special_tokens=found["special_tokens"],
            )
        )
        return made

    @property
    def vocab_size(self) -> int:
        return self.tokenizer.width

    @property
    def vocab_type(self) -> VocabType:
        return self._vocab_type

    @property
    def add_prefix_space(self) -> bool:
        return self._add_prefix_space

    @property
    def prepend_space_in_tokenization(self) -> bool:
        """The older name of `add_prefix_space`."""
        return self._add_prefix_space

    @property
    def decoded_vocab(self) -> List[bytes]:
        if self._vocab is None:
            self._vocab = [_token_text(self.tokenizer, token) for token in range(self.vocab_size)]
        return self._vocab

    @property
    def stop_token_ids(self) -> List[int]:
        return self.tokenizer.stop_token_ids

    @property
    def special_token_ids(self) -> List[int]:
        return [token for token, text in enumerate(self.decoded_vocab) if not text]


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as reason:
        raise error(f"not JSON: {reason}", "give what was serialised, as it is") from None


def read_json(text: str, names: Sequence[str]) -> dict:
    """An object with members of these names."""
    with raising(InvalidJSONError):
        found = parsed(text)
    missing = [name for name in names if not isinstance(found, dict) or name not in found]
    with raising(DeserializeFormatError):
        if missing:
            raise error(f"there is no `{missing[0]}`", "give what was serialised here, as it is")
    return found


def _spelling(tokenizer: Any) -> Tuple[VocabType, bool]:
    """The way in which a fast tokenizer writes bytes, and whether it writes a blank before a text."""
    backend = getattr(tokenizer, "backend_tokenizer", None) or getattr(tokenizer, "_tokenizer", tokenizer)
    if not hasattr(backend, "to_str"):
        return VocabType.RAW, False
    parts = json.loads(backend.to_str())
    decoder, before, normalizer = (json.dumps(parts.get(name)) for name in ("decoder", "pre_tokenizer", "normalizer"))
    if '"ByteLevel"' in decoder or '"ByteLevel"' in before:
        return VocabType.BYTE_LEVEL, '"add_prefix_space": true' in before
    blank = '"Prepend"' in normalizer or '"Metaspace"' in before and '"prepend_scheme": "never"' not in before
    is_fallback = '"ByteFallback"' in decoder or bool(parts.get("model", {}).get("byte_fallback"))
    return (VocabType.BYTE_FALLBACK if is_fallback else VocabType.RAW), blank


def _of_width(tokenizer: Tokenizer, width: int) -> Tokenizer:
    """The same for so many logits: without the tokens beyond them, as for a model that was made smaller."""
    if all(tokenizer.token_bytes(token) is None for token in range(width, tokenizer.width)):
        return Tokenizer(tokenizer, width=width)
    ids = range(width)
    special = {tokenizer.token_name(token): token for token in ids if tokenizer.is_special(token)}
    tokens = [None if tokenizer.is_special(token) else tokenizer.token_bytes(token) for token in ids]
    stop = [token for token in tokenizer.stop_token_ids if token < width]
    return Tokenizer(tokens, width=width, stop_token_ids=stop, special_tokens=special)


def _token_text(tokenizer: Tokenizer, token: int) -> bytes:
    """The bytes of a token, of a special one those of its name."""
    text = tokenizer.token_bytes(token)
    if text is not None:
        return text
    name = tokenizer.token_name(token)
    return name.encode() if tokenizer.special(name) == token else b""


def token_ids(ids: Union[int, Sequence[int], None]) -> Optional[List[int]]:
    return None if ids is None else [ids] if isinstance(ids, int) else list(ids)


#: Tokens that XGrammar takes for the end where no stop tokens are given, and other special ones.
_ENDS = (b"</s>", b"<eos>", b"<|eos|>", b"<|endoftext|>", b"<|eot_id|>", b"<|end_of_text|>", b"<end_of_turn>")
_SPECIAL = (
    *_ENDS,
    *(b"<s>", b"<bos>", b"<pad>", b"<unk>", b"<|begin_of_text|>", b"<|im_start|>", b"<|im_end|>", b"<eos_token>"),
    b"<start_of_turn>",
)


def _byte_level_letters() -> dict:
    """The letters of byte-level BPE and their bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + index): byte for index, byte in enumerate(others)}


_LETTERS = _byte_level_letters()


def _decoded(token: Union[str, bytes], vocab_type: VocabType) -> bytes:
    """The bytes of a token."""
    if isinstance(token, bytes):
        if vocab_type == VocabType.RAW:
            return token
        token = token.decode(errors="surrogateescape")
    if vocab_type == VocabType.BYTE_FALLBACK:
        if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            return bytes([int(token[3:5], 16)])
        return token.replace("\u2581", " ").encode(errors="surrogateescape")
    if vocab_type == VocabType.BYTE_LEVEL and all(letter in _LETTERS for letter in token):
        return bytes(_LETTERS[letter] for letter in token)
    return token.encode(errors="surrogateescape")
