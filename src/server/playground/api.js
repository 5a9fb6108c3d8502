// Requests to the server: their bodies, their answers, and streams of server-sent events.

// Stands where JSON goes that the user wrote, which is sent as it was written.
const RAW = "@@raw-json@@";

let key = sessionStorage.getItem("maskwright-key") ?? "";

export function setKey(value) {
  key = value;
}

// Keeps the key for this tab, once a server has taken it.
export function keepKey() {
  sessionStorage.setItem("maskwright-key", key);
}

// Whether a key has characters that a header can carry.
export function isKey(value) {
  return /^[\x21-\x7e]*$/.test(value);
}

export class ApiError extends Error {
  constructor(status, message, param) {
    super(message);
    this.status = status;
    this.param = param;
  }
}

function headers() {
  const all = { "Content-Type": "application/json" };
  if (key) all.Authorization = `Bearer ${key}`;
  return all;
}

async function failure(answer) {
  const text = await answer.text();
  try {
    const { error } = JSON.parse(text);
    return new ApiError(answer.status, error.message, error.param);
  } catch {
    return new ApiError(answer.status, text || `HTTP ${answer.status}`);
  }
}

export async function get(path) {
  const answer = await fetch(path, { headers: headers() });
  if (!answer.ok) throw await failure(answer);
  return answer.json();
}

export async function post(path, body, signal) {
  const answer = await fetch(path, { method: "POST", headers: headers(), body, signal });
  if (!answer.ok) throw await failure(answer);
  return answer.json();
}

// The chunks of a stream, as objects.
export async function* stream(path, body, signal) {
  const answer = await fetch(path, { method: "POST", headers: headers(), body, signal });
  if (!answer.ok) throw await failure(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    const events = held.split("\n\n");
    held = events.pop();
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const data = event.slice("data: ".length);
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ApiError(500, chunk.error.message, chunk.error.param);
      yield chunk;
    }
  }
}

// The fields that say which texts are meant, with the user's own JSON in the second place.
function constraintFields(state) {
  const { kind, constraint, notation, whitespace } = state;
  const style = whitespace && (kind === "schema") ? { constraint_options: { whitespace } } : {};
  switch (kind) {
    case "schema":
      return [
        { response_format: { type: "json_schema", json_schema: { name: "answer", schema: RAW } }, ...style },
        constraint,
      ];
    case "regex":
      return [{ structured_outputs: { regex: constraint } }];
    case "grammar":
      return [{ structured_outputs: { [notation]: constraint } }];
    case "choice":
      return [{ structured_outputs: { choice: choices(constraint) } }];
    case "tools":
      return [{ tools: RAW, tool_choice: "required" }, constraint];
  }
}

export function choices(text) {
  return text.split("\n").map((line) => line.trimEnd()).filter((line) => line !== "");
}

function write(fields, raw, indent) {
  const text = JSON.stringify(fields, null, indent);
  return raw === undefined ? text : text.replace(JSON.stringify(RAW), () => raw);
}

// The body of a request about the constraint alone.
export function constraintBody(state, model, extra = {}) {
  const [fields, raw] = constraintFields(state);
  return write({ model, ...fields, ...extra }, raw);
}

// The body of a request for an answer.
export function chatBody(state, model, { traced, indent } = {}) {
  const [fields, raw] = state.masked ? constraintFields(state) : [{}];
  const body = { model, messages: [{ role: "user", content: state.prompt }], ...fields };
  body.temperature = state.temperature;
  if (state.seed !== null) body.seed = state.seed;
  body.max_tokens = state.max_tokens;
  if (traced) {
    body.stream = true;
    body.stream_options = { include_usage: true, include_document: true };
    body.trace = true;
    body.top_logprobs = 8;
  }
  return write(body, raw, indent);
}

// The request as commands, without the key.
export function curl(state, model) {
  // A terminal obeys control characters of a text that is pasted, within quotes, too.
  const escaped = (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const text = chatBody(state, model, { indent: 2 }).replace(/[\x00-\x08\x0b-\x1f\x7f]/g, escaped);
  const body = text.replaceAll("'", "'\\''");
  const auth = key ? ' \\\n  -H "Authorization: Bearer $MASKWRIGHT_API_KEY"' : "";
  return `curl ${location.origin}/v1/chat/completions \\\n  -H 'Content-Type: application/json'${auth} \\\n  -d '${body}'\n`;
}

// The value of a JSON text whose numbers are marked texts, so that it keeps all of their digits, where a number of
// JavaScript has 53 bits; and the function that writes them as numbers again in what was made of the value.
export function exactJson(text) {
  let mark = "#";
  while (JSON.stringify(JSON.parse(text)).includes(mark)) mark += "#";
  const token = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g;
  const value = JSON.parse(text.replace(token, (it) => (it.startsWith('"') ? it : `"${mark}${it}"`)));
  return [value, (written) => written.replace(new RegExp(`"${mark}([^"]*)"`, "g"), "$1")];
}

export function python(state, model) {
  const [body, unmarked] = exactJson(chatBody(state, model));
  const known = ["model", "messages", "temperature", "seed", "max_tokens", "response_format", "tools", "tool_choice"];
  const own = Object.fromEntries(Object.entries(body).filter(([name]) => !known.includes(name)));
  const lines = known
    .filter((name) => name in body)
    .map((name) => `    ${name}=${unmarked(literal(body[name], 1))},\n`);
  if (Object.keys(own).length > 0) lines.push(`    extra_body=${unmarked(literal(own, 1))},\n`);
  const auth = key ? 'os.environ["MASKWRIGHT_API_KEY"]' : '"none"';
  return `${key ? "import os\n\n" : ""}from openai import OpenAI\n\nclient = OpenAI(base_url="${location.origin}/v1", api_key=${auth})\nanswer = client.chat.completions.create(\n${lines.join("")})\nprint(answer.choices[0].message${state.kind === "tools" && state.masked ? ".tool_calls" : ".content"})\n`;
}

// A value as Python writes it.
function literal(value, depth) {
  const indent = "    ".repeat(depth + 1);
  const end = "    ".repeat(depth);
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const list = Array.isArray(value);
  const items = list
    ? value.map((item) => literal(item, depth + 1))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${literal(item, depth + 1)}`);
  const [open, close] = list ? "[]" : "{}";
  const line = `${open}${items.join(", ")}${close}`;
  if (line.length < 72 && !line.includes("\n")) return line;
  return `${open}\n${items.map((item) => `${indent}${item},\n`).join("")}${end}${close}`;
}
