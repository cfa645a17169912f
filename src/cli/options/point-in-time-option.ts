import { InvalidArgumentError, Option } from "commander";
import { textMs } from "../../api/time-input.js";
import type { PointInTime } from "../../lake/lake.js";
import { TABLES } from "../../schema/tables.js";

/** The values of {@link pointInTimeOptions}. */
export interface PointInTimeOptions {
  readonly asOf?: number;
  readonly version?: ReadonlyMap<string, number>;
}

/** `--as-of TIME` and `--version TABLE=N`: an earlier state of the lake. */
export function pointInTimeOptions(): [asOf: Option, version: Option] {
  return [
    asOfOption("the lake at that time"),
    new Option("--version <table=n>", "a table as its version n had it; may be given for several").argParser(
      versionOf,
    ),
  ];
}

/** `--as-of TIME`. @param does what the command does with the time. */
export function asOfOption(does: string): Option {
  return new Option("--as-of <time>", `${does} (ISO 8601; UTC where no zone is given)`).argParser(instant);
}

/** The point in time that the options name. */
export function pointInTimeOf({ asOf, version }: PointInTimeOptions): PointInTime {
  return { asOf, ...(version ? { versions: version } : {}) };
}

function instant(text: string): number {
  const ms = textMs(text);
  if (Number.isFinite(ms)) return ms;
  throw new InvalidArgumentError("It is no time; write it like 2026-11-20 or 2026-11-20T08:30:00Z.");
}

function versionOf(text: string, earlier?: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const [, table = "", version = ""] = /^([a-z0-9_]+)=(\d{1,15})$/.exec(text) ?? [];
  const names = TABLES.map(({ name }) => name);
  if (!names.includes(table)) {
    throw new InvalidArgumentError(`Write it like bars_1d=12; tables: ${names.join(", ")}.`);
  }
  return new Map([...(earlier ?? []), [table, Number(version)]]);
}
