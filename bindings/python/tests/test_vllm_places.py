"""What the plugin does in a version of vLLM whose places are others: an error that names the place, no change, and
engines with other backends go on.

    MASKWRIGHT_VLLM_MODEL=FOLDER pytest tests/test_vllm_places.py

vLLM is imported in a process of its own, since a plugin that was registered stays.
"""

import os
import subprocess
import sys

import pytest

if not os.environ.get("MASKWRIGHT_VLLM_MODEL"):
    pytest.skip("MASKWRIGHT_VLLM_MODEL is not set", allow_module_level=True)
pytest.importorskip("vllm")

PROGRAM = '''
import logging
from typing import get_args

import vllm.config.structured_outputs as config
import vllm.v1.structured_output.backend_types as types
from vllm.entrypoints.generate.beam_search.offline import BeamSearchOfflineMixin
from vllm.plugins import load_general_plugins
from vllm.sampling_params import SamplingParams
from vllm.v1.sample.logits_processor import _load_logitsprocs_plugins
from vllm.v1.structured_output import StructuredOutputManager

logged = []
handler = logging.Handler()
handler.emit = lambda record: logged.append(record.getMessage())
logging.getLogger("vllm.maskwright").addHandler(handler)

original = SamplingParams.verify
SamplingParams.verify = lambda self, config: None
load_general_plugins()
assert any("`SamplingParams.verify`" in line for line in logged), logged
assert "maskwright" not in get_args(config.StructuredOutputsBackend)
# An entry point of the one interface would end engines that have the other.
assert not [cls for cls in _load_logitsprocs_plugins() if cls.__module__.startswith("maskwright")]

import maskwright.vllm

def refuses(place):
    try:
        maskwright.vllm.register()
    except RuntimeError as error:
        assert f"`{place}`" in str(error), (place, error)
        assert "maskwright" not in get_args(config.StructuredOutputsBackend)
        return
    raise AssertionError(f"registers without {place}")

refuses("SamplingParams.verify")
SamplingParams.verify = original

def other(self, *args):
    pass

for cls, name in [
    (SamplingParams, "verify"),
    (SamplingParams, "_validate_structured_outputs"),
    (StructuredOutputManager, "grammar_init"),
    (BeamSearchOfflineMixin, "_init_beam_search_structured_output"),
    (types.StructuredOutputBackend, "compile_grammar"),
    (types.StructuredOutputGrammar, "fill_bitmask"),
]:
    kept = vars(cls)[name]
    setattr(cls, name, other)
    refuses(f"{cls.__name__}.{name}")
    setattr(cls, name, kept)

kept = types.StructuredOutputGrammar.__abstractmethods__
types.StructuredOutputGrammar.__abstractmethods__ = kept | {"jump_forward"}
refuses("StructuredOutputGrammar")
types.StructuredOutputGrammar.__abstractmethods__ = kept

maskwright.vllm.register()
assert "maskwright" in get_args(config.StructuredOutputsBackend)
print("all is as it should be")
'''


def test_other_places_are_refused():
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0 and "all is as it should be" in run.stdout, run.stdout + run.stderr
