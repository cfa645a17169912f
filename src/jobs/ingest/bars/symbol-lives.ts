import { compareText } from "../../../core/text-order.js";
import { parseTradingDate, type TradingDate } from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/json-parameter.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import { selectFiles } from "../../../lake/files/prune.js";
import { REGION_NAMES, REGIONS, type Region } from "../../../market/regions.js";
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

/** A symbol with the listing date that the instruments have. */
export interface ListedSymbol {
  readonly symbol: string;
  readonly region: Region;
  readonly listingDate: TradingDate;
  /** The start of that date, in epoch milliseconds. */
  readonly listedAt: number;
}

type LakeParts = Pick<RunContext, "session" | "lake">;

/**
 * Reads from the snapshots of the instruments when symbols were listed, and when they left the lists of their
 * exchanges. Services give no delisting date, so the date is that of the first snapshot of the instruments without the
 * symbol. The symbol may still have traded on that day. A symbol that is listed again is not delisted.
 *
 * A listing date can be wrong. Where the lake has a daily bar of the symbol that is earlier, the listing date is not known.
 *
 * @param isInDoubt whether a listing date keeps the plan from requesting time; no other date is compared with the lake.
 */
export async function readLives(
  parts: LakeParts,
  isInDoubt: (listed: ListedSymbol) => boolean,
): Promise<SymbolLives> {
  const { session, lake } = parts;
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  const rows = await session.json<{ symbol: string; listed: string | null; left: number | null }>(
    `SELECT symbol, CAST(max(listing_date) FILTER (valid_to IS NULL) AS VARCHAR) AS listed,
       CASE WHEN bool_and(valid_to IS NOT NULL) THEN epoch_ms(max(valid_to))::DOUBLE END AS "left"
     FROM (${files}) GROUP BY symbol HAVING listed IS NOT NULL OR "left" IS NOT NULL`,
  );
  const listedAt = new Map<string, number>();
  const delistedAt = new Map<string, number>();
  const doubtful: ListedSymbol[] = [];
  for (const { symbol, listed, left } of rows) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    if (listed !== null) {
      const listingDate = parseTradingDate(listed);
      const one = { symbol, region, listingDate, listedAt: instantOf(listingDate, REGIONS[region].zone) };
      listedAt.set(symbol, one.listedAt);
      if (isInDoubt(one)) doubtful.push(one);
    }
    if (left !== null) delistedAt.set(symbol, endOfDay(left, region));
  }
  for (const symbol of await refutedByBars(parts, doubtful)) listedAt.delete(symbol);
  return { listedAt, delistedAt };
}

/** The symbols whose listing date is wrong, as the lake has a daily bar before it. */
async function refutedByBars(
  { session, lake }: LakeParts,
  listed: readonly ListedSymbol[],
): Promise<readonly string[]> {
  if (listed.length === 0) return [];
  const snapshot = await lake.snapshot(BARS_1D);
  const demands = REGION_NAMES.map((region) => {
    const own = listed.filter((one) => one.region === region);
    const end = own.reduce((latest, { listedAt }) => Math.max(latest, listedAt), Number.NEGATIVE_INFINITY);
    const symbols = own.map(({ symbol }) => symbol).sort(compareText);
    return { region, symbols, range: { start: Number.NEGATIVE_INFINITY, end } };
  });
  const files = lake.filesOf(snapshot, selectFiles(snapshot.files.values(), demands));
  const rows = await session.json<{ symbol: string }>(
    `WITH listed AS (
       SELECT unnest(from_json($1, '["VARCHAR"]')) AS symbol, unnest(from_json($2, '["DATE"]')) AS listing_date)
     SELECT DISTINCT symbol FROM (${await parquetRelation(session, files)}) JOIN listed USING (symbol)
     WHERE trade_date < listing_date`,
    [
      jsonParameter(listed.map(({ symbol }) => symbol)),
      jsonParameter(listed.map(({ listingDate }) => listingDate)),
    ],
  );
  return rows.map(({ symbol }) => symbol);
}
