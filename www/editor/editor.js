// The editor behind a small door. esbuild bundles this with CodeMirror into `editor.js`, which lies beside `page.js`;
// Rust imports it with `#[wasm_bindgen(raw_module = "./editor.js")]`, so that cargo alone can check the page.
//
// CodeMirror calls listeners in the middle of an update, and wasm must not call back into the editor then. So every
// listener of the page is called from a microtask.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, isolateHistory } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  GutterMarker,
  drawSelection,
  gutter,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { ptx, wir } from "./languages.js";

/** How long a person pauses before what they typed is looked at, in milliseconds. */
const PAUSE = 180;

/** How somebody turns to something else on the page. */
const TURNS = ["pointerup", "keydown"];

/** On what the page does to the editor, as opposed to a person. */
const fromPage = Annotation.define();
const markLines = StateEffect.define();
const markHeat = StateEffect.define();

/** Lines of the selected block. */
const markedLines = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(markLines)) {
        const { lines, exact } = effect.value;
        return lineDecorations(transaction.state, lines, (line) => ({ class: line === exact ? "cm-marked-line cm-exact-line" : "cm-marked-line" }));
      }
    }
    return marks.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Heat of lines: a map from line to { level, label }. It belongs to one text; typing takes it away. */
const heatOfLines = StateField.define({
  create: () => new Map(),
  update(heat, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(markHeat)) {
        return effect.value;
      }
    }
    return transaction.docChanged ? new Map() : heat;
  },
  provide: (field) =>
    EditorView.decorations.compute([field, "doc"], (state) => {
      const heat = state.field(field);
      return lineDecorations(state, [...heat.keys()], (line) => ({
        attributes: { style: `--heat:${heat.get(line).level}` },
        class: "cm-heat-line",
      }));
    }),
});

class HeatMarker extends GutterMarker {
  constructor({ level, label }) {
    super();
    this.level = level;
    this.label = label;
  }
  eq(other) {
    return other.level === this.level && other.label === this.label;
  }
  toDOM() {
    const mark = document.createElement("span");
    mark.className = "cm-heat-mark";
    mark.style.setProperty("--heat", this.level);
    mark.textContent = this.label;
    return mark;
  }
}

const heatGutter = gutter({
  class: "cm-heat-gutter",
  lineMarker(view, line) {
    const heat = view.state.field(heatOfLines);
    const found = heat.size > 0 && heat.get(view.state.doc.lineAt(line.from).number);
    return found ? new HeatMarker(found) : null;
  },
  lineMarkerChange: (update) => update.startState.field(heatOfLines) !== update.state.field(heatOfLines),
});

const style = HighlightStyle.define([
  { tag: tags.comment, class: "tok-comment" },
  { tag: tags.keyword, class: "tok-keyword" },
  { tag: tags.typeName, class: "tok-type" },
  { tag: tags.number, class: "tok-number" },
  { tag: tags.string, class: "tok-string" },
  { tag: tags.labelName, class: "tok-label" },
  { tag: tags.meta, class: "tok-guard" },
  { tag: tags.definition(tags.variableName), class: "tok-definition" },
  { tag: tags.standard(tags.variableName), class: "tok-special" },
  { tag: tags.operatorKeyword, class: "tok-opcode" },
  { tag: tags.punctuation, class: "tok-punctuation" },
]);

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
    this.language = new Compartment();
    this.onChange = onChange;
    this.onLine = onLine;
    this.line = 1;
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          heatGutter,
          lintGutter(),
          heatOfLines,
          markedLines,
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          highlightSelectionMatches(),
          placeholder(hint),
          // A signature that is cut off tells nobody what the kernel takes.
          EditorView.lineWrapping,
          syntaxHighlighting(style),
          this.language.of(wir),
          keymap.of([...closeBracketsKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0", autocorrect: "off", autocapitalize: "off" }),
          EditorView.updateListener.of((update) => this.#updated(update)),
        ],
      }),
    });
    // Whoever turns to something else has paused: what comes next must know what was typed. That is said when the finger
    // is up and nothing is clicked yet: before, what changes on the page could move a button away from under the finger,
    // and during the click it would undo what the click does to a box.
    this.turned = (event) => {
      if (!this.view.dom.contains(event.target)) {
        this.#tell();
      }
    };
    TURNS.forEach((turn) => document.addEventListener(turn, this.turned, true));
  }

  #updated(update) {
    const byPerson = update.transactions.some((transaction) => transaction.annotation(fromPage) === undefined);
    if (update.docChanged && byPerson) {
      clearTimeout(this.pause);
      this.pause = setTimeout(() => this.#tell(), PAUSE);
    }
    if ((update.selectionSet || update.docChanged) && byPerson) {
      const line = update.state.doc.lineAt(update.state.selection.main.head).number;
      if (line !== this.line) {
        this.line = line;
        queueMicrotask(() => this.onLine(line));
      }
    }
  }

  /** Says what has been typed, if it has not been said. */
  #tell() {
    if (this.pause !== undefined) {
      this.#forget();
      this.onChange(this.text());
    }
  }

  #forget() {
    clearTimeout(this.pause);
    this.pause = undefined;
  }

  /** The whole text. */
  text() {
    return this.view.state.doc.toString();
  }

  /** Replaces the text, as a step that undo takes back. Does nothing if it is the same. */
  setText(text) {
    if (text === this.text()) {
      return;
    }
    this.#forget();
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      // One step by itself, whatever was typed just before or after.
      annotations: [fromPage.of(true), isolateHistory.of("full")],
      scrollIntoView: true,
    });
  }

  /** "wir" or "ptx". */
  setLanguage(name) {
    this.#dispatch({ effects: this.language.reconfigure(name === "ptx" ? ptx : wir) });
  }

  /** Marks mistakes: { from, to, severity, message }. */
  setDiagnostics(diagnostics) {
    const length = this.view.state.doc.length;
    const inside = diagnostics.map((diagnostic) => {
      const from = Math.min(diagnostic.from, length);
      return { ...diagnostic, from, to: Math.min(Math.max(diagnostic.to, from), length) };
    });
    this.view.dispatch(setDiagnostics(this.view.state, inside));
  }

  /** Marks these lines, from 1, one of them more than the others unless `exact` is 0, and shows the first of them, or that one, if asked. */
  markLines(lines, exact, show) {
    const effects = [markLines.of({ lines: [...lines], exact })];
    const shown = exact || lines[0];
    if (show && shown <= this.view.state.doc.lines) {
      effects.push(EditorView.scrollIntoView(this.view.state.doc.line(shown).from, { y: "nearest", yMargin: 40 }));
    }
    this.#dispatch({ effects });
  }

  /** Shows how often lines ran: [{ line, level from 0 to 1, label }]. */
  setHeat(lines) {
    this.#dispatch({ effects: markHeat.of(new Map(lines.map(({ line, level, label }) => [line, { level, label }]))) });
  }

  /** Puts the cursor at an offset and the keyboard into the editor. */
  goTo(offset) {
    const anchor = Math.min(offset, this.view.state.doc.length);
    this.#dispatch({ selection: { anchor }, scrollIntoView: true });
    this.view.focus();
  }

  /** Measures again, after the editor was hidden. */
  refresh() {
    this.view.requestMeasure();
  }

  /** Takes the editor off the page. */
  destroy() {
    this.#forget();
    TURNS.forEach((turn) => document.removeEventListener(turn, this.turned, true));
    this.view.destroy();
  }

  #dispatch(transaction) {
    this.view.dispatch({ ...transaction, annotations: fromPage.of(true) });
  }
}

function lineDecorations(state, lines, spec) {
  const existing = lines.filter((line) => line >= 1 && line <= state.doc.lines).sort((a, b) => a - b);
  return Decoration.set(existing.map((line) => Decoration.line(spec(line)).range(state.doc.line(line).from)));
}
