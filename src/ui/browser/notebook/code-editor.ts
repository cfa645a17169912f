import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { SQLDialect } from "@codemirror/lang-sql";
import {
  bracketMatching,
  HighlightStyle,
  indentUnit,
  LanguageSupport,
  syntaxHighlighting,
} from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  keymap,
  lineNumbers,
  WidgetType,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import {
  beginningWith,
  type Candidate,
  type Catalog,
  splitUnit,
  sqlCandidates,
} from "../../../db/catalog.js";
import { sqlTokens } from "../../../db/sql-tokens.js";
import { directiveOn } from "../../../notebook/parse/parse-notebook.js";
import { faultText } from "../fault-texts.js";
import type { PlacedFault } from "./notebook-run.js";

/** The part of a line that is underlined: the word at the column, else the whole line without blanks at its ends. */
export function faultRange(
  line: string,
  column: number | null,
): { readonly from: number; readonly to: number } {
  if (column === null) {
    const from = line.length - line.trimStart().length;
    return { from, to: Math.max(from, line.trimEnd().length) };
  }
  const from = Math.min(column, line.length);
  const [word = ""] = /^(?:[\p{L}\p{N}_$.]+|[^\s]?)/u.exec(line.slice(from)) ?? [];
  // At the end of a line, its last character is underlined.
  return word === "" ? { from: Math.max(0, from - 1), to: from } : { from, to: from + word.length };
}

const setMarks = StateEffect.define<DecorationSet>();

/** Errors in the text. The position is underlined, and the message is below its line. Both move with the text. */
const faultMarks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, { changes, effects }) => {
    const set = effects.find((effect) => effect.is(setMarks));
    return set === undefined ? marks.map(changes) : set.value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function showFaults({ doc }: EditorState, faults: readonly PlacedFault[]): StateEffect<DecorationSet> {
  const marks = faults.flatMap((fault) => {
    const line = doc.line(Math.min(doc.lines, fault.row + 1));
    const { from, to } = faultRange(line.text, fault.column);
    const below = Decoration.widget({ widget: new FaultText(fault), block: true, side: 1 }).range(line.to);
    if (from === to) return [below];
    const under = Decoration.mark({ class: "cm-fault" });
    return [under.range(line.from + from, line.from + to), below];
  });
  return setMarks.of(Decoration.set(marks, true));
}

class FaultText extends WidgetType {
  readonly #fault: PlacedFault;

  constructor(fault: PlacedFault) {
    super();
    this.#fault = fault;
  }

  override eq(other: FaultText): boolean {
    return other.#fault.message === this.#fault.message && other.#fault.hint === this.#fault.hint;
  }

  toDOM(): HTMLElement {
    const box = document.createElement("div");
    box.className = "fault-below";
    box.setAttribute("role", "alert");
    const { message, hint } = this.#fault;
    for (const [tag, text] of [
      ["pre", message],
      ["p", hint],
    ] as const)
      if (text !== null) box.appendChild(document.createElement(tag)).textContent = faultText(text);
    return box;
  }
}

/** Colours of SQL from the palette of the page, for light and dark mode. */
const EDITOR_COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-word)", fontWeight: "600" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--code-type)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.special(tags.name)], color: "var(--code-parameter)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--muted)" },
]);

/** The appearance of the editor, which matches the page. */
const EDITOR_THEME = EditorView.theme({
  "&": { backgroundColor: "var(--panel)", color: "var(--ink)", borderRadius: "8px", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": {
    fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
    lineHeight: "1.55",
  },
  ".cm-content": { padding: "8px 0", caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "none" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 26%, transparent) !important",
  },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "color-mix(in srgb, var(--accent) 18%, transparent)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--paper)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "8px",
    boxShadow: "0 10px 34px rgb(0 0 0 / 18%)",
    maxWidth: "calc(100vw - 24px)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--paper)",
  },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "1em" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionInfo": { padding: "6px 10px", maxWidth: "320px" },
});

export interface ProposalLinks {
  readonly catalog: () => Promise<Catalog | undefined>;
  readonly parameters: () => readonly string[];
}

/** Most names in the list. */
const MOST = 100;

/** Proposes what can follow at the cursor, by the same rules as the shell. */
function proposals({ catalog, parameters }: ProposalLinks) {
  return async ({ state, pos, explicit }: CompletionContext): Promise<CompletionResult | null> => {
    const known = await catalog();
    if (known === undefined) return null;
    const { word, found } = proposalsAt(state.doc.toString(), pos, known, parameters());
    if (found.length === 0 || (word === "" && !explicit)) return null;
    return { from: pos - word.length, options: found.slice(0, MOST).map(optionOf), filter: false };
  };
}

/** The candidates at a position in a cell's text, which may contain several statements. */
export function proposalsAt(
  text: string,
  at: number,
  catalog: Catalog,
  parameters: readonly string[],
): { readonly word: string; readonly found: readonly Candidate[] } {
  const [parameter] = /\$\w*$/.exec(text.slice(0, at)) ?? [];
  if (parameter !== undefined) {
    const named = parameters.map(
      (name): Candidate => ({ text: `$${name}`, kind: "alias", comment: "parameter" }),
    );
    return { word: parameter, found: beginningWith(parameter, named, (one) => one.text) };
  }
  const ends = sqlTokens(text).filter(({ kind, text: symbol }) => kind === "symbol" && symbol === ";");
  const start = ends.findLast((end) => end.start < at)?.start ?? -1;
  const stop = ends.find((end) => end.start >= at)?.start ?? text.length;
  return sqlCandidates(text.slice(start + 1, at), catalog, text.slice(at, stop));
}

function optionOf({ text, kind, type, comment }: Candidate): Completion {
  const { text: said, unit } = splitUnit(comment);
  return {
    label: text,
    detail: [type?.toLowerCase() ?? kind, unit].filter((part) => part !== "").join(" · "),
    ...(said === "" ? {} : { info: said }),
  };
}

/** Words that DuckDB reserves, or that begin its statements, for colours alone. */
const KEYWORDS =
  "add all alter analyze and anti any as asc asof at attach begin between by call case cast check collate column columns " +
  "comment commit constraint copy create cross cube current current_date current_timestamp cycle database deallocate " +
  "default delete desc describe detach distinct drop else end escape except exclude execute exists explain export extension " +
  "extract false fetch filter first following for foreign from full function generated glob group grouping groups having if " +
  "ignore ilike import in index inner insert install intersect into is isnull join key last lateral left like limit load " +
  "macro map materialized merge natural no not notnull null nulls of offset on only or order ordinality others outer over " +
  "partition pivot positional pragma preceding prepare primary qualify range recursive references rename repeatable " +
  "replace reset respect restrict returning right rollback rollup row rows sample schema select semi sequence set sets show " +
  "similar some summarize table tables tablesample temp temporary then ties to transaction true truncate try_cast unbounded " +
  "union unique unnest unpivot update use using values variable vacuum view when where window with within without";

const TYPES =
  "bigint bit blob boolean bool char date datetime decimal double enum float float4 float8 hugeint int int1 int2 int4 int8 " +
  "integer interval json list long numeric precision real short smallint string struct text time timestamp timestamptz " +
  "tinyint ubigint uhugeint uinteger union usmallint utinyint uuid varchar";

/** The SQL dialect of DuckDB, for the colours of the text. */
function sqlLanguage(): LanguageSupport {
  const dialect = SQLDialect.define({
    keywords: KEYWORDS,
    types: TYPES,
    builtin: "",
    // A `$` is treated as the beginning of a parameter. Strings in dollar quotes are rarer.
    doubleDollarQuotedStrings: false,
    specialVar: "$",
    operatorChars: "*+-%<>!=&|~^/:",
    caseInsensitiveIdentifiers: true,
  });
  return new LanguageSupport(dialect.language);
}

/**
 * The line `-- %%` with which a cell begins stays where typing would delete it, or join another line to it: what was typed
 * is then below it. Its words, such as `chart line x=day`, can be changed.
 */
export const keepsDirective = EditorState.transactionFilter.of((typed) => {
  const { to: end, text: first } = typed.startState.doc.line(1);
  if (!typed.docChanged || directiveOn(first) === undefined) return typed;
  const made: { readonly from: number; readonly to: number; readonly insert: string }[] = [];
  typed.changes.iterChanges((from, to, _from, _to, insert) => {
    made.push({ from, to, insert: insert.toString() });
  });
  const isJoined = made.some(
    ({ from, to, insert }) =>
      from <= end && to > end && !insert.includes("\n") && directiveOn(insert) === undefined,
  );
  if (!isJoined && directiveOn(typed.newDoc.line(1).text) !== undefined) return typed;
  let cursor: number | undefined;
  const changes = made.flatMap(({ from, to, insert }) => {
    if (from > end) return [{ from, to, insert }];
    if (to <= end && insert === "") return [];
    const below = insert.replace(/^\n/, "");
    cursor = end + 1 + below.length;
    return [{ from: end, to: Math.max(end, to), insert: `\n${below}` }];
  });
  return cursor === undefined
    ? { changes }
    : { changes, selection: { anchor: cursor }, scrollIntoView: true };
});

export interface EditorLinks {
  readonly label: string;
  readonly linesBefore: () => number;
  readonly onChange: (text: string) => void;
  /** The names that SQL can use; undefined where they cannot be loaded. */
  readonly catalog: () => Promise<Catalog | undefined>;
  readonly parameters: () => readonly string[];
  readonly run: () => void;
  readonly runAndNext: () => void;
}

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
  // Where a cell has nothing but its directive, what is typed begins on the next line.
  const doc = `${text.replaceAll("\r\n", "\n")}${directiveOn(text) === undefined || /[\r\n]/.test(text) ? "" : "\n"}`;
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc,
      selection: { anchor: doc.length },
      extensions: [
        keymap.of([
          { key: "Mod-Enter", run: command(() => links.run()) },
          { key: "Shift-Enter", run: command(() => links.runAndNext()) },
        ]),
        // The numbers of the file, as errors name them.
        lineNumbers({ formatNumber: (row) => String(row + links.linesBefore()) }),
        keepsDirective,
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
