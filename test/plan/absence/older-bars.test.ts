import { expect, test } from "vitest";
import { type Doubt, judgeBeginnings, nextLooks, type Page } from "../../../src/plan/absence/older-bars.js";
import { RowCap } from "../../../src/plan/absence/row-cap.js";
import type { SymbolBeginning } from "../../../src/plan/absence/window-beginning.js";

const UNIT: Page = { region: "CN", symbols: ["a", "b"], window: { start: 0, end: 100 } };
const NOTHING_OPEN = { source: "000001", open: new Set<string>() };

function beginning(symbol: string, oldest: number, rows: number, part = {}): SymbolBeginning {
  return { symbol, oldest, newest: 99, rows, beginsLate: oldest > 0, ...part };
}

const doubt = (symbol: string, end: number, part: Partial<Doubt> = {}): Doubt => {
  const window = { start: 0, end };
  return { region: "CN", symbol, window, rows: 9, source: "000001", isUrgent: false, looks: 0, ...part };
};

function lookAt(...doubts: Doubt[]): Page {
  const [look] = nextLooks(doubts, 100).looks;
  return look as Page;
}

test("what begins late and has the most bars is in doubt before its first bar, and settled after it", () => {
  const began = [beginning("a", 40, 9), beginning("b", 60, 5)];
  const verdict = judgeBeginnings(UNIT, began, new RowCap(), NOTHING_OPEN);
  expect(verdict.doubts).toEqual([doubt("a", 40)]);
  expect(verdict.settled).toEqual([
    { symbols: ["a"], window: { start: 40, end: 100 } },
    { symbols: ["b"], window: { start: 0, end: 100 } },
  ]);
});

test("what was answered before is in no doubt", () => {
  const verdict = judgeBeginnings(UNIT, [beginning("a", 40, 9)], new RowCap(), {
    ...NOTHING_OPEN,
    isKnown: (symbol, { start, end }) => symbol === "a" && start === 0 && end === 40,
  });
  expect(verdict.doubts).toEqual([]);
});

test("doubts share a look, which ends with the newest of the bars that are known", () => {
  const look = lookAt(doubt("a", 40), doubt("b", 60));
  expect(look).toMatchObject({ symbols: ["a", "b"], window: { start: 0, end: 61 } });
});

test("a look that brings the known bar and none before it settles the doubt; older bars show a cut", () => {
  const look = lookAt(doubt("a", 60), doubt("b", 60));
  const began = [beginning("a", 60, 1, { newest: 60 }), beginning("b", 30, 8, { newest: 60 })];
  const { settled, doubts, shown } = judgeBeginnings(look, began, new RowCap(), NOTHING_OPEN);
  expect(settled).toContainEqual({ symbols: ["a"], window: { start: 0, end: 60 } });
  expect(doubts).toMatchObject([{ symbol: "b", window: { start: 0, end: 30 }, looks: 0 }]);
  expect(shown.map(({ wasCut }) => wasCut)).toEqual([false, true]);
});

test("a look without the known bar settles nothing, and is given up at last", () => {
  let left: readonly Doubt[] = [doubt("a", 60)];
  let looks = 0;
  let abandoned: readonly Doubt[] = [];
  while (left.length > 0) {
    const verdict = judgeBeginnings(lookAt(...left), [], new RowCap(), NOTHING_OPEN);
    expect(verdict.settled).toEqual([]);
    ({ doubts: left, abandoned } = verdict);
    looks += 1;
  }
  expect([looks, abandoned.length]).toEqual([7, 1]);
});
