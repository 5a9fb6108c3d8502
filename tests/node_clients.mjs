// Client libraries of JavaScript against `maskwright serve`, each as its documentation uses it.
//
//     node tests/node_clients.mjs target/debug/maskwright
//
// Needs Node 18 or later and the packages that `tests/node_clients.sh` installs beside its copy of this file.
// Starts the server itself, on a free port, with the embedded model. Every check asserts values: the fields of an
// answer, the arguments that a tool was called with, the text that the pieces of a stream add up to, the place of an
// error.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as ai from "ai";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const KEY = "secret";
const MODEL = "tiny";
const PROMPT = "Ada Lovelace, 36, lives in London and writes to ada@example.org.";
const MESSAGES = [
  { role: "system", content: "Extract the fields." },
  { role: "user", content: PROMPT },
];
const PERSON = { name: "Ada Lovelace", age: 36, city: "London" };
const Person = z.object({ name: z.string(), age: z.number().int(), city: z.string() });
const City = z.object({ city: z.enum(["Oslo", "Rome"]), days: z.number().int().min(1).max(9) });

/** Starts the server; resolves to its process and its base URL. */
async function start(binary) {
  const server = spawn(binary, ["serve", "--model", MODEL, "--port", "0", "--api-key", KEY], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const lines = createInterface({ input: server.stderr });
  const url = await new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      const found = /http:\/\/\S+\/v1\b/.exec(line);
      if (found) resolve(found[0]);
    });
    server.on("exit", (code) => reject(new Error(`the server ended with ${code} before it listened`)));
  });
  return { server, url };
}

async function checkOpenai(url) {
  const client = new OpenAI({ baseURL: url, apiKey: KEY, maxRetries: 0 });
  const asked = { model: MODEL, messages: MESSAGES, temperature: 0, max_tokens: 200 };
  const format = { response_format: zodResponseFormat(Person, "person") };
  assert.deepEqual((await client.models.list()).data.map((entry) => entry.id), [MODEL]);

  const answer = await client.chat.completions.parse({ ...asked, ...format });
  assert.deepEqual(answer.choices[0].message.parsed, PERSON);
  assert.equal(answer.choices[0].finish_reason, "stop");
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);

  const stream = client.chat.completions.stream({ ...asked, ...format });
  const deltas = [];
  stream.on("content.delta", ({ delta }) => deltas.push(delta));
  const final = await stream.finalChatCompletion();
  assert.deepEqual(final.choices[0].message.parsed, PERSON);
  assert.equal(deltas.join(""), answer.choices[0].message.content);
  assert.ok(deltas.length > 3, "the text comes in pieces");

  const tools = [zodFunction({ name: "weather", parameters: City })];
  const named = { tools, tool_choice: { type: "function", function: { name: "weather" } }, parallel_tool_calls: false };
  const call = await client.chat.completions.parse({ ...asked, ...named });
  const [tool] = call.choices[0].message.tool_calls;
  City.parse(tool.function.parsed_arguments);
  const pieces = client.chat.completions.stream({ ...asked, ...named });
  const whole = (await pieces.finalChatCompletion()).choices[0];
  assert.equal(whole.message.tool_calls[0].function.arguments, tool.function.arguments);
  assert.equal(whole.finish_reason, "tool_calls");
  // The tool is run and its result goes back, by the client's own loop.
  const ran = [];
  const runner = client.chat.completions.runTools(
    {
      ...asked,
      max_tokens: 60,
      tool_choice: named.tool_choice,
      tools: [
        zodFunction({
          name: "weather",
          parameters: City,
          function: (given) => {
            ran.push(given);
            return "18 degrees";
          },
        }),
      ],
    },
    { maxChatCompletions: 2 },
  );
  await runner.done();
  assert.equal(ran.length, 1);
  City.parse(ran[0]);
  assert.ok(runner.messages.some((message) => message.role === "tool" && message.content === "18 degrees"));

  const text = { text: { format: zodTextFormat(Person, "person") } };
  const fields = { model: MODEL, input: PROMPT, instructions: "Extract the fields.", temperature: 0, max_output_tokens: 200 };
  const response = await client.responses.parse({ ...fields, ...text });
  assert.deepEqual(response.output_parsed, PERSON);
  assert.equal((await client.responses.retrieve(response.id)).output_text, response.output_text);
  const events = client.responses.stream({ ...fields, ...text });
  const kinds = [];
  for await (const event of events) kinds.push(event.type);
  assert.equal(kinds[0], "response.created");
  assert.equal(kinds.at(-1), "response.completed");
  assert.ok(kinds.filter((kind) => kind === "response.output_text.delta").length > 3);
  assert.deepEqual((await events.finalResponse()).output_parsed, PERSON);

  const broken = { type: "json_schema", json_schema: { name: "x", schema: { type: "sting" } } };
  await assert.rejects(client.chat.completions.create({ ...asked, response_format: broken }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError, String(error));
    assert.equal(error.param, "response_format.json_schema.schema");
    return true;
  });
  const controller = new AbortController();
  const endless = await client.chat.completions.create({ ...asked, stream: true }, { signal: controller.signal });
  for await (const _ of endless) controller.abort();
  assert.ok((await client.chat.completions.create({ ...asked, max_tokens: 1 })).choices.length === 1);
}

async function checkAiSdk(url) {
  const provider = createOpenAICompatible({
    name: "maskwright", baseURL: url, apiKey: KEY, includeUsage: true, supportsStructuredOutputs: true,
  });
  const asked = { model: provider(MODEL), temperature: 0, maxOutputTokens: 200, maxRetries: 0 };
  const prompted = { ...asked, system: "Extract the fields.", prompt: PROMPT };

  const { object, usage, finishReason } = await ai.generateObject({ ...prompted, schema: Person });
  assert.deepEqual(object, PERSON);
  assert.equal(finishReason, "stop");
  assert.ok(usage.outputTokens > 5);

  const streamed = ai.streamObject({ ...prompted, schema: Person });
  const parts = [];
  for await (const part of streamed.partialObjectStream) parts.push(part);
  assert.deepEqual(await streamed.object, PERSON);
  assert.deepEqual(parts.at(-1), PERSON);
  assert.ok(parts.some((part) => part.name && part.name !== PERSON.name), "the name comes in pieces");
  assert.ok((await streamed.usage).outputTokens > 5, "usage of a stream");

  const listed = await ai.generateObject({ ...prompted, output: "array", schema: City });
  assert.ok(listed.object.length > 0);
  listed.object.forEach((city) => City.parse(city));
  const chosen = await ai.generateObject({ ...prompted, output: "enum", enum: ["yes", "no"] });
  assert.ok(["yes", "no"].includes(chosen.object));

  const output = await ai.generateText({ ...prompted, output: ai.Output.object({ schema: Person }) });
  assert.deepEqual(output.output, PERSON);

  const ran = [];
  const weather = ai.tool({
    description: "The weather of a city.",
    inputSchema: City,
    execute: async (given) => {
      ran.push(given);
      return { degrees: 18 };
    },
  });
  const forced = { type: "tool", toolName: "weather" };
  const answer = await ai.generateText({
    ...asked,
    prompt: "The weather in Oslo",
    tools: { weather },
    toolChoice: forced,
    stopWhen: ai.stepCountIs(2),
    prepareStep: ({ stepNumber }) => (stepNumber === 0 ? {} : { toolChoice: "none" }),
  });
  assert.equal(answer.steps.length, 2);
  assert.equal(answer.steps[0].finishReason, "tool-calls");
  City.parse(answer.steps[0].toolCalls[0].input);
  assert.deepEqual(answer.steps[0].toolResults[0].output, { degrees: 18 });
  assert.deepEqual(ran, answer.steps[0].toolCalls.map((call) => call.input));

  const stream = ai.streamText({ ...asked, prompt: "The weather in Oslo", tools: { weather }, toolChoice: "required" });
  const kinds = new Map();
  for await (const part of stream.fullStream) kinds.set(part.type, (kinds.get(part.type) ?? 0) + 1);
  assert.ok(!kinds.has("error") && kinds.get("tool-call") >= 1, JSON.stringify([...kinds]));
  assert.ok(kinds.get("tool-input-delta") > 1, "the arguments come in pieces");
  for (const call of await stream.toolCalls) City.parse(call.input);

  const broken = ai.jsonSchema({ type: "sting" });
  await assert.rejects(ai.generateObject({ ...prompted, schema: broken }), (error) => {
    assert.equal(error.statusCode, 400, String(error));
    return true;
  });
}

const CHECKS = { openai: checkOpenai, ai: checkAiSdk };

const [binary, ...names] = process.argv.slice(2);
const { server, url } = await start(binary);
try {
  for (const name of names.length ? names : Object.keys(CHECKS)) {
    const begin = performance.now();
    await CHECKS[name](url);
    const { version } = createRequire(import.meta.url)(`./node_modules/${name}/package.json`);
    console.log(`npm ${name} ${version}: ${((performance.now() - begin) / 1000).toFixed(1)} s`);
  }
} finally {
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill("SIGTERM");
  assert.equal(await ended, 0, "the server ended with an error");
}
