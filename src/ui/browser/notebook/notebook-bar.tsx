import type { ParameterReport } from "../../page-data.js";
import { duration } from "../formats.js";
import { text } from "../texts.js";
import { notebookText } from "./notebook-texts.js";
import { ParameterControls } from "./parameter-controls.js";
import type { UsedRun } from "./run/use-run.js";
import type { SaveState } from "./saving/use-saving.js";

/** The parameters of a notebook, the state of its run, and the buttons for the whole notebook. */
export function NotebookBar({
  name,
  parameters,
  runs,
  onRunAll,
  saving,
  isChanged,
  isSavable,
  onSave,
  onPage,
}: {
  readonly name: string;
  readonly parameters: readonly ParameterReport[];
  readonly runs: UsedRun;
  readonly onRunAll: () => void;
  readonly saving: SaveState;
  /** Whether the text differs from the file. */
  readonly isChanged: boolean;
  readonly isSavable: boolean;
  readonly onSave: () => void;
  /** Downloads the notebook as a page; undefined while a page is being made. */
  readonly onPage: (() => void) | undefined;
}) {
  const isRunning = runs.isWaiting || runs.run?.status === "running";
  const state = saving.kind === "saving" ? "saving" : isChanged ? "unsaved" : "saved";
  return (
    <ParameterControls parameters={parameters}>
      <span class="quiet" role="status">
        {progress(runs)}
      </span>
      {isRunning ? (
        <button type="button" onClick={runs.stop}>
          {notebookText("stop")}
        </button>
      ) : (
        <button type="button" onClick={onRunAll}>
          {notebookText("runAll")}
        </button>
      )}
      <button type="button" disabled={!isSavable} title={`${name}.sql (Ctrl S)`} onClick={onSave}>
        {notebookText("save")}
      </button>
      <button type="button" disabled={onPage === undefined} title={`${name}.html`} onClick={onPage}>
        {notebookText("htmlPage")}
      </button>
      <span class={`save-state ${state}`} role="status">
        {notebookText(state)}
      </span>
    </ParameterControls>
  );
}

function progress({ run, isWaiting }: UsedRun): string {
  if (isWaiting || run === undefined) return `${text("running")} …`;
  const { status, done, planned, tookMs, outputs } = run;
  if (status === "running") return `${text("running")} … ${done} / ${planned}`;
  if (status === "stopped") return `${text("stoppedRun")}: ${done} / ${planned} ${text("cells")}`;
  const failed = [...outputs.values()].filter(({ faults }) => faults.length > 0).length;
  const faults = failed === 0 ? "" : `, ${failed} ${notebookText("failed")}`;
  return `${text("ran")}: ${done} ${text("cells")}, ${duration(tookMs)}${faults}`;
}
