// A text as an editor shows it, to be read: line numbers, heat, colours. Nothing of it has been measured, so it is there
// at once, and it stands where the editor's lines will stand.

import { CLASSES } from "./languages.js";

/** What a stream parser reads a line from: the part of CodeMirror's stream that `languages.js` uses. */
class Stream {
  constructor(line) {
    this.line = line;
    this.start = 0;
    this.at = 0;
  }
  sol() {
    return this.at === 0;
  }
  next() {
    return this.line[this.at++];
  }
  current() {
    return this.line.slice(this.start, this.at);
  }
  skipToEnd() {
    this.at = this.line.length;
  }
  eatSpace() {
    return this.match(/^\s+/);
  }
  match(pattern, consume = true) {
    const rest = this.line.slice(this.at);
    const found = typeof pattern === "string" ? rest.startsWith(pattern) && pattern : rest.match(pattern)?.[0];
    this.at += consume && found ? found.length : 0;
    return typeof found === "string";
  }
}

/** The tokens of a text's lines, each line as a list of [text, class]. */
function coloured(text, language) {
  const state = language.startState();
  return text.split("\n").map((line) => {
    const stream = new Stream(line);
    const tokens = [];
    while (stream.at < line.length) {
      stream.start = stream.at;
      const kind = language.token(stream, state);
      tokens.push([stream.current(), CLASSES[kind]]);
    }
    return tokens;
  });
}

function element(name, className, children = []) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
}

/** What shows how often a line ran; the editor's gutter shows the same. */
export function heatMark({ level, label }) {
  const mark = element("span", "cm-heat-mark", [label]);
  mark.style.setProperty("--heat", level);
  return mark;
}

/** A text that is read. */
export class Reading {
  /** In `parent`, called `label` by a screen reader. An empty one shows `hint`. */
  constructor(parent, label, hint) {
    this.hint = hint;
    this.dom = element("div", "cm-editor reading scroll");
    // It is about to be an editor, and can be walked to like one.
    const attributes = { role: "textbox", "aria-multiline": "true", "aria-readonly": "true", "aria-label": label, tabindex: "0" };
    Object.entries(attributes).forEach(([name, value]) => this.dom.setAttribute(name, value));
    parent.append(this.dom);
  }

  /** Shows a text and the heat of its lines, [{ line, level, label }], and marks the lines that the last change is about
   *  and the one that the followed warp runs next. */
  show(text, language, heat, current, lane) {
    const marks = new Map(heat.map((of) => [of.line, of]));
    const lines = coloured(text, language).flatMap((tokens, index) => {
      const active = index === 0 ? " cm-activeLineGutter" : "";
      const gutter = (kind, children) => {
        const cell = element("span", `reading-${kind}${active}`, children);
        cell.setAttribute("aria-hidden", "true");
        return cell;
      };
      const mark = marks.get(index + 1);
      const parts = tokens.map(([text, name]) => (name ? element("span", name, [text]) : text));
      const line = element("div", `cm-line${mark ? " cm-heat-line" : ""}${index === 0 ? " cm-activeLine" : ""}${current.includes(index + 1) ? " cm-current-line" : ""}${lane === index + 1 ? " cm-lane-line" : ""}`, parts);
      if (mark) {
        line.style.setProperty("--heat", mark.level);
      }
      return [gutter("number", [index + 1]), gutter("heat", mark ? [heatMark(mark)] : []), gutter("mistake", []), line];
    });
    if (text === "") {
      lines.at(-1).append(element("span", "cm-placeholder", [this.hint]));
    }
    this.dom.replaceChildren(...lines);
  }

  /** The offset in the text at a point of the window; none where there is no line. */
  offsetAt(x, y) {
    // One is the standard's, the other is older.
    const at = document.caretPositionFromPoint?.(x, y);
    const range = at ? undefined : document.caretRangeFromPoint?.(x, y);
    const [node, offset] = at ? [at.offsetNode, at.offset] : [range?.startContainer, range?.startOffset];
    const lines = [...this.dom.querySelectorAll(".cm-line")];
    const row = lines.findIndex((line) => line.contains(node));
    if (row < 0) {
      return undefined;
    }
    const before = document.createRange();
    before.setStart(lines[row], 0);
    before.setEnd(node, offset);
    return lines.slice(0, row).reduce((sum, line) => sum + line.textContent.length + 1, before.toString().length);
  }

  /** Tells that something went wrong, above the text. */
  complain(why) {
    const note = element("p", "reading-note", [why]);
    note.setAttribute("role", "alert");
    this.dom.prepend(note);
  }
}
