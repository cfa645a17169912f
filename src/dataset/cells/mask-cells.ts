import { readColumns } from "../../arrow/scan/result-columns.js";
import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { Axes, AxisTables } from "../panel/axes.js";
import type { Block, FieldCells, PanelField } from "../panel/block.js";
import { type DatasetSpec, isIntraday, type Mask } from "../spec.js";
import { type SymbolRange, symbolsSql } from "./cells.js";

/** Masks that are computed from bars, with the bit of each in the query's result. */
const BITS = { tradable: 1, limit_up: 2, limit_down: 4 } as const;
type StatusMask = keyof typeof BITS;

export function isStatusMask(mask: Mask): mask is StatusMask {
  return Object.hasOwn(BITS, mask);
}

/**
 * Queries what could be traded, and what was at a limit: days at their close, minutes at their own prices against the
 * day's limits, which are known before the session, and longer periods on their last day. Days that cannot have been at
 * a limit are left out: they are tradable where they traded. @returns a function that sets the cells of a mask.
 */
export async function askStatus(
  session: Session,
  spec: DatasetSpec,
  { labels, tables }: Axes,
  range: SymbolRange,
): Promise<(mask: StatusMask, cells: Uint8Array, traded: Uint8Array) => void> {
  const bits = Object.entries(BITS).map(([mask, bit]) => `${bit} * ${mask}::INTEGER`);
  const result = await session.run(
    `SELECT CAST(s - ${range.start} AS INTEGER) AS s, l, CAST(${bits.join(" + ")} AS INTEGER) AS bits
     FROM (${await statusSql(session, spec, tables, labels.days.subarray(range.since), symbolsSql(range, literal))}) JOIN (SELECT symbol, s FROM ${tables.symbols.name}) USING (symbol)`,
  );
  const { rows, columns } = await readColumns(result, { s: "int32", l: "int32", bits: "int32" });
  return (mask, cells, traded) => {
    if (mask === "tradable" && spec.period === "1d") cells.set(traded);
    const width = labels.count - range.since;
    for (let row = 0; row < rows; row++) {
      const label = (columns.l.values[row] as number) - range.since;
      const cell = (columns.s.values[row] as number) * width + label;
      cells[cell] = Number(((columns.bits.values[row] as number) & BITS[mask]) !== 0);
    }
  };
}

/**
 * `symbol, l, tradable, limit_up, limit_down`. Of days that cannot have been at a limit, only those that are tradable
 * without being traded, or the other way round.
 */
async function statusSql(
  session: Session,
  spec: DatasetSpec,
  tables: AxisTables,
  dates: Int32Array,
  where: string,
): Promise<string> {
  const [first, last] = [dates[0], dates.at(-1)].map((day) => `DATE '1970-01-01' + ${day}`);
  const window = `${where} AND trade_date BETWEEN ${first} AND ${last}`;
  if (isIntraday(spec)) {
    return `SELECT b.symbol, l, is_tradable(b.shares, b.low, b.high, limit_up_price, limit_down_price) AS tradable,
        b.shares > 0 AND at_limit_up(b.close, limit_up_price) AS limit_up,
        b.shares > 0 AND at_limit_down(b.close, limit_down_price) AS limit_down
      FROM (FROM bars(${literal(spec.period)}) WHERE ${window} AND is_final) AS b
      JOIN ${tables.times.name} AS t ON t.ts = b."timestamp"
      LEFT JOIN (FROM daily_status WHERE ${window} AND has_bar) AS d ON d.symbol = b.symbol AND d.trade_date = b.trade_date`;
  }
  if (spec.period === "1d") {
    const stated = await statedFrom(session);
    // Only in these bars may the one be without the other. Each condition is on one column, of which the statistics of
    // nearly every row group say that it has no such row: two queries of some columns cost less than one of all rows.
    const odd = ["is_final = false OR is_final IS NULL", "is_final AND (lot <= 0 OR lot IS NULL)"].map(
      (isOdd) => `UNION ALL
        SELECT symbol, trade_date, volume > 0, false, false FROM raw.bars_1d
        WHERE ${window} AND (${isOdd}) AND trade_date < ${stated} AND NOT is_near_limit(low, high, close, prev_close)
          AND (volume > 0) IS DISTINCT FROM (is_final AND shares_of(volume, lot) > 0)`,
    );
    return `SELECT symbol, l, tradable, limit_up, limit_down FROM (
        SELECT symbol, trade_date, tradable, limit_up, limit_down FROM daily_status
        WHERE ${window} AND has_bar AND (near_limit OR trade_date >= ${stated})
        ${odd.join(" ")})
      JOIN ${tables.days.name} ON day = trade_date`;
  }
  return `SELECT b.symbol, l, b.shares > 0 AS tradable, coalesce(limit_up, false) AS limit_up, coalesce(limit_down, false) AS limit_down
    FROM (FROM bars(${literal(spec.period)}) WHERE ${where} AND is_final) AS b
    JOIN ${tables.days.name} ON day = b.trade_date
    LEFT JOIN (FROM daily_status WHERE ${window} AND has_bar) AS d ON d.symbol = b.symbol AND d.trade_date = b.trade_date`;
}

/** SQL of the first date of which metadata states limits, which may be any. */
async function statedFrom(session: Session): Promise<string> {
  const [row] = await session.json<{ day: number | null }>(
    `SELECT CAST(min(from_date) - DATE '1970-01-01' AS INTEGER) AS day
     FROM instrument_versions WHERE known = 'observed' AND limit_up > 0`,
  );
  return row?.day == null ? "DATE '9999-12-31'" : `DATE '1970-01-01' + ${row.day}`;
}

/**
 * Fills in place the days without trades between a symbol's first and last day with trades, at most `limit` in a row:
 * prices with the last close, volumes with 0, other values with the last value. @param closes adjusted closes, NaN
 * where nothing traded.
 */
export function fillGaps(
  { symbols, since, width, fields, traded, first, last }: Block,
  columns: readonly PanelField[],
  closes: FieldCells | undefined,
  limit: number,
): void {
  for (let s = 0; s < symbols.length; s++) {
    if ((first[s] as number) < 0) continue;
    const base = s * width;
    // What traded before the first label that is read is farther away than gaps are filled.
    const isBefore = (first[s] as number) < since;
    let from = isBefore ? base - limit - 1 : base + (first[s] as number) - since;
    const end = base + (last[s] as number) - since;
    for (let cell = isBefore ? base : from + 1; cell <= end; cell++) {
      if (traded[cell] === 1) from = cell;
      else if (cell - from <= limit) fillCell(fields, columns, cell, from, closes);
    }
  }
}

function fillCell(
  fields: readonly FieldCells[],
  columns: readonly PanelField[],
  cell: number,
  from: number,
  closes: FieldCells | undefined,
): void {
  for (let f = 0; f < fields.length; f++) {
    const values = fields[f] as FieldCells;
    const kind = (columns[f] as PanelField).fill;
    if (kind === "none") continue;
    if (kind === "zero") values[cell] = 0;
    else if (kind === "close" && closes !== undefined) values[cell] = closes[from] as number;
    else values[cell] = values[from] as number;
  }
}
