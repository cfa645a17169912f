import { systemClock } from "../../client/system-clock.js";
import type { Pipeline } from "../../jobs/pipeline/definition.js";
import {
  type RunEnvironment,
  type RunOptions,
  type RunReport,
  runPipeline,
} from "../../jobs/run/run-pipeline.js";
import { byteCount, type Lake, rowCount } from "../../lake/lake.js";
import { progressView, showRun } from "../progress.js";
import { count, duration, paint, size, table } from "../text.js";

export async function runShown(
  pipeline: Pipeline,
  demand: RunOptions,
  environment: Pick<RunEnvironment, "lake" | "client" | "limits" | "signal">,
  onProgress: NonNullable<RunEnvironment["onProgress"]> = () => {},
): Promise<RunReport> {
  const view = progressView(pipeline.name);
  const shown = showRun(view);
  try {
    return await runPipeline(pipeline, demand, {
      ...environment,
      clock: systemClock,
      onProgress(progress) {
        shown(progress);
        onProgress(progress);
      },
    });
  } finally {
    view.stop();
  }
}

export function sayRun({ pipeline, requests, rows, bytes, durationMs }: RunReport): void {
  const figures = [
    `${count(requests.sent).padStart(3)} requests`,
    `${count(rows).padStart(9)} rows`,
    size(bytes).padStart(8),
  ];
  say("", `${pipeline.padEnd(10)} ${figures.join("  ")}  ${duration(durationMs)}`);
}

/** The tables of a lake with their rows, files and bytes. */
export async function printTables(lake: Lake): Promise<void> {
  const rows = (await lake.snapshots()).map((s) => [
    s.table.name,
    count(rowCount(s)),
    count(s.files.size),
    size(byteCount(s)),
  ]);
  process.stdout.write(`${table(["table", "rows", "files", "size"], rows)}\n`);
}

/** A line of a step. @param step its number; without one, the line belongs to the step before */
export function say(step: string, text: string): void {
  process.stdout.write(step === "" ? `   ${text}\n` : `\n${paint("bold", step)}  ${text}\n`);
}
