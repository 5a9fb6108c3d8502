"""The official `openai` client against `maskwright serve`.

    python tests/openai_client.py target/debug/maskwright

Needs Python 3.9 or later and the packages `openai` and `jsonschema`;
`tests/openai_client.sh` makes a virtual environment that has them. Starts the server itself, on a
free port, with the embedded model.
"""

import asyncio
import json
import pathlib
import re
import subprocess
import sys
import threading
from typing import Literal

import httpx
import jsonschema
import openai
import pydantic

KEY = "secret"
PROMPT = "Ada Lovelace, 36, lives in London and writes to ada@example.org."
ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "examples/schemas/person.json").read_text())
MESSAGES = [
    {"role": "system", "content": "Extract the fields."},
    {"role": "user", "content": [{"type": "text", "text": PROMPT}]},
]
FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "person", "strict": True, "schema": SCHEMA},
}


def start(binary, model):
    """Starts the server; returns its process and its base URL."""
    server = subprocess.Popen(
        [binary, "serve", "--model", model, "--port", "0", "--api-key", KEY],
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in server.stderr:
        if found := re.search(r"http://\S+/v1\b", line):
            # Whatever else the server says must not fill the pipe.
            threading.Thread(target=server.stderr.read, daemon=True).start()
            return server, found.group()
    raise SystemExit(f"the server ended with {server.wait()} before it listened")


def check_json_schema(client, model):
    answer = client.chat.completions.create(
        model=model,
        messages=MESSAGES,
        response_format=FORMAT,
        temperature=0,
        max_tokens=200,
        user="test",
    )
    choice = answer.choices[0]
    assert choice.finish_reason == "stop", answer
    assert choice.message.role == "assistant"
    jsonschema.validate(json.loads(choice.message.content), SCHEMA)
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.usage.completion_tokens_details.reasoning_tokens == 0
    return choice.message.content


def check_stream(client, model, expected):
    stream = client.chat.completions.create(
        model=model,
        messages=MESSAGES,
        response_format=FORMAT,
        temperature=0,
        max_completion_tokens=200,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert len(chunks) > 3, "the text comes in pieces"
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == expected, f"streamed {text!r}, whole {expected!r}"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens > 0


def check_sampling(client, model):
    def draw(seed):
        answer = client.chat.completions.create(
            model=model,
            messages=MESSAGES,
            response_format=FORMAT,
            temperature=1.2,
            top_p=0.9,
            frequency_penalty=0.1,
            presence_penalty=-0.1,
            seed=seed,
            n=2,
            max_tokens=300,
            extra_body={"top_k": 50, "min_p": 0.01, "repetition_penalty": 1.05},
        )
        return [choice.message.content for choice in answer.choices if choice.finish_reason == "stop"]

    texts = draw(7)
    assert texts == draw(7), "one seed, one answer"
    for text in texts:
        jsonschema.validate(json.loads(text), SCHEMA)


def check_json_object(client, model):
    for seed in range(5):
        answer = client.chat.completions.create(
            model=model,
            messages=MESSAGES,
            response_format={"type": "json_object"},
            temperature=0.7,
            seed=seed,
            max_tokens=400,
        )
        if answer.choices[0].finish_reason == "stop":
            assert isinstance(json.loads(answer.choices[0].message.content), dict)
            return
    raise AssertionError("no JSON object ended within its limit")


def check_constraints(client, model):
    """What vLLM's and llama.cpp's users send beside OpenAI's fields."""
    ab = 'root ::= "a" [0-9]{2}'
    for extra, pattern in [
        ({"structured_outputs": {"regex": r"\d{4}-\d{2}"}}, r"\d{4}-\d{2}"),
        ({"structured_outputs": {"choice": ["yes", "no"]}}, "yes|no"),
        ({"structured_outputs": {"json": {"enum": [1, 2]}}}, "1|2"),
        ({"structured_outputs": {"grammar": ab}}, r"a\d\d"),
        (
            {"structured_outputs": {"allOf": [{"regex": "[ab]"}, {"not": {"choice": ["a"]}}]}},
            "b",
        ),
        ({"guided_regex": "[xy]{3}"}, "[xy]{3}"),
        ({"guided_choice": ["yes", "no"]}, "yes|no"),
        ({"guided_json": {"enum": [1, 2]}}, "1|2"),
        ({"guided_grammar": ab}, r"a\d\d"),
        ({"grammar": ab}, r"a\d\d"),
        ({"json_schema": {"enum": [1, 2]}}, "1|2"),
    ]:
        answer = client.chat.completions.create(
            model=model, messages=MESSAGES, temperature=0, extra_body=extra
        )
        text = answer.choices[0].message.content
        assert re.fullmatch(pattern, text), (extra, text)


def check_models(client, model):
    assert [entry.id for entry in client.models.list()] == [model]
    assert client.models.retrieve(model).id == model


def check_errors(client, model, url):
    def refused(kind, param, **fields):
        try:
            client.chat.completions.create(**{"model": model, "messages": MESSAGES, **fields})
        except kind as error:
            assert error.param == param, error
            assert error.type == "invalid_request_error", error
            return
        raise AssertionError(f"{param} was accepted: {fields}")

    schema = "response_format.json_schema.schema"
    broken = {"type": "object", "properties": {"a": {"type": "sting"}}}
    named = {"name": "x", "schema": broken}
    bad, missing = openai.BadRequestError, openai.NotFoundError
    refused(bad, schema, response_format={"type": "json_schema", "json_schema": named})
    refused(bad, schema, response_format={"type": "json_schema", "json_schema": named}, stream=True)
    refused(bad, "temperature", temperature=-1)
    refused(bad, "logit_bias", logit_bias={"300000": 1})
    refused(bad, "messages", messages=[{"role": "user", "content": "word " * 5000}])
    refused(bad, "max_tokens", max_tokens=0)
    refused(bad, "top_logprobs", top_logprobs=2)
    refused(bad, "best_of", extra_body={"best_of": 0})
    refused(bad, "messages[0].role", messages=[{"role": "critic", "content": ""}])
    # Where the client does not write it, it is a slip.
    refused(bad, "messages[0].parsed", messages=[{"role": "user", "content": "", "parsed": {}}])
    refused(bad, "messages[0].tool_call_id", messages=[{"role": "tool", "content": ""}])
    tool = {"type": "function", "function": {"name": "f"}}
    named = {"type": "function", "function": {"name": "g"}}
    refused(bad, "tool_choice.function.name", tools=[tool], tool_choice=named)
    refused(missing, "model", model="gpt-4o")
    try:
        openai.OpenAI(base_url=url, api_key="wrong", max_retries=0).models.list()
    except openai.AuthenticationError as error:
        assert error.code == "invalid_api_key"
    else:
        raise AssertionError("a wrong key was accepted")


def check_tools(client, model):
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 9}},
        "required": ["city"],
        "additionalProperties": False,
    }
    weather = {"name": "get_weather", "description": "The weather.", "parameters": parameters}
    tools = [
        {"type": "function", "function": {**weather, "strict": True}},
        {"type": "function", "function": {"name": "get_time"}},
    ]
    named = {"type": "function", "function": {"name": "get_weather"}}
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}}
    messages = [{"role": "user", "content": "What is the weather in Oslo?"}]

    def ask(**fields):
        return client.chat.completions.create(
            model=model, messages=messages, tools=tools, temperature=0, max_tokens=200, **fields
        )

    for choice in (named, allowed):
        single = {"tool_choice": choice, "parallel_tool_calls": False}
        answer = ask(**single).choices[0]
        assert answer.finish_reason == "tool_calls", answer
        assert answer.message.content is None, answer
        [call] = answer.message.tool_calls
        assert call.type == "function" and call.function.name == "get_weather", call
        jsonschema.validate(json.loads(call.function.arguments), parameters)
        # As the client's own reader puts the pieces together.
        with client.chat.completions.stream(
            model=model, messages=messages, tools=tools, temperature=0, max_tokens=200, **single
        ) as stream:
            kinds = {event.type for event in stream}
            whole = stream.get_final_completion().choices[0]
        assert "tool_calls.function.arguments.delta" in kinds, kinds
        assert whole.finish_reason == "tool_calls", whole
        [streamed] = whole.message.tool_calls
        assert streamed.function.name == call.function.name
        assert streamed.function.arguments == call.function.arguments
        assert streamed.id and streamed.index == 0
    # The result goes back, and an answer comes.
    history = [
        *messages,
        answer.message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "18 degrees"},
    ]
    answer = client.chat.completions.create(
        model=model, messages=history, tools=tools, tool_choice="none", temperature=0, max_tokens=50
    ).choices[0]
    assert answer.message.tool_calls is None and answer.finish_reason in ("stop", "length"), answer
    assert ask(tool_choice="auto").choices[0].finish_reason in ("stop", "length", "tool_calls")


def check_parsed(client, model):
    """What `parse` returns goes back as it is, with what the client has read from it."""

    class City(pydantic.BaseModel):
        name: Literal["Oslo", "Rome"]

    class Weather(pydantic.BaseModel):
        city: Literal["Oslo", "Rome"]

    tool = openai.pydantic_function_tool(Weather)
    messages = [{"role": "user", "content": "Which city?", "name": "ada"}]
    asked = {"model": model, "temperature": 0, "max_tokens": 100}
    answer = client.chat.completions.parse(messages=messages, response_format=City, **asked)
    assert answer.choices[0].message.parsed.name in ("Oslo", "Rome"), answer
    messages += [answer.choices[0].message, {"role": "user", "content": "And its weather?"}]
    answer = client.chat.completions.parse(
        messages=messages, tools=[tool], tool_choice="required", **asked
    )
    [call, *_] = answer.choices[0].message.tool_calls
    assert call.function.parsed_arguments.city in ("Oslo", "Rome"), answer
    messages += [answer.choices[0].message]
    for call in answer.choices[0].message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "name": "Weather", "content": "18"})
    answer = client.chat.completions.parse(messages=messages, response_format=City, **asked)
    assert answer.choices[0].message.parsed, answer


def check_reasoning(client, model):
    choice = client.chat.completions.create(
        model=model,
        messages=MESSAGES,
        response_format=FORMAT,
        reasoning_effort="low",
        extra_body={"reasoning_budget": 8},
        temperature=0,
        max_tokens=250,
    ).choices[0]
    assert choice.finish_reason == "stop", choice
    jsonschema.validate(json.loads(choice.message.content), SCHEMA)
    assert choice.message.reasoning_content, choice


def check_logprobs(client, model):
    """Log-probabilities are of the answer's tokens, whole and in pieces, and a stop string cuts both."""
    for stop, speculate in [(None, "off"), ("London", "off"), ("London", "ngram"), ('e", "', "forced")]:
        asked = dict(
            model=model,
            messages=MESSAGES,
            response_format=FORMAT,
            temperature=0,
            logprobs=True,
            top_logprobs=2,
            stop=stop,
            extra_body={"speculate": speculate},
        )
        choice = client.chat.completions.create(**asked).choices[0]
        tokens = [entry.token for entry in choice.logprobs.content]
        text = "".join(tokens)
        assert text.startswith(choice.message.content), choice
        # Of the last token a part may be cut off, no more.
        assert len(text) - len(tokens[-1]) < len(choice.message.content), choice
        assert all(len(entry.top_logprobs) <= 2 for entry in choice.logprobs.content)
        pieces = [
            entry.token
            for chunk in client.chat.completions.create(stream=True, **asked)
            for told in chunk.choices
            if told.logprobs
            for entry in told.logprobs.content
        ]
        assert pieces == tokens, (pieces, tokens)
    # Hotter than OpenAI's own models go.
    hot = {"temperature": 6, "seed": 1, "extra_body": {"min_p": 0.3}}
    answer = client.chat.completions.create(model=model, messages=MESSAGES, max_tokens=8, **hot)
    assert answer.usage.completion_tokens <= 8


def check_hanging_up(client, model):
    stream = client.chat.completions.create(model=model, messages=MESSAGES, stream=True)
    next(iter(stream))
    stream.close()
    assert client.chat.completions.create(model=model, messages=MESSAGES, max_tokens=1).choices


def check_completions(client, model):
    answer = client.completions.create(
        model=model, prompt=["The number is ", "It is "], max_tokens=4, temperature=0,
        logprobs=2, extra_body={"structured_outputs": {"regex": "[0-9]{1,3}"}},
    )
    assert len(answer.choices) == 2
    for choice in answer.choices:
        assert re.fullmatch("[0-9]{1,3}", choice.text), choice
        assert "".join(choice.logprobs.tokens) == choice.text
    echoed = client.completions.create(model=model, prompt="Hello", echo=True, max_tokens=3)
    assert echoed.choices[0].text.startswith("Hello") and echoed.usage.completion_tokens <= 3
    stream = client.completions.create(
        model=model, prompt="It is ", max_tokens=4, temperature=0, stream=True,
        extra_body={"structured_outputs": {"regex": "[0-9]{1,3}"}},
    )
    assert "".join(chunk.choices[0].text for chunk in stream) == answer.choices[1].text


class Person(pydantic.BaseModel):
    name: str
    age: int


def check_responses(client, model):
    fields = {"model": model, "input": PROMPT, "temperature": 0, "max_output_tokens": 200}
    parsed = client.responses.parse(**fields, text_format=Person)
    assert isinstance(parsed.output_parsed, Person) and parsed.status == "completed", parsed
    # The chat template tells the schema, so that it counts, too.
    text = {"format": {"type": "json_schema", "name": "Person", "schema": Person.model_json_schema()}}
    counted = client.responses.input_tokens.count(model=model, input=PROMPT, text=text)
    assert counted.input_tokens == parsed.usage.input_tokens, (counted, parsed.usage)
    assert json.loads(parsed.output_text) == parsed.output_parsed.model_dump()
    assert client.responses.retrieve(parsed.id).output_text == parsed.output_text
    with client.responses.stream(**fields, text_format=Person) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert final.output_parsed == parsed.output_parsed, final
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    assert kinds.count("response.output_text.delta") > 1

    tool = {
        "type": "function", "name": "greet", "strict": True,
        "parameters": {"type": "object", "properties": {"name": {"enum": ["Ada", "Alan"]}},
                       "required": ["name"], "additionalProperties": False},
    }
    called = client.responses.create(**fields, tools=[tool], tool_choice="required")
    call = called.output[0]
    assert call.type == "function_call" and call.name == "greet"
    assert json.loads(call.arguments)["name"] in ("Ada", "Alan")
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "done"}
    said = client.responses.create(
        **{**fields, "input": [output], "max_output_tokens": 8}, previous_response_id=called.id
    )
    assert said.output[0].type == "message" and said.previous_response_id == called.id
    client.responses.delete(called.id)
    try:
        client.responses.retrieve(called.id)
        raise AssertionError("a deleted response was found")
    except openai.NotFoundError:
        pass


async def check_async(url, model):
    async with openai.AsyncOpenAI(base_url=url, api_key=KEY) as client:
        asked = [
            client.chat.completions.create(
                model=model, messages=MESSAGES, response_format=FORMAT, temperature=0, max_tokens=200
            )
            for _ in range(4)
        ]
        texts = [answer.choices[0].message.content for answer in await asyncio.gather(*asked)]
        assert len(set(texts)) == 1, texts
        jsonschema.validate(json.loads(texts[0]), SCHEMA)


def check_decisions(client, model):
    decision = client.decisions.create(
        model=model,
        input=[{"role": "user", "content": [{"type": "input_text", "text": PROMPT}]}],
        questions=[
            {"type": "choice", "name": "city", "instructions": "Where does she live?",
             "choices": [{"value": "London"}, {"value": "Oslo", "description": "in Norway"}]},
            {"type": "predicate", "instructions": "Is she a person?"},
            {"type": "score", "instructions": "How old is she?", "levels": [{"label": "young"}, {"label": "old"}]},
        ],
        safety_identifier="test",
    )
    choice, predicate, score = decision.answers
    assert (choice.type, choice.name) == ("choice", "city") and choice.choice in ("London", "Oslo")
    assert abs(sum(label.probability for label in choice.probabilities) - 1) < 1e-9
    assert choice.confidence == max(label.probability for label in choice.probabilities)
    assert (predicate.type, predicate.name) == ("predicate", None) and 0 <= predicate.probability <= 1
    assert score.type == "score" and 0 <= score.score <= 1 and score.probabilities[1].label == "old"
    assert decision.usage.output_tokens == 0 and decision.usage.input_tokens > 0
    try:
        client.decisions.create(model=model, input="a", questions=[])
    except openai.BadRequestError as error:
        assert error.param == "questions", error
    else:
        raise AssertionError("no question was accepted")


def main():
    binary, *rest = sys.argv[1:]
    folder = rest[0] if rest else "tiny"
    server, url = start(binary, folder)
    try:
        client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=120)
        model = client.models.list().data[0].id
        assert httpx.get(url.removesuffix("/v1") + "/health").json() == {"status": "ok"}
        text = check_json_schema(client, model)
        check_stream(client, model, text)
        check_sampling(client, model)
        check_json_object(client, model)
        check_constraints(client, model)
        check_models(client, model)
        check_errors(client, model, url)
        check_tools(client, model)
        check_parsed(client, model)
        check_reasoning(client, model)
        check_logprobs(client, model)
        check_completions(client, model)
        check_responses(client, model)
        check_decisions(client, model)
        asyncio.run(check_async(url, model))
        check_hanging_up(client, model)
    finally:
        server.terminate()
        code = server.wait(timeout=30)
    assert code == 0, f"the server ended with {code}"
    print(f"openai {openai.__version__}: {text}")


if __name__ == "__main__":
    main()
