// Examples of each kind of constraint. The prompts are ones that the embedded model can answer.

// Columns within which a value stands on one line.
const WIDTH = 58;

// JSON with a value on one line where it fits, behind `before` columns.
function pretty(value, indent = "", before = 0) {
  const spaced = JSON.stringify(value, null, 1)
    .replace(/\n\s*/g, " ")
    .replace(/\[ /g, "[")
    .replace(/ \]/g, "]");
  if (typeof value !== "object" || value === null || before + spaced.length <= WIDTH) return spaced;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const items = Array.isArray(value)
    ? value.map((item) => pretty(item, inner, inner.length))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${pretty(item, inner, inner.length + name.length + 4)}`);
  return `${open}\n${items.map((item) => inner + item).join(",\n")}\n${indent}${close}`;
}

const schema = (properties, extra = {}) =>
  pretty({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
    ...extra,
  });

const tool = (name, description, properties) => ({
  type: "function",
  function: {
    name,
    description,
    strict: true,
    parameters: {
      type: "object",
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    },
  },
});

const ADA = "Ada Lovelace, 36, lives in London and writes to ada@example.org.";

export const EXAMPLES = {
  schema: [
    {
      name: "Person",
      constraint: schema({
        name: { type: "string", maxLength: 40 },
        age: { type: "integer", minimum: 0, maximum: 130 },
        city: { type: "string", maxLength: 40 },
        email: { type: "string", format: "email" },
      }),
      prompt: ADA,
    },
    {
      name: "Enum, number range and pattern",
      constraint: schema({
        name: { type: "string", maxLength: 30 },
        group: { enum: ["child", "adult", "senior"] },
        age: { type: "integer", minimum: 18, maximum: 99 },
        initials: { type: "string", pattern: "^[A-Z]\\.[A-Z]\\.$" },
      }),
      prompt: ADA,
    },
    {
      name: "List of unique items",
      constraint: schema({
        tags: {
          type: "array",
          items: { enum: ["person", "place", "address", "number"] },
          minItems: 2,
          maxItems: 3,
          uniqueItems: true,
        },
      }),
      prompt: ADA,
    },
    {
      name: "If, then, else",
      constraint: schema(
        {
          kind: { enum: ["person", "company"] },
          name: { type: "string", maxLength: 30 },
          age: { type: ["integer", "null"], minimum: 0, maximum: 130 },
        },
        {
          if: { properties: { kind: { const: "company" } } },
          then: { properties: { age: { type: "null" } } },
          else: { properties: { age: { type: "integer" } } },
        },
      ),
      prompt: ADA,
    },
    {
      name: "Recursive tree",
      constraint: pretty(
        {
          $ref: "#/$defs/node",
          $defs: {
            node: {
              type: "object",
              properties: {
                name: { type: "string", maxLength: 8 },
                children: { type: "array", items: { $ref: "#/$defs/node" }, maxItems: 2 },
              },
              required: ["name", "children"],
              additionalProperties: false,
            },
          },
        },
      ),
      prompt: "Ada has the children Byron and Anne.",
    },
  ],
  regex: [
    {
      name: "Date",
      constraint: '\\{"date": "\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])"\\}',
      prompt: "The meeting is on 2026-03-14.",
    },
    {
      name: "Email of some domains",
      constraint: '\\{"email": "[a-z0-9.]{1,20}@[a-z0-9]{1,20}\\.(org|com|net)"\\}',
      prompt: ADA,
    },
    { name: "Version number", constraint: "v?\\d+\\.\\d+\\.\\d+(-(alpha|beta|rc)\\.\\d+)?", prompt: "We released version 2.14.0 today." },
  ],
  grammar: [
    {
      name: "One or two members (EBNF)",
      notation: "ebnf",
      constraint: 'root   ::= "{" member (", " member)? "}"\nmember ::= city | age\ncity   ::= \'"city": "\' [A-Z] [a-z]+ \'"\'\nage    ::= \'"age": \' [1-9] [0-9]?',
      prompt: ADA,
      max_tokens: 60,
    },
    {
      name: "Arithmetic (GBNF)",
      notation: "gbnf",
      constraint: 'root   ::= sum\nsum    ::= term (" " [+-] " " term){1,3}\nterm   ::= number | "(" sum ")"\nnumber ::= [1-9] [0-9]{0,2}',
      prompt: "Add 12 and 30.",
      max_tokens: 60,
    },
    {
      name: "SQL query (Lark)",
      notation: "lark",
      constraint: 'start: "SELECT " columns " FROM " NAME where?\ncolumns: "*" | NAME (", " NAME)*\nwhere: " WHERE " NAME " = " value\nvalue: NUMBER | "\'" /[A-Za-z ]{1,20}/ "\'"\nNAME: /[a-z_]{1,12}/\nNUMBER: /[0-9]{1,4}/',
      prompt: "Which people live in London?",
      max_tokens: 60,
    },
  ],
  choice: [
    {
      name: "City",
      constraint: '{"city": "Paris"}\n{"city": "London"}\n{"city": "Oslo"}\n{"city": "New York"}',
      prompt: ADA,
    },
    { name: "Sentiment", constraint: "positive\nnegative\nneutral", prompt: "The food was good, the service was slow." },
  ],
  tools: [
    {
      name: "Weather and mail",
      constraint: pretty(
        [
          tool("get_weather", "The weather of a city", {
            city: { type: "string", maxLength: 30 },
            unit: { enum: ["celsius", "fahrenheit"] },
          }),
          tool("send_mail", "Sends a mail", {
            to: { type: "string", format: "email" },
            subject: { type: "string", maxLength: 40 },
          }),
        ],
      ),
      prompt: "What is the weather in Oslo?",
      max_tokens: 120,
    },
  ],
};

export const KIND_NAMES = {
  schema: "JSON Schema",
  regex: "Regular expression",
  grammar: "Grammar",
  choice: "Choices, one a line",
  tools: "Tools, as OpenAI writes them",
};
