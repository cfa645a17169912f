import { klineBatch } from "../arrow/kline-batch.js";
import { REGIONS } from "../core/exchange.js";
import { regionOf } from "../core/symbol.js";
import { ident, literal } from "../db/quote.js";
import type { Session } from "../db/session.js";
import { KLINE_COLUMNS } from "../schema/bars.js";
import type { KlineColumns } from "../wire/kline-columns.js";

/**
 * Appends decoded bars to staged ones: record batch, table function, one copy. Volumes are in the region's unit, as a
 * service delivers them.
 *
 * @param source where the bars came from, for the rejects.
 */
export async function stageKlines(
  session: Session,
  staged: string,
  columns: KlineColumns,
  source: string,
): Promise<void> {
  if (columns.rows === 0) return;
  const values = KLINE_COLUMNS.map((c) => ident(c.name)).join(", ");
  await session.withBatch(klineBatch(columns), (table) =>
    session.run(
      `INSERT INTO ${ident(staged)} BY NAME
       SELECT CAST(symbol AS VARCHAR) AS symbol, make_timestamptz(epoch_us(CAST(timestamp AS TIMESTAMP))) AS timestamp, ${values},
         ${lotSql(columns.symbols)} AS lot, ${literal(source)} AS source, NULL AS line
       FROM ${table}`,
    ),
  );
}

/** The lot of each symbol: one number where all agree, as they do within a region. */
function lotSql(symbols: readonly string[]): string {
  const lotOf = (symbol: string): number => REGIONS[regionOf(symbol) ?? "US"].lot;
  const lots = new Set(symbols.map(lotOf));
  if (lots.size === 1) return String([...lots][0]);
  const big = symbols.filter((symbol) => lotOf(symbol) === REGIONS.CN.lot);
  return `CASE WHEN symbol IN (${big.map(literal).join(", ")}) THEN ${REGIONS.CN.lot} ELSE 1 END`;
}
