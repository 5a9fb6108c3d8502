/** Kinds of errors; those of the C interface. */
export type ErrorKind =
  | "other"
  | "vocabulary"
  | "regex"
  | "grammar"
  | "schema"
  | "unsatisfiable"
  | "limit"
  | "rejected"
  | "argument"
  | "io";

/** An error of the library: what is wrong, where, and what would do. */
export class MaskwrightError extends Error {
  readonly kind: ErrorKind;
}

interface Freed {
  /** Frees it now; what was made from it stays usable. Otherwise it is freed when it is collected. */
  free(): void;
}

/** Settings of a compiler by name, as `mw_compiler_new` lists them. */
export type Settings = Record<string, unknown>;

/** A notation of grammars. */
export type Notation = "lark" | "gbnf" | "abnf" | "w3c" | "iso";

/** One token: its text or bytes, the name of a special token, or null where an id has none. */
export type Token = string | Uint8Array | { special: string } | null;

/** The tokens of a model. */
export interface Vocabulary extends Freed {
  /** The number of tokens, which is the width of the logits. */
  readonly size: number;
  /** The 32-bit words of a mask. */
  readonly maskWords: number;
  /** The tokens that end a text. */
  readonly endTokens: number[];
  /** The same for logits of another width (of the model, often padded), or with other end tokens. */
  adapted(change: { width?: number; endTokens?: number[] | null }): Vocabulary;
  /** A compiler with settings by name. */
  compiler(settings?: Settings | null): Compiler;
}

/** Makes constraints for one vocabulary. */
export interface Compiler extends Freed {
  readonly vocabulary: Vocabulary;
  /** JSON that a schema accepts: an object, or its text, whose numbers are taken digit by digit. */
  jsonSchema(schema: object | boolean | string): Constraint;
  /** Text that matches a regular expression, whole. */
  regex(pattern: string): Constraint;
  /** One of these texts. */
  choice(texts: string[]): Constraint;
  /** A structural tag: an object, or its text. */
  structuralTag(tag: object | string): Constraint;
  /** Text of a grammar. */
  grammar(text: string, notation?: Notation): Constraint;
}

/** A language over the tokens of a vocabulary. */
export interface Constraint extends Freed {
  readonly vocabulary: Vocabulary;
  /** A matcher at the start of a text: one per sequence. */
  matcher(): Matcher;
}

/** One sequence under a constraint. */
export interface Matcher extends Freed {
  readonly vocabulary: Vocabulary;
  /** A matcher that goes on from the same text by itself. */
  fork(): Matcher;
  /** Takes one token; an end token finishes the text. */
  accept(token: number): void;
  /** Takes text or bytes, whatever tokens they may be made of: one step. */
  acceptText(text: string | Uint8Array): void;
  /** How many of these tokens, from the first on, could be taken one after the other. */
  validate(tokens: number[]): number;
  /** Whether the next token may be this one. */
  allows(token: number): boolean;
  /** Takes back the last steps. */
  rollback(steps: number): void;
  /** The number of steps taken. */
  readonly steps: number;
  /** Whether the text so far is complete. */
  readonly isAccepting: boolean;
  /** Whether an end token was accepted. */
  readonly isFinished: boolean;
  /**
   * The mask of the next token, a bit for each (bit `t % 32` of word `t >> 5`), into `row` where one is given;
   * `within`: those tokens alone after which the text can be completed within so many tokens.
   */
  mask(options?: { row?: Uint32Array | null; within?: number | null }): Uint32Array;
  /** Sets the logits of tokens that are not allowed to minus infinity, in place. */
  maskLogits(logits: Float32Array): Float32Array;
  /** The fewest tokens that complete the text, the end token not counted. */
  tokensToFinish(): number;
  /** The bytes that come next in any text, at most `limit`. */
  forcedBytes(limit?: number): Uint8Array;
  /** The reason that a token is allowed or not, in words. */
  explain(token: number): string;
  /** The texts that may come next, in words. */
  expected(): string;
}

/** Maskwright, loaded. */
export interface Maskwright {
  /** The version of the library. */
  readonly version: string;
  /** The vocabulary of a `tokenizer.json`: its text, or the object that it is. */
  vocabularyFromTokenizerJson(json: string | object): Vocabulary;
  /** A vocabulary by its tokens; `endTokens` are the ids that end a text. */
  vocabularyFromTokens(tokens: Token[], options?: { endTokens?: number[] }): Vocabulary;
}

/** Loads the library: from `maskwright.wasm` beside this file, or from a URL, bytes or a module. */
export function load(source?: string | URL | ArrayBuffer | ArrayBufferView | WebAssembly.Module): Promise<Maskwright>;
