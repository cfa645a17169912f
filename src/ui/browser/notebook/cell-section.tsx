import { CellEditor } from "./cell-editor.js";
import { CellPart } from "./cell-part.js";
import type { EditorLinks } from "./editor/code-editor.js";
import type { DocumentCell } from "./notebook-document.js";
import { notebookText } from "./notebook-texts.js";
import type { CellOutput } from "./run/notebook-run.js";

/** The actions of a cell's buttons. */
export interface CellActions {
  readonly toggle: () => void;
  readonly run: () => void;
  readonly add: () => void;
  readonly move: (by: -1 | 1) => void;
  readonly remove: () => void;
}

const NOTHING: CellOutput = { parts: [], faults: [] };

/** A cell: its output, its buttons, and its editor if it is open. */
export function CellSection({
  cell,
  number,
  output = NOTHING,
  isOpen,
  isStale,
  canMove: [isUp, isDown],
  links,
  actions,
}: {
  readonly cell: DocumentCell;
  /** The position of the cell among the cells, from 1. */
  readonly number: number;
  readonly output: CellOutput | undefined;
  readonly isOpen: boolean;
  /** Whether the text has changed since the cell ran. */
  readonly isStale: boolean;
  readonly canMove: readonly [isUp: boolean, isDown: boolean];
  readonly links: EditorLinks;
  readonly actions: CellActions;
}) {
  const name = `${notebookText("cell")} ${number}`;
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
