"""Shared folders and tokenizers. Tests that need real tokenizers take their folder from MASKWRIGHT_SHARED;
without it they say that they were skipped, with it a missing file is a failure."""

import os
import pathlib

import pytest

import maskwright


@pytest.fixture(scope="session")
def shared():
    folder = os.environ.get("MASKWRIGHT_SHARED")
    if not folder:
        pytest.skip("MASKWRIGHT_SHARED is not set")
    return pathlib.Path(folder)


@pytest.fixture(scope="session")
def bytes_tokenizer():
    return maskwright.Tokenizer.of_bytes()


@pytest.fixture(scope="session")
def compiler(bytes_tokenizer):
    return maskwright.Compiler(bytes_tokenizer)


@pytest.fixture(scope="session")
def gpt2(shared):
    return maskwright.Tokenizer(shared / "tokenizers/gpt2")
