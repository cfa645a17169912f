import {
  type DataType,
  dictionary,
  float64,
  int8,
  int16,
  int32,
  int64,
  largeUtf8,
  TimeUnit,
  tableFromArrays,
  tableFromIPC,
  tableToIPC,
  timestamp,
  utf8,
} from "@uwdata/flechette";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { klinesFromIpc, klinesToIpc } from "../../../src/arrow/kline-ipc.js";
import type { TradingDate } from "../../../src/core/time.js";
import { simulateMarket } from "../../../src/sim/market.js";
import { DOUBLE_COLUMNS, type KlineColumns, OPTIONAL_COLUMNS } from "../../../src/wire/kline-columns.js";
import { pickFrom } from "../../sweep.js";
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

/** What flechette finds in a file: each column's values, through its own accessors. */
function readByFlechette(bytes: Uint8Array): ColumnLists {
  const table = tableFromIPC(bytes, { useBigInt: true });
  return Object.fromEntries(
    table.names.map((name) => [name, Array.from(table.getChild(name).toArray() as Iterable<unknown>)]),
  ) as unknown as ColumnLists;
}

interface Layout {
  readonly symbol: DataType;
  readonly timestamp: DataType;
  readonly order: readonly string[];
  readonly maxBatchRows: number;
  readonly format: "file" | "stream";
}

function writeByFlechette(lists: ColumnLists, layout: Layout): Uint8Array {
  const { symbol, timestamp: instant, order, maxBatchRows, format } = layout;
  const table = tableFromArrays(
    order.map((name): [string, unknown[]] => [name, [...(lists[name] ?? [])]]),
    { types: { ...OUR_TYPES, symbol, timestamp: instant }, maxBatchRows },
  );
  return tableToIPC(table, { format }) as Uint8Array;
}

/** Columns without the symbols that have no bars: a list of values does not know of those. */
function withoutIdle(columns: KlineColumns): KlineColumns {
  const used = [...new Set(columns.symbolIndex)];
  return {
    ...columns,
    symbols: used.map((index) => columns.symbols[index] as string),
    symbolIndex: columns.symbolIndex.map((index) => used.indexOf(index)),
  };
}

const anyLayout: fc.Arbitrary<Layout> = fc.record({
  symbol: fc.constantFrom<DataType>(
    dictionary(utf8(), int8()),
    dictionary(utf8(), int16()),
    dictionary(utf8(), int32()),
    dictionary(largeUtf8(), int32()),
    utf8(),
    largeUtf8(),
  ),
  timestamp: fc
    .constantFrom(TimeUnit.MILLISECOND, TimeUnit.MICROSECOND)
    .map((unit) => timestamp(unit, "UTC")),
  order: fc.shuffledSubarray(Object.keys(OUR_TYPES), { minLength: Object.keys(OUR_TYPES).length }),
  maxBatchRows: fc.constantFrom(1, 3, 8, 1000),
  format: fc.constantFrom("file" as const, "stream" as const),
});

describe("flechette reads what we wrote:", () => {
  test("the types that the columns declare, and which can be null", () => {
    const { fields } = tableFromIPC(klinesToIpc(columnsOf({}))).schema;
    expect(fields.map(({ name, type, nullable }) => ({ name, type, nullable }))).toEqual(
      Object.entries(OUR_TYPES).map(([name, type]) => ({ name, type, nullable: OPTIONAL_COLUMNS.has(name) })),
    );
  });

  test("every value and null of any bars", () => {
    fc.assert(
      fc.property(anyBars, (bars) => {
        const columns = columnsOf(bars);
        expect(readByFlechette(klinesToIpc(columns))).toEqual(listsOf(columns));
      }),
    );
  });

  test("every value of a simulated market", () => {
    expect(SIMULATED.rows).toBeGreaterThan(10_000);
    const table = tableFromIPC(klinesToIpc(SIMULATED), { useBigInt: true, useBigIntTimestamp: true });
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

describe("we read what flechette wrote:", () => {
  test("any bars in any layout", () => {
    fc.assert(
      fc.property(anyBars, anyLayout, (bars, layout) => {
        const columns = withoutIdle(columnsOf(bars));
        const found = klinesFromIpc(writeByFlechette(listsOf(columns), layout));
        expect(listsOf(found)).toEqual(listsOf(columns));
        expect(found).toMatchObject({ symbols: columns.symbols, symbolIndex: columns.symbolIndex });
      }),
    );
  });

  test.each(
    pickFrom(["SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"] as const, { few: 1, more: 4, all: 4 }),
  )("a simulated market, with timestamps by the %s", (unit) => {
    const layout: Layout = {
      symbol: dictionary(utf8(), int16()),
      timestamp: timestamp(TimeUnit[unit], "UTC"),
      order: Object.keys(OUR_TYPES).toReversed(),
      maxBatchRows: 1_111,
      format: "file",
    };
    const found = klinesFromIpc(writeByFlechette(listsOf(SIMULATED), layout));
    expect(found.symbols).toEqual(withoutIdle(SIMULATED).symbols);
    expect(found.timestamp).toEqual(SIMULATED.timestamp);
    expect(found.volume).toEqual(SIMULATED.volume);
    expect(found.doubles).toEqual(SIMULATED.doubles);
    expect(listsOf(found).symbol).toEqual(listsOf(SIMULATED).symbol);
  });
});
