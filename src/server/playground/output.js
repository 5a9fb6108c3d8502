// The right side: tokens as they come, the document as a tree, and one token in detail.

import { ApiError, constraintBody, post } from "./api.js";

const $ = (id) => document.getElementById(id);

export function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// A token's text so that white space, control characters and parts of characters can be seen.
export function shown(token, bytes) {
  if (token.includes("\ufffd") && bytes) {
    return bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  }
  return token
    .replaceAll(" ", "\u2423")
    .replaceAll("\n", "\\n")
    .replaceAll("\t", "\\t")
    .replace(/[\u0000-\u001f\u007f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

export function percent(p) {
  if (p === 0) return "0 %";
  if (p < 0.0005) return "<0.1 %";
  return `${(100 * p).toFixed(p > 0.9995 ? 0 : 1)} %`;
}

const probability = (logprob) => (logprob === null ? 0 : Math.exp(logprob));

// Adds a token to the line. `index` is its number in the run.
export function addToken(entry, index, choose) {
  const button = element("button", "token");
  button.type = "button";
  button.dataset.index = index;
  button.textContent = entry.token.includes("\ufffd") ? shown(entry.token, entry.bytes) : entry.token.replaceAll("\n", "↵\n");
  const chance = probability(entry.raw_logprob);
  if (entry.forced) button.classList.add("forced");
  else if (entry.argmax_masked) button.classList.add("changed");
  else button.style.backgroundColor = `rgba(var(--heat), ${(0.03 + 0.25 * chance).toFixed(3)})`;
  const kind = entry.forced ? ", forced" : entry.argmax_masked ? ", the mask changed it" : "";
  button.setAttribute("aria-label", `${shown(entry.token, entry.bytes)}, ${percent(chance)}${kind}`);
  button.setAttribute("aria-pressed", "false");
  button.tabIndex = index === 0 ? 0 : -1;
  button.addEventListener("click", () => choose(index));
  $("tokens").append(button);
}

// Marks the chosen token, which alone is in the order of the Tab key.
export function markToken(index, focus) {
  for (const button of $("tokens").children) {
    const chosen = Number(button.dataset.index) === index;
    button.setAttribute("aria-pressed", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) button.focus();
    if (chosen) button.scrollIntoView({ block: "nearest" });
  }
}

// The document, put together from typed events.
export class Tree {
  constructor(root) {
    this.root = root;
    this.nodes = new Map();
    root.replaceChildren();
  }

  take(event) {
    const place = `${event.tool_call ?? ""}${event.path}`;
    const name = `${place}|${event.type}`;
    const isContainer = event.type === "object" || event.type === "array";
    let node = this.nodes.get(name);
    // A key that is written twice has two values.
    if (!node || (isContainer && !event.complete)) {
      node = this.begin(event, place);
      this.nodes.set(name, node);
    }
    node.value.textContent += event.delta;
    node.item.classList.toggle("open", !event.complete);
    if (event.complete && !isContainer) this.nodes.delete(name);
  }

  begin({ path, type }, place) {
    const item = element("li", "open");
    const name = path.slice(path.lastIndexOf("/") + 1).replaceAll("~1", "/").replaceAll("~0", "~");
    if (path) item.append(element("span", "name", `${name}: `));
    const value = element("span", `value ${type}`);
    item.append(value);
    item.append(element("span", "type", type));
    const parent = path ? place.slice(0, place.lastIndexOf("/")) : null;
    const list = (parent !== null && this.lists(parent)) || this.top();
    list.append(item);
    if (type === "object" || type === "array") item.append(element("ul"));
    return { item, value };
  }

  // The list of the members of a container.
  lists(place) {
    const node = this.nodes.get(`${place}|object`) ?? this.nodes.get(`${place}|array`);
    return node?.item.querySelector(":scope > ul");
  }

  top() {
    let list = this.root.querySelector(":scope > .roots");
    if (!list) {
      list = element("ul", "roots");
      this.root.append(list);
    }
    return list;
  }
}

function bars(title, note, candidates, entry, why) {
  const part = element("div");
  const heading = element("h4", "", `${title} `);
  heading.append(element("span", "", note));
  part.append(heading);
  const list = element("ul");
  for (const candidate of candidates) {
    const row = element("li", "bar");
    const masked = candidate.allowed === false;
    const chosen = candidate.token === entry.token && String(candidate.bytes) === String(entry.bytes);
    if (masked) row.classList.add("masked");
    if (chosen) row.classList.add("chosen");
    const p = probability(candidate.logprob);
    const name = element(masked ? "s" : "span", "name", shown(candidate.token, candidate.bytes));
    name.title = shown(candidate.token, candidate.bytes);
    const line = element("span", "line");
    const fill = element("i");
    fill.style.width = `${Math.max(100 * p, 0.5)}%`;
    line.append(fill);
    row.append(name, line, element("span", "share", percent(p)));
    if (masked && why) {
      const button = element("button", "", "why?");
      button.type = "button";
      button.setAttribute("aria-label", `Why is ${shown(candidate.token, candidate.bytes)} masked?`);
      button.addEventListener("click", () => why(candidate));
      row.append(button);
    } else {
      row.append(element("span", "share", chosen ? "written" : ""));
    }
    list.append(row);
  }
  part.append(list);
  return part;
}

// One sentence about a step.
function sentence(entry) {
  const first = entry.wanted[0];
  const raw = percent(probability(entry.raw_logprob));
  if (entry.forced) {
    return entry.argmax_masked
      ? `Forced: only this text can come here. The model gave it ${raw} and would have written ${quoted(first)}.`
      : `Forced: only this text can come here. The model gave it ${raw}.`;
  }
  if (entry.argmax_masked) {
    return `The model wanted ${quoted(first)} (${percent(probability(first.logprob))}), which the constraint forbids. It wrote the next best that is allowed.`;
  }
  return entry.allowed_mass > 0.9995
    ? "The mask took nothing of what the model wanted here."
    : `The mask left ${percent(entry.allowed_mass)} of the model’s probability; the choice is the model’s own.`;
}

const quoted = (candidate) => `“${shown(candidate.token, candidate.bytes)}”`;

// Shows a token of a run; asks the server why an alternative is masked.
export function inspect(run, index, model, choose) {
  const entry = run.tokens[index];
  const body = $("inspector-body");
  const head = element("div", "token-head");
  const hex = entry.bytes ? entry.bytes.map((b) => b.toString(16).padStart(2, "0")).join(" ") : "";
  head.append(element("span", "shown", shown(entry.token, entry.bytes)));
  head.append(
    element("span", "meta", `token ${index + 1} of ${run.tokens.length} · id ${entry.token_id}${hex && ` · bytes ${hex}`} · ${entry.allowed.toLocaleString("en")} allowed`),
  );
  head.append(element("span", "spring"));
  for (const [label, to] of [["Previous", index - 1], ["Next", index + 1]]) {
    const button = element("button", "small", label);
    button.type = "button";
    button.disabled = to < 0 || to >= run.tokens.length;
    button.addEventListener("click", () => choose(to, label));
    head.append(button);
  }
  const why = element("div", "why");
  why.hidden = true;
  why.setAttribute("role", "status");
  const constrained = run.state.masked;
  const explain = (candidate) => explainToken(run, index, candidate, model, why);
  const pair = element("div", "bars-pair");
  if (constrained) {
    pair.append(bars("Before the mask:", "what the model wanted", entry.wanted, entry, explain));
    pair.append(bars("After the mask:", "shares of what is allowed", entry.top_logprobs, entry));
  } else {
    pair.append(bars("Without a mask:", "what the model wanted", entry.wanted, entry));
  }
  body.replaceChildren(head, element("p", "sentence", constrained ? sentence(entry) : "No constraint: every token is allowed."), pair, why);
  const masked = entry.wanted.find((candidate) => !candidate.allowed);
  if (constrained && masked) explain(masked);
}

async function explainToken(run, index, candidate, model, why) {
  why.hidden = false;
  const name = shown(candidate.token, candidate.bytes);
  const say = (...parts) => {
    const line = element("p");
    line.append(...parts);
    why.replaceChildren(line);
  };
  const code = (text) => element("code", "", text);
  if (run.state.kind === "tools") {
    say("Why ", code(name), " is masked: the format of a tool call, or the arguments’ schema, goes on otherwise here.");
    return;
  }
  const prefix = run.tokens.slice(0, index).map((entry) => entry.token_id);
  try {
    const body = constraintBody(run.state, model, { prefix_token_ids: prefix, why: candidate.token_id });
    const answer = await post("/v1/constraints/mask", body);
    if (answer.allowed) {
      say("Why ", code(name), " is masked: the constraint alone would allow it, but the text could not end within Max tokens, or the request bans the token.");
      return;
    }
    const decided = `, by ${answer.decided_by.join(", ")}`;
    let reason = answer.reason.replace(/^token \d+ \([^]*?\) is not allowed: /, "");
    if (reason.endsWith(decided)) reason = reason.slice(0, -decided.length);
    say("Why ", code(name), ` is masked: ${reason}.`);
    if (answer.decided_by.length > 0) {
      const line = element("p", "", "Decided by ");
      answer.decided_by.forEach((part, at) => line.append(at > 0 ? ", " : "", code(part)));
      why.append(line);
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    say(`Why ${name} is masked cannot be told: ${error.message}`);
  }
}
