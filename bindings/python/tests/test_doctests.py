"""The examples of the documentation run."""

import doctest
import importlib
import pathlib

import pytest

import maskwright

MODULES = ["maskwright", "maskwright._errors", "maskwright._schemas", "maskwright._tokenizer", "maskwright._compiler"]
PAGES = [page for page in ("README.md", "../../docs/python.md")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_modules(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0 and results.failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_pages(page):
    path = pathlib.Path(__file__).parent.parent / page
    results = doctest.testfile(str(path), module_relative=False)
    assert results.attempted > 0 and results.failed == 0
