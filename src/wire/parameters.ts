import { z } from "zod";
import { ADJUSTMENTS, type Adjustment, basePeriod, PERIODS, type Period } from "../market/period.js";
import { splitList } from "../market/symbol.js";
import { LIMITS } from "./endpoints.js";
import type { ErrorCode } from "./error-body.js";

export class ParameterError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = "ParameterError";
    this.code = code;
  }
}

const integerText = z
  .string()
  .regex(/^-?\d{1,16}$/, "is not an integer")
  .transform(Number)
  .refine(Number.isSafeInteger, "is out of range");

/** An optional integer in a query. "null" and "" count as not sent: the interface defines it as "integer or null". */
const optionalInteger = z
  .string()
  .optional()
  .transform((text) => (text === "" || text === "null" ? undefined : text))
  .pipe(integerText.optional());

/** The largest distance from 1970 that a JavaScript date represents, in milliseconds. */
const MAX_TIME_MS = 8_640_000_000_000_000;

/** An optional int64 of epoch milliseconds. It is clamped to the range of dates, outside of which there are no bars. */
const optionalTime = (doc: string) =>
  z
    .string()
    .optional()
    .transform((text) => (text === "" || text === "null" ? undefined : text))
    .pipe(
      z
        .string()
        .regex(/^-?\d{1,19}$/, "is not an integer")
        .transform(BigInt)
        .refine((ms) => BigInt.asIntN(64, ms) === ms, "is out of range")
        .transform((ms) => Math.min(Math.max(Number(ms), -MAX_TIME_MS), MAX_TIME_MS))
        .optional(),
    )
    .meta({ type: ["integer", "null"], format: "int64", description: `${doc}, inclusive. [epoch ms]` });

const startTime = optionalTime("Begin of the window");
const endTime = optionalTime("End of the window");

const count = (fallback: number, max: number) =>
  optionalInteger
    .refine((n) => n === undefined || n >= 0, "is below 0")
    .refine((n) => n === undefined || n <= max, `is above ${max}`)
    .transform((n) => n ?? fallback)
    .meta({
      type: ["integer", "null"],
      minimum: 0,
      ...(max < Number.MAX_SAFE_INTEGER && { maximum: max }),
      default: fallback,
      description: "The newest so many bars of each symbol.",
    });

/** A comma-separated list of names in a query. A client may also repeat the parameter (`symbols=a&symbols=b`). */
const list = (doc: string) =>
  z
    .union([z.string(), z.array(z.string())], "is required")
    .transform((sent) => splitList([sent].flat().join(",")))
    .refine((items) => items.length > 0, "is required")
    .meta({ type: "string", pattern: "[^,\\s]", description: `${doc}, comma-separated.` });

const SYMBOLS = "Symbols, such as 600519.SH";
const UNIVERSES = "Ids of universes";

const symbol = z
  .string("is required")
  .min(1, "is required")
  .meta({ description: "Symbol, such as 600519.SH." });

const periodOf = (text: string): text is Period => (PERIODS as readonly string[]).includes(text);

const period = (fallback: Period) =>
  z
    .string()
    .default(fallback)
    .refine(periodOf, {
      error: `is not one of ${PERIODS.join(", ")}`,
      params: { code: "INVALID_PERIOD" },
    })
    .meta({ type: "string", enum: [...PERIODS], description: "Period of a bar." });

const MINUTE_PERIODS = PERIODS.filter((text) => basePeriod(text) === "1m");

/** The period of the intraday endpoints. They return minutes, and reject periods of days. */
const minutePeriod = period("1m")
  .refine((text) => basePeriod(text) === "1m", {
    error: `is not one of ${MINUTE_PERIODS.join(", ")}`,
    params: { code: "INVALID_PERIOD" },
  })
  .meta({ type: "string", enum: MINUTE_PERIODS, description: "Period of a bar." });

const adjust = z
  .enum(ADJUSTMENTS, `is not one of ${ADJUSTMENTS.join(", ")}`)
  .default("forward" satisfies Adjustment)
  .meta({ description: "How prices are adjusted for dividends, splits and rights issues." });

const flag = (doc: string) =>
  z
    .enum(["true", "false", "1", "0"], "is not true or false")
    .default("false")
    .transform((text) => text === "true" || text === "1")
    .meta({ type: "boolean", enum: [true, false], default: false, description: doc });

const date = (doc: string) =>
  z.iso
    .date("is not a date YYYY-MM-DD")
    .optional()
    .meta({ type: "string", format: "date", description: doc });

const nameList = (doc: string) =>
  z
    .array(z.string("is not a string"), "is not an array of strings")
    .transform((items) => [...new Set(items)])
    .meta({ description: `${doc}.` });

const names = (doc: string) =>
  nameList(doc)
    .refine((items) => items.length > 0, "is required")
    .meta({ minItems: 1, description: `${doc}.` });

const INSTRUMENT_TYPES = ["stock", "etf", "index", "bond", "fund", "futures", "options", "other"] as const;

/** Queries and bodies of the endpoints; windows are epoch milliseconds, with both ends inclusive. */
export const PARAMETERS = {
  klinesBatch: z.object({
    symbols: list(SYMBOLS),
    period: period("1d"),
    count: count(LIMITS.defaultCount, LIMITS.maxCount),
    start_time: startTime,
    end_time: endTime,
    adjust,
  }),
  klines: z.object({
    symbol,
    period: period("1d"),
    count: count(LIMITS.defaultCount, LIMITS.maxCount),
    start_time: startTime,
    end_time: endTime,
    adjust,
  }),
  exFactors: z.object({
    symbols: list(SYMBOLS),
    start_time: startTime,
    end_time: endTime,
  }),
  intradayBatch: z.object({
    symbols: list(SYMBOLS),
    period: minutePeriod,
    count: count(LIMITS.maxCount, LIMITS.maxCount),
  }),
  intraday: z.object({
    symbol,
    period: minutePeriod,
    count: count(LIMITS.maxCount, LIMITS.maxCount),
  }),
  intradayUniverse: z.object({
    universes: list(UNIVERSES),
    period: minutePeriod,
    count: count(LIMITS.defaultIntradayCount, Number.MAX_SAFE_INTEGER),
    start_time: startTime,
    end_time: endTime,
  }),
  instruments: z.object({ symbols: list(SYMBOLS) }),
  instrumentsBatch: z.object({ symbols: names(SYMBOLS) }),
  symbols: z.object({ symbols: list(SYMBOLS) }),
  symbolsBatch: z.object({ symbols: names(SYMBOLS) }),
  quotes: z
    .object({
      symbols: nameList(SYMBOLS).optional(),
      universes: nameList(UNIVERSES).optional(),
    })
    .refine(({ symbols, universes }) => (symbols?.length ?? 0) + (universes?.length ?? 0) > 0, {
      error: "or universes is required",
      path: ["symbols"],
    })
    .meta({
      anyOf: ["symbols", "universes"].map((name) => ({
        required: [name],
        // Generators of clients read each alternative separately. Without the type, the member would have no type.
        properties: { [name]: { type: "array", items: { type: "string" }, minItems: 1 } },
      })),
    }),
  quotesOf: z
    .object({
      symbols: list(SYMBOLS).optional(),
      universes: list(UNIVERSES).optional(),
    })
    .refine(({ symbols, universes }) => symbols !== undefined || universes !== undefined, {
      error: "or universes is required",
      path: ["symbols"],
    }),
  universesBatch: z.object({ ids: names(UNIVERSES) }),
  exchangeInstruments: z.object({
    type: z
      .enum(INSTRUMENT_TYPES, `is not one of ${INSTRUMENT_TYPES.join(", ")}`)
      .optional()
      .meta({ description: "Instruments of this type alone." }),
  }),
  financials: z.object({
    symbols: list(SYMBOLS),
    start_date: date("Reporting periods that end on this day or later."),
    end_date: date("Reporting periods that end on this day or earlier."),
    latest: flag("The latest period alone."),
  }),
} as const;

/** @throws {ParameterError} that names the first parameter that breaks a rule, and the rule. */
export function parseParameters<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input ?? {});
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const name = issue?.path.join(".") || "body";
  if (
    issue !== undefined &&
    ["invalid_type", "invalid_value"].includes(issue.code) &&
    isRepeated(input, issue.path)
  )
    throw new ParameterError("INVALID_PARAMETER", `${name} is given more than once`);
  const declared = issue?.code === "custom" ? (issue.params?.code as ErrorCode | undefined) : undefined;
  throw new ParameterError(declared ?? "INVALID_PARAMETER", `${name} ${issue?.message ?? "is not valid"}`);
}

/** Whether a query has a list of values for a parameter that may occur only once. */
function isRepeated(input: unknown, path: readonly PropertyKey[]): boolean {
  const [name = ""] = path;
  return (
    path.length === 1 && Array.isArray((input as Readonly<Record<PropertyKey, unknown>> | undefined)?.[name])
  );
}
