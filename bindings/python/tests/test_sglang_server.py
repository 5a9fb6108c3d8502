"""The backend in a server of SGLang on the CPU, found by its entry point, without and with drafts from n-grams.

    MASKWRIGHT_SGLANG_SERVER=1 pytest tests/test_sglang_server.py

Starts the server twice, some 30 s of one core each. The kernels that it wants and that no registry has are the
stand-ins in `hosts/sglang_cpu`, which are on the server's path alone. A wheel of the package must be installed (or its
unpacked folder on PYTHONPATH), so that the server finds the plugin. SGLang compiles its store of n-grams once, with ninja.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

if not os.environ.get("MASKWRIGHT_SGLANG_SERVER"):
    pytest.skip("MASKWRIGHT_SGLANG_SERVER is not set", allow_module_level=True)

import maskwright
from stories import stories

PROMPT = "Once upon a time, there was"
CHOICES = ["a red ball", "a little girl", "blue", "the dog"]
TEMPLATE = "{% for message in messages %}{{ message.content }} {% endfor %}"
OPTIONS = (
    "--device cpu --dtype float32 --attention-backend torch_native --sampling-backend pytorch --disable-cuda-graph "
    "--max-total-tokens 2048 --max-running-requests 8 --skip-server-warmup --grammar-backend maskwright --log-level warning"
)
DRAFTS = (
    "--speculative-algorithm NGRAM --speculative-num-draft-tokens 4 --speculative-ngram-max-bfs-breadth 1 "
    "--disable-overlap-schedule"
)
SCHEMAS = [
    {"type": "object", "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer", "minimum": 0, "maximum": 99}},
     "required": ["ok", "n"], "additionalProperties": False},
    {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    {"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
]


class Server:
    def __init__(self, folder, drafts):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        (folder / "chat.jinja").write_text(TEMPLATE)
        stand_ins = str(pathlib.Path(__file__).parent / "hosts/sglang_cpu")
        path = os.pathsep.join(filter(None, [stand_ins, os.environ.get("PYTHONPATH")]))
        command = [
            sys.executable, "-m", "sglang.launch_server", "--model-path", str(folder), "--served-model-name", "m",
            "--host", "127.0.0.1", "--port", self.url.rsplit(":", 1)[1], "--chat-template", str(folder / "chat.jinja"),
            *OPTIONS.split(), *(DRAFTS.split() if drafts else []),
        ]
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True,
            env={**os.environ, "PYTHONPATH": path, "SGLANG_USE_CPU_ENGINE": "1", "HF_HUB_OFFLINE": "1",
                 "OMP_NUM_THREADS": "1", "PATH": os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])},
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
        request = urllib.request.Request(self.url + path, json.dumps(fields).encode(), {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def generate(self, prompts, parameters):
        """Texts, and what the host says of them."""
        status, answer = self.post("/generate", text=prompts, sampling_params=parameters)
        assert status == 200, answer
        return [(row["text"], row["meta_info"]) for row in json.loads(answer)]


@pytest.fixture(scope="module", params=["plain", "drafts"])
def server(request, shared, tmp_path_factory):
    made = Server(stories(shared, tmp_path_factory.mktemp("models")), request.param == "drafts")
    made.drafts = request.param == "drafts"
    yield made
    made.stop()


def hot(**constraint):
    return {"temperature": 1.0, "max_new_tokens": 100, **constraint}


def test_kinds_in_one_batch(server):
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "content": {
        "type": "json_schema", "json_schema": {"type": "boolean"}}, "end": "</a>"}}
    cases = [
        (hot(regex="(" + "|".join(CHOICES) + ")"), lambda text: text in CHOICES),
        (hot(regex=r"\d{3}-[a-c]{2}"), lambda text: re.fullmatch(r"\d{3}-[a-c]{2}", text)),
        (hot(ebnf='root ::= "yes" | "no" root?'), lambda text: re.fullmatch("(no)*(yes|no)", text)),
        (hot(ebnf='start: "x" | "y"'), lambda text: text in ("x", "y")),
        (hot(structural_tag=json.dumps(tag)), lambda text: text in ("<a>true</a>", "<a>false</a>")),
        ({"temperature": 0, "max_new_tokens": 12}, lambda text: len(text) > 12),
    ]
    cases += [
        (hot(json_schema=json.dumps(schema)), lambda text, schema=schema: maskwright.check(schema, text))
        for schema in SCHEMAS
    ]
    answers = server.generate([PROMPT] * len(cases), [parameters for parameters, _ in cases])
    for (parameters, holds), (text, told) in zip(cases, answers):
        reason = "length" if "regex" not in parameters and parameters["temperature"] == 0 else "stop"
        assert holds(text) and told["finish_reason"]["type"] == reason, (parameters, text, told)


def test_free_text_is_the_same_beside_constrained_text(server):
    free = {"temperature": 0, "max_new_tokens": 20}
    alone = server.generate([PROMPT], [free])[0][0]
    beside = server.generate([PROMPT] * 4, [free, hot(regex="(blue|the dog)")] * 2)
    assert [beside[0][0], beside[2][0]] == [alone, alone]
    assert {beside[1][0], beside[3][0]} <= {"blue", "the dog"}


def test_bad_grammars_are_of_their_request(server):
    for bad, place in [
        ({"json_schema": '{"type": "strin"}'}, "/type"),
        ({"regex": "(a"}, ""),
        ({"ebnf": "root ::= x"}, "x"),
    ]:
        status, answer = server.post("/generate", text=PROMPT, sampling_params=hot(**bad))
        assert status == 400 and place in answer, (bad, status, answer)
    assert server.generate([PROMPT], [hot(regex="(blue|the dog)")])[0][0] in ("blue", "the dog")


def test_chat_completions(server):
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMAS[0]}}
    asked = {"model": "m", "messages": [{"role": "user", "content": "Once"}], "max_tokens": 60, "temperature": 0}
    status, answer = server.post("/v1/chat/completions", response_format=schema, **asked)
    assert status == 200, answer
    whole = json.loads(answer)["choices"][0]
    assert whole["finish_reason"] == "stop" and maskwright.check(SCHEMAS[0], whole["message"]["content"]), whole
    status, stream = server.post("/v1/chat/completions", response_format=schema, stream=True, **asked)
    chunks = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    pieces = [chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"]]
    assert "".join(pieces) == whole["message"]["content"] and len(pieces) > 3, stream
    broken = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "strin"}}}
    status, answer = server.post("/v1/chat/completions", response_format=broken, **asked)
    assert status == 400 and "/type" in answer, (status, answer)


def test_equal_requests_at_once(server):
    pattern = "(" + "|".join(f"word {index}" for index in range(200)) + ")"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.generate([PROMPT], [hot(regex=pattern)]), range(8)))
    assert all(re.fullmatch(r"word \d{1,3}", answer[0][0]) for answer in answers), answers


def test_drafts_are_accepted_and_rolled_back(server):
    choices = ["a red ball. a red ball. a red ball. the end", "a red ball. a red ball. a blue ball."]
    pattern = "(" + "|".join(map(re.escape, choices)).replace("\\ ", " ") + ")"
    prompt = "the ball. a red ball. a red ball. a red ball."
    greedy = {"temperature": 0, "max_new_tokens": 60, "regex": pattern}
    for text, told in server.generate([prompt] * 3, [greedy] * 3):
        assert text in choices, text
        if server.drafts:
            # Fewer passes than tokens: drafts were taken; more than if all had been: some were not.
            passes, tokens = told["spec_verify_ct"], told["completion_tokens"]
            assert tokens / 4 < passes < tokens, told
