import { type Clock, ticksOf } from "../../core/time.js";
import type { Cell } from "../../notebook/notebook.js";
import type { FaultReport, NotebookLine } from "../page-data.js";
import type { RunJob } from "../process/jobs.js";
import type { QueryProcesses } from "../process/query-processes.js";
import type { ResultShare, StoredResults } from "../results/stored-results.js";
import { cellLine } from "./run-lines.js";

interface RunParts {
  readonly processes: QueryProcesses;
  readonly results: StoredResults;
  readonly clock: Clock;
}

/**
 * Passes the output on line by line, as JSON. Where the process is ended, because of its time or its memory, the error
 * is the last line, at the cell that it ran. @param push throws the signal's reason where that aborts first.
 */
export async function runInProcess(
  job: Omit<RunJob, "kind">,
  { processes, results, clock }: RunParts,
  gone: AbortSignal,
  push: (line: string, signal?: AbortSignal) => Promise<void>,
): Promise<void> {
  let share: ResultShare | undefined;
  const resultBytes = (): number => {
    share = results.share();
    return share.bytes;
  };
  let running: { readonly cell: Cell; readonly began: number } | undefined;
  try {
    await processes.perform(
      { ...job, kind: "run" },
      { signal: gone, resultBytes },
      {
        piece: (line, signal) => {
          running = undefined;
          return push(line, signal);
        },
        note: (note, folder) => {
          if (note.kind === "stored") return share?.add(note.result, folder);
          const cell = job.notebook.cells.find(({ line }) => line === note.line);
          running = cell && { cell, began: ticksOf(clock) };
        },
      },
    );
  } catch (error) {
    const { message, hint } = error as Error & { readonly hint?: string };
    if (running === undefined) {
      const fault: FaultReport = { message, hint: hint ?? null };
      return await push(JSON.stringify({ kind: "fault", fault } satisfies NotebookLine));
    }
    const { cell, began } = running;
    const fault = { line: cell.sqlLine, message, hint };
    const run = { cell, results: [], chart: undefined, fault };
    await push(JSON.stringify(cellLine(run, [], Math.round(ticksOf(clock) - began))));
  } finally {
    share?.[Symbol.dispose]();
  }
}
