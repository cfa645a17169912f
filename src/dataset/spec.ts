import { z } from "zod";
import { UsageError } from "../core/errors.js";
import { isTradingDate } from "../core/time.js";
import { ADJUSTMENTS, basePeriod, PERIODS } from "../market/period.js";
import { REGIONS, type Region } from "../market/regions.js";
import { isSymbol, MAX_SYMBOL_LENGTH, SYMBOL_FORM } from "../market/symbol.js";
import { STATEMENT_NAMES } from "../schema/statements.js";

export const DATASET_FORMATS = [
  "qlib",
  "wide-parquet",
  "wide-arrow",
  "long-parquet",
  "long-arrow",
  "symbol-csv",
  "symbol-parquet",
  "backtrader",
  "zipline-csvdir",
  "lean",
] as const;
export type DatasetFormat = (typeof DATASET_FORMATS)[number];

/** Masks of a cell in addition to the fields. */
export const MASKS = ["tradable", "limit_up", "limit_down", "in_universe"] as const;
export type Mask = (typeof MASKS)[number];

/** The value of a filled day: the last close, 0, the last value, or none. */
export const FILL_KINDS = ["close", "zero", "last", "none"] as const;
export type FillKind = (typeof FILL_KINDS)[number];

const region = z.enum(Object.keys(REGIONS) as [Region, ...Region[]]);
const date = z.string().refine(isTradingDate, "must be a calendar date YYYY-MM-DD").meta({ format: "date" });
const symbol = z
  .string()
  .refine(isSymbol, "must be of the form CODE.EXCHANGE")
  .meta({ pattern: `^${SYMBOL_FORM}$`, maxLength: MAX_SYMBOL_LENGTH });
const columnName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, "must be a name of letters, digits and underscores");

const field = z.union([
  columnName,
  z.strictObject({
    name: columnName,
    /** An expression over columns of the bar and of the views: `close / open - 1`, `daily_valuation.price_to_book`. */
    sql: z.string().min(1).max(10_000),
    /** The value of a day without trades where gaps are filled. @default by the column's name, else the last value */
    fill: z.enum(FILL_KINDS).optional(),
    /** Whether the expression may use later rows, for example as a training label. @default false */
    looksAhead: z.boolean().default(false),
  }),
]);

/** An item of a statement, such as `balance_sheet.total_assets`. */
const STATEMENT_ITEM = new RegExp(`^(${STATEMENT_NAMES.join("|")})\\.[a-z_][a-z0-9_]*$`);

const universe = z.union([
  /** The id of a universe, with its members as they were known on each date. */
  z.string().min(1),
  z.array(symbol).min(1),
  /** A query that returns `symbol` and, if membership is dated, `from_date` and `to_date` (exclusive; null: no end). */
  z.strictObject({ sql: z.string().min(1) }),
  /** All symbols that ever traded in a region, including delisted ones. */
  z.strictObject({ region, types: z.array(z.string().min(1)).min(1).optional() }),
]);

/** The declaration of a spec: it checks definitions, and the JSON schema of spec files is made of it. */
export const specRule = z.strictObject({
  /** Its name, also used for its folder. */
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "must be lower-case letters, digits, hyphens and underscores"),
  /** Its purpose, in one sentence. */
  doc: z.string().default(""),
  /** Whose bars: a universe's id, a list of symbols, a query, or a region. */
  universe,
  /** Of the rows. @default 1d */
  period: z.enum(PERIODS).default("1d"),
  /** First trading date. */
  from: date,
  /** Trading date after the last one. @default all dates so far */
  to: date.optional(),
  /** Of prices for splits and dividends. @default backward */
  adjustment: z.enum(ADJUSTMENTS).default("backward"),
  /** Columns of the bars, or expressions. @default open, high, low, close, volume, amount, vwap, factor */
  fields: z.array(field).min(1).max(1000).optional(),
  /** What is known of a cell in addition to its values. @default all */
  masks: z.array(z.enum(MASKS)).default([...MASKS]),
  /** Region whose sessions are the days. @default all sessions of the symbols' regions */
  calendar: region.optional(),
  /** How days without trades are filled. `limit`: most sessions, or bars, in a row. @default none: NaN */
  fill: z
    .union([
      z.literal("none"),
      z.strictObject({ method: z.literal("forward"), limit: z.number().int().min(1).max(10_000) }),
    ])
    .default("none"),
  /** Number of bars that a symbol must have traded before it counts as in the universe. @default 0 */
  minHistory: z.number().int().min(0).max(10_000).default(0),
  /** Of the files that a build writes. @default long-parquet */
  format: z.enum(DATASET_FORMATS).default("long-parquet"),
  /** Output folder. @default datasets/NAME/FORMAT in the lake */
  output: z.string().min(1).optional(),
  /** For qlib: items of statements in its point-in-time layout, such as `balance_sheet.total_assets`. */
  statements: z
    .array(z.string().regex(STATEMENT_ITEM, "must be like balance_sheet.total_assets"))
    .min(1)
    .optional(),
});

/** A complete spec of a dataset, including every default. */
export type DatasetSpec = Readonly<z.output<typeof specRule>>;
/** A spec as users write it; missing members get defaults. */
export type DatasetDefinition = z.input<typeof specRule>;

/**
 * Checks a definition; the result is one, too. @throws {UsageError} naming the dataset, and each invalid field with its
 * rule.
 */
export function defineDataset(definition: DatasetDefinition): DatasetSpec {
  const result = specRule.safeParse(definition);
  const { name } = (definition ?? {}) as { name?: unknown };
  const subject = `dataset ${typeof name === "string" ? name : "without a name"}`;
  if (!result.success)
    throw faulty(
      subject,
      result.error.issues.flatMap((issue) => issueTexts(issue)),
    );
  const faults = contradictions(result.data);
  if (faults.length > 0) throw faulty(subject, faults);
  return result.data;
}

function faulty(subject: string, faults: readonly string[]): UsageError {
  return new UsageError(`${subject}: ${faults.join("; ")}`, {
    hint: "docs/datasets.md lists the fields of a spec",
  });
}

function issueTexts(issue: z.core.$ZodIssue, within: readonly PropertyKey[] = []): string[] {
  const path = [...within, ...issue.path];
  if (issue.code === "invalid_union") {
    // An object breaks the rules of the form for objects; of a text no form says more than the others.
    const inner = issue.errors.find((form) =>
      form.some((one) => !(one.code === "invalid_type" && one.path.length === 0)),
    );
    if (inner !== undefined) return inner.flatMap((one) => issueTexts(one, path));
  }
  const { message } = issue;
  const rule = message.endsWith("received undefined") ? "is missing" : message;
  return [path.length === 0 ? rule : `${path.join(".")}: ${rule}`];
}

function contradictions(one: DatasetSpec): string[] {
  const faults: string[] = [];
  if (one.to !== undefined && one.to <= one.from) faults.push("to: must come after from");
  const names = (one.fields ?? []).map((f) => (typeof f === "string" ? f : f.name));
  const taken = new Set<string>(one.masks);
  for (const name of names) {
    if (taken.has(name)) faults.push(`fields: ${name} is there twice`);
    taken.add(name);
  }
  if (one.statements !== undefined && one.format !== "qlib")
    faults.push("statements: only qlib has a layout for them");
  if (one.format === "qlib" && one.period !== "1d" && one.period !== "1m")
    faults.push("period: qlib's layout is for 1d and 1m");
  if (one.format === "zipline-csvdir" && one.period !== "1d" && one.period !== "1m")
    faults.push("period: zipline reads 1d and 1m");
  if (one.format === "lean" && one.period !== "1d") faults.push("period: LEAN's layout is for 1d");
  return faults;
}

export function isIntraday({ period }: DatasetSpec): boolean {
  return basePeriod(period) === "1m";
}
