import fc from "fast-check";
import { expect, test } from "vitest";
import { backwardFactors, firstFactors } from "../../../src/dataset/cells/adjust-days.js";
import { type ExRule, exFactor, NO_TERMS } from "../../../src/market/ex-rule.js";
import { UNKNOWN_DAYS } from "../../../src/market/trading-calendar.js";

const SYMBOLS = 3;
const price = fc.constantFrom(10, 10, 10, 12.5, 0, -1, Number.NaN, 1e300, 1e-300, Number.POSITIVE_INFINITY);
/** A row: its symbol, or -1, the days since the row before it of any symbol, and its closes. */
const row = fc.record({
  symbol: fc.integer({ min: -1, max: SYMBOLS - 1 }),
  days: fc.constantFrom(1, 1, 1, UNKNOWN_DAYS, 2 * UNKNOWN_DAYS),
  close: price,
  prevClose: price,
});
/** Between days that are far from each other, there is a hole. */
const isHole = (before: number, day: number): boolean => day - before > UNKNOWN_DAYS;
const RULE: ExRule = { isHole, hasSession: () => false, terms: NO_TERMS };

test("factors, and the state, are the products of each symbol, whose rows may be among those of others", () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), fc.nat(40), (rows, cut) => {
      const state = firstFactors(Array.from({ length: SYMBOLS }, () => RULE));
      const expected = firstFactors(state.rules);
      let today = 100;
      const days = rows.map((one) => {
        today += one.days;
        return today;
      });
      const factors = rows.map(({ symbol: s, close, prevClose }, n) => {
        if (s < 0) return 0;
        const [day, before] = [days[n] as number, expected.lastDay[s] as number];
        const change = isHole(before, day) ? 1 : exFactor(expected.lastClose[s] as number, prevClose);
        expected.factor[s] = (expected.factor[s] as number) * change;
        expected.lastDay[s] = day;
        expected.lastClose[s] = close;
        const factor = expected.factor[s];
        const { changes } = expected;
        if (change !== 1)
          for (const [list, value] of [
            [changes.symbol, s],
            [changes.day, day],
            [changes.dayBefore, before],
            [changes.factor, factor],
          ] as const)
            list.push(value);
        return factor;
      });
      const found = [rows.slice(0, cut), rows.slice(cut)].flatMap((some, part) => {
        const into = new Float64Array(some.length);
        const prices = {
          rows: some.length,
          symbol: Int32Array.from(some, ({ symbol }) => symbol),
          day: Int32Array.from(days.slice(part * cut)),
          close: Float64Array.from(some, ({ close }) => close),
          prevClose: Float64Array.from(some, ({ prevClose }) => prevClose),
        };
        expect(backwardFactors(prices, state, into)).toBe(true);
        return [...into];
      });
      expect(found).toEqual(factors);
      expect(state).toEqual(expected);
    }),
  );
});

test.each([
  ["one after the other", [0, 0]],
  ["with another symbol's between", [0, 1, 0]],
])("two rows of a symbol on one day are refused: %s", (_, symbols) => {
  const prices = {
    rows: symbols.length,
    symbol: Int32Array.from(symbols),
    day: new Int32Array(symbols.length).fill(100),
    close: new Float64Array(symbols.length).fill(10),
    prevClose: new Float64Array(symbols.length).fill(10),
  };
  const state = firstFactors([RULE, RULE]);
  expect(backwardFactors(prices, state, new Float64Array(symbols.length))).toBe(false);
});
