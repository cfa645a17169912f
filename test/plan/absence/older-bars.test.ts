import { expect, test } from "vitest";
import type { TimeRange } from "../../../src/core/time.js";
import {
  type CoveredTime,
  judgeBeginnings,
  nextFollowUps,
  type Page,
  type PossibleGap,
  RowCap,
} from "../../../src/plan/absence/older-bars.js";
import type { SymbolBeginning } from "../../../src/plan/absence/window-beginning.js";

const UNIT: Page = { region: "CN", symbols: ["a", "b"], window: { start: 0, end: 100 } };
const NOTHING_OPEN = { source: "000001", open: new Set<string>() };

function beginning(symbol: string, oldest: number, rows: number, part = {}): SymbolBeginning {
  return { symbol, oldest, newest: 99, rows, beginsLate: oldest > 0, ...part };
}

const gap = (symbol: string, end: number, part: Partial<PossibleGap> = {}): PossibleGap => {
  const window = { start: 0, end };
  const first = { rows: 9, source: "000001", isUrgent: false, tries: 0 };
  return { region: "CN", symbol, window, since: 0, ...first, ...part };
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
    covered: {
      uncovered: (symbol, { end }) => (symbol === "a" && end === 40 ? [] : [UNIT.window]),
      bars: () => 0,
    },
  });
  expect(verdict.gaps).toEqual([]);
});

/** What is not covered of a range, and ten bars in each ten milliseconds. */
function coveredBut(...uncovered: readonly TimeRange[]): CoveredTime {
  const within = (range: TimeRange) =>
    uncovered.flatMap((one) => {
      const part = { start: Math.max(one.start, range.start), end: Math.min(one.end, range.end) };
      return part.start < part.end ? [part] : [];
    });
  return { uncovered: (_, range) => within(range), bars: ({ start, end }) => end - start };
}

test("a follow-up request does not go back through covered time that fills a response: the next plan has the rest", () => {
  const covered = coveredBut({ start: 0, end: 30 }, { start: 60, end: 100 });
  const first = judgeBeginnings(UNIT, [beginning("a", 80, 20)], new RowCap(), { ...NOTHING_OPEN, covered });
  expect(first.gaps).toEqual([gap("a", 80, { since: 60, rows: 20 })]);
  expect(first.postponed).toEqual([{ symbol: "a", window: { start: 0, end: 30 } }]);
  const page = followUpOf(...first.gaps);
  expect(page.window).toEqual({ start: 60, end: 81 });
  // The page does not show whether the first response was cut: it may have left out the covered time.
  const none = judgeBeginnings(page, [beginning("a", 80, 1, { newest: 80 })], new RowCap(), {
    ...NOTHING_OPEN,
    covered,
  });
  expect(none).toMatchObject({ gaps: [], shown: [], postponed: first.postponed });
  expect(none.settled).toEqual([{ symbols: ["a"], window: { start: 60, end: 80 } }]);
});

test("a follow-up request goes back through covered time that another symbol lacks, or that takes no response", () => {
  const covered = coveredBut({ start: 0, end: 30 }, { start: 45, end: 100 });
  const { gaps, postponed } = judgeBeginnings(UNIT, [beginning("a", 80, 20)], new RowCap(), {
    ...NOTHING_OPEN,
    covered,
  });
  expect([gaps[0]?.since, postponed]).toEqual([0, []]);
  const shared = followUpOf(gap("a", 80, { since: 60 }), gap("b", 80));
  expect(shared.window).toEqual({ start: 0, end: 81 });
  const began = ["a", "b"].map((symbol) => beginning(symbol, 0, 81, { newest: 80 }));
  const verdict = judgeBeginnings(shared, began, new RowCap(), { ...NOTHING_OPEN, covered });
  expect(verdict).toMatchObject({ gaps: [], postponed: [] });
  expect(verdict.settled).toEqual([{ symbols: ["a", "b"], window: { start: 0, end: 80 } }]);
});

test("covered time right before the known bar needs no follow-up request, and what lies before it a plan", () => {
  const covered = coveredBut({ start: 0, end: 30 }, { start: 80, end: 100 });
  const { gaps, postponed } = judgeBeginnings(UNIT, [beginning("a", 80, 20)], new RowCap(), {
    ...NOTHING_OPEN,
    covered,
  });
  expect([gaps, postponed]).toEqual([[], [{ symbol: "a", window: { start: 0, end: 30 } }]]);
});

test("gaps share a request, which ends with the newest of the bars that are known", () => {
  const followUp = followUpOf(gap("a", 40), gap("b", 60));
  expect(followUp).toMatchObject({ symbols: ["a", "b"], window: { start: 0, end: 61 } });
});

test("a request that brings the known bar and none before it settles the gap; older bars show a cut", () => {
  const followUp = followUpOf(gap("a", 60), gap("b", 60));
  const began = [beginning("a", 60, 1, { newest: 60 }), beginning("b", 30, 8, { newest: 60 })];
  const { settled, gaps, shown } = judgeBeginnings(followUp, began, new RowCap(), NOTHING_OPEN);
  expect(settled).toContainEqual({ symbols: ["a"], window: { start: 0, end: 60 } });
  expect(gaps).toMatchObject([{ symbol: "b", window: { start: 0, end: 30 }, tries: 0 }]);
  expect(shown.map(({ wasCut }) => wasCut)).toEqual([false, true]);
});

test("a response without the known bar settles nothing, and is given up at last", () => {
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
