import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { drawers, drawOnChange } from "../../../notebook/browser/drawing.js";
import type { PackedChart } from "../../../notebook/page/pack-charts.js";
import type { CellLine } from "../../page-data.js";
import { FaultBox } from "../fault-box.js";
import { faultText } from "../fault-texts.js";
import type { CodeEditor, EditorLinks } from "./code-editor.js";
import type { DocumentCell } from "./notebook-document.js";
import type { CellOutput, PlacedFault } from "./notebook-run.js";
import { notebookText } from "./notebook-texts.js";
import { resultControls } from "./result-controls.js";

/** It starts with the cell's text; a text that another part of the page sets belongs to a new cell. */
function CellEditor({
  text,
  faults,
  links,
  isFocused,
}: {
  readonly text: string;
  readonly faults: readonly PlacedFault[];
  readonly links: EditorLinks;
  readonly isFocused: boolean;
}) {
  const element = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor | undefined>(undefined);
  // The editor remains open while the page is drawn again. It reads the newest values from this reference.
  const now = useRef({ text, faults, links });
  now.current = { text, faults, links };
  useEffect(() => {
    let isGone = false;
    const open = async (): Promise<void> => {
      const { openCodeEditor } = await import("./code-editor.js");
      const { current: parent } = element;
      if (isGone || parent === null) return;
      editor.current = openCodeEditor(parent, now.current.text, {
        label: now.current.links.label,
        linesBefore: () => now.current.links.linesBefore(),
        onChange: (typed) => now.current.links.onChange(typed),
        catalog: () => now.current.links.catalog(),
        parameters: () => now.current.links.parameters(),
        run: () => now.current.links.run(),
        runAndNext: () => now.current.links.runAndNext(),
      });
      editor.current.setFaults(now.current.faults);
      if (!isFocused) return;
      editor.current.focus();
      parent.scrollIntoView({ block: "nearest" });
    };
    void open();
    return () => {
      isGone = true;
      editor.current?.close();
      editor.current = undefined;
    };
  }, []);
  useEffect(() => editor.current?.setFaults(faults), [faults]);
  return <div class="cell-editor" ref={element} />;
}

/** A cell in the same form as in the exported page, with the same text and drawing. */
export function CellPart({ cell }: { readonly cell: CellLine }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    // The server has escaped every value, and the page's policy permits no script in it.
    current.innerHTML = cell.html;
    for (const said of current.querySelectorAll(".fault > pre:not(.place), .fault > p"))
      said.textContent = faultText(said.textContent);
    const end = resultControls(current, cell.results, notebookText("resultAs"));
    const chart = cell.chart as PackedChart | undefined;
    const figure = current.querySelector<HTMLElement>("figure[data-chart]");
    if (chart === undefined || figure === null) return end;
    let stop = (): void => {};
    let isGone = false;
    const draw = async (): Promise<void> => {
      await loadDrawing(chart);
      if (!isGone) stop = drawOnChange(chart, figure);
    };
    void draw();
    return () => {
      isGone = true;
      stop();
      end();
    };
  }, [cell]);
  return <div ref={element} />;
}

async function loadDrawing({ chart: { kind } }: PackedChart): Promise<void> {
  if (kind === "candlestick") {
    if (drawers().candles === undefined) await import("../../../notebook/browser/candles/candles.js");
  } else if (drawers().plots === undefined) await import("../../../notebook/browser/plots/plots.js");
}

interface CellActions {
  readonly toggle: () => void;
  readonly run: () => void;
  readonly add: () => void;
  readonly move: (by: -1 | 1) => void;
  readonly remove: () => void;
}

const NOTHING: CellOutput = { body: "", isFormer: false, parts: [], faults: [] };

/** A cell: its output, its buttons, and its editor if it is open. */
export function CellSection({
  cell,
  number,
  output = NOTHING,
  isOpen,
  isRunning,
  canMove: [isUp, isDown],
  links,
  actions,
}: {
  readonly cell: DocumentCell;
  /** The position of the cell among the cells, from 1. */
  readonly number: number;
  readonly output: CellOutput | undefined;
  readonly isOpen: boolean;
  readonly isRunning: boolean;
  readonly canMove: readonly [isUp: boolean, isDown: boolean];
  readonly links: EditorLinks;
  readonly actions: CellActions;
}) {
  const name = `${notebookText("cell")} ${number}`;
  const isOfOther = output.parts.length > 0 && output.body !== cell.body;
  const isStale = isOfOther || (output.parts.length > 0 && output.isFormer);
  // The error of a directive is no part of a result.
  const unshown = output.faults.filter(
    ({ message }) => !output.parts.some(({ fault }) => fault?.message === message),
  );
  return (
    <div
      class={`notebook-cell${isOpen ? " is-open" : ""}${isStale ? " is-stale" : ""}`}
      role="group"
      aria-label={name}
    >
      <div class="cell-actions" role="group" aria-label={`${name}: ${notebookText("edit")}`}>
        <button type="button" aria-pressed={isOpen} onClick={actions.toggle}>
          {notebookText(isOpen ? "done" : "edit")}
        </button>
        <CellButton sign="▶" name="runCell" act={actions.run} />
        <CellButton sign="+" name="addCell" act={actions.add} />
        <CellButton sign="↑" name="moveUp" act={() => actions.move(-1)} isDisabled={!isUp} />
        <CellButton sign="↓" name="moveDown" act={() => actions.move(1)} isDisabled={!isDown} />
        <CellButton sign="✕" name="deleteCell" act={actions.remove} />
      </div>
      {isOpen && <CellEditor text={cell.body} faults={output.faults} links={links} isFocused />}
      {!isOpen && unshown.map((fault) => <FaultBox key={fault.message} fault={fault} />)}
      {isStale && !isRunning && (
        <p class="note of-former" role="status">
          {notebookText(isOfOther ? "ofOtherText" : "ofFormerRun")}
        </p>
      )}
      {output.parts.map((part, at) => (
        <CellPart key={at} cell={part} />
      ))}
      {!isOpen && output.parts.length === 0 && <pre class="quiet source-text">{cell.body}</pre>}
    </div>
  );
}

function CellButton({
  sign,
  name,
  act,
  isDisabled = false,
}: {
  readonly sign: string;
  readonly name: Parameters<typeof notebookText>[0];
  readonly act: () => void;
  readonly isDisabled?: boolean;
}) {
  const label = notebookText(name);
  return (
    <button type="button" title={label} aria-label={label} disabled={isDisabled} onClick={act}>
      <span aria-hidden="true">{sign}</span>
    </button>
  );
}
