import { type Fault, faultOf } from "../fetch-data.js";
import { type Bars, type BarsKey, loadReaching } from "./bars-source.js";

/** The bars of an instrument with which another one is compared. */
export interface ComparedBars {
  readonly symbol: string;
  readonly bars: Bars;
}

/**
 * Loads the bars of other instruments for the range of the given bars. An instrument whose bars are refused, such as a
 * symbol that cannot exist, is left out, and the first such error is returned.
 *
 * @param key the key of the given bars.
 */
export async function loadCompared(
  key: BarsKey,
  symbols: readonly string[],
  { from }: Bars,
  signal: AbortSignal,
): Promise<{ readonly compared: readonly ComparedBars[]; readonly fault: Fault | undefined }> {
  const reaches = (bars: Bars): boolean => from !== undefined && bars.from !== undefined && bars.from <= from;
  const outcomes = await Promise.allSettled(
    symbols.map(
      async (symbol): Promise<ComparedBars> => ({
        symbol,
        bars: await loadReaching({ ...key, symbol }, reaches, signal),
      }),
    ),
  );
  signal.throwIfAborted();
  const refused = outcomes.find((outcome) => outcome.status === "rejected");
  return {
    compared: outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : [])),
    fault: refused && faultOf(refused.reason),
  };
}
