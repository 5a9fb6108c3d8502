// The few functions of WASI (preview 1) that the library asks of its host: clocks, random numbers, standard
// error. There are no files, arguments and environment; whatever else is asked for is not supported.

const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const NOT_SUPPORTED = 52;
const STANDARD_ERROR = 2;

const CLOCK_REALTIME = 0;

/** Functions for an instance of `module`, whose memory `memory()` is. Pointers from 2^31 on come as negative numbers. */
export function imports(module, memory) {
  const view = () => new DataView(memory().buffer);
  const bytes = (at, length) => new Uint8Array(memory().buffer, at, length);
  const setWord = (at, value) => view().setUint32(at >>> 0, value, true);
  const known = {
    clock_time_get(clock, _precision, time) {
      const milliseconds = clock === CLOCK_REALTIME ? Date.now() : performance.now();
      view().setBigUint64(time >>> 0, BigInt(Math.round(milliseconds * 1e6)), true);
      return SUCCESS;
    },
    random_get(at, length) {
      [at, length] = [at >>> 0, length >>> 0];
      // The host gives at most 65,536 bytes a call.
      for (let done = 0; done < length; done += 65536) {
        crypto.getRandomValues(bytes(at + done, Math.min(65536, length - done)));
      }
      return SUCCESS;
    },
    fd_write(descriptor, parts, count, written) {
      if (descriptor !== STANDARD_ERROR) return BAD_DESCRIPTOR;
      let text = "";
      let length = 0;
      for (let part = 0; part < count; part++) {
        const [at, size] = [0, 4].map((offset) => view().getUint32((parts >>> 0) + 8 * part + offset, true));
        // A copy: the memory may be shared, which a decoder does not take.
        text += new TextDecoder().decode(bytes(at, size).slice());
        length += size;
      }
      console.error(text.trimEnd());
      setWord(written, length);
      return SUCCESS;
    },
    environ_sizes_get(count, size) {
      setWord(count, 0);
      setWord(size, 0);
      return SUCCESS;
    },
    environ_get: () => SUCCESS,
    sched_yield: () => SUCCESS,
    fd_prestat_get: () => BAD_DESCRIPTOR,
    proc_exit(code) {
      throw new Error(`the library has ended with code ${code}; load it anew`);
    },
  };
  const all = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    all[from] ??= {};
    all[from][name] = known[name] ?? (() => NOT_SUPPORTED);
  }
  return all;
}
