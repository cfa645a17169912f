import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runImport } from "../../../src/jobs/import/run-import.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { queryLake, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";
import { cases } from "../../sweep.js";

/** A day as it was traded. Prices are in cents. */
interface Day {
  readonly close: number;
  readonly volume: number;
  /** Shares after the day's split for one before; 1 for none. */
  readonly split: number;
  /** Cash in cents for a share of the evening before; 0 for none. */
  readonly cash: number;
}

const days = fc.array(
  fc.record({
    close: fc.integer({ min: 5_000, max: 50_000 }),
    volume: fc.integer({ min: 1, max: 1_000_000 }).map((n) => n * 280),
    split: fc.constantFrom(1, 1, 1, 1, 1, 1, 2, 4, 7),
    cash: fc.constantFrom(0, 0, 0, 25, 140),
  }),
  { minLength: 2, maxLength: 12 },
);

const dateOf = (i: number): string => new Date(Date.UTC(2024, 0, 2 + i)).toISOString().slice(0, 10);

/**
 * A history of Yahoo Finance: each day in shares of the last one, in single precision with six decimals. Prices go on over
 * a split: a close is that of the day before, divided by the split.
 */
function yahooOf(traded: readonly Day[]): { readonly text: string; readonly closes: number[] } {
  const closes: number[] = [];
  const rows = traded.map((day, i) => {
    // A walk around the close of before, so that a clear split shows.
    const last = closes.at(-1);
    const near = last === undefined ? day.close : (last / day.split) * (1 + ((day.close % 100) - 50) / 1000);
    const close = Math.max(Math.round(near), 1);
    closes.push(close);
    const later = traded.slice(i + 1).reduce((product, one) => product * one.split, 1);
    const price = Math.fround(close / 100 / later).toFixed(8);
    const cash = (day.cash / 100 / (later * day.split)).toFixed(9);
    return [
      dateOf(i),
      price,
      price,
      price,
      price,
      "1",
      day.volume * later,
      cash,
      day.split === 1 ? 0 : day.split,
    ];
  });
  const head = "Date,Open,High,Low,Close,Adj Close,Volume,Dividends,Stock Splits";
  return { text: [head, ...rows.map((row) => row.join(","))].join("\n"), closes };
}

test("a history in shares of its last day lands as it was traded, with its dividends and splits", async () => {
  await fc.assert(
    fc.asyncProperty(days, async (traded) => {
      const { text, closes } = yahooOf(traded);
      const path = join(temporaryFolder(), "AAPL.US.csv");
      writeFileSync(path, text);
      const lake = temporaryLake();
      await runImport(lake, "bars_1d", [path], { runId: "r" }, virtualClock("2026-11-21T00:00:00Z"));
      const bars = await queryLake<{ close: number; volume: number }>(
        lake,
        "SELECT close, volume::DOUBLE AS volume FROM bars_1d ORDER BY trade_date",
      );
      expect(bars.map(({ volume }) => volume)).toEqual(traded.map(({ volume }) => volume));
      for (const [i, { close }] of bars.entries()) expect(close).toBeCloseTo((closes[i] as number) / 100, 4);
      const actions = await queryLake<Record<string, unknown>>(
        lake,
        "SELECT ex_date::VARCHAR AS day, kind, cash, ratio FROM corporate_actions ORDER BY ex_date, kind",
      );
      const expected = traded.flatMap(({ split, cash }, i) => [
        ...(cash > 0
          ? [{ day: dateOf(i), kind: "cash_dividend", cash: expect.closeTo(cash / 100, 5), ratio: null }]
          : []),
        ...(split === 1 ? [] : [{ day: dateOf(i), kind: "split", cash: null, ratio: split }]),
      ]);
      expect(actions).toEqual(expected);
    }),
    { numRuns: cases({ few: 5, more: 15, all: 200 }) },
  );
});
