import { parseTradingDate } from "../../../core/time.js";
import { literalList } from "../../../db/quote.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { regionOf } from "../../../market/symbol.js";
import { instantOf } from "../../../market/zone.js";
import { BARS_1D } from "../../../schema/bars.js";
import { INSTRUMENTS } from "../../../schema/reference.js";
import type { RunContext } from "../../run/run-context.js";
import { endOfDay } from "../choose-symbols.js";

/** When symbols began to trade, and when they were seen to be delisted, where that is known; epoch milliseconds. */
export interface SymbolLives {
  readonly listedAt: ReadonlyMap<string, number>;
  readonly delistedAt: ReadonlyMap<string, number>;
}

type LakeParts = Pick<RunContext, "session" | "lake">;

/**
 * Reads from the snapshots of the instruments when symbols were listed, and when they left the lists of their
 * exchanges. Services give no delisting date, so the date is that of the first snapshot of the instruments without the
 * symbol. The symbol may still have traded on that day. A symbol that is listed again is not delisted.
 *
 * A listing date can be wrong. For a symbol that was listed after the start of its region, it is the date of the first
 * daily bar in the lake, where that is earlier.
 *
 * @param starts epoch milliseconds; listing dates of other regions remain as the instruments have them.
 */
export async function readLives(parts: LakeParts, starts: ReadonlyMap<Region, number>): Promise<SymbolLives> {
  const { session, lake } = parts;
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  const rows = await session.json<{ symbol: string; listed: string | null; left: number | null }>(
    `SELECT symbol, CAST(max(listing_date) FILTER (valid_to IS NULL) AS VARCHAR) AS listed,
       CASE WHEN bool_and(valid_to IS NOT NULL) THEN epoch_ms(max(valid_to))::DOUBLE END AS "left"
     FROM (${files}) GROUP BY symbol HAVING listed IS NOT NULL OR "left" IS NOT NULL`,
  );
  const listedAt = new Map<string, number>();
  const delistedAt = new Map<string, number>();
  const late: string[] = [];
  for (const { symbol, listed, left } of rows) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    if (listed !== null) {
      const at = instantOf(parseTradingDate(listed), REGIONS[region].zone);
      listedAt.set(symbol, at);
      if (at > (starts.get(region) ?? Number.POSITIVE_INFINITY)) late.push(symbol);
    }
    if (left !== null) delistedAt.set(symbol, endOfDay(left, region));
  }
  for (const [symbol, first] of await firstDays(parts, late))
    listedAt.set(symbol, Math.min(first, listedAt.get(symbol) ?? first));
  return { listedAt, delistedAt };
}

/** The first dates on which the lake has daily bars of symbols, as epoch milliseconds. */
async function firstDays(
  { session, lake }: LakeParts,
  symbols: readonly string[],
): Promise<[symbol: string, first: number][]> {
  if (symbols.length === 0) return [];
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1D)));
  const rows = await session.json<{ symbol: string; first: string }>(
    `SELECT symbol, CAST(min(trade_date) AS VARCHAR) AS first
     FROM (${files}) WHERE symbol IN (SELECT unnest(${literalList(symbols)})) GROUP BY symbol`,
  );
  return rows.flatMap(({ symbol, first }): [string, number][] => {
    const region = regionOf(symbol);
    return region === undefined ? [] : [[symbol, instantOf(parseTradingDate(first), REGIONS[region].zone)]];
  });
}
