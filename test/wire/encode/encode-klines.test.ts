import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import { encodeKlines } from "../../../src/wire/encode/encode-klines.js";
import { DOUBLE_COLUMNS } from "../../../src/wire/kline-columns.js";
import { anyBars, barsOf, columnsOf } from "../any-kline-columns.js";
import { anyCuts, cutAt, utf8 } from "../chunks.js";

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

describe("encode and decode", () => {
  test("columns come back as they were: bit by bit, nulls and symbols without bars included", async () => {
    await fc.assert(
      fc.asyncProperty(anyBars, anyCuts, async (bars, cuts) => {
        const columns = columnsOf(bars);
        const { columns: back, issues } = await decodeKlines(cutAt(encodeKlines(columns, "map"), cuts), {
          shape: "map",
        });
        expect(issues.stored).toEqual([]);
        expect(back).toEqual(columns);
        expect(barsOf(back)).toStrictEqual(barsOf(columns));
        for (const name of DOUBLE_COLUMNS) {
          const { values, validity } = back.doubles[name];
          const expected = columns.doubles[name];
          expect(validity).toEqual(expected.validity);
          expect([...values].every((value, i) => Object.is(value, expected.values[i]))).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("a response that was decoded encodes to a document of the same value", async () => {
    const body = {
      data: {
        "600519.SH": {
          timestamp: [1, 2],
          open: [1.5, -0.1],
          high: [1e-7, 2],
          low: [1, 2],
          close: [1, 2],
          volume: [0, 7],
          amount: [0, 1e21],
        },
        "AAPL.US": {
          timestamp: [5],
          open: [1],
          high: [2],
          low: [3],
          close: [4],
          volume: [5],
          amount: [6],
          prev_close: [3.25],
        },
        "00700.HK": { timestamp: [], open: [], high: [], low: [], close: [], volume: [], amount: [] },
      },
    };
    const { columns } = await decodeKlines([utf8(JSON.stringify(body))], { shape: "map" });
    const encoded = encodeKlines(columns, "map");
    expect(JSON.parse(text(encoded))).toEqual(body);
    const again = await decodeKlines([encoded], { shape: "map" });
    expect(encodeKlines(again.columns, "map")).toEqual(encoded);
  });

  test("symbols with the same times, with fewer or more of them, and with others, each have their own", async () => {
    const anyTimes = fc.constantFrom([], [1], [1, 2], [1, 2, 3], [1, 3], [2 ** 40, 2 ** 53], [2 ** 40, 5]);
    await fc.assert(
      fc.asyncProperty(fc.array(anyTimes, { maxLength: 12 }), async (lists) => {
        const bars = lists.map((times, k) => [
          `A${k}.US`,
          times.map((timestamp) => ({ timestamp, open: k, volume: BigInt(timestamp) })),
        ]);
        const body = JSON.parse(text(encodeKlines(columnsOf(Object.fromEntries(bars)), "map"))) as {
          data: Record<string, { timestamp: number[] }>;
        };
        expect(Object.values(body.data).map(({ timestamp }) => timestamp)).toEqual(lists);
      }),
    );
  });

  test("what JSON.parse reads of an encoded column is the column", () => {
    const anyPrices = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }));
    fc.assert(
      fc.property(anyPrices, (prices) => {
        const columns = columnsOf({
          "A.US": prices.map((open, timestamp) => ({ timestamp, open, volume: 0n })),
        });
        const { data } = JSON.parse(text(encodeKlines(columns, "single"))) as { data: { open: number[] } };
        expect(data.open).toStrictEqual(prices);
      }),
    );
  });
});

describe("the form", () => {
  const bar = { timestamp: 1, open: 12.5, high: 13, low: -0, close: 0.000001, volume: -5n, amount: 1e15 };

  test("of a map, with optional columns left out where a symbol has no value", () => {
    const columns = columnsOf({
      "A.US": [bar],
      "B.US": [
        { ...bar, prev_close: 1.25 },
        { ...bar, timestamp: 2 },
      ],
      "C.US": [],
    });
    expect(text(encodeKlines(columns, "map"))).toBe(
      '{"data":{' +
        '"A.US":{"timestamp":[1],"open":[12.5],"high":[13.0],"low":[-0.0],"close":[0.000001],"volume":[-5],"amount":[1000000000000000.0]},' +
        '"B.US":{"timestamp":[1,2],"open":[12.5,12.5],"high":[13.0,13.0],"low":[-0.0,-0.0],"close":[0.000001,0.000001],"volume":[-5,-5],"amount":[1000000000000000.0,1000000000000000.0],"prev_close":[1.25,null]},' +
        '"C.US":{"timestamp":[],"open":[],"high":[],"low":[],"close":[],"volume":[],"amount":[]}}}',
    );
  });

  test("of a single symbol, and of none", () => {
    expect(text(encodeKlines(columnsOf({ "A.US": [bar] }), "single"))).toMatch(
      /^\{"data":\{"timestamp":\[1\],"open":/,
    );
    expect(text(encodeKlines(columnsOf({}), "single"))).toMatch(/^\{"data":\{"timestamp":\[\],"open":\[\]/);
    expect(text(encodeKlines(columnsOf({}), "map"))).toBe('{"data":{}}');
  });

  test("a value of an optional column without a JSON form is null", () => {
    const stated = [1.25, Number.NaN, Infinity, 2.5, -Infinity];
    const bars = stated.map((prev_close, timestamp) => ({ ...bar, timestamp, prev_close }));
    expect(text(encodeKlines(columnsOf({ "A.US": bars }), "single"))).toContain(
      '"prev_close":[1.25,null,null,2.5,null]',
    );
  });

  test("a double of a required column without a JSON form throws", () => {
    for (const open of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => encodeKlines(columnsOf({ "A.US": [{ ...bar, open }] }), "map")).toThrow(RangeError);
    }
  });
});
