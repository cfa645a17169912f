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
  /**
   * Whether only gaps are filled: windows that earlier requests left open, for their symbols. @default false
   */
  readonly repair?: boolean | undefined;
}

/**
 * The demand: the caller's options, else the values of the pipeline.
 *
 * @throws {UsageError} for an empty list, with which a run would request nothing and seem complete, and for symbols together
 *   with universes, of which it would request only the symbols.
 */
export function demandOf(pipeline: Pipeline, options: RunOptions): RunOptions {
  for (const name of ["symbols", "universes", "regions"] as const)
    if (options[name]?.length === 0)
      throw new UsageError(`run ${pipeline.name}: the list of ${name} is empty`, {
        hint: `leave it out to request what the pipeline names`,
      });
  if (options.symbols && options.universes)
    throw new UsageError(`run ${pipeline.name}: symbols and universes are both given`, {
      hint: "name one of the two",
    });
  const { symbols, universes } =
    "symbols" in pipeline ? pipeline : { symbols: undefined, universes: undefined };
  const which = options.symbols || options.universes ? {} : { symbols, universes };
  return { ...options, ...which, to: options.to ?? (pipeline.kind === "bars" ? pipeline.to : undefined) };
}
