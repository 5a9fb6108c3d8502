// The first mistake of a text that should be JSON. Browsers find it, too, but few say where.

// White space, then one token.
const TOKEN =
  /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;

// The mistake with its line and column; null if there is none.
export function jsonMistake(text) {
  const open = [];
  // What may come: a value, the end of a container, a key, a colon, a comma.
  let may = ["value"];
  let at = 0;
  for (;;) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    const start = at + /^[ \t\n\r]*/.exec(text.slice(at))[0].length;
    if (!found) return start === text.length && may.length === 0 ? null : mistake(text, start);
    const [, sign, string] = found;
    const after = open.at(-1) === "{" ? [",", "}"] : open.at(-1) === "[" ? [",", "]"] : [];
    if (sign === "{" || sign === "[") {
      if (!may.includes("value")) return mistake(text, start);
      open.push(sign);
      may = sign === "{" ? ["key", "}"] : ["value", "]"];
    } else if (sign) {
      if (!may.includes(sign)) return mistake(text, start);
      if (sign === ",") may = open.at(-1) === "{" ? ["key"] : ["value"];
      else if (sign === ":") may = ["value"];
      else {
        open.pop();
        may = open.length === 0 ? [] : [",", open.at(-1) === "{" ? "}" : "]"];
      }
    } else if (string && may.includes("key")) may = [":"];
    else if (may.includes("value")) may = after;
    else return mistake(text, start);
    at = TOKEN.lastIndex;
  }
}

function mistake(text, at) {
  const before = text.slice(0, at).split("\n");
  const what = at === text.length ? "it ends too early" : `unexpected ${JSON.stringify(text[at])}`;
  return `line ${before.length}, column ${before.at(-1).length + 1}: ${what}`;
}
