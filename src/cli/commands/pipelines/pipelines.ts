import { systemClock } from "../../../client/system-clock.js";
import { BarlakeError } from "../../../core/errors.js";
import { withSmallSession } from "../../../db/session/small-session.js";
import { regionCalendars } from "../../../jobs/ingest/bars/bars-demand.js";
import type { Pipeline } from "../../../jobs/pipeline/definition.js";
import { loadPipeline, pipelineFiles } from "../../../jobs/pipeline/load-pipeline.js";
import type { Lake } from "../../../lake/lake.js";
import { isWeekday } from "../../../market/sessions.js";
import { type IsTradingDay, nextDue } from "../../../plan/due-times.js";
import { type Cli, EXIT } from "../../cli.js";
import { jsonOption, printJson } from "../../options/lake-option.js";
import { usersPipelines } from "../../options/options.js";
import { instantText, scheduleText, windowText } from "../../reports/schedule-log.js";
import { paint, table } from "../../text.js";

/** Assumes that every weekday is a trading day, for days that no calendar covers. */
export const isLikelyTradingDay: IsTradingDay = (_, date) => isWeekday(date);

export interface ScheduleDays {
  /** From the lake's calendar; every weekday that it does not cover yet counts as a trading day. */
  readonly isTradingDay: IsTradingDay;
  reload(): Promise<void>;
}

export async function scheduleDays(lake: Lake): Promise<ScheduleDays> {
  const read = () =>
    withSmallSession((session) => regionCalendars(session, lake, systemClock.now()), lake.access);
  let calendars = await read();
  return {
    isTradingDay: (region, date) => calendars.get(region)?.isOpen(date) === true,
    async reload() {
      calendars = await read();
    },
  };
}

type Loaded = { readonly file: string } & (
  | { readonly pipeline: Pipeline }
  | { readonly error: BarlakeError }
);

export function addPipelines(cli: Cli): void {
  cli.program
    .command("pipelines")
    .argument("[pipelines...]", "names or files; without one, all that have a name")
    .addOption(jsonOption())
    .notes(`
Those that come with barlake, and those in the folder pipelines/ of the working directory, which take the place of one
of the same name. Exit code 2: a definition breaks a rule.

Examples:
  barlake pipelines
  barlake pipelines ./pipelines/mine.ts`)
    .does(async (names: readonly string[], options: { readonly json?: boolean }) => {
      const loaded: Loaded[] = [];
      const files = await pipelineFiles(usersPipelines());
      for (const name of names.length > 0 ? names : files.keys())
        loaded.push(await load(name, files.get(name) ?? name));
      const now = systemClock.now();
      if (options.json) printJson(loaded.map((one) => forMachines(one, now)));
      else print(loaded, now);
      return loaded.some((one) => "error" in one) ? EXIT.usage : EXIT.done;
    });
}

async function load(name: string, file: string): Promise<Loaded> {
  try {
    return { file, pipeline: await loadPipeline(name, usersPipelines()) };
  } catch (error) {
    if (error instanceof BarlakeError) return { file, error };
    throw error;
  }
}

function forMachines(loaded: Loaded, now: number): object {
  const { file } = loaded;
  if ("error" in loaded) return { file, error: loaded.error.message, hint: loaded.error.hint };
  const next = nextDue(loaded.pipeline.schedule, now, isLikelyTradingDay);
  return { file, ...loaded.pipeline, next: next === undefined ? null : new Date(next).toISOString() };
}

function kindText(pipeline: Pipeline): string {
  if (pipeline.kind === "bars") return `bars ${pipeline.period}`;
  return pipeline.kind === "files" ? `files ${pipeline.table}` : pipeline.kind;
}

function print(loaded: readonly Loaded[], now: number): void {
  const right = loaded.flatMap((one) => ("pipeline" in one ? [one.pipeline] : []));
  const rows = right.map((one) => [
    one.name,
    kindText(one),
    windowText(one),
    scheduleText(one.schedule),
    instantText(nextDue(one.schedule, now, isLikelyTradingDay)),
    one.doc,
  ]);
  if (rows.length > 0) {
    const head = ["name", "kind", "asks for", "schedule", "next run (UTC)", "does"];
    process.stdout.write(`${table(head, rows)}\n`);
  }
  for (const one of loaded) {
    if (!("error" in one)) continue;
    process.stderr.write(`${paint("red", "error:")} ${one.error.message}\n`);
    if (one.error.hint !== undefined) process.stderr.write(`${paint("dim", "hint:")}  ${one.error.hint}\n`);
  }
}
