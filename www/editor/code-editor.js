// An editor as people know it: CodeMirror, bundled by esbuild. `editor.js` loads it when somebody may want to write.
//
// CodeMirror calls listeners in the middle of an update, and wasm must not call back into the editor then. So every
// listener of the page is called from a microtask.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, isolateHistory } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
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
import { CLASSES, ptx, wir } from "./languages.js";
import { heatMark } from "./reading.js";

/** How long a person pauses before what they typed is looked at, in milliseconds. */
const PAUSE = 180;

/** How somebody turns to something else on the page. */
const TURNS = ["pointerup", "keydown"];

/** On what the page does to the editor, as opposed to a person. */
const fromPage = Annotation.define();
const markLines = StateEffect.define();
const markHeat = StateEffect.define();
const markPaint = StateEffect.define();
const markCurrentLines = StateEffect.define();
const markLaneLine = StateEffect.define();

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

/** Lines that the last change is about. They belong to one text; typing takes the marks away. */
const currentLines = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(markCurrentLines)) {
        return lineDecorations(transaction.state, effect.value, () => ({ class: "cm-current-line", attributes: { "aria-current": "step" } }));
      }
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** The line that the followed warp runs next. It belongs to one text; typing takes the mark away. */
const laneLine = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(markLaneLine)) {
        return lineDecorations(transaction.state, [effect.value], () => ({ class: "cm-lane-line" }));
      }
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** What would become of lines. It belongs to one text; typing takes it away. */
const paintedLines = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(markPaint)) {
        const looks = effect.value;
        return lineDecorations(transaction.state, [...looks.keys()], (line) => ({ class: `cm-paint cm-paint-${looks.get(line)}` }));
      }
    }
    return transaction.docChanged ? Decoration.none : marks;
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
    return heatMark(this);
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

/** What CodeMirror calls the tokens of `languages.js`. */
const tokenTable = {
  comment: tags.comment,
  keyword: tags.keyword,
  type: tags.typeName,
  number: tags.number,
  string: tags.string,
  label: tags.labelName,
  meta: tags.meta,
  definition: tags.definition(tags.variableName),
  special: tags.standard(tags.variableName),
  opcode: tags.operatorKeyword,
  punctuation: tags.punctuation,
  variable: tags.variableName,
};

const style = HighlightStyle.define(Object.entries(CLASSES).map(([token, name]) => ({ tag: tokenTable[token], class: name })));
const languages = {
  wir: StreamLanguage.define({ ...wir, tokenTable }),
  ptx: StreamLanguage.define({ ...ptx, tokenTable }),
};

/** One editor of the page; `Editor` says what its methods do. */
export class CodeEditor {
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
          currentLines,
          laneLine,
          paintedLines,
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
          this.language.of(languages.wir),
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
    this.#dispatch({ effects: this.language.reconfigure(languages[name]) });
  }

  /** Marks errors and warnings: { from, to, severity, message }. */
  setDiagnostics(diagnostics) {
    const length = this.view.state.doc.length;
    const inside = diagnostics.map((diagnostic) => {
      const from = Math.min(diagnostic.from, length);
      const message = diagnostic.message.replaceAll("`", "");
      const renderMessage = () => withCode(diagnostic.message);
      return { ...diagnostic, from, to: Math.min(Math.max(diagnostic.to, from), length), message, renderMessage };
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

  /** Marks the lines, from 1, that the last change is about, and shows the first of them if asked, unless somebody is typing. */
  markCurrent(lines, show) {
    const effects = [markCurrentLines.of([...lines])];
    if (show && lines.length > 0 && lines[0] <= this.view.state.doc.lines && !this.view.hasFocus) {
      effects.push(EditorView.scrollIntoView(this.view.state.doc.line(lines[0]).from, { y: "nearest", yMargin: 40 }));
    }
    this.#dispatch({ effects });
  }

  /** Marks the line, from 1, that the followed warp runs next, and shows it unless somebody is typing; 0 marks none. */
  markLane(line) {
    const effects = [markLaneLine.of(line)];
    if (line > 0 && line <= this.view.state.doc.lines && !this.view.hasFocus) {
      effects.push(EditorView.scrollIntoView(this.view.state.doc.line(line).from, { y: "nearest", yMargin: 40 }));
    }
    this.#dispatch({ effects });
  }

  /** Shows what would become of lines: [{ line, look }]. */
  paint(lines) {
    this.#dispatch({ effects: markPaint.of(new Map(lines.map(({ line, look }) => [line, look]))) });
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

  /** Scrolls to where the text that is read stood. */
  scrollTo(top) {
    this.view.requestMeasure({ read: () => {}, write: (_, { scrollDOM }) => (scrollDOM.scrollTop = top) });
  }

  /** Takes the keyboard over from the text that was read: with the cursor at an offset, if there is one, and with
   *  what has been typed. */
  takeOver(cursor, typed) {
    this.view.focus();
    if (cursor !== undefined) {
      this.view.dispatch({ selection: { anchor: Math.min(cursor, this.view.state.doc.length) }, userEvent: "select.pointer" });
    }
    if (typed !== "") {
      this.view.dispatch(this.view.state.replaceSelection(typed), { userEvent: "input.type" });
    }
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

/** A text whose parts between backquotes are code. */
function withCode(text) {
  const sentence = document.createElement("span");
  for (const [index, part] of text.split("`").entries()) {
    const code = index % 2 === 1 ? document.createElement("code") : document.createTextNode("");
    code.textContent = part;
    sentence.append(code);
  }
  return sentence;
}
