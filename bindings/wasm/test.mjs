// The package in Node: node --test test.mjs, after build.sh.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { load, MaskwrightError } from "./maskwright.js";
import { Memory } from "./memory.js";

const maskwright = await load();
const END = 256;
const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
const vocabulary = maskwright.vocabularyFromTokens([...bytes, { special: "</s>" }, "true", "12"], { endTokens: [END] });

function allowed(mask) {
  const has = (token) => (mask[token >> 5] >>> (token & 31)) & 1;
  return Array.from({ length: vocabulary.size }, (_, token) => token).filter(has);
}

const byte = (text) => text.codePointAt(0);

test("a vocabulary by its tokens", async () => {
  assert.equal(vocabulary.size, 259);
  assert.equal(vocabulary.maskWords, 9);
  assert.deepEqual(vocabulary.endTokens, [END]);
  const wide = vocabulary.adapted({ width: 300, endTokens: [END, 10] });
  assert.deepEqual([wide.size, wide.maskWords, wide.endTokens], [300, 10, [END, 10]]);
  const { version } = JSON.parse(await readFile(new URL("package.json", import.meta.url)));
  assert.equal(maskwright.version, version);
});

test("a schema, token by token", () => {
  const compiler = vocabulary.compiler({ whitespace: "compact" });
  const schema = { type: "object", properties: { ok: { type: "boolean" }, n: { type: "integer" } }, required: ["ok", "n"], additionalProperties: false };
  const matcher = compiler.jsonSchema(schema).matcher();
  assert.deepEqual(allowed(matcher.mask()), [byte("{")]);
  assert.equal(new TextDecoder().decode(matcher.forcedBytes()), '{"ok":');
  matcher.acceptText('{"ok":');
  assert.deepEqual(allowed(matcher.mask()), [byte("f"), byte("t"), 257]);
  matcher.accept(257);
  matcher.acceptText(',"n":');
  const before = matcher.fork();
  matcher.accept(258);
  assert.equal(matcher.validate([byte("3"), byte("}"), END, END]), 3);
  assert.equal(matcher.tokensToFinish(), 1);
  assert.deepEqual(allowed(matcher.mask({ within: 1 })), [byte("}")]);
  matcher.accept(byte("}"));
  assert.ok(matcher.isAccepting && !matcher.isFinished);
  assert.deepEqual(allowed(matcher.mask({ row: new Uint32Array(9) })), [END]);
  matcher.accept(END);
  assert.ok(matcher.isFinished);
  matcher.rollback(2);
  assert.equal(matcher.steps, 4);
  assert.ok(before.allows(258) && !before.allows(257));
  for (const token of [undefined, null, "x", -1, 1.5, 2 ** 32]) {
    assert.throws(() => before.allows(token), /must be an integer/);
    assert.throws(() => vocabulary.adapted({ endTokens: [token] }), /must be an integer/);
  }
});

test("logits are masked in place", () => {
  const matcher = vocabulary.compiler().choice(["yes", "no"]).matcher();
  const logits = matcher.maskLogits(new Float32Array(vocabulary.size).fill(1));
  const kept = [...logits.keys()].filter((token) => logits[token] === 1);
  assert.deepEqual(kept, [byte("n"), byte("y")]);
  assert.ok(logits.every((logit, token) => logit === 1 || (logit === -Infinity && !kept.includes(token))));
});

test("constraints of every kind", () => {
  const compiler = vocabulary.compiler();
  const tag = { type: "structural_tag", format: { type: "tag", begin: "<a>", content: { type: "regex", pattern: "x+" }, end: "</a>" } };
  for (const [constraint, right, wrong] of [
    [compiler.regex("[0-9]{2}"), "42", "4x"],
    [compiler.grammar('start: "é" /a|b/'), "éb", "éc"],
    [compiler.grammar('root ::= "x" [0-9]*', "gbnf"), "x12", "y"],
    [compiler.grammar('a = "x" 1*DIGIT', "abnf"), "X1", "x-"],
    [compiler.structuralTag(tag), "<a>xx</a>", "<a>y"],
    [compiler.jsonSchema('{"const": 10000000000000000000001}'), "10000000000000000000001", "1e22"],
  ]) {
    const matcher = constraint.matcher();
    matcher.acceptText(right);
    assert.ok(matcher.isAccepting, right);
    assert.throws(() => constraint.matcher().acceptText(wrong), { kind: "rejected" });
  }
});

test("errors say what is wrong, and where", () => {
  const compiler = vocabulary.compiler();
  const message = (call) => {
    try {
      call();
    } catch (error) {
      assert.ok(error instanceof MaskwrightError, String(error));
      return `${error.kind}: ${error.message}`;
    }
    return "no error";
  };
  assert.match(message(() => compiler.regex("(a")), /^regex: .*byte 0/);
  assert.match(message(() => compiler.jsonSchema({ type: "strin" })), /^schema: .*\/type/);
  assert.throws(() => compiler.regex(/[0-9]+/), /neither a text nor bytes.*`source`/);
  for (const wrong of [5, undefined, new ArrayBuffer(2), [256]]) {
    assert.throws(() => compiler.regex(wrong), /neither a text nor bytes/);
  }
  assert.match(message(() => compiler.grammar("start: b")), /^grammar: .*`b`/);
  assert.match(message(() => compiler.grammar("x", "bnf")), /^argument: .*lark, gbnf/);
  assert.match(message(() => vocabulary.compiler({ white: 1 })), /^argument: .*\/white/);
  assert.match(message(() => compiler.choice([])), /^argument: .*no text/);
  assert.match(message(() => compiler.regex("a").matcher().accept(257)), /^rejected: /);
  assert.match(message(() => compiler.regex("a").matcher().mask({ row: new Uint32Array(1) })), /^argument: .*9 words/);
  const freed = compiler.regex("a");
  freed.free();
  freed.free();
  assert.match(message(() => freed.matcher()), /^argument: .*freed/);
});

test("a tokenizer.json", () => {
  const vocab = Object.fromEntries(["<s>", "a", "b", "ab", "Ġ"].map((token, id) => [token, id]));
  const tokenizer = {
    version: "1.0",
    added_tokens: [{ id: 0, content: "<s>", special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }],
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: { type: "BPE", vocab, merges: [["a", "b"]], unk_token: null, byte_fallback: false },
  };
  const read = maskwright.vocabularyFromTokenizerJson(tokenizer);
  const matcher = read.compiler().regex("ab b").matcher();
  const mask = matcher.mask();
  assert.equal(mask[0], 0b1010);
  matcher.accept(3);
  matcher.accept(4);
  assert.equal(matcher.mask()[0], 0b100);
  assert.throws(() => maskwright.vocabularyFromTokenizerJson("{"), { kind: "vocabulary" });
});

test("memory grows, and what is freed is used again", () => {
  const compiler = vocabulary.compiler();
  const words = Array.from({ length: 20_000 }, (_, i) => `word number ${i * 7919}`);
  for (let round = 0; round < 20; round++) {
    const constraint = compiler.choice(words);
    const matcher = constraint.matcher();
    matcher.acceptText(words[round]);
    assert.ok(matcher.isAccepting);
    matcher.free();
    constraint.free();
  }
});

test("gaps, freed vocabularies and numbers that do not fit", () => {
  const sparse = [];
  [sparse[0], sparse[2]] = ["a", "b"];
  const own = maskwright.vocabularyFromTokens(sparse, { endTokens: [1] });
  const matcher = own.compiler().regex("a").matcher();
  own.free();
  assert.deepEqual([...matcher.mask()], [1]);
  assert.equal(matcher.maskLogits(new Float32Array(3))[2], -Infinity);
  assert.deepEqual([...matcher.forcedBytes(Infinity)], [byte("a")]);
  for (const wrong of [undefined, NaN, -1, 2 ** 32]) assert.throws(() => matcher.accept(wrong), MaskwrightError);
});

test("pointers beyond 2 GiB, which WebAssembly gives as negative numbers", () => {
  const buffer = new ArrayBuffer(2 ** 31 + 64);
  const place = 2 ** 31 + 8;
  const memory = new Memory({ memory: { buffer }, malloc: () => place | 0 });
  assert.equal(memory.allocate(8), place);
  memory.bytes(place | 0, 3).set([104, 105, 0]);
  assert.equal(memory.text(place | 0), "hi");
  memory.setWord(place | 0, 7);
  assert.deepEqual([memory.word(place), ...memory.words(place | 0, 1)], [7, 7]);
});
