import { z } from "zod";
import { UsageError } from "../core/errors.js";
import { REGIONS, type Region } from "../core/exchange.js";

const region = z.enum(Object.keys(REGIONS) as [Region, ...Region[]]);
const base = {
  /** Name under which the pipeline is run: `barlake run NAME`. */
  name: z.string().regex(/^[a-z][a-z0-9-]*$/, "must be lower-case letters, digits and hyphens"),
  /** What it does, in one sentence. */
  doc: z.string().default(""),
};

/** First date of a window: a date, or a number of days before today such as `-365d`. */
const from = z.string().regex(/^(\d{4}-\d{2}-\d{2}|-\d{1,5}d)$/, "must be YYYY-MM-DD or like -365d");

const pipeline = z.discriminatedUnion("kind", [
  z.strictObject({ ...base, kind: z.literal("reference"), refreshHours: z.number().positive().default(12) }),
  z.strictObject({
    ...base,
    kind: z.literal("bars"),
    period: z.enum(["1d", "1m"]),
    from,
    /** Regions whose instruments are asked for. @default all */
    regions: z.array(region).default(["CN", "HK", "US"]),
    /** Types of instruments that are asked for. */
    types: z.array(z.string()).default(["stock", "etf"]),
  }),
  z.strictObject({ ...base, kind: z.literal("intraday"), universes: z.array(z.string()).min(1) }),
  z.strictObject({
    ...base,
    kind: z.literal("statements"),
    tables: z.array(z.enum(["balance_sheet", "cash_flow"])).default(["balance_sheet", "cash_flow"]),
    regions: z.array(region).default(["CN", "HK", "US"]),
    refreshHours: z.number().positive().default(20),
  }),
]);

/** A scheduled job, as data. */
export type Pipeline = z.output<typeof pipeline>;
/** What a pipeline file may write; the rest has defaults. */
export type PipelineDefinition = z.input<typeof pipeline>;

/**
 * Checks a pipeline's definition.
 *
 * @throws {UsageError} that names the field which breaks a rule, and the rule.
 */
export function definePipeline(definition: PipelineDefinition): Pipeline {
  const result = pipeline.safeParse(definition);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const { name } = (definition ?? {}) as { name?: unknown };
  throw new UsageError(
    `pipeline ${typeof name === "string" ? name : "without a name"}: ${issue?.path.join(".") || "definition"}: ${issue?.message}`,
  );
}
