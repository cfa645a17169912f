import { UsageError } from "../../core/errors.js";
import { parquetRelation } from "../../db/parquet-relation.js";
import { literalList } from "../../db/quote.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { isSymbol, parseSymbol, regionOf } from "../../market/symbol.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS } from "../../schema/reference.js";

/**
 * The symbols of a run by region: the named ones, or members of universes, or the lake's instruments.
 *
 * @param types types of the lake's instruments.
 * @param options.extra symbols of any type, used where the lake knows them as instruments and no others were
 *   named.
 */
export async function chooseSymbols(
  session: Session,
  lake: Lake,
  regions: readonly Region[],
  types: readonly string[],
  {
    symbols,
    universes,
    extra = [],
  }: {
    readonly symbols?: readonly string[] | undefined;
    readonly universes?: readonly string[] | undefined;
    readonly extra?: readonly string[];
  },
): Promise<Map<Region, string[]>> {
  if (symbols) return byRegion(symbols.map(parseSymbol), Object.keys(REGIONS) as Region[]);
  if (universes) {
    const members = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSE_MEMBERS)));
    const rows = await session.json<{ symbol: string; ids: string[] }>(
      `SELECT symbol, list(DISTINCT id) AS ids FROM (${members})
       WHERE valid_to IS NULL AND id IN (SELECT unnest(${literalList(universes)})) GROUP BY symbol ORDER BY symbol`,
    );
    const found = new Set(rows.flatMap(({ ids }) => ids));
    const missing = universes.filter((id) => !found.has(id));
    if (missing.length > 0) {
      throw new UsageError(`universe ${missing.join(", ")}: the lake knows no members`, {
        hint: 'run the pipeline reference first, and see: barlake sql "from universes"',
      });
    }
    return byRegion(
      rows.map((row) => row.symbol),
      Object.keys(REGIONS) as Region[],
    );
  }
  const instruments = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  const rows = await session.json<{ symbol: string }>(
    `SELECT symbol FROM (${instruments}) WHERE valid_to IS NULL
       AND (type IN (SELECT unnest(${literalList(types)})) OR symbol IN (SELECT unnest(${literalList(extra)}))) ORDER BY symbol`,
  );
  if (rows.length === 0) {
    throw new UsageError("the lake knows no instruments to ask for", {
      hint: "run the pipeline reference first, or name symbols with --symbols",
    });
  }
  return byRegion(
    rows.map((row) => row.symbol),
    regions,
  );
}

function byRegion(symbols: readonly string[], regions: readonly Region[]): Map<Region, string[]> {
  const groups = new Map<Region, string[]>();
  for (const symbol of symbols) {
    const region = isSymbol(symbol) ? regionOf(symbol) : undefined;
    if (region === undefined || !regions.includes(region)) continue;
    const group = groups.get(region);
    if (group) group.push(symbol);
    else groups.set(region, [symbol]);
  }
  return groups;
}
