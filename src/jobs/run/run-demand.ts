import { UsageError } from "../../core/errors.js";
import type { Region } from "../../market/regions.js";
import type { Pipeline } from "../pipeline/definition.js";

/** The caller's options, in addition to the pipeline's definition. */
export interface RunOptions {
  /** First date, instead of the date in the pipeline. */
  readonly from?: string | undefined;
  /** The date after the last requested date. @default everything up to now */
  readonly to?: string | undefined;
  /** Symbols, instead of the lake's instruments. */
  readonly symbols?: readonly string[] | undefined;
  /**
   * Ids of universes. Bars and statements are requested of their members, intraday bars of each universe as a whole.
   */
  readonly universes?: readonly string[] | undefined;
  /** Regions, instead of the regions in the pipeline. */
  readonly regions?: readonly Region[] | undefined;
  /** Number of last trading days that are requested again, instead of the number in the pipeline. */
  readonly lookbackDays?: number | undefined;
  /** Whether only gaps are filled: windows that earlier requests left open, for their symbols. @default false */
  readonly repair?: boolean | undefined;
}

type DemandOption = keyof RunOptions;

const TAKEN: Readonly<Record<Pipeline["kind"], readonly DemandOption[]>> = {
  reference: [],
  bars: ["from", "to", "symbols", "universes", "regions", "lookbackDays", "repair"],
  intraday: ["universes"],
  statements: ["symbols", "universes", "regions"],
  files: [],
};

/** The options whose place earlier requests take where only gaps are filled. */
const NOT_TO_REPAIR: readonly DemandOption[] = ["from", "to", "symbols", "universes", "lookbackDays"];

const WORDS: Readonly<Record<DemandOption, string>> = {
  from: "a first date",
  to: "a last date",
  symbols: "symbols",
  universes: "universes",
  regions: "regions",
  lookbackDays: "days to look back",
  repair: "repair",
};

/**
 * The demand: the caller's options, else the values of the pipeline.
 *
 * @throws {UsageError} for an empty list, with which a run would request nothing and seem complete; for options that the
 *   pipeline would not follow; and for two options of which it would follow only one.
 */
export function demandOf(pipeline: Pipeline, options: RunOptions): RunOptions {
  const run = `run ${pipeline.name}`;
  const isGiven = (name: DemandOption): boolean => options[name] !== undefined && options[name] !== false;
  for (const name of ["symbols", "universes", "regions"] as const)
    if (options[name]?.length === 0)
      throw new UsageError(`${run}: the list of ${name} is empty`, {
        hint: `leave it out to request what the pipeline names`,
      });
  const taken = TAKEN[pipeline.kind];
  const unused = (Object.keys(WORDS) as DemandOption[]).find(
    (name) => isGiven(name) && !taken.includes(name),
  );
  if (unused !== undefined)
    throw new UsageError(`${run}: ${WORDS[unused]} cannot be given to a pipeline of ${pipeline.kind}`, {
      hint:
        taken.length === 0
          ? pipeline.kind === "files"
            ? "it lands all files that are new or changed"
            : "it requests all that the service has"
          : `it takes ${taken.map((name) => WORDS[name]).join(", ")}`,
    });
  if (options.symbols && options.universes)
    throw new UsageError(`${run}: symbols and universes are both given`, { hint: "name one of the two" });
  if (options.symbols && options.regions)
    throw new UsageError(`${run}: symbols and regions are both given`, {
      hint: "leave the regions out: each symbol is of one",
    });
  const isNoLookback = (name: DemandOption): boolean => name === "lookbackDays" && options[name] === 0;
  const instead = options.repair
    ? NOT_TO_REPAIR.find((name) => isGiven(name) && !isNoLookback(name))
    : undefined;
  if (instead !== undefined)
    throw new UsageError(`${run}: repair and ${WORDS[instead]} are both given`, {
      hint: "repair fills the gaps of what was requested before: leave one of the two out",
    });
  const { symbols, universes } =
    pipeline.kind === "bars" || pipeline.kind === "statements"
      ? pipeline
      : { symbols: undefined, universes: undefined };
  const which = options.symbols || options.universes ? {} : { symbols, universes };
  return { ...options, ...which, to: options.to ?? (pipeline.kind === "bars" ? pipeline.to : undefined) };
}
