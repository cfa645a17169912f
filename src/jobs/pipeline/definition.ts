import { z } from "zod";
import { messageOf, UsageError } from "../../core/errors.js";
import { isTradingDate } from "../../core/time.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { isSymbol } from "../../market/symbol.js";
import { isObjectUrl, parseObjectUrl } from "../../object-store/object-address.js";
import { cronFault } from "../../plan/due-times.js";
import type { TableSchema } from "../../schema/column.js";
import { STATEMENT_NAMES } from "../../schema/statements.js";
import { tableNamed } from "../../schema/tables.js";
import { patternFault } from "../files/name-pattern.js";
import { checkOptions } from "../import/check-options.js";
import { IMPORTABLE, type ImportOptions, type ImportTable } from "../import/import-options.js";
import { plannedOptions } from "../import/plan/import-plan.js";
import { pipelineFaults } from "./pipeline-faults.js";

const region = z.enum(Object.keys(REGIONS) as [Region, ...Region[]]);
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "must be a time of day such as 17:30");
const days = z.enum(["trading", "daily"]);

const timesRule = z.strictObject({
  /** A time of day, or several, in the region's zone. */
  at: z.union([timeOfDay, z.array(timeOfDay).min(1)]).transform((at) => (typeof at === "string" ? [at] : at)),
  region,
  /** `trading`: days on which the region's exchanges have a session; `daily`: every day. @default "trading" */
  days: days.default("trading"),
});
const cronRule = z
  .strictObject({
    /** Five fields, or six with seconds first. */
    cron: z.string().superRefine((text, context) => {
      const message = cronFault(text);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    }),
    /** The region in whose zone the expression is evaluated. @default UTC */
    region: region.optional(),
    /**
     * `trading`: only days of the expression on which the region has a session. `daily`: all of them. @default "daily"
     */
    days: days.default("daily"),
  })
  .refine((rule) => rule.days === "daily" || rule.region !== undefined, {
    path: ["region"],
    message: "is needed to know the trading days",
  });

const positive = z.number().positive("must be above 0");
const SHARE = "must be above 0 and at most 1";
const quota = z.strictObject({
  /** Requests per minute of each endpoint group that the pipeline may send. @default learned from the service */
  requestsPerMinute: positive.optional(),
  /** Fraction of the key's quota that the pipeline uses, above 0 and at most 1. @default 1 */
  share: z.number().gt(0, SHARE).max(1, SHARE).optional(),
});

/** Run results that are reported by default. */
export const NOTIFIED_STATUSES = ["partial", "failed", "refused"] as const;

const notify = z.strictObject({
  /**
   * Address that receives a notice when a run ends: `env:NAME` takes it from the environment, so that no file contains
   * it.
   */
  webhook: z.string().refine(isWebhook, "must be env:NAME, or an http or https address"),
  /** Run results that are reported. A complete run after one of them is reported, too. */
  on: z.array(z.enum(["complete", "partial", "failed", "refused"])).default([...NOTIFIED_STATUSES]),
});

const named = {
  /** Name under which the pipeline is run: `barlake run NAME`. */
  name: z.string().regex(/^[a-z][a-z0-9-]*$/, "must be lower-case letters, digits and hyphens"),
  /** Description in one sentence. */
  doc: z.string().default(""),
  /** When `barlake schedule` runs it: one rule or several. @default never */
  schedule: z
    .union([timesRule, cronRule, z.array(z.union([timesRule, cronRule]))])
    .transform((rules) => (Array.isArray(rules) ? rules : [rules]))
    .default([]),
  notify: notify.optional(),
};
const base = { ...named, quota: quota.optional() };

const which = {
  symbols: z.array(z.string().refine(isSymbol, "must be of the form CODE.EXCHANGE")).min(1).optional(),
  /** Ids of universes whose current members are requested. */
  universes: z.array(z.string().min(1)).min(1).optional(),
  /** Regions whose instruments are requested, if neither symbols nor universes are named. @default all */
  regions: z.array(region).min(1).default(["CN", "HK", "US"]),
  /**
   * Exchange suffixes whose instruments, and members of universes, are not requested: those that this version does not
   * know make runs partial otherwise. @default none
   */
  withoutExchanges: z.array(z.string().min(1)).min(1).optional(),
};
const isOneWay = (pipeline: { symbols?: unknown; universes?: unknown }): boolean =>
  pipeline.symbols === undefined || pipeline.universes === undefined;
const ONE_WAY = { path: ["universes"], message: "cannot be combined with symbols: name one of the two" };

const areChosen = (pipeline: { symbols?: unknown; withoutExchanges?: unknown }): boolean =>
  pipeline.symbols === undefined || pipeline.withoutExchanges === undefined;
const NAMED = {
  path: ["withoutExchanges"],
  message: "cannot be combined with symbols: leave them out there",
};

const importOptions = plannedOptions.extend({ map: plannedOptions.shape.map.default({}) });

const date = z.string().refine(isTradingDate, "must be a calendar date YYYY-MM-DD");
const fromDate = z
  .string()
  .refine((text) => /^-\d{1,5}d$/.test(text) || isTradingDate(text), "must be YYYY-MM-DD or like -365d");

const pipeline = z.discriminatedUnion("kind", [
  z.strictObject({ ...base, kind: z.literal("reference"), refreshHours: positive.default(12) }),
  z
    .strictObject({
      ...base,
      ...which,
      kind: z.literal("bars"),
      period: z.enum(["1d", "1m"]),
      /** First date of the window, in each exchange's zone, or a number of days before today, as in `-365d`. */
      from: fromDate,
      /** The date after the last requested date. @default everything up to now */
      to: date.optional(),
      /**
       * Last trading days that each run requests again, as in `3d`, so that values which the service has changed are
       * replaced. The newest session counts as one.
       */
      lookback: z
        .string()
        .regex(/^\d{1,4}d$/, "must be a number of days such as 3d")
        .optional(),
      /**
       * Whether a pipeline of daily bars also requests the factors of ex-events, with `GET /v1/klines/ex-factors`, where
       * the service has them.
       */
      exFactors: z.boolean().default(false),
      /** Types of instruments that are requested, if neither symbols nor universes are named. */
      types: z.array(z.string()).min(1).default(["stock", "etf"]),
    })
    .refine(isOneWay, ONE_WAY)
    .refine(areChosen, NAMED)
    .refine(({ period, exFactors }) => period === "1d" || !exFactors, {
      path: ["exFactors"],
      message: "is for daily bars",
    })
    .refine(({ from, to }) => from.startsWith("-") || to === undefined || from < to, {
      path: ["to"],
      message: "must come after from",
    }),
  z.strictObject({ ...base, kind: z.literal("intraday"), universes: z.array(z.string().min(1)).min(1) }),
  z
    .strictObject({
      ...base,
      ...which,
      kind: z.literal("statements"),
      tables: z
        .array(z.enum(STATEMENT_NAMES))
        .min(1)
        .default([...STATEMENT_NAMES]),
      refreshHours: positive.default(20),
    })
    .refine(isOneWay, ONE_WAY)
    .refine(areChosen, NAMED),
  z
    .strictObject({
      ...named,
      kind: z.literal("files"),
      /** The table in which the files land. */
      table: z.enum(IMPORTABLE),
      /** A folder, relative to the working directory, or `s3://bucket/prefix`. */
      from: z.string().superRefine((text, context) => {
        const message = placeFault(text);
        if (message !== undefined) context.addIssue({ code: "custom", message });
      }),
      /** The names of the files in the folder: `*.csv.gz`; `**` is any number of folders. */
      pattern: z.string().superRefine((text, context) => {
        const message = patternFault(text);
        if (message !== undefined) context.addIssue({ code: "custom", message });
      }),
      /**
       * The path of a plan that `barlake import --save-plan` has written, relative to the working directory: files that do
       * not fit it are refused.
       *
       * @default what is certain is found
       */
      plan: z.string().min(1, "must be the path of a file").optional(),
      /** How the files are read, instead of a plan. A symbol is in the files or in their names. */
      options: importOptions.optional(),
    })
    .refine(({ plan, options }) => plan === undefined || options === undefined, {
      path: ["options"],
      message: "cannot be combined with plan: a plan has the options",
    })
    .superRefine(({ table, options }, context) => {
      const message = options === undefined ? undefined : optionsFault(table, options);
      if (message !== undefined) context.addIssue({ code: "custom", path: ["options"], message });
    }),
]);

/** A scheduled job, as data. */
export type Pipeline = z.output<typeof pipeline>;
/** The input of a pipeline file; omitted fields have defaults. */
export type PipelineDefinition = z.input<typeof pipeline>;

/** How much of a key's quota a pipeline uses. */
export type Quota = z.output<typeof quota>;

/** The quota of a pipeline; undefined also for one of files, which needs no key. */
export function quotaOf(of: Pipeline): Quota | undefined {
  return of.kind === "files" ? undefined : of.quota;
}

/**
 * Checks a pipeline's definition and fills in the defaults. The result is a valid definition, too.
 *
 * @throws {UsageError} that names the pipeline, and each wrong field with its rule.
 */
export function definePipeline(definition: PipelineDefinition): Pipeline {
  const result = pipeline.safeParse(definition);
  if (result.success) return result.data;
  const { name } = (definition ?? {}) as { name?: unknown };
  const subject = typeof name === "string" ? name : "without a name";
  throw new UsageError(`pipeline ${subject}: ${pipelineFaults(definition, result.error.issues).join("; ")}`, {
    hint: "docs/operations.md lists the fields of a pipeline, and which of them are optional",
  });
}

/** Why a text is no place of files; undefined where it is one. */
function placeFault(text: string): string | undefined {
  if (text === "") return "must be a folder, or s3://bucket/prefix";
  if (!isObjectUrl(text))
    return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? "must be a folder, or s3://bucket/prefix" : undefined;
  try {
    parseObjectUrl(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Why options are wrong for a table; undefined where they are right. */
function optionsFault(table: ImportTable, options: ImportOptions): string | undefined {
  try {
    checkOptions(tableNamed(table) as TableSchema, options, []);
    return undefined;
  } catch (error) {
    const hint = error instanceof UsageError && error.hint !== undefined ? ` (${error.hint})` : "";
    return `${messageOf(error)}${hint}`;
  }
}

function isWebhook(text: string): boolean {
  if (text.startsWith("env:")) return /^env:[A-Za-z_]\w*$/.test(text);
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
