import { expect, test } from "vitest";
import { landedBars } from "../../src/jobs/ledger/landed-bars.js";
import { auditLake } from "../../src/jobs/maintenance/audit-lake.js";
import type { Lake } from "../../src/lake/lake.js";
import { Rejects } from "../../src/lake/land/rejects.js";
import type { Snapshot } from "../../src/lake/log/snapshot.js";
import { openReader } from "../../src/lake/open-reader.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { replayRange } from "../../src/serve/replay/add-replay.js";
import { marketSummary } from "../../src/ui/lake/lake-summary.js";
import { land, openSession, queryLake, temporaryLake } from "../lake/temporary-lake.js";
import { landedBar, landRows, NOW, serveForTest } from "./served-lake.js";

/** A time at which the bars of the year 2062 are none of the future: what earlier versions took all times for. */
const ANY_TIME = Date.parse("2100-01-01T00:00:00Z");
const SYMBOL = "600000.SH";
const bar = (at: string, close: number) =>
  landedBar(SYMBOL, at, close, { volume: 100, amount: close * 10_000 });
const DAYS = [
  bar("2026-11-18T00:00:00+08:00", 10),
  bar("2026-11-19T00:00:00+08:00", 11),
  bar("2026-11-20T00:00:00+08:00", 12),
  bar("2062-01-03T00:00:00+08:00", 99),
];
const MINUTES = [
  bar("2026-11-20T09:31:00+08:00", 11.5),
  bar("2026-11-20T15:00:00+08:00", 12),
  // The lake's own month, which is a file that has both.
  bar("2026-11-30T09:31:00+08:00", 98),
  bar("2062-01-03T09:31:00+08:00", 99),
];

async function fill(lake: Lake, marketNow: number): Promise<void> {
  await landRows(lake, BARS_1D, DAYS, marketNow);
  await landRows(lake, BARS_1M, MINUTES, marketNow);
}

test("bars of the future do not land, and are among the rejects with their reason", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const rejects = new Rejects(session, "test");
  const at = (bars: typeof DAYS) => bars.map(({ timestamp, close }) => ({ at: timestamp, close }));
  await land(session, lake, BARS_1D, at(DAYS), { now: NOW, rejects });
  // The minute under way is labelled by its end.
  const open = Date.parse("2026-11-20T10:00:30+08:00");
  const minutes = ["10:00", "10:01", "10:30", "15:00"].map((time) => bar(`2026-11-20T${time}:00+08:00`, 10));
  await land(session, lake, BARS_1M, at(minutes), { now: open, rejects });
  await rejects.save(lake);
  expect(
    await queryLake(
      lake,
      `SELECT (SELECT list(close ORDER BY "timestamp") FROM raw.bars_1d) AS days,
         (SELECT list(strftime(timezone('Asia/Shanghai', "timestamp"), '%H:%M') ORDER BY "timestamp") FROM raw.bars_1m) AS minutes`,
    ),
  ).toEqual([{ days: [10, 11, 12], minutes: ["10:00", "10:01"] }]);
  expect(
    await queryLake(lake, "SELECT rule, reason, count(*)::INT AS bars FROM rejects GROUP BY ALL"),
  ).toEqual([{ rule: "out_of_range", reason: "its time is in the future", bars: 3 }]);
});

test("a lake that has bars of the future: the latest day is the last one that has begun", async () => {
  const { lake, ask } = await serveForTest((one) => fill(one, ANY_TIME));
  const intraday = await ask<{ data: { close: number[] } }>(`/v1/klines/intraday?symbol=${SYMBOL}`);
  expect(intraday.body.data.close).toEqual([11.5, 12]);
  const quotes = await ask<{ data: { last_price: number; prev_close: number }[] }>(
    `/v1/quotes?symbols=${SYMBOL}`,
  );
  expect(quotes.body.data).toMatchObject([{ last_price: 12, prev_close: 11 }]);

  const { session, snapshots } = await openReader(lake, { threads: 1 });
  using reader = session;
  for (const table of [BARS_1D, BARS_1M]) {
    const snapshot = snapshots.find((one) => one.table === table) as Snapshot;
    expect(await landedBars(reader, lake, snapshot, NOW)).toMatchObject([{ last: "2026-11-20", bars: 4 }]);
  }
  expect(await marketSummary({ session: reader, snapshots } as never, NOW)).toMatchObject([
    { day: "2026-11-20", bars: 1, up: 1 },
  ]);
  expect((await replayRange(lake, {}, NOW)).regions.get("CN")).toBe("2026-11-21");
});

test("an audit names what an earlier version landed wrongly", async () => {
  const { lake } = await serveForTest(async (one) => {
    await fill(one, ANY_TIME);
    const odd = (at: string) => ({ ...bar(at, 10), symbol: "600001.SH" });
    await landRows(one, BARS_1D, [odd("1899-12-29T00:00:00+08:00"), odd("2026-11-20T15:00:00+08:00")]);
    await landRows(one, BARS_1M, [odd("2026-11-20T09:31:00+08:00")]);
  });
  const { findings } = await auditLake(lake);
  const found = findings.find(({ name }) => name === "impossible_bars");
  expect(found?.rows).toBe(4);
  expect(found?.examples.map((row) => row.slice(0, 4))).toEqual([
    ["bars_1d", SYMBOL, "in the future", "1"],
    ["bars_1d", "600001.SH", "before 1900", "1"],
    // Local time was 5 minutes and 43 seconds ahead then.
    ["bars_1d", "600001.SH", "not at midnight", "2"],
  ]);
});
