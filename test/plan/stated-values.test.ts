import fc from "fast-check";
import { expect, test } from "vitest";
import { statedValues, symbolAt } from "../../src/plan/stated-values.js";
import { DOUBLE_COLUMNS, type DoubleColumn, OPTIONAL_COLUMNS } from "../../src/wire/kline-columns.js";
import { barsOf, columnsOf, type PlainBar } from "../wire/any-kline-columns.js";

const anyValue = fc.constantFrom(undefined, 10.5, 0, -0, -1, 5e-324, Number.NaN, Infinity, -Infinity);
const optional = DOUBLE_COLUMNS.filter((name) => OPTIONAL_COLUMNS.has(name));

const anyBars = fc
  .dictionary(
    fc.constantFrom("B.US", "A.US", "600519.SH"),
    fc.array(
      fc.record({
        ...Object.fromEntries(optional.map((name) => [name, anyValue])),
        close: fc.constantFrom(0, 10, -0),
        volume: fc.constantFrom(0n, 1n),
      }),
      { maxLength: 20 },
    ),
  )
  .map((symbols) =>
    Object.fromEntries(
      Object.entries(symbols).map(([symbol, bars]) => [
        symbol,
        bars.map((values, timestamp) => ({ timestamp, open: 1, ...values })),
      ]),
    ),
  );

function isStated(column: DoubleColumn, value: number | undefined): boolean {
  return value !== undefined && Number.isFinite(value) && (column !== "prev_close" || value > 0);
}

test("values that state nothing become null, and the given columns do not change", () => {
  fc.assert(
    fc.property(anyBars, (bars) => {
      const given = columnsOf(bars);
      const before = barsOf(given);
      const { columns, unstated } = statedValues(given);
      expect(barsOf(given)).toEqual(before);
      const all = Object.values(before).flat();
      const after = Object.values(barsOf(columns)).flat();
      for (const column of optional) {
        expect(after.map((bar) => bar[column])).toEqual(
          all.map((bar) => (isStated(column, bar[column]) ? bar[column] : undefined)),
        );
        const lost = all.filter((bar) => bar[column] !== undefined && !isStated(column, bar[column])).length;
        expect(unstated.find((one) => one.column === column)?.bars ?? 0).toBe(lost);
      }
      // A bar without a trade and a price closes at the previous close that it states.
      const isIdle = (bar: PlainBar) =>
        bar.close === 0 && bar.volume === 0n && isStated("prev_close", bar.prev_close);
      expect(after.map(({ close }) => close)).toEqual(
        all.map((bar) => (isIdle(bar) ? bar.prev_close : bar.close)),
      );
      expect(unstated.find(({ column }) => column === "close")?.bars ?? 0).toBe(all.filter(isIdle).length);
      for (const { column, first } of unstated) {
        const symbol = symbolAt(given, first);
        const bad = (bar: PlainBar) =>
          column === "close" ? isIdle(bar) : bar[column] !== undefined && !isStated(column, bar[column]);
        const symbols = Object.entries(before).filter(([, own]) => own.some(bad));
        expect(symbol).toBe(symbols.map(([name]) => name).sort()[0]);
        expect(Number(given.timestamp[first])).toBe(before[symbol]?.find(bad)?.timestamp);
      }
      if (unstated.length === 0) expect(columns).toBe(given);
    }),
  );
});
