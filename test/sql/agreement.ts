import { expect } from "vitest";
import { dateOfEpochDay, epochDay, type TradingDate } from "../../src/core/time.js";
import { openPanel } from "../../src/dataset/panel/lake-panel.js";
import { defineDataset } from "../../src/dataset/spec.js";
import type { Session } from "../../src/db/session/session.js";
import { type Adjustment, BUCKETS, basePeriod, type Period } from "../../src/market/period.js";
import { REGIONS, type Region } from "../../src/market/regions.js";
import { regionOf } from "../../src/market/symbol.js";
import { localDate } from "../../src/market/zone.js";
import type { Klines } from "../serve/reference-klines.js";
import type { Served } from "../serve/served-lake.js";

/** The columns that service, view and dataset all have. */
const COLUMNS = [
  "open",
  "high",
  "low",
  "close",
  "volume",
  "amount",
  "prev_close",
  "open_interest",
  "settlement_price",
] as const;
type Bar = Readonly<Record<(typeof COLUMNS)[number], number | null>>;

/** Bars by symbol and label. */
type Bars = ReadonlyMap<string, Bar>;

/** A lake, and the session and the service that give its bars. */
export interface Sources {
  readonly reader: Session;
  readonly served: Served;
}

/** How many bars of a request were compared. */
export interface Compared {
  readonly view: number;
  readonly dataset: number;
}

/**
 * Expects the same bars under the keys of `found`, and none of them more. Amounts are sums, whose order is the engine's own;
 * all else must be equal to the bit.
 */
function expectSame(found: Bars, expected: Bars, what: string): void {
  const differ = [...found].filter(([key, bar]) => {
    const other = expected.get(key);
    if (other === undefined) return true;
    const [amount, otherAmount] = [bar.amount ?? 0, other.amount ?? 0];
    const isNear = Math.abs(amount - otherAmount) <= 1e-12 * Math.abs(otherAmount);
    return !isNear || COLUMNS.some((name) => name !== "amount" && bar[name] !== other[name]);
  });
  const some = differ.slice(0, 3).map(([key, bar]) => ({ key, found: bar, expected: expected.get(key) }));
  expect(some, what).toEqual([]);
}

async function ofService(
  { ask }: Served,
  symbols: readonly string[],
  period: Period,
  adjustment: Adjustment,
): Promise<Bars> {
  const query = `symbols=${symbols.join()}&period=${period}&adjust=${adjustment}&count=10000`;
  const { status, body } = await ask<{ data: Record<string, Klines> }>(`/v1/klines/batch?${query}`);
  expect(status, JSON.stringify(body).slice(0, 200)).toBe(200);
  return new Map(
    Object.entries(body.data).flatMap(([symbol, klines]) =>
      klines.timestamp.map((at, row): [string, Bar] => [
        `${symbol} ${at}`,
        Object.fromEntries(COLUMNS.map((name) => [name, klines[name]?.[row] ?? null])) as Bar,
      ]),
    ),
  );
}

/** @returns the bars of the view, and which of them traded. */
async function ofView(
  reader: Session,
  symbols: readonly string[],
  period: Period,
  adjustment: Adjustment,
  asOf?: string,
): Promise<{ bars: Bars; traded: ReadonlySet<string> }> {
  const columns = COLUMNS.map((name) => (name === "volume" ? "volume::DOUBLE AS volume" : name));
  const rows = await reader.json<Bar & { symbol: string; at: number; is_traded: boolean }>(
    `SELECT symbol, epoch_ms("timestamp")::DOUBLE AS at, shares > 0 AS is_traded, ${columns.join(", ")}
     FROM adjusted('${period}', '${adjustment}'${asOf === undefined ? "" : `, as_of := DATE '${asOf}'`})
     WHERE symbol IN (${symbols.map((symbol) => `'${symbol}'`).join()})`,
  );
  const bars = new Map<string, Bar>();
  const traded = new Set<string>();
  for (const { symbol, at, is_traded, ...bar } of rows) {
    const key = `${symbol} ${at}`;
    if (bars.has(key)) throw new Error(`two bars ${key}`);
    bars.set(key, bar);
    if (is_traded) traded.add(key);
  }
  return { bars, traded };
}

/** The cells of a dataset in which something traded, by symbol and the stretch of the label; NaN is null. */
async function ofDataset(
  reader: Session,
  symbols: readonly string[],
  period: Period,
  adjustment: Adjustment,
): Promise<{ cells: Bars; labels: ReadonlySet<string>; last: string }> {
  const definition = { name: "agreement", universe: [...symbols], from: "1985-01-01", masks: [] };
  const spec = defineDataset({ ...definition, period, adjustment, fields: [...COLUMNS] });
  const panel = await openPanel(reader, spec);
  const dates = Array.from(panel.labels.days, dateOfEpochDay);
  const labels = dates.map((date, n) => String(panel.labels.times?.[n] ?? stretchOf(period, date)));
  const bars = new Map<string, Bar>();
  for await (const { symbols: own, width, fields, traded } of panel.blocks()) {
    for (const [s, { symbol }] of own.entries()) {
      for (let label = 0; label < width; label++) {
        const cell = s * width + label;
        if (traded[cell] === 0) continue;
        const values = COLUMNS.map((name, f) => {
          const value = fields[f]?.[cell] as number;
          return [name, Number.isNaN(value) ? null : value];
        });
        bars.set(`${symbol} ${labels[label]}`, Object.fromEntries(values) as Bar);
      }
    }
  }
  return { cells: bars, labels: new Set(labels), last: dates.at(-1) as string };
}

/**
 * Expects that service, view and dataset give the same bars of symbols that have at most 10,000 each. A dataset has no bars without trades and none
 * of days that are no trading days, and of periods longer than a day only whole ones, whose label is the region's last session and not the symbol's.
 */
export async function expectAgreement(
  { served, reader }: Sources,
  symbols: readonly string[],
  period: Period,
  adjustment: Adjustment,
): Promise<Compared> {
  const service = await ofService(served, symbols, period, adjustment);
  const { bars: view, traded } = await ofView(reader, symbols, period, adjustment);
  const what = `${period} ${adjustment}`;
  expectSame(view, service, `view, ${what}`);
  expect(view.size, what).toBe(service.size);
  let inDataset = 0;
  for (const region of Object.keys(REGIONS) as Region[]) {
    const regional = symbols.filter((symbol) => regionOf(symbol) === region);
    const isTraded = [...traded].some((key) => regionOf(key.split(" ")[0] as string) === region);
    if (!isTraded) continue;
    const found = await ofDataset(reader, regional, period, adjustment).catch((error: unknown) => {
      // No period of the lake may be whole, or no day of these bars be a trading day that the lake knows.
      if (String(error).includes(`no ${period} label lies between`)) return undefined;
      throw error;
    });
    if (found === undefined) continue;
    const { cells, labels, last } = found;
    // Prices of a dataset are those known on its last date.
    const known = await ofView(reader, regional, period, adjustment, last);
    const expected = new Map<string, Bar>();
    for (const key of known.traded) {
      const [symbol = "", at] = key.split(" ");
      const date = localDate(Number(at), REGIONS[region].zone);
      const called = basePeriod(period) === "1m" ? key : `${symbol} ${stretchOf(period, date)}`;
      if (labels.has(called.split(" ")[1] as string)) expected.set(called, known.bars.get(key) as Bar);
    }
    expectSame(cells, expected, `dataset, ${what}`);
    // The last bar of a week or longer may be of a day that is no trading day: a dataset has none of these.
    if (BUCKETS[period].kind !== "calendar") expect(cells.size, `dataset, ${what}`).toBe(expected.size);
    inDataset += cells.size;
  }
  return { view: view.size, dataset: inDataset };
}

/** The day, week, month, quarter or year of a period that a date is in. */
function stretchOf(period: Period, date: string): string {
  const bucket = BUCKETS[period];
  if (bucket.kind !== "calendar") return date;
  const [year, month] = [date.slice(0, 4), Number(date.slice(5, 7))];
  const names = {
    day: date,
    week: String(Math.floor((epochDay(date as TradingDate) + 3) / 7)),
    month: `${year}-${month}`,
    quarter: `${year}-${Math.ceil(month / 3)}`,
    year,
  };
  return names[bucket.unit];
}
