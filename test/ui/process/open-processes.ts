import { onTestFinished } from "vitest";
import type { Lake } from "../../../src/lake/lake.js";
import { parseNotebook } from "../../../src/notebook/parse/parse-notebook.js";
import { runInProcess } from "../../../src/ui/notebooks/run-in-process.js";
import type { CellLine, NotebookLine } from "../../../src/ui/page-data.js";
import { QueryProcesses } from "../../../src/ui/process/query-processes.js";
import { StoredResults } from "../../../src/ui/results/stored-results.js";
import { LakeStates } from "../../../src/ui/session/lake-states.js";
import type { SessionLimits } from "../../../src/ui/session/session-limits.js";

/** The processes of a workspace over a lake, closed at the end of the test, and how its notebooks run. */
export function openProcesses(lake: Lake, limits: SessionLimits, clock = lake.clock) {
  const processes = new QueryProcesses(lake, clock, limits);
  onTestFinished(() => processes[Symbol.asyncDispose]());
  const results = new StoredResults(processes);
  const run = async (
    cells: readonly string[],
    gone = new AbortController().signal,
    onLine: (line: NotebookLine) => void = () => {},
  ): Promise<NotebookLine[]> => {
    const { pointInTime } = await new LakeStates(lake).newest();
    const job = {
      lake: { location: lake.location, views: lake.userViews?.folder, pointInTime },
      notebook: parseNotebook(cells.map((sql) => `-- %%\n${sql};\n`).join(""), "test"),
      given: new Map<string, string>(),
      requested: undefined,
    };
    const lines: NotebookLine[] = [];
    await runInProcess(job, { processes, results, clock }, gone, async (text) => {
      const line = JSON.parse(text) as NotebookLine;
      lines.push(line);
      onLine(line);
    });
    return lines;
  };
  return { processes, results, run };
}

export const cellsOf = (lines: readonly NotebookLine[]): CellLine[] =>
  lines.filter((line) => line.kind === "cell");

/** Runs one statement without `runInProcess`. @returns its output. */
export async function perform(
  processes: QueryProcesses,
  { location }: Lake,
  sql: string,
  resultBytes: () => number = () => 0,
): Promise<string> {
  const job = {
    kind: "run",
    lake: { location, views: undefined, pointInTime: {} },
    notebook: parseNotebook(`-- %%\n${sql};\n`, "test"),
    given: new Map<string, string>(),
    requested: undefined,
  } as const;
  let output = "";
  const piece = async (text: string): Promise<void> => void (output += text);
  await processes.perform(job, { signal: new AbortController().signal, resultBytes }, { piece });
  return output;
}
