"""Tokenizers of mistral_common, as vLLM holds them for Mistral's own models. The package is not installed: its classes
are stood in for by ones with the same interface."""

import enum
import importlib.util
import sys
import types

import pytest

import maskwright
from maskwright import Compiler, Tokenizer

TEXT = '{"name": "Zoë"}'
NAMES = ["<unk>", "<s>", "</s>", "[INST]"]
TEXTS = [*(bytes([byte]) for byte in range(256)), b'{"', b'": ']


class Policy(enum.Enum):
    IGNORE = 0
    KEEP = 1


class Tekkenizer:
    num_special_tokens, n_words, eos_id = len(NAMES), len(NAMES) + len(TEXTS), 2

    def id_to_piece(self, token_id):
        return NAMES[token_id] if token_id < len(NAMES) else TEXTS[token_id - len(NAMES)].decode(errors="replace")

    def id_to_byte_piece(self, token_id, special_token_policy=None):
        assert special_token_policy is Policy.KEEP, "a call that warns"
        return TEXTS[token_id - len(NAMES)]

    def encode(self, s, bos, eos):
        return [1] * bos + [byte + len(NAMES) for byte in s.encode()] + [2] * eos


class OldTekkenizer(Tekkenizer):
    def id_to_byte_piece(self, token_id):
        return TEXTS[token_id - len(NAMES)]


@pytest.fixture(autouse=True)
def package(monkeypatch):
    names = ["mistral_common", "mistral_common.tokens", "mistral_common.tokens.tokenizers"]
    for name in [*names, names[-1] + ".base"]:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules[names[-1] + ".base"].SpecialTokenPolicy = Policy


def vllm_s(inner):
    """vLLM's `MistralTokenizer`."""
    return types.SimpleNamespace(tokenizer=inner, instruct=None, eos_token_id=inner.eos_id, is_fast=True)


@pytest.mark.parametrize("inner", [Tekkenizer(), OldTekkenizer()], ids=lambda inner: type(inner).__name__)
def test_tekken(inner):
    transformers_s = types.SimpleNamespace(
        tokenizer=types.SimpleNamespace(instruct_tokenizer=types.SimpleNamespace(tokenizer=inner))
    )
    for source in (inner, vllm_s(inner), transformers_s):
        tokenizer = Tokenizer(source, width=512)
        assert (tokenizer.width, tokenizer.stop_token_ids, tokenizer.special("[INST]")) == (512, [2], 3)
        assert tokenizer.token_bytes(260) == b'{"' and tokenizer.is_special(0)
        ids = tokenizer.encode(TEXT)
        assert ids == inner.encode(TEXT, False, False) and tokenizer.decode(ids) == TEXT.encode()
        matcher = Compiler(tokenizer).json_object().matcher()
        assert matcher.accept_tokens([260, *ids[2:], 2]) and matcher.is_terminated


def test_sentencepiece():
    class Processor:
        pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581a", "b", "unused"]
        get_piece_size = lambda self: len(self.pieces)
        id_to_piece = lambda self, token: self.pieces[token]
        is_control = lambda self, token: token in (1, 2)
        is_unknown = lambda self, token: token == 0
        is_byte = lambda self, token: 3 <= token < 259
        is_unused = lambda self, token: token == 261

    inner = types.SimpleNamespace(_model=Processor(), eos_id=2)
    inner.encode = lambda text, bos, eos: [byte + 3 for byte in (" " + text).encode()]
    tokenizer = Tokenizer(vllm_s(inner))
    assert (tokenizer.width, tokenizer.stop_token_ids, tokenizer.special("<s>")) == (262, [2], 1)
    assert [tokenizer.token_bytes(token) for token in (13, 259, 260, 261)] == [b"\n", b" a", b"b", None]
    # Without the blank that is put before a first word.
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT.encode()


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed, and not stood in for")
def test_an_unknown_tokenizer_is_an_error_of_the_request(monkeypatch):
    """Raised as vLLM's error, which is an answer to the client."""

    class VLLMValidationError(ValueError):
        def __init__(self, message, parameter=None):
            super().__init__(message)

    names = ("VLLMValidationError", "init_logger", "check_json_nesting", "StructuredOutputBackend",
             "StructuredOutputGrammar", "StructuredOutputOptions", "get_structured_output_key")
    stand_in = types.ModuleType("vllm")
    for name in names:
        setattr(stand_in, name, type(name, (), {"__init__": lambda self, *arguments, **named: None}))
    stand_in.VLLMValidationError = VLLMValidationError
    stand_in.get_structured_output_key = lambda wanted: ("regex", "a")
    modules = ["exceptions", "logger", "sampling_params", "v1", "v1.structured_output",
               "v1.structured_output.backend_types", "v1.structured_output.request"]
    for name in ["vllm", *(f"vllm.{name}" for name in modules)]:
        monkeypatch.setitem(sys.modules, name, stand_in)
    if importlib.util.find_spec("torch") is None:
        monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    # Without its `register`, which changes a host that is not there.
    package = types.ModuleType("maskwright.vllm")
    package.__path__ = [f"{maskwright.__path__[0]}/vllm"]
    package.NAME = package.OPTION = "maskwright"
    monkeypatch.setitem(sys.modules, "maskwright.vllm", package)
    from maskwright.vllm import backend

    for name in ("backend", "compilers"):
        del sys.modules[f"maskwright.vllm.{name}"]
    monkeypatch.setattr(backend, "check_fields", lambda wanted: None)
    monkeypatch.setattr(backend, "compile_request", lambda compiler, *request: compiler.regex("a"))
    params = types.SimpleNamespace(structured_outputs=types.SimpleNamespace(_backend=None), all_stop_token_ids={2})
    model = types.SimpleNamespace(is_diffusion=False, get_vocab_size=lambda: 512)
    backend.check_request(params, model, vllm_s(Tekkenizer()))
    with pytest.raises(VLLMValidationError, match="object is no tokenizer"):
        backend.check_request(params, model, object())
