"""A client of OpenAI's chat completions over HTTP that notes when each piece of an answer came.

`Server` starts the server that is measured and reads its memory and processor time from /proc; `ask` sends one
request and returns an `Answer`. Standard library alone, so that nothing is installed beside the server.
"""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field

# Each is one token with the space before it in the vocabularies of Llama 3 and GPT-2.
WORDS = """time people way water day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point home room
mother area money story fact month lot right study book eye job word business issue side kind head house service
friend father power hour game line end member law car city community name president team minute idea body""".split()


def words(count, seed):
    """A prompt of about `count` tokens, of its own for every seed."""
    draw = random.Random(seed)
    return " ".join([str(draw.randrange(100, 1000)), *draw.choices(WORDS, k=max(count - 2, 1))])


@dataclass
class Answer:
    """One answer, with times in seconds of `time.perf_counter`."""

    sent: float
    arrivals: list = field(default_factory=list)  # When each piece of text came.
    end: float = 0.0
    texts: dict = field(default_factory=dict)  # By the choice's index.
    logprobs: dict = field(default_factory=dict)
    finish: str = ""
    tokens: int = 0  # As the server counts them; 0 if the answer was cut off.
    prompt_tokens: int = 0
    status: int = 0
    error: str = ""
    schema: object = None  # That of its constraint, if it has one.

    @property
    def text(self):
        """The text of the first choice."""
        return self.texts.get(0, "")

    @property
    def first(self):
        """Time to the first text."""
        return self.arrivals[0] - self.sent if self.arrivals else None

    def is_refused(self):
        """Whether the server does not do what was asked, by its status or the error in a stream."""
        return self.status == 400 or '"code": 400' in self.error

    def gaps(self):
        """Times between pieces of text: inter-token latencies where each token has a piece."""
        return [later - earlier for earlier, later in zip(self.arrivals, self.arrivals[1:])]


class Server:
    """A server under measurement: started by `command`, or already running (no command)."""

    def __init__(self, url, model, command=(), environment=None):
        self.host, _, port = url.removeprefix("http://").partition(":")
        self.port = int(port)
        self.process = None
        log = f"{tempfile.gettempdir()}/server-{self.port}.log"
        if command:
            with open(log, "w") as file:
                environment = {**os.environ, **(environment or {})}
                self.process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        self.wait(log)
        self.model = model or json.loads(self.get("/v1/models"))["data"][0]["id"]

    def wait(self, log, seconds=300):
        for _ in range(10 * seconds):
            if self.process and self.process.poll() is not None:
                raise SystemExit(f"the server ended with status {self.process.returncode}; see {log}")
            if self.get("/health") is not None:
                return
            time.sleep(0.1)
        raise SystemExit(f"no server at {self.host}:{self.port} after {seconds} s; see {log}")

    def get(self, path):
        """The body of a page, or `None` where there is none."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.port}{path}", timeout=5) as reply:
                return reply.read().decode()
        except (OSError, urllib.error.HTTPError):
            return None

    def metrics(self):
        """The figures of `/metrics` by name and labels; none where the server has no such page."""
        lines = (self.get("/metrics") or "").splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(number) for name, number in pairs}

    def pids(self):
        """The server's process and all that it started."""
        found = [self.process.pid] if self.process else []
        for pid in found:
            try:
                for task in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{task}/children") as file:
                        found += map(int, file.read().split())
            except OSError:
                continue
        return found

    def rss(self):
        """Resident memory in MB."""
        return sum(self._status(pid, "VmRSS:") for pid in self.pids()) / 1024

    @staticmethod
    def _status(pid, key):
        try:
            with open(f"/proc/{pid}/status") as file:
                return sum(int(line.split()[1]) for line in file if line.startswith(key))
        except OSError:
            return 0

    def cpu(self):
        """Processor seconds that the server has used."""
        ticks = 0
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                    ticks += int(fields[11]) + int(fields[12])
            except OSError:
                continue
        return ticks / os.sysconf("SC_CLK_TCK")

    def signal(self, number):
        """Sends a signal to all processes, such as SIGSTOP, so that a server that waits takes no time."""
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self):
        if self.process:
            self.signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()


def machine_cpu():
    """Processor seconds that the whole machine has used: what others do beside a measurement."""
    with open("/proc/stat") as file:
        user, nice, system = map(int, file.readline().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


async def _body(reader, head):
    """The pieces of a response's body as they come."""
    if b"transfer-encoding: chunked" not in head.lower():
        while piece := await reader.read(65536):
            yield piece
        return
    while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
        yield (await reader.readexactly(size + 2))[:-2]


async def ask(server, prompt, answer=None, **settings):
    """One streamed request. `answer` is filled in place, so that a cancelled one keeps what came."""
    answer = answer or Answer(0.0)
    request = {
        "model": server.model,
        "messages": [{"role": "user", "content": prompt}],
        "stream": True,
        "stream_options": {"include_usage": True},
        **settings,
    }
    body = json.dumps(request).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    answer.sent = time.perf_counter()
    writer = None
    try:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(head.encode() + body)
        head = await reader.readuntil(b"\r\n\r\n")
        answer.status = int(head.split()[1])
        rest = b""
        async for piece in _body(reader, head):
            now = time.perf_counter()
            rest += piece
            if answer.status != 200:
                continue
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if line.startswith(b"data: {"):
                    _read(answer, json.loads(line[6:]), now)
        if answer.status != 200:
            answer.error = rest.decode(errors="replace")[:300]
        elif not answer.tokens and not answer.error:
            answer.error = "the stream ended early"
    except (OSError, EOFError, ValueError, IndexError) as error:
        answer.error = answer.error or repr(error)
    finally:
        answer.end = time.perf_counter()
        if writer:
            writer.close()
    return answer


def _read(answer, event, now):
    """Takes one event of a stream."""
    if "error" in event:
        answer.error = json.dumps(event["error"])[:300]
    for choice in event.get("choices", []):
        text, index = choice.get("delta", {}).get("content"), choice["index"]
        if text:
            answer.arrivals.append(now)
            answer.texts[index] = answer.texts.get(index, "") + text
        if told := choice.get("logprobs"):
            answer.logprobs.setdefault(index, []).extend(told["content"])
        answer.finish = choice.get("finish_reason") or answer.finish
    if usage := event.get("usage"):
        answer.tokens, answer.prompt_tokens = usage["completion_tokens"], usage["prompt_tokens"]
