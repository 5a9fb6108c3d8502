"""vLLM: the structured-output backend `maskwright`, and a logits processor.

```sh
pip install maskwright
vllm serve MODEL --structured-outputs-config '{"backend": "maskwright"}'
```

`response_format`, tools, `structured_outputs` (`json`, `json_object`, `regex`, `choice`, `grammar`, `structural_tag`),
stop ids of requests, speculative decoding and beams work as with other backends; a schema that cannot be enforced
exactly is a 400 of its request alone. Settings of the compiler (whitespace and so on) are the JSON of the environment
variable `MASKWRIGHT_SETTINGS`, such as `{"whitespace": "compact"}`. Where ranks each compile for themselves (the logits
processor with several of them, `external_launcher`) there are no limits of time: one that reached one alone would part from
the others.

vLLM (0.32, 0.33) has no registry of backends, so that `plugin`, which vLLM calls in each process
(`vllm.general_plugins`), changes four places by `register`:

| place | change |
|---|---|
| `StructuredOutputsConfig.backend` | the name is legal |
| `SamplingParams.verify` | constraints are compiled here, so that errors are of the request |
| `StructuredOutputManager.grammar_init` | makes the backend |
| `BeamSearchOfflineMixin._init_beam_search_structured_output` | makes the backend |

Each is looked at before any is changed, and so are the methods of vLLM's interface of backends. A version of vLLM in
which one is another gets no change: `register` raises an error that names the place, `plugin` logs it, engines with
other backends run, and one with `maskwright` does not start.
`LLM(structured_outputs_config={"backend": "maskwright"})` reads its configuration before vLLM loads plugins:
`import maskwright.vllm` first, which registers.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import Any, Literal, get_args

#: The name of the backend.
NAME = "maskwright"

#: The option of a request (`SamplingParams.extra_args`, `vllm_xargs` over HTTP) for the logits processor.
OPTION = "maskwright"


def register() -> None:
    """Adds the backend to vLLM. May be called any number of times.

    Errors (`RuntimeError`) where a place that it changes is not what it was, and changes nothing then.
    """
    try:
        import vllm.config.structured_outputs as config
        from vllm.entrypoints.generate.beam_search.offline import BeamSearchOfflineMixin
        from vllm.sampling_params import SamplingParams
        from vllm.v1.structured_output import StructuredOutputManager
        from vllm.v1.structured_output.backend_types import StructuredOutputBackend, StructuredOutputGrammar
    except ImportError as failure:
        raise _refusal(failure.name or str(failure)) from failure

    names = get_args(getattr(config, "StructuredOutputsBackend", None))
    if NAME in names:
        return
    beam = "_init_beam_search_structured_output"
    _check("xgrammar" in names, "StructuredOutputsBackend")
    fields = {field.name for field in dataclasses.fields(config.StructuredOutputsConfig)}
    _check("backend" in fields, "StructuredOutputsConfig.backend")
    parameters = ("self", "model_config", "speculative_config", "structured_outputs_config", "tokenizer")
    # `verify` without a configuration is to look at all parameters but the structured outputs.
    _check_method(SamplingParams, "verify", parameters, "self._validate_structured_outputs(")
    parameters = ("self", "model_config", "structured_outputs_config", "tokenizer")
    skips = "if structured_outputs_config is None or self.structured_outputs is None:\n            return"
    _check_method(SamplingParams, "_validate_structured_outputs", parameters, skips)
    _check_method(StructuredOutputManager, "grammar_init", ("self", "request"), "self.backend is None")
    _check_method(BeamSearchOfflineMixin, beam, ("self", "structured_outputs", "tokenizer"))
    _check_interface(StructuredOutputBackend, _BACKEND)
    _check_interface(StructuredOutputGrammar, _GRAMMAR)

    _change_config(config)
    _change_verify(SamplingParams)
    _change_grammar_init(StructuredOutputManager)
    _change_beam_search(BeamSearchOfflineMixin, beam)


def plugin() -> None:
    """vLLM's entry point: `register`, or a line in the log that says why not.

    An exception would end every engine, also those with another backend. An engine that asks for this one does not
    start, since its name is not known.
    """
    from vllm.logger import init_logger

    try:
        register()
    except Exception as failure:
        init_logger("vllm.maskwright").error("%s", failure)


def _refusal(place: str) -> RuntimeError:
    import vllm

    return RuntimeError(
        f"maskwright cannot be a backend of vLLM {vllm.__version__}: `{place}` is not what it was in 0.32 and 0.33; "
        "use one of these, or maskwright's logits processor"
    )


def _check(holds: bool, place: str) -> None:
    if not holds:
        raise _refusal(place)


def _check_method(cls: type, name: str, parameters: tuple, source: str = "") -> None:
    method = vars(cls).get(name)
    place = f"{cls.__name__}.{name}"
    _check(inspect.isfunction(method), place)
    _check(tuple(inspect.signature(method).parameters) == parameters, place)
    _check(source in inspect.getsource(method), place)


#: The methods of vLLM's two interfaces, with their parameters after `self`.
_BACKEND = {
    "compile_grammar": ("request_type", "grammar_spec", "stop_token_ids"),
    "allocate_token_bitmask": ("max_num_seqs",),
    "destroy": (),
}
_GRAMMAR = {
    "accept_tokens": ("request_id", "tokens"),
    "validate_tokens": ("tokens",),
    "rollback": ("num_tokens",),
    "fill_bitmask": ("bitmask", "batch_index"),
    "is_terminated": (),
    "reset": (),
}


def _check_interface(cls: type, methods: dict) -> None:
    """Checks that the host calls just these methods: another one would fail at the first request."""
    _check(set(cls.__abstractmethods__) == set(methods), cls.__name__)
    for name, parameters in methods.items():
        _check_method(cls, name, ("self", *parameters))


def _change_config(config: Any) -> None:
    from pydantic.dataclasses import rebuild_dataclass
    from vllm.config.vllm import VllmConfig

    cls = config.StructuredOutputsConfig
    names = Literal[(*get_args(config.StructuredOutputsBackend), NAME)]
    config.StructuredOutputsBackend = cls.__annotations__["backend"] = names
    for field in dataclasses.fields(cls):
        if field.name == "backend":
            field.type = names
    rebuild_dataclass(cls, force=True)
    rebuild_dataclass(VllmConfig, force=True)  # holds a compiled copy of the other's validation


def _change_verify(cls: type) -> None:
    original = cls.verify

    @functools.wraps(original)
    def verify(self, model_config, speculative_config, structured_outputs_config, tokenizer):
        from .backend import check_options, check_request

        check_options(self, model_config, speculative_config, tokenizer)
        ours = structured_outputs_config is not None and structured_outputs_config.backend == NAME
        if not ours or self.structured_outputs is None:
            return original(self, model_config, speculative_config, structured_outputs_config, tokenizer)
        # Without a configuration the host looks at all parameters but these.
        original(self, model_config, speculative_config, None, tokenizer)
        check_request(self, model_config, tokenizer)

    cls.verify = verify


def _change_grammar_init(cls: type) -> None:
    original = cls.grammar_init

    @functools.wraps(original)
    def grammar_init(self, request):
        params = request.sampling_params and request.sampling_params.structured_outputs
        if request.structured_output_request is not None and self.backend is None and params is not None:
            if params._backend == NAME:
                from .backend import MaskwrightBackend

                width = self.vllm_config.model_config.get_vocab_size()
                self.backend = MaskwrightBackend(self.vllm_config, tokenizer=self.tokenizer, vocab_size=width)
                self.backend_name = NAME
        return original(self, request)

    cls.grammar_init = grammar_init


def _change_beam_search(cls: type, name: str) -> None:
    original = getattr(cls, name)

    @functools.wraps(original)
    def init(self, structured_outputs, tokenizer):
        config = self.llm_engine.vllm_config
        if (structured_outputs._backend or config.structured_outputs_config.backend) != NAME:
            return original(self, structured_outputs, tokenizer)
        from vllm.v1.structured_output.request import get_structured_output_key

        from .backend import BeamBackend, check_fields

        check_fields(structured_outputs)
        structured_outputs._backend = NAME
        width = self.model_config.get_vocab_size()
        backend = BeamBackend(config, tokenizer=tokenizer, vocab_size=width)
        return backend, get_structured_output_key(structured_outputs), backend.allocate_token_bitmask(1)

    setattr(cls, name, init)


def _register_on_import() -> None:
    """Registers where vLLM is installed, so that an import is enough before `LLM(…)`."""
    import importlib.util

    if importlib.util.find_spec("vllm") is not None:
        plugin()


_register_on_import()
