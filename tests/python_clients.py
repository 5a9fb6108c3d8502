"""Client libraries of Python against `maskwright serve`, each as its documentation uses it.

    python tests/python_clients.py target/debug/maskwright

Needs the packages that `tests/python_clients.sh` installs. Starts the server itself, on a free port, with the
embedded model. Every check asserts values: the fields of an answer, the arguments that a tool was called with, the
text that the pieces of a stream add up to, the place of an error.
"""

import asyncio
import json
import logging
import os
import sys
import time
from importlib.metadata import version
from typing import List, Literal

# Nothing is sent anywhere but to the server that is tested.
os.environ.update(
    OPENAI_AGENTS_DISABLE_TRACING="1",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    LANGCHAIN_TRACING_V2="false",
)

import openai
import pydantic

from openai_client import KEY, PROMPT, start


class Person(pydantic.BaseModel):
    """The fields of a person."""

    model_config = pydantic.ConfigDict(extra="forbid")

    name: str
    age: int
    city: str


class City(pydantic.BaseModel):
    """A city."""

    city: Literal["Oslo", "Rome"]
    days: int = pydantic.Field(ge=1, le=9)


PERSON = {"name": "Ada Lovelace", "age": 36, "city": "London"}
MESSAGES = [{"role": "system", "content": "Extract the fields."}, {"role": "user", "content": PROMPT}]


def check_instructor(url, model):
    import instructor
    from instructor.core import InstructorRetryException

    logging.getLogger("instructor").setLevel(logging.CRITICAL)
    plain = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0)
    asked = {"model": model, "messages": MESSAGES, "temperature": 0, "max_tokens": 200, "max_retries": 0}
    for mode in (instructor.Mode.JSON_SCHEMA, instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT):
        client = instructor.from_openai(plain, mode=mode)
        person = client.chat.completions.create(response_model=Person, **asked)
        assert isinstance(person, Person) and person.age >= 0 and person.name, (mode, person)
        if mode is instructor.Mode.JSON_SCHEMA:
            assert person.model_dump() == PERSON, person
    client = instructor.from_openai(plain, mode=instructor.Mode.JSON_SCHEMA)
    parts = list(client.chat.completions.create_partial(response_model=Person, **asked))
    assert parts[-1].model_dump() == PERSON and len(parts) > 3, parts
    assert any(part.name and part.name != PERSON["name"] for part in parts), "the name comes in pieces"

    class Cities(pydantic.BaseModel):
        cities: List[City] = pydantic.Field(min_length=2, max_length=2)

    cities = client.chat.completions.create(response_model=Cities, **asked).cities
    assert len(cities) == 2 and all(1 <= city.days <= 9 for city in cities), cities
    try:
        client.chat.completions.create(response_model=Person, **{**asked, "max_tokens": 3})
        raise AssertionError("a text without an end was taken for a person")
    except InstructorRetryException as error:
        assert "within 3 tokens" in str(error), error


def check_langchain(url, model):
    from langchain_core.messages import ToolMessage
    from langchain_openai import ChatOpenAI

    chat = ChatOpenAI(base_url=url, api_key=KEY, model=model, temperature=0, max_tokens=200, max_retries=0)
    messages = [(message["role"], message["content"]) for message in MESSAGES]
    for method in ("json_schema", "function_calling"):
        answer = chat.with_structured_output(Person, method=method, include_raw=True).invoke(messages)
        assert answer["parsing_error"] is None and isinstance(answer["parsed"], Person), answer
        if method == "json_schema":
            assert answer["parsed"].model_dump() == PERSON, answer
    *_, last = chat.with_structured_output(Person, method="json_schema").stream(messages)
    assert last.model_dump() == PERSON, last
    assert isinstance(json.loads(chat.bind(response_format={"type": "json_object"}).invoke(messages).content), dict)

    asked = chat.bind_tools([City], tool_choice="City", strict=True).invoke("Which city?")
    [call] = asked.tool_calls
    assert call["name"] == "City" and City(**call["args"]), asked
    pieces = None
    for piece in chat.bind_tools([City], tool_choice="City", strict=True).stream("Which city?"):
        pieces = piece if pieces is None else pieces + piece
    assert pieces.tool_calls[0]["args"] == call["args"], pieces
    history = [("user", "Which city?"), asked, ToolMessage("18 degrees", tool_call_id=call["id"])]
    answer = chat.bind_tools([City]).invoke(history, max_tokens=20)
    assert answer.usage_metadata["output_tokens"] <= 20 and answer.response_metadata["finish_reason"], answer

    newer = ChatOpenAI(
        base_url=url, api_key=KEY, model=model, temperature=0, max_tokens=200, max_retries=0, use_responses_api=True
    )
    assert newer.with_structured_output(Person, method="json_schema").invoke(messages).model_dump() == PERSON
    [call] = newer.bind_tools([City], tool_choice="City").invoke("Which city?").tool_calls
    assert City(**call["args"]), call


async def check_pydantic_ai(url, model):
    from pydantic_ai import Agent, NativeOutput, ToolOutput
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=url, api_key=KEY)
    settings = {"temperature": 0, "max_tokens": 200}
    for make in (OpenAIChatModel, OpenAIResponsesModel):
        host = make(model, provider=provider)
        native = Agent(host, output_type=NativeOutput(Person), instructions="Extract the fields.", model_settings=settings)
        result = await native.run(PROMPT)
        assert result.output.model_dump() == PERSON, result.output
        assert result.usage.output_tokens > 5, result.usage
        by_tool = Agent(host, output_type=ToolOutput(City), model_settings=settings)
        output = (await by_tool.run("Which city?")).output
        assert output.city in ("Oslo", "Rome") and 1 <= output.days <= 9, output
    native = Agent(OpenAIChatModel(model, provider=provider), output_type=NativeOutput(Person), model_settings=settings)
    async with native.run_stream(PROMPT) as stream:
        parts = [part async for part in stream.stream_output(debounce_by=None)]
    assert parts[-1].model_dump() == PERSON and len(parts) > 1, parts


def check_litellm(url, model):
    import litellm

    litellm.suppress_debug_info = True
    name = f"openai/{model}"
    asked = {"model": name, "api_base": url, "api_key": KEY, "temperature": 0, "max_tokens": 200, "num_retries": 0}
    answer = litellm.completion(messages=MESSAGES, response_format=Person, **asked)
    assert json.loads(answer.choices[0].message.content) == PERSON, answer
    assert answer.choices[0].finish_reason == "stop" and answer.usage.completion_tokens > 5
    chunks = list(litellm.completion(messages=MESSAGES, response_format=Person, stream=True, **asked))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert json.loads(text) == PERSON and len(chunks) > 3, text
    whole = litellm.stream_chunk_builder(chunks)
    assert whole.choices[0].message.content == text, whole
    tool = {"type": "function", "function": {"name": "City", "parameters": City.model_json_schema()}}
    answer = litellm.completion(messages=MESSAGES, tools=[tool], tool_choice="required", **asked)
    for call in answer.choices[0].message.tool_calls:
        assert call.function.name == "City" and City.model_validate_json(call.function.arguments), answer
    hosted = {**asked, "model": f"hosted_vllm/{model}"}
    answer = litellm.completion(messages=MESSAGES, extra_body={"guided_choice": ["yes", "no"]}, **hosted)
    assert answer.choices[0].message.content in ("yes", "no"), answer
    broken = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "sting"}}}
    try:
        litellm.completion(messages=MESSAGES, response_format=broken, **asked)
        raise AssertionError("a broken schema was accepted")
    except litellm.BadRequestError as error:
        assert "/type" in str(error), error


async def check_agents(url, model):
    import agents

    client = openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)
    called = []

    # Offered once: the embedded model would go on to call it.
    @agents.function_tool(is_enabled=lambda context, agent: not called)
    def weather(city: Literal["Oslo", "Rome"], days: int) -> str:
        """The weather of a city."""
        called.append((city, days))
        return f"18 degrees in {city}"

    for make in (agents.OpenAIChatCompletionsModel, agents.OpenAIResponsesModel):
        host = make(model=model, openai_client=client)
        settings = agents.ModelSettings(temperature=0, max_tokens=200)
        extractor = agents.Agent(
            name="extractor", instructions="Extract the fields.", model=host, model_settings=settings, output_type=Person
        )
        result = await agents.Runner.run(extractor, PROMPT)
        assert result.final_output.model_dump() == PERSON, result.final_output
        streamed = agents.Runner.run_streamed(extractor, PROMPT)
        deltas = [
            event.data.delta
            async for event in streamed.stream_events()
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
        ]
        assert json.loads("".join(deltas)) == PERSON and len(deltas) > 3, deltas
        assert streamed.final_output.model_dump() == PERSON
        # The model must call the tool; it is called, its result goes back, and the answer is a city.
        called.clear()
        forecaster = agents.Agent(
            name="forecaster", instructions="Ask for the weather.", model=host, tools=[weather], output_type=City,
            model_settings=agents.ModelSettings(
                temperature=0, max_tokens=200, tool_choice="required", parallel_tool_calls=False
            ),
        )
        result = await agents.Runner.run(forecaster, "The weather in Oslo", max_turns=3)
        assert len(called) == 1 and called[0][0] in ("Oslo", "Rome"), called
        assert result.final_output.city in ("Oslo", "Rome") and 1 <= result.final_output.days <= 9, result.final_output


def check_anthropic(url, model):
    import anthropic

    client = anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key=KEY, max_retries=0, timeout=120)
    # The newest version has no argument for it.
    greedy = {"temperature": 0}
    asked = {"model": model, "max_tokens": 200, "system": "Extract the fields.", "extra_body": greedy,
             "messages": [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}]}
    schema = Person.model_json_schema()
    form = {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    form = {**asked, "extra_body": {**greedy, **form}}
    message = client.messages.create(**form)
    assert message.stop_reason == "end_turn" and json.loads(message.content[0].text) == PERSON, message
    assert message.usage.input_tokens + message.usage.cache_read_input_tokens > 10, message.usage
    with client.messages.stream(**form) as stream:
        pieces = list(stream.text_stream)
        last = stream.get_final_message()
    assert len(pieces) > 3 and "".join(pieces) == last.content[0].text == message.content[0].text, pieces
    assert last.usage.output_tokens == message.usage.output_tokens, last.usage
    tool = {"name": "weather", "description": "The weather of a city", "input_schema": City.model_json_schema()}
    with client.messages.stream(**asked, tools=[tool], tool_choice={"type": "tool", "name": "weather"}) as stream:
        called = stream.get_final_message()
    assert called.stop_reason == "tool_use", called
    use = called.content[0]
    City.model_validate(use.input)
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "rain"}
    history = [*asked["messages"], {"role": "assistant", "content": called.content},
               {"role": "user", "content": [result]}]
    answer = client.messages.create(**{**asked, "messages": history, "stop_sequences": ["e"]}, tools=[tool],
                                    tool_choice={"type": "none"})
    assert answer.stop_reason in ("stop_sequence", "end_turn", "max_tokens"), answer
    # The chat template tells the schema, so that it counts, too.
    told = {"output_config": form["extra_body"]["output_config"]}
    counted = client.messages.count_tokens(model=model, system=asked["system"], messages=asked["messages"], extra_body=told)
    assert counted.input_tokens == message.usage.input_tokens + message.usage.cache_read_input_tokens, counted
    begun = [*asked["messages"], {"role": "assistant", "content": '{"name": "Ada'}]
    rest = client.messages.create(**{**form, "messages": begun}).content[0].text
    assert json.loads('{"name": "Ada' + rest)["name"] == "Ada Lovelace", rest
    for wrong, kind, says in [
        ({"max_tokens": 0}, anthropic.BadRequestError, "max_tokens"),
        ({"model": "another"}, anthropic.NotFoundError, "another"),
        ({"extra_body": {"top_p": 7}}, anthropic.BadRequestError, "top_p"),
    ]:
        try:
            client.messages.create(**{**asked, **wrong})
        except kind as error:
            assert error.body["type"] == "error" and says in error.body["error"]["message"], error.body
        else:
            raise AssertionError(f"{wrong} was accepted")
    try:
        anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key="wrong", max_retries=0).messages.create(**asked)
    except anthropic.AuthenticationError as error:
        assert error.body["error"]["type"] == "authentication_error", error.body
    else:
        raise AssertionError("a wrong key was accepted")


CHECKS = {
    "anthropic": check_anthropic,
    "instructor": check_instructor,
    "langchain-openai": check_langchain,
    "pydantic-ai-slim": check_pydantic_ai,
    "litellm": check_litellm,
    "openai-agents": check_agents,
}


def main():
    binary, *names = sys.argv[1:]
    server, url = start(binary, "tiny")
    try:
        for name in names or CHECKS:
            begin = time.perf_counter()
            done = CHECKS[name](url, "tiny")
            if asyncio.iscoroutine(done):
                asyncio.run(done)
            print(f"{name} {version(name)}: {time.perf_counter() - begin:.1f} s", flush=True)
    finally:
        server.terminate()
        code = server.wait(timeout=30)
    assert code == 0, f"the server ended with {code}"


if __name__ == "__main__":
    main()
