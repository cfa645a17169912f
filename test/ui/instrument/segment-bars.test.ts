import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { DAY_MS, type TradingDate } from "../../../src/core/time.js";
import { readExRules, readNames } from "../../../src/db/market/read-ex-rules.js";
import { openReader } from "../../../src/lake/open-reader.js";
import type { SegmentPlace } from "../../../src/lake/segments/segment-folder.js";
import { SegmentReader } from "../../../src/lake/segments/segment-reader.js";
import { ADJUSTMENTS, PERIODS } from "../../../src/market/period.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { queryBars } from "../../../src/ui/instrument/bars-query.js";
import { SegmentBars } from "../../../src/ui/instrument/segment-bars.js";
import { LakeStates } from "../../../src/ui/session/lake-states.js";
import { land, openSession, type TestBar, temporaryLake } from "../../lake/temporary-lake.js";
import { pickFrom } from "../../sweep.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-segments-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Weekdays across three years, with a split, a dividend, days without trades at prices of 0, and days without a previous close. */
function oddDays(symbol: string, zone: string): TestBar[] {
  const first = Date.parse(`2022-11-01T00:00:00${zone}`);
  let close = 20;
  return Array.from({ length: 460 }, (_, n) => {
    const at = first + n * DAY_MS;
    const before = n % 97 === 60 ? close / 2 : n % 97 === 80 ? close - 0.3 : close;
    close = Math.round(before * (1 + 0.05 * Math.sin(n)) * 100) / 100;
    const prices = n % 31 === 7 ? { open: 0, high: 0, low: 0, volume: 0 } : {};
    const known = n % 53 === 5 ? {} : { prevClose: before };
    const day = new Date(at + 8 * 3_600_000).getUTCDay();
    // Whole amounts have one sum in any order.
    const bar = {
      symbol,
      at,
      open: close,
      high: close + 1,
      low: close - 1,
      close,
      volume: n,
      amount: n * 1000,
      ...prices,
      ...known,
    };
    return day === 0 || day === 6 ? [] : [bar];
  }).flat();
}

test("bars from segments are those of `adjusted`, in every period and adjustment that they have", async () => {
  const lake = temporaryLake();
  const session = await openSession();
  await land(session, lake, BARS_1D, oddDays("600519.SH", "+08:00"), { lot: 100 });
  await land(session, lake, BARS_1D, oddDays("00700.HK", "+08:00"));
  const minutes = (open: string): TestBar[] =>
    Array.from({ length: 30 }, (_, n) => ({ at: Date.parse(open) + n * 60_000, close: 10 + n / 100 }));
  // The second day is after an ex-date.
  await land(session, lake, BARS_1M, [
    ...minutes("2022-12-28T09:31:00+08:00"),
    ...minutes("2023-01-04T09:31:00+08:00"),
  ]);
  const state = await new LakeStates(lake).newest();
  const place = lake.segmentPlace({ folder }) as SegmentPlace;
  {
    await using builder = new SegmentReader(lake, place);
    for (const snapshot of state.snapshots)
      if (snapshot.table === BARS_1D || snapshot.table === BARS_1M) await builder.buildAll(snapshot);
  }
  const reader = await openReader(lake, { threads: 1 });
  await using segments = new SegmentBars(lake, place, {
    rules: () => readExRules(reader.session),
    names: () => readNames(reader.session),
  });
  const adjustments = pickFrom(ADJUSTMENTS, { few: 1, more: 3, all: 5 });
  const found: string[] = [];
  for (const symbol of ["600519.SH", "00700.HK", "000001.SZ"])
    for (const period of PERIODS)
      for (const adjustment of adjustments)
        for (const [from, to] of [
          [undefined, undefined],
          ["2022-12-30", "2023-02-01"],
        ] as const) {
          const request = { symbol, period, adjustment, to: to as TradingDate | undefined };
          const { batch } = await segments.read(state, request, from as TradingDate | undefined);
          if (batch === undefined) continue;
          const expected = (await queryBars(reader, request, from as TradingDate | undefined)).flatMap(
            (one) => one.toArray(),
          );
          const name = `${symbol} ${period} ${adjustment} ${from}`;
          const rows = batch.toArray().map((row) => row.toJSON());
          expect(rows, name).toEqual(expected.map((row) => row.toJSON()));
          if (rows.length > 0) found.push(`${period} ${adjustment} ${from === undefined ? "all" : "cut"}`);
        }
  reader[Symbol.dispose]();
  const landed = ["1m", "1d"].flatMap((period) => [`${period} all`, `${period} cut`]);
  const whole = ["1w", "1M", "1Q", "1Y"].map((period) => `${period} all`);
  expect([...new Set(found)].sort()).toEqual(
    [...landed, ...whole]
      .flatMap((one) => adjustments.map((adjustment) => one.replace(" ", ` ${adjustment} `)))
      .sort(),
  );
});
