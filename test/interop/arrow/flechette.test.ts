import {
  type DataType,
  dictionary,
  float64,
  int32,
  int64,
  TimeUnit,
  tableFromIPC,
  timestamp,
  utf8,
} from "@uwdata/flechette";
import { Table, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { klineBatch } from "../../../src/arrow/kline-ipc.js";
import type { TradingDate } from "../../../src/core/time.js";
import { simulateMarket } from "../../../src/sim/market.js";
import { DOUBLE_COLUMNS, type KlineColumns, OPTIONAL_COLUMNS } from "../../../src/wire/kline-columns.js";
import { anyBars, columnsOf } from "../../wire/any-kline-columns.js";
import { type ColumnLists, listsOf } from "../column-lists.js";

const END = "2026-11-20" as TradingDate;
const MARKET = simulateMarket({ seed: 11, symbols: 80, days: 250, end: END });
const SIMULATED = MARKET.dailyBars(
  MARKET.instruments.map((instrument) => instrument.symbol),
  "2000-01-01" as TradingDate,
  END,
);

const OUR_TYPES: Readonly<Record<string, DataType>> = {
  symbol: dictionary(utf8(), int32(), false, 0),
  timestamp: timestamp(TimeUnit.MILLISECOND, "UTC"),
  ...Object.fromEntries(DOUBLE_COLUMNS.map((name) => [name, float64()])),
  volume: int64(),
};

/** A file of bars. */
const fileOf = (columns: KlineColumns): Uint8Array => tableToIPC(new Table([klineBatch(columns)]), "file");

/** What flechette finds in a file: each column's values, through its own accessors. */
function readByFlechette(bytes: Uint8Array): ColumnLists {
  const table = tableFromIPC(bytes, { useBigInt: true });
  return Object.fromEntries(
    table.names.map((name) => [name, Array.from(table.getChild(name).toArray() as Iterable<unknown>)]),
  ) as unknown as ColumnLists;
}

describe("flechette reads what we wrote:", () => {
  test("the types that the columns declare, and which can be null", () => {
    const { fields } = tableFromIPC(fileOf(columnsOf({}))).schema;
    expect(fields.map(({ name, type, nullable }) => ({ name, type, nullable }))).toEqual(
      Object.entries(OUR_TYPES).map(([name, type]) => ({ name, type, nullable: OPTIONAL_COLUMNS.has(name) })),
    );
  });

  test("every value and null of any bars", () => {
    fc.assert(
      fc.property(anyBars, (bars) => {
        const columns = columnsOf(bars);
        expect(readByFlechette(fileOf(columns))).toEqual(listsOf(columns));
      }),
    );
  });

  test("every value of a simulated market", () => {
    expect(SIMULATED.rows).toBeGreaterThan(10_000);
    const table = tableFromIPC(fileOf(SIMULATED), { useBigInt: true, useBigIntTimestamp: true });
    expect(table.numRows).toBe(SIMULATED.rows);
    expect(table.getChild("symbol").toArray()).toEqual(listsOf(SIMULATED).symbol);
    expect(table.getChild("timestamp").toArray()).toEqual(SIMULATED.timestamp);
    expect(table.getChild("volume").toArray()).toEqual(SIMULATED.volume);
    for (const name of ["open", "high", "low", "close", "amount", "prev_close"] as const) {
      expect(table.getChild(name).toArray()).toEqual(SIMULATED.doubles[name].values);
    }
    for (const name of ["open_interest", "settlement_price"] as const) {
      expect(table.getChild(name).nullCount).toBe(SIMULATED.rows);
    }
  });
});
