// Maskwright in JavaScript: a face of classes over the C interface, compiled to WebAssembly.
//
// Handles are freed when their objects are collected, or at once by `free()`.

import { Arguments, Memory } from "./memory.js";
import { imports } from "./wasi.js";

const ERROR_KINDS = [
  "other",
  "vocabulary",
  "regex",
  "grammar",
  "schema",
  "unsatisfiable",
  "limit",
  "rejected",
  "argument",
  "io",
];

// By the notation of a grammar, its number in the C interface.
const NOTATIONS = { lark: 4, gbnf: 5, abnf: 6, w3c: 7, iso: 8 };
const [JSON_SCHEMA, REGEX, CHOICE, STRUCTURAL_TAG] = [0, 1, 2, 3];

// The size of `mw_token`: pointer, length, whether it is special.
const TOKEN_BYTES = 12;

/** An error of the library: what is wrong, where, and what would do. */
export class MaskwrightError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "MaskwrightError";
    this.kind = kind;
  }
}

/** One instance of the library with its memory. */
class Instance {
  constructor(instance) {
    this.exports = instance.exports;
    this.memory = new Memory(instance.exports);
    this.freed = new FinalizationRegistry(([free, handle]) => this.exports[free](handle));
  }

  /** Calls a function with what `values` makes of room for arguments, an error's place at the end. */
  call(name, values, read = (result) => result) {
    const args = new Arguments(this.memory);
    try {
      const place = args.room(4);
      this.memory.setWord(place, 0);
      const result = this.exports[name](...values(args), place);
      const error = this.memory.word(place);
      if (error !== 0) {
        const kind = ERROR_KINDS[this.exports.mw_error_get_kind(error)] ?? ERROR_KINDS[0];
        const message = this.memory.text(this.exports.mw_error_message(error));
        this.exports.mw_error_free(error);
        throw new MaskwrightError(kind, message);
      }
      return read(result);
    } finally {
      args.free();
    }
  }

  /** A text that is the caller's, read and freed. */
  taken(at) {
    const text = this.memory.text(at);
    this.exports.mw_string_free(at);
    return text;
  }
}

/** The most bytes that `forcedBytes` gives at a time. */
const MAX_FORCED_BYTES = 65536;

/** A number that WebAssembly takes as it is: others wrap around silently. */
function integer(name, value) {
  if (Number.isInteger(value) && value >= 0 && value <= 0xffffffff) return value;
  throw new MaskwrightError("argument", `${name} is ${value}, and must be an integer from 0 to 4294967295`);
}

/** Ids of tokens, which must be such numbers, too. */
function tokenIds(list) {
  return Array.from(list, (token) => integer("a token", token));
}

/** An object of the library, by its handle. */
class Handle {
  #handle;
  #free;

  constructor(instance, handle, free) {
    this.instance = instance;
    this.#handle = handle;
    this.#free = free;
    instance.freed.register(this, [free, handle], this);
  }

  get handle() {
    if (this.#handle === 0) throw new MaskwrightError("argument", "the object was freed");
    return this.#handle;
  }

  /** Frees it now; what was made from it stays usable. */
  free() {
    if (this.#handle === 0) return;
    this.instance.freed.unregister(this);
    this.instance.exports[this.#free](this.#handle);
    this.#handle = 0;
  }
}

/** The tokens of a model. */
export class Vocabulary extends Handle {
  constructor(instance, handle) {
    super(instance, handle, "mw_vocabulary_free");
    // Plain values, since matchers need them after the vocabulary was freed, too.
    /** The number of tokens, which is the width of the logits. */
    this.size = instance.exports.mw_vocabulary_size(handle);
    /** The 32-bit words of a mask. */
    this.maskWords = instance.exports.mw_vocabulary_mask_words(handle);
  }

  /** The tokens that end a text. */
  get endTokens() {
    const { exports, memory } = this.instance;
    const args = new Arguments(memory);
    try {
      const count = exports.mw_vocabulary_end_tokens(this.handle, 0, 0);
      const at = args.room(4 * count);
      exports.mw_vocabulary_end_tokens(this.handle, at, count);
      return [...memory.words(at, count)];
    } finally {
      args.free();
    }
  }

  /** The same for logits of another width (of the model, often padded), or with other end tokens. */
  adapted({ width = 0, endTokens = null } = {}) {
    const made = this.instance.call("mw_vocabulary_adapted", (args) => [
      this.handle,
      integer("width", width),
      ...(endTokens === null ? [0, 0] : args.words(tokenIds(endTokens))),
    ]);
    return new Vocabulary(this.instance, made);
  }

  /** A compiler with settings by name, such as `{whitespace: "compact"}`. */
  compiler(settings = null) {
    const made = this.instance.call("mw_compiler_new", (args) => [
      this.handle,
      settings === null ? 0 : args.cString(JSON.stringify(settings)),
    ]);
    return new Compiler(this.instance, made, this);
  }
}

/** Makes constraints for one vocabulary. */
export class Compiler extends Handle {
  constructor(instance, handle, vocabulary) {
    super(instance, handle, "mw_compiler_free");
    this.vocabulary = vocabulary;
  }

  #compile(kind, text) {
    const made = this.instance.call("mw_compile", (args) => [this.handle, kind, ...args.bytes(text)]);
    return new Constraint(this.instance, made, this.vocabulary);
  }

  /** JSON that a schema accepts: an object, or its text, whose numbers are taken digit by digit. */
  jsonSchema(schema) {
    return this.#compile(JSON_SCHEMA, typeof schema === "string" ? schema : JSON.stringify(schema));
  }

  /** Text that matches a regular expression, whole. */
  regex(pattern) {
    return this.#compile(REGEX, pattern);
  }

  /** One of these texts. */
  choice(texts) {
    return this.#compile(CHOICE, JSON.stringify(texts));
  }

  /** A structural tag: an object, or its text. */
  structuralTag(tag) {
    return this.#compile(STRUCTURAL_TAG, typeof tag === "string" ? tag : JSON.stringify(tag));
  }

  /** Text of a grammar in a notation: `lark`, `gbnf`, `abnf`, `w3c` or `iso`. */
  grammar(text, notation = "lark") {
    if (!Object.hasOwn(NOTATIONS, notation)) {
      const known = Object.keys(NOTATIONS).join(", ");
      throw new MaskwrightError("argument", `\`${notation}\` is no notation; there are ${known}`);
    }
    return this.#compile(NOTATIONS[notation], text);
  }
}

/** A language over the tokens of a vocabulary. */
export class Constraint extends Handle {
  constructor(instance, handle, vocabulary) {
    super(instance, handle, "mw_constraint_free");
    this.vocabulary = vocabulary;
  }

  /** A matcher at the start of a text: one per sequence. */
  matcher() {
    return new Matcher(this.instance, this.instance.exports.mw_matcher_new(this.handle), this.vocabulary);
  }
}

/** One sequence under a constraint. */
export class Matcher extends Handle {
  constructor(instance, handle, vocabulary) {
    super(instance, handle, "mw_matcher_free");
    this.vocabulary = vocabulary;
  }

  /** A matcher that goes on from the same text by itself. */
  fork() {
    return new Matcher(this.instance, this.instance.exports.mw_matcher_fork(this.handle), this.vocabulary);
  }

  /** Takes one token; an end token finishes the text. */
  accept(token) {
    this.instance.call("mw_matcher_accept", () => [this.handle, integer("the token", token)]);
  }

  /** Takes text or bytes, whatever tokens they may be made of: one step. */
  acceptText(text) {
    this.instance.call("mw_matcher_accept_text", (args) => [this.handle, ...args.bytes(text)]);
  }

  /** How many of these tokens, from the first on, could be taken one after the other. */
  validate(tokens) {
    return this.instance.call("mw_matcher_validate", (args) => [this.handle, ...args.words(tokenIds(tokens))]);
  }

  /** Takes back the last steps. */
  rollback(steps) {
    this.instance.call("mw_matcher_rollback", () => [this.handle, integer("the number of steps", steps)]);
  }

  /** The number of steps taken. */
  get steps() {
    return this.instance.exports.mw_matcher_steps(this.handle);
  }

  /** Whether the text so far is complete. */
  get isAccepting() {
    return this.instance.exports.mw_matcher_is_accepting(this.handle) !== 0;
  }

  /** Whether an end token was accepted. */
  get isFinished() {
    return this.instance.exports.mw_matcher_is_finished(this.handle) !== 0;
  }

  /**
   * The mask of the next token, a bit for each (bit `t % 32` of word `t >> 5`), into `row` where one is given;
   * `within`: those tokens alone after which the text can be completed within so many tokens.
   */
  mask({ row = null, within = null } = {}) {
    const words = this.vocabulary.maskWords;
    if (row !== null && row.length !== words) {
      throw new MaskwrightError("argument", `a row has ${words} words, not ${row.length}`);
    }
    let at = 0;
    const place = (args) => [(at = args.room(4 * words)), words];
    const [name, values] =
      within === null || within === Infinity
        ? ["mw_matcher_fill_mask", (args) => [this.handle, ...place(args)]]
        : ["mw_matcher_fill_mask_within", (args) => [this.handle, integer("within", within), ...place(args)]];
    return this.instance.call(name, values, () => {
      const mask = row ?? new Uint32Array(words);
      mask.set(this.instance.memory.words(at, words));
      return mask;
    });
  }

  /** Whether the next token may be this one. */
  allows(token) {
    return this.validate([token]) === 1;
  }

  /** Sets the logits of tokens that are not allowed to minus infinity, in place. */
  maskLogits(logits) {
    const size = this.vocabulary.size;
    if (logits.length !== size) {
      throw new MaskwrightError("argument", `the vocabulary has ${size} tokens, and there are ${logits.length} logits`);
    }
    const mask = this.mask();
    for (let token = 0; token < size; token++) {
      if (((mask[token >> 5] >>> (token & 31)) & 1) === 0) logits[token] = -Infinity;
    }
    return logits;
  }

  /** The fewest tokens that complete the text, the end token not counted. */
  tokensToFinish() {
    let at = 0;
    return this.instance.call(
      "mw_matcher_tokens_to_finish",
      (args) => [this.handle, (at = args.room(4))],
      () => this.instance.memory.word(at),
    );
  }

  /** The bytes that come next in any text, at most `limit`. */
  forcedBytes(limit = 4096) {
    limit = integer("limit", Math.min(limit, MAX_FORCED_BYTES));
    let at = 0;
    return this.instance.call(
      "mw_matcher_forced_bytes",
      (args) => [this.handle, (at = args.room(limit)), limit],
      (count) => this.instance.memory.bytes(at, Math.min(count, limit)).slice(),
    );
  }

  /** The reason that a token is allowed or not, in words. */
  explain(token) {
    return this.instance.call("mw_matcher_explain", () => [this.handle, integer("the token", token)], (at) => this.instance.taken(at));
  }

  /** The texts that may come next, in words. */
  expected() {
    return this.instance.call("mw_matcher_expected", () => [this.handle], (at) => this.instance.taken(at));
  }
}

/** Maskwright, loaded. */
export class Maskwright {
  #instance;

  constructor(instance) {
    this.#instance = instance;
  }

  /** The version of the library. */
  get version() {
    return this.#instance.memory.text(this.#instance.exports.mw_version());
  }

  /** The vocabulary of a `tokenizer.json`: its text, or the object that it is. */
  vocabularyFromTokenizerJson(json) {
    const text = typeof json === "string" ? json : JSON.stringify(json);
    const made = this.#instance.call("mw_vocabulary_from_json", (args) => args.bytes(text));
    return new Vocabulary(this.#instance, made);
  }

  /**
   * A vocabulary by its tokens: for each id a text, bytes, `{special: "<name>"}`, or null where it has none.
   * `endTokens` are the ids that end a text.
   */
  vocabularyFromTokens(tokens, { endTokens = [] } = {}) {
    const { memory } = this.#instance;
    const made = this.#instance.call("mw_vocabulary_from_tokens", (args) => {
      const table = args.room(TOKEN_BYTES * tokens.length);
      // Not `forEach`, which passes over holes: their rows would be what the memory held before.
      for (let id = 0; id < tokens.length; id++) {
        const token = tokens[id] ?? null;
        const special = token?.special !== undefined;
        const [bytes, length] = token === null ? [0, 0] : args.bytes(special ? token.special : token);
        const at = table + TOKEN_BYTES * id;
        memory.setWord(at, bytes);
        memory.setWord(at + 4, length);
        memory.setWord(at + 8, special ? 1 : 0);
      }
      return [table, tokens.length, ...args.words(tokenIds(endTokens))];
    });
    return new Vocabulary(this.#instance, made);
  }
}

async function compiled(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  const url = source ?? new URL("maskwright.wasm", import.meta.url);
  if (typeof process !== "undefined" && process.versions?.node && String(url).startsWith("file:")) {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(new URL(url)));
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new MaskwrightError("io", `${url}: HTTP ${answer.status}`);
  return WebAssembly.compile(await answer.arrayBuffer());
}

/**
 * Loads the library: from `maskwright.wasm` beside this file, or from a URL, bytes or a module.
 */
export async function load(source) {
  const module = await compiled(source);
  let instance;
  instance = await WebAssembly.instantiate(module, imports(module, () => instance.exports.memory));
  instance.exports._initialize?.();
  return new Maskwright(new Instance(instance));
}
