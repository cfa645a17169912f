import { expect, test } from "vitest";
import { Rejects } from "../../src/lake/land/rejects.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { land, openSession, queryLake, type TestBar, temporaryLake } from "../lake/temporary-lake.js";

const day = (at: string, close: number, prevClose?: number): TestBar => ({
  at: `${at}T00:00:00+08:00`,
  open: close,
  high: close,
  low: close,
  close,
  volume: close === 0 ? 0 : 100,
  ...(prevClose === undefined ? {} : { prevClose }),
});
/** A week with a suspension over an ex-date, of which the bars are all 0. The old price of 10 is 5 afterwards. */
const WEEK = {
  stated: [
    day("2024-01-08", 9, 9),
    day("2024-01-09", 10, 9),
    day("2024-01-10", 0, 5),
    day("2024-01-11", 0, 5),
    day("2024-01-12", 6, 5),
  ],
  unstated: [
    day("2024-01-08", 9, 9),
    day("2024-01-09", 10, 9),
    day("2024-01-10", 0),
    day("2024-01-11", 0),
    day("2024-01-12", 6, 5),
  ],
} as const;

async function lakeOf(bars: readonly TestBar[]) {
  const [lake, session] = [temporaryLake(), await openSession()];
  const rejects = new Rejects(session, "test");
  await land(session, lake, BARS_1D, bars, { rejects });
  await rejects.save(lake);
  return lake;
}

test.each([
  ["stated", "close of 2 bars is 0 without trades; it became the previous close", "2024-01-10"],
  ["unstated", "it has neither a price nor a volume", "2024-01-12"],
] as const)(
  "a suspended day with a close of 0 is no trade: neither a price nor a previous close (%s)",
  async (which, reason, exDate) => {
    const lake = await lakeOf(WEEK[which]);
    expect(
      await queryLake(
        lake,
        "SELECT open, high, low, close, volume::INT AS volume FROM adjusted('1w', 'none')",
      ),
    ).toEqual([{ open: 9, high: 10, low: which === "stated" ? 5 : 6, close: 6, volume: 3 }]);
    expect(await queryLake(lake, "SELECT ex_date::VARCHAR AS day, factor FROM ex_events")).toEqual([
      { day: exDate, factor: 2 },
    ]);
    expect(
      await queryLake(lake, "SELECT round(product(1 + simple_return), 6) AS gross FROM returns"),
    ).toEqual([{ gross: Number(((10 / 9) * (6 / 5)).toFixed(6)) }]);
    expect(await queryLake(lake, "SELECT DISTINCT reason FROM rejects")).toEqual([{ reason }]);
    const daily = await queryLake<{ close: number }>(lake, "SELECT close FROM bars_1d");
    expect(daily.every(({ close }) => close > 0)).toBe(true);
  },
);
