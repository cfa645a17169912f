import { expect, test } from "vitest";
import { dataset } from "../../src/dataset/dataset.js";
import { landTradingDays } from "../../src/lake/land/trading-days.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { land, openSession, T0, temporaryLake } from "../lake/temporary-lake.js";

/** A lake that knows the trading days of the first two weeks of 2024, and has minutes of that time and of later. */
async function minutesLake() {
  const [lake, session] = [temporaryLake(), await openSession()];
  const weekdays = ["02", "03", "04", "05", "08", "09", "10", "11", "12"];
  await land(
    session,
    lake,
    BARS_1D,
    weekdays.map((day) => ({ symbol: "000001.SH", at: `2024-01-${day}T00:00:00+08:00` })),
  );
  await landTradingDays(session, lake, { operation: "TEST", runId: "days", now: T0 });
  const days = ["2024-01-05", "2024-01-06", "2024-03-01", "2024-03-02", "2024-03-04"];
  await land(
    session,
    lake,
    BARS_1M,
    days.flatMap((day) => ["09:31", "09:32"].map((time) => ({ at: `${day}T${time}:00+08:00` }))),
  );
  return lake;
}

const MINUTES = {
  name: "x",
  universe: ["600519.SH"],
  period: "1m" as const,
  fields: ["close"],
  adjustment: "none" as const,
};

test("minutes on days outside of the known trading days are in a dataset, which says so", async () => {
  using data = await dataset(await minutesLake(), { ...MINUTES, from: "2024-01-01" });
  // Two Saturdays are left out: one between known days, and one outside of them.
  expect([...new Set(data.dates)]).toEqual(["2024-01-05", "2024-03-01", "2024-03-04"]);
  const { fields } = await data.columns();
  expect([...(fields.close ?? [])]).toEqual([10.5, 10.5, 10.5, 10.5, 10.5, 10.5]);
  expect(data.warnings).toEqual([
    "2 dates of CN from 2024-03-01 to 2024-03-04 lie outside of its trading days that the lake knows: weekdays on which anything traded count as trading days there",
    "4 bars lie on dates that are no sessions of the calendar, and are left out",
  ]);
});

test("a dataset of such days alone is built, too", async () => {
  using data = await dataset(await minutesLake(), { ...MINUTES, from: "2024-03-01" });
  expect([...new Set(data.dates)]).toEqual(["2024-03-01", "2024-03-04"]);
});
