import { Argument, InvalidArgumentError, Option } from "commander";
import { millisecondsInHour } from "date-fns/constants";
import { textMs } from "../../api/inputs.js";
import { DAY_MS } from "../../core/time.js";
import type { PointInTime } from "../../lake/lake.js";
import type { TableSchema } from "../../schema/column.js";
import { TABLES } from "../../schema/tables.js";

/** Reads an option that is a whole number of at least 1. */
export function wholeNumber(text: string): number {
  const n = Number(text);
  if (!Number.isSafeInteger(n) || n < 1)
    throw new InvalidArgumentError("must be a whole number of at least 1");
  return n;
}

/** Reads an option that is a number above 0. */
export function positiveNumber(text: string): number {
  const n = Number(text);
  if (!(n > 0 && Number.isFinite(n))) throw new InvalidArgumentError("must be a number above 0");
  return n;
}

/** `[tables...]`, whose values {@link tablesNamed} reads. @param does what the command does with them. */
export function tablesArgument(does: string): Argument {
  return new Argument("[tables...]", does).choices(TABLES.map(({ name }) => name));
}

/** The tables of these names, in the order of the schema; all without a name. */
export function tablesNamed(names: readonly string[]): readonly TableSchema[] {
  return TABLES.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** Reads a TCP port; 0 takes a free one. */
export function portOption(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError("must be 0 to 65535");
  return port;
}

/** How long old versions remain readable: a time such as 7d or 12h, in milliseconds. */
export function retentionOption(doc: string, byDefault: string): Option {
  return new Option("--retention <time>", doc)
    .argParser(parseRetention)
    .default(parseRetention(byDefault), byDefault);
}

function parseRetention(given: string): number {
  const [, amount, unit] = /^(\d{1,5})([dh])$/.exec(given) ?? [];
  if (amount === undefined)
    throw new InvalidArgumentError(
      "It is no time; write it like 7d or 12h: with 0h only the newest version remains.",
    );
  return Number(amount) * (unit === "d" ? DAY_MS : millisecondsInHour);
}

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

/** The folder of the user's pipelines that BARLAKE_PIPELINES names; undefined: the default. */
export function usersPipelines(): string | undefined {
  return process.env.BARLAKE_PIPELINES || undefined;
}
