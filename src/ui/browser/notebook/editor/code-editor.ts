import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import type { Catalog } from "../../../../db/catalog/catalog.js";
import type { PlacedFault } from "../run/notebook-run.js";
import { EDITOR_COLOURS, EDITOR_THEME } from "./editor-theme.js";
import { faultMarks, showFaults } from "./fault-marks.js";
import { proposals } from "./proposals.js";
import { sqlLanguage } from "./sql-language.js";

/** The functions by which an editor asks its page for data, and reports to it. */
export interface EditorLinks {
  readonly label: string;
  readonly onChange: (text: string) => void;
  /** The names that SQL can use; undefined where they cannot be loaded. */
  readonly catalog: () => Promise<Catalog | undefined>;
  /** Names of the notebook's parameters. */
  readonly parameters: () => readonly string[];
  readonly run: () => void;
  readonly runAndNext: () => void;
}

/** An open editor. */
export interface CodeEditor {
  readonly focus: () => void;
  readonly setFaults: (faults: readonly PlacedFault[]) => void;
  readonly close: () => void;
}

/** Opens an editor for a cell. Tab indents; after Escape, Tab moves to the next control. */
export function openCodeEditor(parent: HTMLElement, text: string, links: EditorLinks): CodeEditor {
  const command = (act: () => void) => () => {
    act();
    return true;
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      // In a new cell, the cursor is after the directive.
      selection: { anchor: text.replaceAll("\r\n", "\n").length },
      extensions: [
        keymap.of([
          { key: "Mod-Enter", run: command(() => links.run()) },
          { key: "Shift-Enter", run: command(() => links.runAndNext()) },
        ]),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        indentUnit.of("  "),
        autocompletion({ override: [proposals(links)], icons: false }),
        keymap.of([
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...historyKeymap,
          ...defaultKeymap,
          indentWithTab,
        ]),
        sqlLanguage(),
        syntaxHighlighting(EDITOR_COLOURS),
        EDITOR_THEME,
        faultMarks,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": links.label, spellcheck: "false" }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) links.onChange(state.doc.toString());
        }),
      ],
    }),
  });
  return {
    focus: () => view.focus(),
    setFaults: (faults) => view.dispatch({ effects: showFaults(view.state, faults) }),
    close: () => view.destroy(),
  };
}
