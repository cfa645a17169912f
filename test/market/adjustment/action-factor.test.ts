import fc from "fast-check";
import { expect, test } from "vitest";
import { actionFactor } from "../../../src/market/adjustment/action-factor.js";

/** A fraction of whole numbers, without rounding. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

const cents = (n: number): Fraction => ({ over: BigInt(n), under: 100n });
const plus = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
});
const times = (a: Fraction, b: Fraction): Fraction => ({ over: a.over * b.over, under: a.under * b.under });
const minus = (a: Fraction): Fraction => ({ over: -a.over, under: a.under });
const number = ({ over, under }: Fraction): number => Number((over * 10n ** 20n) / under) / 1e20;

/**
 * The price at which a holder has as much after the ex-date as before: what the share was worth, less the cash, plus
 * what the rights cost, in so many shares more. In whole cents and hundredths of shares.
 */
function fairPrice(price: number, cash: number, bonus: number, rights: number, cost: number): Fraction {
  const shares = plus({ over: 1n, under: 1n }, plus(cents(bonus), cents(rights)));
  const worth = plus(plus(cents(price), minus(cents(cash))), times(cents(rights), cents(cost)));
  return { over: worth.over * shares.under, under: worth.under * shares.over };
}

test("nobody is richer or poorer for it: the factor divides the close by the fair price", () => {
  const money = fc.integer({ min: 0, max: 50_000 });
  const some = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 900 }));
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      money,
      some,
      some,
      money,
      (price, cash, bonus, rights, cost) => {
        const fair = fairPrice(price, cash, bonus, rights, cost);
        const paid = number(times(cents(rights), cents(cost)));
        const found = actionFactor(price / 100, {
          cash: cash / 100,
          shares: bonus / 100,
          rights: rights / 100,
          paid,
        });
        if (fair.over <= 0n) {
          expect(found).toBeNaN();
          return;
        }
        const factor = number({ over: BigInt(price) * fair.under, under: 100n * fair.over });
        expect(Math.abs(found / factor - 1)).toBeLessThan(1e-9);
      },
    ),
  );
});

test.each([
  ["no close", 0],
  ["a close that is not finite", Number.POSITIVE_INFINITY],
  ["no number", Number.NaN],
])("%s has no factor", (_, close) => {
  expect(actionFactor(close, { cash: 1, shares: 0, rights: 0, paid: 0 })).toBeNaN();
});

test("more cash than the share was worth has no factor", () => {
  expect(actionFactor(10, { cash: 10, shares: 0, rights: 0, paid: 0 })).toBeNaN();
});

/**
 * Rows of the factor files of LEAN (QuantConnect/Lean, Data/equity/usa/factor_files, Apache-2.0): the close of the session
 * before, and the factors up to it and after it; with what the companies and the fund paid for a share.
 */
test.each([
  { name: "AAPL 2020-11-06", close: 119.03, cash: 0.205, before: 0.9967882, after: 0.9985079 },
  { name: "AAPL 2021-02-05", close: 137.39, cash: 0.205, before: 0.9985079, after: 1 },
  { name: "IBM 2020-11-09", close: 114.04, cash: 1.63, before: 0.9727086, after: 0.9868134 },
  { name: "IBM 2021-02-09", close: 123.61, cash: 1.63, before: 0.9868134, after: 1 },
  { name: "SPY 2020-12-18", close: 372.24, cash: 1.58, before: 0.9925053, after: 0.996736 },
])("$name is as in the factor file", ({ close, cash, before, after }) => {
  const found = actionFactor(close, { cash, shares: 0, rights: 0, paid: 0 });
  expect(Math.abs(found / (after / before) - 1)).toBeLessThan(1e-6);
});

test("AAPL's split of 4 for 1, 2020-08-31, is as in the factor file", () => {
  const found = actionFactor(499.23, { cash: 0, shares: 3, rights: 0, paid: 0 });
  expect(Math.abs(found / (1 / 0.25) - 1)).toBeLessThan(1e-6);
});
