import { expect, test } from "vitest";
import {
  judgeBeginnings,
  nextFollowUps,
  type Page,
  type PossibleGap,
} from "../../../src/plan/absence/older-bars.js";
import { RowCap } from "../../../src/plan/absence/row-cap.js";
import type { SymbolBeginning } from "../../../src/plan/absence/window-beginning.js";

const UNIT: Page = { region: "CN", symbols: ["a", "b"], window: { start: 0, end: 100 } };
const NOTHING_OPEN = { source: "000001", open: new Set<string>() };

function beginning(symbol: string, oldest: number, rows: number, part = {}): SymbolBeginning {
  return { symbol, oldest, newest: 99, rows, beginsLate: oldest > 0, ...part };
}

const gap = (symbol: string, end: number, part: Partial<PossibleGap> = {}): PossibleGap => {
  const window = { start: 0, end };
  return { region: "CN", symbol, window, rows: 9, source: "000001", isUrgent: false, tries: 0, ...part };
};

function followUpOf(...gaps: PossibleGap[]): Page {
  const [followUp] = nextFollowUps(gaps, 100).followUps;
  return followUp as Page;
}

test("what begins late and has the most bars is in gap before its first bar, and settled after it", () => {
  const began = [beginning("a", 40, 9), beginning("b", 60, 5)];
  const verdict = judgeBeginnings(UNIT, began, new RowCap(), NOTHING_OPEN);
  expect(verdict.gaps).toEqual([gap("a", 40)]);
  expect(verdict.settled).toEqual([
    { symbols: ["a"], window: { start: 40, end: 100 } },
    { symbols: ["b"], window: { start: 0, end: 100 } },
  ]);
});

test("what was answered before is in no gap", () => {
  const verdict = judgeBeginnings(UNIT, [beginning("a", 40, 9)], new RowCap(), {
    ...NOTHING_OPEN,
    isKnown: (symbol, { start, end }) => symbol === "a" && start === 0 && end === 40,
  });
  expect(verdict.gaps).toEqual([]);
});

test("gaps share a look, which ends with the newest of the bars that are known", () => {
  const followUp = followUpOf(gap("a", 40), gap("b", 60));
  expect(followUp).toMatchObject({ symbols: ["a", "b"], window: { start: 0, end: 61 } });
});

test("a look that brings the known bar and none before it settles the gap; older bars show a cut", () => {
  const followUp = followUpOf(gap("a", 60), gap("b", 60));
  const began = [beginning("a", 60, 1, { newest: 60 }), beginning("b", 30, 8, { newest: 60 })];
  const { settled, gaps, shown } = judgeBeginnings(followUp, began, new RowCap(), NOTHING_OPEN);
  expect(settled).toContainEqual({ symbols: ["a"], window: { start: 0, end: 60 } });
  expect(gaps).toMatchObject([{ symbol: "b", window: { start: 0, end: 30 }, tries: 0 }]);
  expect(shown.map(({ wasCut }) => wasCut)).toEqual([false, true]);
});

test("a look without the known bar settles nothing, and is given up at last", () => {
  let left: readonly PossibleGap[] = [gap("a", 60)];
  let tries = 0;
  let abandoned: readonly PossibleGap[] = [];
  while (left.length > 0) {
    const verdict = judgeBeginnings(followUpOf(...left), [], new RowCap(), NOTHING_OPEN);
    expect(verdict.settled).toEqual([]);
    ({ gaps: left, abandoned } = verdict);
    tries += 1;
  }
  expect([tries, abandoned.length]).toEqual([7, 1]);
});
