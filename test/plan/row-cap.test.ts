import { expect, test } from "vitest";
import { RowCap, type SymbolRows } from "../../src/plan/row-cap.js";

const of = (rows: number, beginsLate = true, symbol = "a"): SymbolRows => ({ symbol, rows, beginsLate });

test("as many bars as were asked for may have been cut, wherever they begin", () => {
  expect(new RowCap().suspects([of(10_000, false), of(9999, false)])).toEqual([of(10_000, false)]);
});

test("a service that stops earlier shows by symbols with equally many bars that begin late", () => {
  const cut = [of(5000, true, "a"), of(5000, true, "b")];
  expect(new RowCap().suspects([...cut, of(4000, true, "c")])).toEqual(cut);
  expect(new RowCap().suspects([of(4820, false, "a"), of(4820, false, "b")])).toEqual([]);
});

test("what a page further back shows is learned: a cap, or that there is none", () => {
  const cap = new RowCap();
  expect(cap.suspects([of(5000)])).toEqual([of(5000)]);
  cap.learn(5000, true);
  expect(cap.known).toBe(5000);
  expect(cap.suspects([of(5000, false), of(4999)])).toEqual([of(5000, false)]);
  const free = new RowCap();
  free.learn(5000, false);
  expect(free.suspects([of(5000)])).toEqual([]);
  expect(free.known).toBeUndefined();
});

test("a whole answer above a cap shows that the cap is higher", () => {
  const cap = new RowCap();
  cap.sawWhole(4000);
  expect(cap.known).toBeUndefined();
  cap.sawWhole(7000);
  expect(cap.known).toBe(10_000);
  const old = new RowCap(5000);
  old.sawWhole(6000);
  expect(old.known).toBe(10_000);
});
