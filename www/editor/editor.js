// The editors of the page. esbuild bundles this into `editor.js`, which lies beside `page.js`; Rust imports it with
// `#[wasm_bindgen(raw_module = "./editor.js")]`, so that cargo alone can check the page.
//
//     asleep   a text to be read, and what the page wishes of the editor      reading.js
//     awake    CodeMirror, with all those wishes                              code-editor.js, loaded when woken
//
// Whoever only looks needs no editor. One that wakes stands where the text stood: at the same line, with the keyboard if
// the text had it, with the cursor where a finger was, and with what was typed meanwhile.

import { ptx, wir } from "./languages.js";
import { Reading } from "./reading.js";

const languages = { wir, ptx };

/** The editors that are asleep. */
const asleep = new Set();

/** What is made when they wake, once it is loaded. */
let CodeEditor;
let loading;
let failures = 0;

/** Loads what editing takes, for all editors. A load that failed is tried again by the next call. */
export function wake() {
  // A browser may remember that an address could not be loaded.
  const address = failures === 0 ? "./code-editor.js" : `./code-editor.js?again=${failures}`;
  loading ??= import(address).then(
    (loaded) => {
      CodeEditor = loaded.CodeEditor;
      asleep.forEach((editor) => editor.wakeUp());
    },
    () => {
      failures += 1;
      loading = undefined;
      asleep.forEach((editor) => editor.complain("The editor could not be loaded: this text can only be read. Click it to try again."));
    },
  );
}

/** One editor of the page. */
export class Editor {
  /**
   * @param {HTMLElement} parent
   * @param {string} text
   * @param {string} label what a screen reader calls it
   * @param {string} hint what an empty editor shows
   * @param {(text: string) => void} onChange a person changed the text and paused
   * @param {(line: number) => void} onLine a person put the cursor on another line
   */
  constructor(parent, text, label, hint, onChange, onLine) {
    this.parent = parent;
    this.text = text;
    this.make = (text) => new CodeEditor(parent, text, label, hint, onChange, onLine);
    /** What the page wished last, by the method that fulfils it. */
    this.wishes = new Map();
    if (CodeEditor) {
      this.awake = this.make(text);
      return;
    }
    this.reading = new Reading(parent, label, hint);
    this.typed = "";
    this.#listen(this.reading.dom);
    asleep.add(this);
    this.#show();
  }

  /** Replaces the text, as a step that undo takes back. Does nothing if it is the same. */
  setText(text) {
    if (this.awake) {
      this.awake.setText(text);
    } else if (text !== this.text) {
      this.text = text;
      this.#show();
    }
  }

  /** "wir" or "ptx". */
  setLanguage(name) {
    this.#wish("setLanguage", name);
  }

  /** Marks errors and warnings: { from, to, severity, message }. */
  setDiagnostics(diagnostics) {
    this.#wish("setDiagnostics", diagnostics);
  }

  /** Marks these lines, from 1, one of them more than the others unless `exact` is 0, and shows the first of them, or that one, if asked. */
  markLines(lines, exact, show) {
    this.#wish("markLines", lines, exact, show);
  }

  /** Marks the lines, from 1, that the last change is about, and shows the first of them if asked, unless somebody is typing. */
  markCurrent(lines, show) {
    this.#wish("markCurrent", lines, show);
  }

  /** Marks the line, from 1, that the followed warp runs next, and shows it unless somebody is typing; 0 marks none. */
  markLane(line) {
    this.#wish("markLane", line);
  }

  /** Shows what would become of lines: [{ line, look }], a look being a class behind `cm-paint-`. */
  paint(lines) {
    this.#wish("paint", lines);
  }

  /** Shows how often lines ran: [{ line, level from 0 to 1, label }]. */
  setHeat(lines) {
    this.#wish("setHeat", lines);
  }

  /** Puts the cursor at an offset and the keyboard into the editor. */
  goTo(offset) {
    this.#wish("goTo", offset);
  }

  /** Draws and measures again, after the editor was hidden. */
  refresh() {
    if (this.awake) {
      this.awake.refresh();
    } else {
      this.#show();
    }
  }

  /** Takes the editor off the page. */
  destroy() {
    asleep.delete(this);
    this.awake?.destroy();
  }

  /** Becomes an editor. */
  wakeUp() {
    const { dom } = this.reading;
    // The text under a finger stays until the finger is up.
    if (this.pressed) {
      return;
    }
    asleep.delete(this);
    const [top, hadFocus] = [dom.scrollTop, dom.contains(document.activeElement)];
    this.awake = this.make(this.text);
    dom.remove();
    this.awake.scrollTo(top);
    this.wishes.forEach((values, method) => this.awake[method](...values));
    if (hadFocus) {
      this.awake.takeOver(this.cursor, this.typed);
    }
  }

  /** Tells that the editor does not come. */
  complain(why) {
    this.reading.complain(why);
  }

  #wish(method, ...values) {
    if (this.awake) {
      this.awake[method](...values);
      return;
    }
    this.wishes.set(method, values);
    if (method === "setHeat" || method === "setLanguage" || method === "markCurrent" || method === "markLane") {
      this.#show();
    }
  }

  /** Draws the text, once for all wishes of a moment. */
  #show() {
    if (this.isDrawing) {
      return;
    }
    this.isDrawing = true;
    queueMicrotask(() => {
      this.isDrawing = false;
      if (!this.awake && !this.parent.hidden) {
        const [language] = this.wishes.get("setLanguage") ?? ["wir"];
        const [heat] = this.wishes.get("setHeat") ?? [[]];
        const [current] = this.wishes.get("markCurrent") ?? [[]];
        const [lane] = this.wishes.get("markLane") ?? [0];
        this.reading.show(this.text, languages[language], heat, [...current], lane);
      }
    });
  }

  /** What is done to the text while the editor is on its way is done to the editor when it is there. */
  #listen(dom) {
    const type = (event, text) => {
      this.typed += text;
      event.preventDefault();
    };
    dom.addEventListener("focus", wake);
    dom.addEventListener("pointerdown", ({ clientX, clientY, pointerId }) => {
      this.pressed = true;
      this.cursor = this.reading.offsetAt(clientX, clientY);
      // Wherever the finger goes up, it is this text that hears of it.
      dom.setPointerCapture(pointerId);
      wake();
    });
    const release = () => {
      this.pressed = false;
      if (CodeEditor && asleep.has(this)) {
        this.wakeUp();
      }
    };
    ["pointerup", "pointercancel"].forEach((event) => dom.addEventListener(event, release));
    dom.addEventListener("keydown", (event) => {
      const text = event.key === "Enter" ? "\n" : event.key;
      if (text.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) {
        type(event, text);
      }
    });
    dom.addEventListener("paste", (event) => type(event, event.clipboardData.getData("text/plain")));
  }
}
