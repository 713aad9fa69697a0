// Highlighting for the two languages, token by token: a program that is being typed is coloured as well as a finished one.
// Each is what CodeMirror calls a stream parser: `token` takes the next token off the stream and says what it is.

/** The class of each kind of token; a `variable` looks like the rest of the text. */
export const CLASSES = {
  comment: "tok-comment",
  keyword: "tok-keyword",
  type: "tok-type",
  number: "tok-number",
  string: "tok-string",
  label: "tok-label",
  meta: "tok-guard",
  definition: "tok-definition",
  special: "tok-special",
  opcode: "tok-opcode",
  punctuation: "tok-punctuation",
};

const NAME = /^[A-Za-z_$][\w$]*/;
const NUMBER = /^(?:0[xX][\da-fA-F]+U?|0[fFdD][\da-fA-F]{8,16}|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?U?|inf\b|nan\b)/;

const DECLARATIONS = new Set(["kernel", "func", "launch", "global", "const", "input", "shared", "local", "reg", "entry", "profile"]);
const FLOW = new Set(["br", "switch", "ret", "exit", "call", "to"]);
const FILLS = new Set(["buffer", "texture", "draws", "iota", "random", "true", "zero", "coherence", "grid", "block", "warp", "seed", "uniform", "restrict", "derived"]);
const PROFILES = new Set(["path", "edge", "zero", "warp"]);
const TYPE = /^(?:pred|[bsu](?:8|16|32|64)|f(?:16|32|64)|ptr|tex2d)$/;

/** Our own text. */
export const wir = {
  name: "wir",
  startState: () => ({ place: "line", depth: 0, launch: false, profile: 0 }),
  token(stream, state) {
    if (stream.sol()) {
      state.place = "line";
    }
    if (stream.eatSpace()) {
      return null;
    }
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match(/^@!?[A-Za-z_]\w*/)) {
      return "meta";
    }
    if (stream.match(/^%[a-z]+(?:\.[xyz])?/)) {
      return "special";
    }
    if (stream.match(NUMBER)) {
      return "number";
    }
    if (stream.match(NAME)) {
      return nameInWir(stream, state);
    }
    const character = stream.next();
    if (character === "{") {
      state.depth += 1;
    } else if (character === "}") {
      state.depth = Math.max(0, state.depth - 1);
      state.launch &&= state.depth > 0;
      if (state.depth <= state.profile) {
        state.profile = 0;
      }
    } else if (character === "=") {
      state.place = "opcode";
    }
    return "punctuation";
  },
  languageData: { commentTokens: { line: "//" } },
};

function nameInWir(stream, state) {
  const word = stream.current();
  const place = state.place;
  state.place = "operand";
  if (state.profile > 0) {
    return PROFILES.has(word) && stream.match(/^\s*\{/, false) || word === "diverged" && stream.match(/^\s*\d/, false) ? "keyword" : "label";
  }
  if (place === "line" && state.depth > 0 && word === "profile" && stream.match(/^\s+[a-z]+\s*\{/, false)) {
    state.profile = state.depth;
    return "keyword";
  }
  if (place === "line" && state.depth > 0 && stream.match(/^\s*:(?!\w)/, false) && !stream.match(/^\s*:\s*\w/, false)) {
    return "label";
  }
  if (place === "line" && state.depth === 0 && DECLARATIONS.has(word)) {
    state.launch = word === "launch";
    state.place = "name";
    return "keyword";
  }
  if (place === "name") {
    return "definition";
  }
  if (state.launch) {
    return FILLS.has(word) ? "keyword" : TYPE.test(word) ? "type" : "variable";
  }
  if (TYPE.test(word.split(".")[0]) && stream.match(/^(?:\.\w+)?(?=[\s,)[{]|$)/, false) && place !== "line") {
    stream.match(/^\.\w+/);
    return "type";
  }
  const isDefinition = place === "line" && stream.match(/^\s*=/, false);
  if (isDefinition) {
    return "definition";
  }
  if (place === "line" || place === "opcode") {
    if (DECLARATIONS.has(word) && stream.match(/^\s+\w/, false)) {
      return "keyword";
    }
    stream.match(/^(?:\.\w+)+/);
    return FLOW.has(word) ? "keyword" : "opcode";
  }
  return "variable";
}

/** PTX. */
export const ptx = {
  name: "ptx",
  startState: () => ({ comment: false, start: true }),
  token(stream, state) {
    if (state.comment) {
      if (stream.match(/^.*?\*\//)) {
        state.comment = false;
      } else {
        stream.skipToEnd();
      }
      return "comment";
    }
    if (stream.sol()) {
      state.start = true;
    }
    if (stream.eatSpace()) {
      return null;
    }
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.comment = true;
      return "comment";
    }
    if (stream.match(/^@!?%?[\w$]+/)) {
      return "meta";
    }
    if (stream.match(/^"[^"]*"?/)) {
      return "string";
    }
    if (state.start && stream.match(/^[\w$]+(?=:)/)) {
      return "label";
    }
    if (stream.match(/^\.(?:pred|[bsuf](?:8|16|32|64))\b/)) {
      return "type";
    }
    if (stream.match(/^\.[A-Za-z_]\w*/)) {
      state.start = false;
      return "keyword";
    }
    if (stream.match(/^%(?:tid|ntid|ctaid|nctaid|laneid|warpid)\b(?:\.[xyz])?/)) {
      return "special";
    }
    if (stream.match(NUMBER)) {
      return "number";
    }
    if (stream.match(/^%[\w$]+/)) {
      return "variable";
    }
    if (stream.match(NAME)) {
      const first = state.start;
      state.start = false;
      if (!first) {
        return "variable";
      }
      const word = stream.current();
      stream.match(/^(?:\.\w+)+/);
      return FLOW.has(word) || word === "bra" ? "keyword" : "opcode";
    }
    const character = stream.next();
    if (character === ";" || character === "{" || character === "}") {
      state.start = true;
    }
    return "punctuation";
  },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
};
