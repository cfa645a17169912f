import { Argument, InvalidArgumentError, Option } from "commander";
import { millisecondsInHour } from "date-fns/constants";
import { isDateText, textMs } from "../../api/inputs.js";
import { UsageError } from "../../core/errors.js";
import { DAY_MS, parseTradingDate } from "../../core/time.js";
import type { PointInTime } from "../../lake/lake.js";
import type { KnownAt } from "../../market/known-at.js";
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
  readonly knownAt?: KnownAt;
  readonly assumeReference?: boolean;
}

/** `--as-of TIME` and `--version TABLE=N`: an earlier state of the lake. */
export function pointInTimeOptions(): [asOf: Option, version: Option] {
  return [
    asOfOption("the rows that the lake had at that time"),
    new Option("--version <table=n>", "a table as its version n had it; may be given for several").argParser(
      versionOf,
    ),
  ];
}

/** `--known-at TIME` and `--assume-reference`: of the rows that the lake has, those that were known then. */
export function knownAtOptions(): [knownAt: Option, assumesReference: Option] {
  return [
    new Option(
      "--known-at <time>",
      "of these rows, what was known then: a date is the end of that trading date in each region, a time is ISO 8601 (UTC where no zone is given)",
    ).argParser(knownAtOf),
    new Option(
      "--assume-reference",
      "instruments and universes that the lake first saw after --known-at TIME were the same before",
    ),
  ];
}

/** `--as-of TIME`. @param does what the command does with the time. */
export function asOfOption(does: string): Option {
  return new Option("--as-of <time>", `${does} (ISO 8601; UTC where no zone is given)`).argParser(instant);
}

export function pointInTimeOf({ asOf, version, ...known }: PointInTimeOptions): PointInTime {
  const { knownAt, assumeReference } = known;
  if (knownAt === undefined && assumeReference)
    throw new UsageError("--assume-reference needs a time", { hint: "add --known-at 2026-06-30" });
  return {
    asOf,
    ...(version ? { versions: version } : {}),
    ...(knownAt === undefined ? {} : { knownAt }),
    ...(assumeReference ? { assumesReference: true } : {}),
  };
}

function knownAtOf(text: string): KnownAt {
  const ms = instant(text);
  return isDateText(text) ? parseTradingDate(text) : ms;
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

/** `--map ours=theirs`: names of columns in files by the table's. */
export function mapOption(): Option {
  return new Option("--map <ours=theirs>", "a column that has another name in the files; may be repeated")
    .default({}, "none")
    .argParser((text: string, sofar: Record<string, string>) => {
      const at = text.indexOf("=");
      const [ours, theirs] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
      if (!ours || !theirs) throw new UsageError(`--map ${text}: is not of the form ours=theirs`);
      return { ...sofar, [ours]: theirs };
    });
}
