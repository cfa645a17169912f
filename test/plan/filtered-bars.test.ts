import fc from "fast-check";
import { expect, test } from "vitest";
import { filteredBars } from "../../src/plan/filtered-bars.js";
import { decodeKlines } from "../../src/wire/decode/decode-klines.js";
import { encodeKlines } from "../../src/wire/encode/encode-klines.js";

const bar = fc.record({
  close: fc.integer({ min: 1, max: 99 }),
  prevClose: fc.option(fc.integer({ min: 1, max: 99 })),
  isKept: fc.boolean(),
});

/** A response with the bars of a symbol, one each millisecond from 1. */
function textOf(
  symbols: Readonly<Record<string, readonly { at: number; close: number; prevClose: number | null }[]>>,
) {
  const some = Object.entries(symbols).filter(([, bars]) => bars.length > 0);
  const found = some.map(([symbol, bars]) => {
    const close = bars.map((one) => one.close);
    const prices = { open: close, high: close, low: close, close, volume: close, amount: close };
    return [
      symbol,
      { timestamp: bars.map(({ at }) => at), ...prices, prev_close: bars.map((one) => one.prevClose) },
    ];
  });
  return JSON.stringify({ data: Object.fromEntries(found) });
}

test("the filtered bars are those of a response that has no others", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(bar, { maxLength: 30 }), fc.array(bar, { maxLength: 30 }), async (a, b) => {
      const timed = { "600519.SH": a, "000001.SZ": b } as const;
      const all = Object.fromEntries(
        Object.entries(timed).map(([symbol, bars]) => [
          symbol,
          bars.map((one, n) => ({ ...one, at: n + 1 })),
        ]),
      );
      const wanted = Object.fromEntries(
        Object.entries(all).map(([symbol, bars]) => [symbol, bars.filter((one) => one.isKept)]),
      );
      const [{ columns }, expected] = [
        await decodeKlines([Buffer.from(textOf(all))], { shape: "map" }),
        await decodeKlines([Buffer.from(textOf(wanted))], { shape: "map" }),
      ];
      const some = filteredBars(columns, (symbol, at) => all[symbol]?.[at - 1]?.isKept === true);
      expect(some.rows).toBe(expected.columns.rows);
      const [found, right] = [some, expected.columns].map((one) =>
        JSON.parse(Buffer.from(encodeKlines(one, "map")).toString()),
      );
      for (const symbol of Object.keys(all)) {
        const { timestamp = [] } = found.data[symbol] ?? {};
        expect(timestamp).toEqual(right.data[symbol]?.timestamp ?? []);
        if (timestamp.length > 0) expect(found.data[symbol]).toEqual(right.data[symbol]);
      }
    }),
  );
});
