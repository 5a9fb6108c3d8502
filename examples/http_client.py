"""The official OpenAI client against `maskwright serve`.

    cargo run --release -- serve &
    pip install openai
    python examples/http_client.py

Another address or model: set OPENAI_BASE_URL, OPENAI_API_KEY and MODEL.
"""

import json
import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
    api_key=os.environ.get("OPENAI_API_KEY", "none"),
)
model = os.environ.get("MODEL", "tiny")
prompt = [{"role": "user", "content": "Ada Lovelace, 36, lives in London."}]

# JSON that a schema accepts, streamed.
schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
text = ""
with client.chat.completions.create(
    model=model,
    messages=prompt,
    response_format={"type": "json_schema", "json_schema": {"name": "person", "schema": schema}},
    stream=True,
) as stream:
    for chunk in stream:
        text += chunk.choices[0].delta.content or ""
print(json.loads(text))

# One of a few texts, by vLLM's field.
answer = client.chat.completions.create(
    model=model,
    messages=[{"role": "user", "content": "Is the sky blue?"}],
    extra_body={"structured_outputs": {"choice": ["yes", "no"]}},
)
print(answer.choices[0].message.content)
