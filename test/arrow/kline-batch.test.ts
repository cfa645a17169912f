import { Table, tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { klineBatch } from "../../src/arrow/kline-ipc.js";
import { DOUBLE_COLUMNS } from "../../src/wire/kline-columns.js";
import { anyBars, barsOf, columnsOf, type PlainBar } from "../wire/any-kline-columns.js";

describe("a record batch over columns", () => {
  test("has their values, and comes back equal through Arrow's own IPC", () => {
    fc.assert(
      fc.property(anyBars, (bars) => {
        const columns = columnsOf(bars);
        const batch = klineBatch(columns);
        const table = tableFromIPC(tableToIPC(new Table([batch]), "stream"));
        const expected = Object.entries(barsOf(columns)).flatMap(([symbol, list]) =>
          list.map((bar) => ({ symbol, ...bar })),
        );
        expect(table.numRows).toBe(columns.rows);
        const found = table.toArray().map((row) => {
          const { timestamp, ...rest } = (row as { toJSON(): Record<string, unknown> }).toJSON();
          const doubles = Object.fromEntries(DOUBLE_COLUMNS.map((name) => [name, rest[name] ?? undefined]));
          return { ...rest, ...doubles, timestamp: Number(timestamp) } as unknown as PlainBar;
        });
        expect(found).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  test("copies no column", () => {
    const columns = columnsOf({ "A.US": [{ timestamp: 1, volume: 2n, prev_close: 3 }] });
    const batch = klineBatch(columns);
    expect(batch.getChild("volume")?.data[0]?.values).toBe(columns.volume);
    expect(batch.getChild("prev_close")?.data[0]?.values).toBe(columns.doubles.prev_close.values);
    expect(batch.getChild("symbol")?.data[0]?.values).toBe(columns.symbolIndex);
  });

  test("declares which columns can be null, and its types", () => {
    const fields = klineBatch(columnsOf({})).schema.fields.map(
      ({ name, type, nullable }) => `${name} ${String(type.toString())}${nullable ? "?" : ""}`,
    );
    expect(fields).toEqual([
      "symbol Dictionary<Int32, Utf8>",
      "timestamp Timestamp<MILLISECOND, UTC>",
      "open Float64",
      "high Float64",
      "low Float64",
      "close Float64",
      "amount Float64",
      "open_interest Float64?",
      "prev_close Float64?",
      "settlement_price Float64?",
      "volume Int64",
    ]);
  });
});
