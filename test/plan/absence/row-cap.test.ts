import { expect, test } from "vitest";
import { RowCap } from "../../../src/plan/absence/older-bars.js";
import type { SymbolRows } from "../../../src/plan/absence/window-beginning.js";

const of = (rows: number, beginsLate = true, symbol = "a"): SymbolRows => ({ symbol, rows, beginsLate });

test("as many bars as were asked for may have been cut, wherever they begin", () => {
  expect(new RowCap().suspects([of(10_000, false), of(9999, false)])).toEqual([of(10_000, false)]);
});

test("of the symbols that begin late those with the most bars of the response are suspect, with any known cap", () => {
  const cut = [of(1000, true, "a"), of(1000, true, "b")];
  for (const known of [undefined, 10_000, 5000, 1000]) {
    expect(new RowCap(known).suspects([...cut, of(999, true, "c"), of(3, false, "d")])).toEqual(cut);
    expect(new RowCap(known).suspects([of(3, true)])).toEqual([of(3, true)]);
  }
  expect(new RowCap().suspects([of(4820, false, "a"), of(4819, true, "b")])).toEqual([]);
});

test("several symbols with equally many bars look like a cap, and one alone does not", () => {
  const cap = new RowCap();
  const pair = [of(400, true, "a"), of(400, true, "b")];
  expect(cap.looksLikeCap(pair)).toBe(true);
  expect(cap.looksLikeCap([of(400)])).toBe(false);
  cap.learn(400, false);
  expect(cap.looksLikeCap(pair)).toBe(false);
  expect(new RowCap(400).looksLikeCap([of(400)])).toBe(true);
});

test("a cap is learned from two responses that were cut at the same number, or from one at a number that is documented", () => {
  const cap = new RowCap();
  cap.learn(400, true);
  expect(cap.known).toBeUndefined();
  cap.learn(400, true);
  expect(cap.known).toBe(400);
  const usual = new RowCap();
  usual.learn(5000, true);
  expect(usual.known).toBe(5000);
});

test("a cap is only ever lowered", () => {
  const cap = new RowCap(1000);
  cap.learn(5000, true);
  expect(cap.known).toBe(1000);
  cap.learn(300, true);
  cap.learn(300, true);
  expect(cap.known).toBe(300);
});
