import { readColumns } from "../../arrow/scan/result-columns.js";
import { tradeDateSql } from "../../db/market/region-sql.js";
import { jsonParameter } from "../../db/session/named-values.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { INSTRUMENTS } from "../../schema/reference.js";
import { SHARES } from "../../schema/statements.js";
import type { Instrument, StatementRecord } from "../../wire/resources.js";
import { ALL_TIME, demandsOf, requestedSql } from "../klines/requested-bars.js";
import type { LakeVersion } from "./lake-version.js";

export async function landedSymbols(
  version: LakeVersion,
  snapshot: Snapshot,
  symbols: readonly string[],
): Promise<Set<string>> {
  const { files, requested } = demandsOf(snapshot, symbols);
  if (files.length === 0) return new Set();
  const { columns } = await version.query(async (session) => {
    const relation = await version.relation(session, snapshot, files);
    const sql = `WITH ${requestedSql("$requested")} SELECT DISTINCT position FROM (${relation}) JOIN requested USING (symbol)`;
    return readColumns(await session.run(sql, { requested: jsonParameter(requested) }), {
      position: "int32",
    });
  });
  return new Set(Array.from(columns.position.values, (position) => symbols[position] as string));
}

/** Reporting periods from one date to another, both inclusive, as texts. */
interface Periods {
  readonly first: string;
  readonly last: string;
}

/** Whether at least one instrument has numbers of shares from which records can be derived. */
export function canDeriveShares(instruments: Iterable<Instrument>): boolean {
  for (const { ext } of instruments)
    if (typeof ext?.float_shares === "number" || typeof ext?.total_shares === "number") return true;
  return false;
}

/**
 * Adds numbers of shares of symbols that have none in the table: one record for each snapshot of an instrument whose
 * numbers differ from those before, dated by the day at the exchange on which the lake saw it. The view `shares` has
 * the same rows.
 *
 * @param records by symbol; the derived ones are added, ascending by period.
 */
export async function addDerivedShares(
  version: LakeVersion,
  symbols: readonly string[],
  { first, last }: Periods,
  records: Map<string, StatementRecord[]>,
): Promise<void> {
  const without = symbols.filter((symbol) => !records.has(symbol));
  if (without.length === 0) return;
  const landed = await landedSymbols(version, await version.snapshot(SHARES), without);
  const snapshot = await version.snapshot(INSTRUMENTS);
  const { files, requested } = demandsOf(
    snapshot,
    without.filter((symbol) => !landed.has(symbol)),
  );
  if (files.length === 0) return;
  // A snapshot that only counts as known earlier is dated after the replayed day.
  const seenUntil = version.visibleUntil ?? ALL_TIME.end - 1;
  const rows = await version.query(async (session) => {
    const relation = await version.relation(session, snapshot, files);
    const sql = `WITH ${requestedSql("$requested")},
      days AS (
        SELECT symbol, ${tradeDateSql("valid_from", "region")} AS period_end, float_shares, total_shares
        FROM (${relation}) JOIN requested USING (symbol)
        WHERE (float_shares IS NOT NULL OR total_shares IS NOT NULL)
          AND epoch_ms(valid_from) <= CAST($seenUntil AS DOUBLE)
        QUALIFY row_number() OVER (PARTITION BY symbol, period_end ORDER BY valid_from DESC) = 1),
      changes AS (
        SELECT * FROM days
        WINDOW snapshots AS (PARTITION BY symbol ORDER BY period_end)
        QUALIFY lag(period_end) OVER snapshots IS NULL
          OR float_shares IS DISTINCT FROM lag(float_shares) OVER snapshots
          OR total_shares IS DISTINCT FROM lag(total_shares) OVER snapshots)
      SELECT symbol, CAST(period_end AS VARCHAR) AS period_end, NULL AS announce_date, 'instruments' AS derived_from,
        float_shares, total_shares
      FROM changes
      WHERE CAST(period_end AS VARCHAR) BETWEEN $first AND $last
      ORDER BY symbol, period_end`;
    const parameters = { requested: jsonParameter(requested), first, last, seenUntil: String(seenUntil) };
    return session.json<StatementRecord & { symbol: string }>(sql, parameters);
  });
  for (const { symbol, ...record } of rows) {
    const list = records.get(symbol);
    if (list === undefined) records.set(symbol, [record]);
    else list.push(record);
  }
}
