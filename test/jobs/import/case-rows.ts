import { ident } from "../../../src/db/quote.js";
import type { Lake } from "../../../src/lake/lake.js";
import { openReader } from "../../../src/lake/open-reader.js";

const BARS = `symbol, trade_date, strftime(timestamp AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ') AS utc, open, high, low, close, volume, lot, amount,
  prev_close, open_interest, settlement_price`;
const INSTRUMENTS = `symbol, code, exchange, name, type, listing_date, total_shares, float_shares, lot_size, tick_size, limit_up, limit_down,
  name_en, ext_type, ext_other, region`;

/** The rows of a table after an import, in the order of their key. */
function queriesOf(table: string): readonly string[] {
  switch (table) {
    case "bars_1d":
    case "bars_1m":
      return [`SELECT ${BARS} FROM ${table} ORDER BY symbol, timestamp`];
    case "instruments":
      return [`SELECT ${INSTRUMENTS} FROM instruments ORDER BY symbol`];
    case "universes":
      return [
        "SELECT id, name, category, region, description, symbol_count FROM universes ORDER BY id",
        "SELECT id, symbol FROM universe_members ORDER BY id, symbol",
        `SELECT id, symbol, local_date(valid_from, region) AS valid_from, local_date(valid_to, region) AS valid_to, source FROM raw.universe_members
         WHERE id IN (SELECT id FROM raw.universe_members WHERE source IS NOT NULL) ORDER BY id, symbol, universe_members.valid_from`,
      ];
    case "corporate_actions":
      return [
        "SELECT * EXCLUDE region FROM raw.corporate_actions ORDER BY symbol, ex_date, kind, source, first_seen_at",
      ];
    case "symbol_changes":
      return ["SELECT * EXCLUDE region FROM raw.symbol_changes ORDER BY symbol, from_date, source"];
    case "ex_factors":
      return ["SELECT * EXCLUDE region FROM raw.ex_factors ORDER BY symbol, ex_date, source"];
    default:
      return [
        `SELECT * EXCLUDE (first_seen_at, region) FROM raw.${table} ORDER BY symbol, period_end, announce_date, first_seen_at`,
      ];
  }
}

/** Rows at the begin and at the end of a long table. */
const [FIRST, LAST] = [10, 3];
/** Tables of so many rows are shown completely. */
const ALL = 60;

/** The rows of some tables of a lake as text, and what was set aside; columns in which no row has a value are left out. */
export async function lakeText(lake: Lake, tables: readonly string[], folder: string): Promise<string> {
  const queries = [
    ...tables.flatMap((table) => queriesOf(table).map((query) => [table, query] as const)),
    [
      "rejects",
      `SELECT replace(source, '${folder}/', '') AS source, line, symbol, timestamp, rule, replace(reason, '${folder}/', '') AS reason, ${ident("row")}
       FROM rejects ORDER BY dataset, rejects.source, line, rule`,
    ] as const,
  ];
  const { session } = await openReader(lake, {
    threads: 1,
    statement: queries.map(([, query]) => query).join("; "),
  });
  try {
    const texts: string[] = [];
    for (const [title, query] of queries) {
      const rows = await session.json<Record<string, string | null>>(
        `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (${query})`,
      );
      if (rows.length > 0) texts.push(`== ${title}\n${rowsText(rows)}\n`);
    }
    return texts.join("\n");
  } finally {
    session.close();
  }
}

/** Rows as lines of cells. */
function rowsText(rows: readonly Readonly<Record<string, string | null>>[]): string {
  const [first = {}] = rows;
  const names = Object.keys(first).filter((name) => rows.some((row) => row[name] !== null));
  const cells = rows.map((row) => names.map((name) => row[name]?.replaceAll("\n", "\\n") ?? ""));
  const shown = cells.length > ALL ? [...cells.slice(0, FIRST), ...cells.slice(-LAST)] : cells;
  const widths = names.map((name, i) => Math.max(name.length, ...shown.map((row) => (row[i] ?? "").length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => cell.padEnd(i === row.length - 1 ? 0 : (widths[i] ?? 0)))
      .join("  ")
      .trimEnd();
  const lines = shown.map(line);
  if (shown.length < cells.length) lines.splice(FIRST, 0, `... ${cells.length - shown.length} more rows`);
  return [line(names), ...lines].join("\n");
}
