import { describe, expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { lastReview } from "../../src/sim/universe.js";
import { universeDetail } from "../../src/wire/resources.js";
import { date, END, MARKET, START } from "./sample-market.js";

const days = MARKET.tradingDays("CN");

function membersOn(id: string, at: TradingDate): readonly string[] {
  return MARKET.universesAsOf(at).find((universe) => universe.id === id)?.symbols ?? [];
}

describe("universes", () => {
  test("have sorted, listed members, counted right, in the shape of the interface", () => {
    for (const at of [START, days[200] as TradingDate, END]) {
      const listed = new Set(MARKET.instrumentsAsOf(at).map((i) => i.symbol));
      const universes = MARKET.universesAsOf(at);
      expect(universes.map((u) => u.id)).toEqual([
        "CN_Equity_A",
        "CN_ETF",
        "HK_Equity",
        "US_Equity",
        "SIM_CN_50",
        "SIM_CN_300",
      ]);
      for (const universe of universes) {
        expect(universeDetail.parse(universe)).toEqual(universe);
        expect(universe.symbol_count).toBe(universe.symbols.length);
        expect(universe.symbols.length).toBeGreaterThan(0);
        expect([...universe.symbols].sort()).toEqual(universe.symbols);
        expect(universe.symbols.every((symbol) => listed.has(symbol))).toBe(true);
      }
      const whole = universes.slice(0, 4).flatMap((u) => u.symbols);
      expect(whole.sort()).toEqual([...listed].sort());
    }
  });

  test("like an index are large, and change at the reviews and by delistings alone", () => {
    let changes = 0;
    let leaves = 0;
    for (const [i, at] of days.entries()) {
      const before = days[i - 1];
      if (before === undefined) continue;
      const [was, is] = [membersOn("SIM_CN_50", before), membersOn("SIM_CN_50", at)];
      if (lastReview(before) !== lastReview(at)) {
        if (was.join() !== is.join()) changes++;
        continue;
      }
      const gone = was.filter((symbol) => !is.includes(symbol));
      expect(is).toEqual(was.filter((symbol) => !gone.includes(symbol)));
      for (const symbol of gone) {
        expect(MARKET.instruments.find((item) => item.symbol === symbol)?.delisted).toBe(at);
        leaves++;
      }
    }
    expect(changes).toBeGreaterThan(5);
    expect(leaves).toBeLessThan(20);
    expect(membersOn("SIM_CN_50", END).length).toBeGreaterThan(40);
    expect(membersOn("SIM_CN_300", END).length).toBeGreaterThan(100);
  });

  test.each([
    ["2026-03-14", "2025-12-15"],
    ["2026-03-15", "2026-03-15"],
    ["2026-11-20", "2026-09-15"],
    ["2026-01-01", "2025-12-15"],
  ])("the last review up to %s is %s", (at, review) => {
    expect(lastReview(date(at))).toBe(review);
  });
});
