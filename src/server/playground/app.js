// The page: its state, the constraint with its lint, and runs.

import * as api from "./api.js";
import { EXAMPLES, KIND_NAMES } from "./examples.js";
import { jsonMistake } from "./json_mistake.js";
import { Tree, addToken, element, inspect, markToken } from "./output.js";

const $ = (id) => document.getElementById(id);

// Milliseconds without a keystroke after which the constraint is checked.
const LINT_DELAY = 350;

// Milliseconds between announcements to screen readers while a text grows.
const ANNOUNCE_DELAY = 1500;

const DEFAULT_MAX_TOKENS = 200;

let model = null;
let kind = "schema";
// The texts of the kinds that are not shown.
const drafts = {};
const runs = [];
let shownRun = null;
let chosen = null;
let running = null;

// ---- state ----

function number(id, other) {
  const value = $(id).valueAsNumber;
  return Number.isFinite(value) ? value : other;
}

function state() {
  return {
    kind,
    constraint: $("constraint").value,
    notation: $("notation").value,
    prompt: $("prompt").value,
    temperature: number("temperature", 0),
    seed: number("seed", null),
    max_tokens: number("max-tokens", DEFAULT_MAX_TOKENS),
    whitespace: $("whitespace").value,
    masked: $("masked").checked,
  };
}

function restore(saved) {
  showKind(Object.hasOwn(EXAMPLES, saved.kind) ? saved.kind : "schema");
  $("constraint").value = saved.constraint ?? "";
  $("notation").value = saved.notation ?? "grammar";
  $("prompt").value = saved.prompt ?? "";
  $("temperature").value = saved.temperature ?? 0;
  $("seed").value = saved.seed ?? "";
  $("max-tokens").value = saved.max_tokens ?? DEFAULT_MAX_TOKENS;
  $("whitespace").value = saved.whitespace ?? "";
  $("masked").checked = saved.masked !== false;
}

function toHash(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromHash(hash) {
  try {
    const text = atob(hash.replace(/^#/, "").replaceAll("-", "+").replaceAll("_", "/"));
    const saved = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    return typeof saved === "object" ? saved : null;
  } catch {
    return null;
  }
}

// ---- the constraint ----

function showKind(next) {
  kind = next;
  document.querySelector(`input[name=kind][value=${kind}]`).checked = true;
  document.querySelectorAll(".for-grammar").forEach((node) => (node.hidden = kind !== "grammar"));
  $("constraint-label").textContent = KIND_NAMES[kind];
  $("whitespace").disabled = kind !== "schema";
  $("example").replaceChildren(
    ...EXAMPLES[kind].map((example, index) => new Option(example.name, index)),
    new Option("(your own)", "own"),
  );
}

function showExample(example) {
  $("constraint").value = example.constraint;
  $("notation").value = example.notation ?? "grammar";
  $("prompt").value = example.prompt;
  $("max-tokens").value = example.max_tokens ?? DEFAULT_MAX_TOKENS;
  lint();
}

let lintTimer = null;
let lintAbort = null;

function lintSoon() {
  clearTimeout(lintTimer);
  lintTimer = setTimeout(lint, LINT_DELAY);
}

function sayLint(text, className = "") {
  $("lint-state").textContent = text;
  $("lint-state").className = `lint-state ${className}`;
  $("constraint").setAttribute("aria-invalid", String(className === "bad"));
}

async function lint() {
  clearTimeout(lintTimer);
  lintAbort?.abort();
  lintAbort = new AbortController();
  const { signal } = lintAbort;
  $("findings").replaceChildren();
  const now = state();
  if (now.kind === "schema" || now.kind === "tools") {
    const mistake = jsonMistake(now.constraint);
    if (mistake) return sayLint(`Not JSON: ${mistake}`, "bad");
  }
  if (now.constraint.trim() === "") return sayLint("Write a constraint, or choose an example.");
  if (model === null) return;
  try {
    if (now.kind === "schema") showFindings(await api.post("/v1/constraints/lint", api.constraintBody(now, model), signal));
    else if (now.kind === "tools") sayLint("The tools are read when a request is sent.");
    else {
      await api.post("/v1/constraints/check", api.constraintBody(now, model, { text: "" }), signal);
      sayLint("Valid.", "good");
    }
    if ($("samples").open) showSamples();
  } catch (error) {
    if (error.name === "AbortError") return;
    sayLint(error.message, "bad");
    if (error.status === 401) askForKey();
  }
}

function showFindings(answer) {
  if (!answer.accepted) return sayLint(answer.error ?? "The schema is refused.", "bad");
  const least = answer.least_bytes === null ? "" : ` Texts have at least ${answer.least_bytes} bytes.`;
  const remarks = answer.findings.filter((finding) => finding.kind !== "enforced");
  const enforced = answer.findings.length - remarks.length;
  sayLint(`Valid. ${enforced} ${enforced === 1 ? "keyword is" : "keywords are"} enforced.${least}`, "good");
  for (const finding of remarks) {
    const item = element("li");
    item.append(element("code", "", finding.pointer || "/"), ` ${finding.kind}: ${finding.message}`);
    $("findings").append(item);
  }
}

let sampleSeed = 1;

// Random texts of a constraint.
async function sample(constraint, n) {
  const body = api.constraintBody(constraint, model, { n, seed: sampleSeed, max_bytes: 300 });
  const { texts } = await api.post("/v1/constraints/sample", body);
  return texts.map(({ text }) => text ?? "(not UTF-8)");
}

// Calls of each tool with random arguments of its schema; a tool that takes a text has none.
async function sampleCalls() {
  const [tools, unmarked] = api.exactJson($("constraint").value);
  const calls = tools.map(async (tool) => {
    const { name, parameters } = tool.function ?? tool.custom ?? {};
    if (tool.type !== "function") return [`${name}(…)`];
    const schema = unmarked(JSON.stringify(parameters ?? { type: "object", properties: {}, additionalProperties: false }));
    const texts = await sample({ ...state(), kind: "schema", constraint: schema }, 2);
    return texts.map((text) => `${name}(${text})`);
  });
  return (await Promise.all(calls)).flat();
}

async function showSamples() {
  const list = $("sample-list");
  try {
    const texts = kind === "tools" ? await sampleCalls() : await sample(state(), 4);
    list.replaceChildren(...texts.map((text) => element("li", "", text)));
  } catch (error) {
    list.replaceChildren(element("li", "", error.message));
  }
}

// ---- runs ----

function showError(message) {
  $("error").textContent = message;
  $("error").hidden = !message;
}

function setBusy(busy) {
  $("stop").disabled = !busy;
  $("generate").disabled = busy;
  $("tokens").classList.toggle("busy", busy);
}

// The reason that a constraint cannot be sent; an empty text if it can.
function mistakeOf({ kind, constraint }) {
  if (constraint.trim() === "") return "Write a constraint, or choose an example.";
  const mistake = kind === "schema" || kind === "tools" ? jsonMistake(constraint) : "";
  return mistake ? `The constraint is not JSON: ${mistake}` : "";
}

async function generate() {
  if (running) return;
  const mistake = mistakeOf(state());
  showError(mistake);
  if (mistake) return;
  const run = { state: state(), tokens: [], events: [], text: "", verdict: null, started: performance.now() };
  runs.push(run);
  show(run);
  running = new AbortController();
  setBusy(true);
  announce("Generating.");
  // On a phone the output is below the form.
  if ($("output-heading").getBoundingClientRect().top > innerHeight) $("output-heading").scrollIntoView();
  const timer = setInterval(() => announceText(run), ANNOUNCE_DELAY);
  try {
    const body = api.chatBody(run.state, model, { traced: true });
    for await (const chunk of api.stream("/v1/chat/completions", body, running.signal)) take(run, chunk);
    await judge(run);
  } catch (error) {
    if (error.name === "AbortError") {
      run.verdict = ["Stopped.", ""];
    } else {
      run.verdict = ["No answer.", "bad"];
      showError(error.message);
      if (error.status === 401) askForKey();
    }
  } finally {
    clearInterval(timer);
    running = null;
    setBusy(false);
    showEnd(run);
    announceText(run);
    announce(`${run.verdict[0]} ${run.tokens.length} tokens.`);
  }
}

function take(run, chunk) {
  if (chunk.usage) run.usage = chunk.usage;
  const choice = chunk.choices[0];
  if (!choice) return;
  run.text += choice.delta.content ?? "";
  for (const call of choice.delta.tool_calls ?? []) run.text += call.function?.name ?? "";
  for (const entry of choice.logprobs?.content ?? []) {
    run.first ??= performance.now();
    run.last = performance.now();
    run.tokens.push(entry);
    if (run === shownRun) addToken(entry, run.tokens.length - 1, choose);
  }
  for (const event of choice.document ?? []) {
    run.events.push(event);
    if (run === shownRun) takeEvent(event);
  }
  if (choice.finish_reason) {
    run.finish = choice.finish_reason;
    run.complete = choice.complete;
  }
  if (run === shownRun) showFacts(run);
}

// Whether a text is one of the constraint, also where it was written without it.
async function judge(run) {
  const { masked, kind: of } = run.state;
  if (masked) {
    run.verdict = run.complete
      ? ["The text satisfies the constraint.", "good"]
      : [`The text is not complete: it ended by ${run.finish === "length" ? "Max tokens" : run.finish}.`, "bad"];
    return;
  }
  if (of === "tools") {
    run.verdict = ["Written without the tools.", ""];
    return;
  }
  try {
    const answer = await api.post("/v1/constraints/check", api.constraintBody(run.state, model, { text: run.text }));
    run.verdict = answer.accepted
      ? ["Written without the mask, and the constraint accepts it.", "good"]
      : [`Written without the mask; the constraint rejects it: ${answer.message}`, "bad"];
  } catch (error) {
    run.verdict = [`Written without the mask; it cannot be checked: ${error.message}`, ""];
  }
}

let tree = null;

// Shows the document's place, also where the constraint did not promise one.
function showTree(visible) {
  $("tree-column").hidden = !visible;
  document.querySelector(".columns").classList.toggle("single", !visible);
}

function takeEvent(event) {
  if (event.type === "object" || event.type === "array") showTree(true);
  tree.take(event);
}

function show(run) {
  shownRun = run;
  chosen = null;
  $("tokens").replaceChildren();
  tree = new Tree($("tree"));
  showTree(run.state.kind === "schema" || run.state.kind === "tools");
  run.tokens.forEach((entry, index) => addToken(entry, index, choose));
  run.events.forEach(takeEvent);
  $("inspector-body").replaceChildren(element("p", "hint", "Choose a token: here is what the model wanted to write there, and what the mask left of it. The arrow keys go from token to token."));
  showFacts(run);
  showVerdict(run);
  showRuns();
}

function showRuns() {
  $("runs").replaceChildren(
    ...runs.slice(-8).map((run) => {
      const at = runs.indexOf(run) + 1;
      const name = document.querySelector(`input[name=kind][value=${run.state.kind}]`).parentElement.textContent.trim();
      const button = element("button", "", `${at} ${name}${run.state.masked ? "" : ", unmasked"}`);
      button.type = "button";
      button.setAttribute("aria-pressed", String(run === shownRun));
      button.setAttribute("aria-label", `Run ${at}, ${run.state.masked ? "with" : "without"} the constraint`);
      button.addEventListener("click", () => show(run));
      return button;
    }),
  );
}

function showVerdict(run) {
  const [text, className] = run.verdict ?? ["", ""];
  $("verdict").textContent = text;
  $("verdict").className = `verdict ${className}`;
}

function showFacts(run) {
  const forced = run.tokens.filter((entry) => entry.forced).length;
  const changed = run.tokens.filter((entry) => !entry.forced && entry.argmax_masked).length;
  const seconds = (run.last - run.first) / 1000;
  const facts = [
    ["tokens", run.tokens.length],
    ["forced", forced],
    ["changed by the mask", changed],
    ["tokens a second", seconds > 0 && run.tokens.length > 1 ? Math.round((run.tokens.length - 1) / seconds) : "–"],
    ["first token", run.first ? `${Math.round(run.first - run.started)} ms` : "–"],
  ];
  $("facts").replaceChildren(
    ...facts.map(([name, value]) => {
      const fact = element("div");
      fact.append(element("dt", "", name), element("dd", "", String(value)));
      return fact;
    }),
  );
}

function showEnd(run) {
  if (run !== shownRun) return;
  showFacts(run);
  showVerdict(run);
  // The most telling token: the first where the mask changed what the model wanted.
  const telling = run.tokens.findIndex((entry) => !entry.forced && entry.argmax_masked);
  const first = telling >= 0 ? telling : run.tokens.findIndex((entry) => entry.argmax_masked);
  if (chosen === null && run.tokens.length > 0) choose(Math.max(first, 0), "end");
}

function choose(index, reason) {
  if (!shownRun?.tokens[index]) return;
  chosen = index;
  markToken(index, reason === "key");
  inspect(shownRun, index, model, choose);
  if (reason === "Previous" || reason === "Next") {
    [...document.querySelectorAll("#inspector .token-head button")].find((b) => b.textContent === reason && !b.disabled)?.focus();
  }
}

// ---- announcements to screen readers ----

function announce(text) {
  $("live").append(element("p", "", text));
  while ($("live").children.length > 6) $("live").firstChild.remove();
}

function announceText(run) {
  const more = run.text.slice(run.announced ?? 0);
  run.announced = run.text.length;
  if (more) announce(more);
}

// ---- the server ----

function askForKey(reason = "needs an API key") {
  $("key-form").hidden = false;
  $("model").textContent = reason;
}

async function connect({ tried = false } = {}) {
  try {
    model = (await api.get("/v1/models")).data[0].id;
    $("model").textContent = model;
    $("tiny-note").hidden = model !== "tiny";
    $("generate").disabled = false;
    $("key-form").hidden = true;
    api.keepKey();
    lint();
  } catch (error) {
    $("generate").disabled = true;
    if (error.status === 401) askForKey(tried ? "the server refuses this key" : undefined);
    else $("model").textContent = "no server";
  }
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    $("copied").textContent = `${what} copied`;
  } catch {
    // Browsers lend the clipboard to secure pages alone.
    const area = element("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    $("copied").textContent = document.execCommand("copy") ? `${what} copied` : "cannot copy";
    area.remove();
  }
  setTimeout(() => ($("copied").textContent = ""), 2500);
}

// ---- events ----

$("kinds").addEventListener("change", (event) => {
  drafts[kind] = { constraint: $("constraint").value, notation: $("notation").value, prompt: $("prompt").value, max_tokens: $("max-tokens").value, own: $("example").value };
  showKind(event.target.value);
  const draft = drafts[kind];
  showExample(draft ?? EXAMPLES[kind][0]);
  if (draft) $("example").value = draft.own;
});
$("example").addEventListener("change", () => {
  const example = EXAMPLES[kind][$("example").value];
  if (example) showExample(example);
});
$("constraint").addEventListener("input", () => {
  $("example").value = "own";
  lintSoon();
});
$("notation").addEventListener("change", lint);
$("whitespace").addEventListener("change", lint);
$("samples").addEventListener("toggle", () => $("samples").open && showSamples());
$("more-samples").addEventListener("click", () => {
  sampleSeed += 1;
  showSamples();
});
$("request").addEventListener("submit", (event) => {
  event.preventDefault();
  generate();
});
$("request").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    generate();
  }
});
$("stop").addEventListener("click", () => running?.abort());
$("tokens").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
  const ends = { Home: 0, End: (shownRun?.tokens.length ?? 0) - 1 }[event.key];
  if (step === undefined && ends === undefined) return;
  event.preventDefault();
  choose(ends ?? Number(document.activeElement.dataset.index) + step, "key");
});
$("copy-curl").addEventListener("click", () => copy(api.curl(state(), model), "curl command"));
$("copy-python").addEventListener("click", () => copy(api.python(state(), model), "Python program"));
$("copy-link").addEventListener("click", () => {
  history.replaceState(null, "", `#${toHash(state())}`);
  copy(location.href, "Link");
});
$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = $("key").value.trim();
  if (!api.isKey(key)) return askForKey("a key has letters, digits and signs of ASCII alone");
  api.setKey(key);
  $("key").value = "";
  connect({ tried: true });
});
window.addEventListener("hashchange", () => {
  const saved = fromHash(location.hash);
  if (saved) restore(saved);
  lint();
});

const saved = location.hash.length > 1 ? fromHash(location.hash) : null;
if (saved) {
  restore(saved);
  $("example").value = "own";
} else {
  restore({ kind: "schema" });
  showExample(EXAMPLES.schema[0]);
}
$("generate").disabled = true;
connect();
