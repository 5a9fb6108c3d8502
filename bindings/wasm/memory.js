// Values that cross the border between JavaScript and the library's memory.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: false });

function isByte(value) {
  return Number.isInteger(value) && value >= 0 && value <= 255;
}

/**
 * The memory of an instance. Views are made for each access, since memory that grows moves. Pointers and lengths are
 * integers without a sign here: WebAssembly gives those from 2^31 on as negative numbers.
 */
export class Memory {
  constructor(exports) {
    this.exports = exports;
  }

  get #buffer() {
    return this.exports.memory.buffer;
  }

  /** Room for so many bytes, to be freed. */
  allocate(length) {
    const at = this.exports.malloc(Math.max(length, 1)) >>> 0;
    if (at === 0) throw new RangeError(`there is no memory for ${length} bytes`);
    return at;
  }

  free(at) {
    this.exports.free(at);
  }

  bytes(at, length) {
    return new Uint8Array(this.#buffer, at >>> 0, length >>> 0);
  }

  words(at, length) {
    return new Uint32Array(this.#buffer, at >>> 0, length >>> 0);
  }

  numbers(at, length) {
    return new Float32Array(this.#buffer, at >>> 0, length >>> 0);
  }

  word(at) {
    return new DataView(this.#buffer).getUint32(at >>> 0, true);
  }

  setWord(at, value) {
    new DataView(this.#buffer).setUint32(at >>> 0, value, true);
  }

  /** The text at a pointer, up to its 0 byte. */
  text(at) {
    at >>>= 0;
    const all = new Uint8Array(this.#buffer);
    return decoder.decode(all.slice(at, all.indexOf(0, at)));
  }
}

/** Room for the arguments of one call, all freed at its end. */
export class Arguments {
  #memory;
  #rooms = [];

  constructor(memory) {
    this.#memory = memory;
  }

  /** Room for so many bytes; aligned for numbers. */
  room(length) {
    const at = this.#memory.allocate(length);
    this.#rooms.push(at);
    return at;
  }

  /** Bytes (a Uint8Array or an array of numbers) or a text: pointer and length. */
  bytes(value) {
    const bytes = typeof value === "string" ? encoder.encode(value) : value;
    if (!(bytes instanceof Uint8Array || (Array.isArray(bytes) && bytes.every(isByte)))) {
      const hint = value instanceof RegExp ? "; a pattern is its `source`" : "";
      throw new TypeError(`neither a text nor bytes: ${String(value)}${hint}`);
    }
    const at = this.room(bytes.length);
    this.#memory.bytes(at, bytes.length).set(bytes);
    return [at, bytes.length];
  }

  /** A text with a 0 byte at its end. */
  cString(text) {
    return this.bytes(`${text}\0`)[0];
  }

  /** Numbers of 32 bits: pointer and count. */
  words(list) {
    const words = Uint32Array.from(list);
    const at = this.room(4 * words.length);
    this.#memory.words(at, words.length).set(words);
    return [at, words.length];
  }

  free() {
    for (const at of this.#rooms.splice(0)) this.#memory.free(at);
  }
}
