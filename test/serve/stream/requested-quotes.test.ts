import { expect, onTestFinished, test, vi } from "vitest";
import { DAY_MS, MINUTE_MS, type TradingDate } from "../../../src/core/time.js";
import { quoteTexts } from "../../../src/serve/endpoints/quotes.js";
import { MemoryBudgets } from "../../../src/serve/http/memory-budget.js";
import { LakeReader } from "../../../src/serve/read/lake-reader.js";
import { SessionPool } from "../../../src/serve/read/session-pool.js";
import { ReplayClock } from "../../../src/serve/replay/replay-clock.js";
import { lakeReads } from "../../../src/serve/stream/read-lake.js";
import { ReplayedBars } from "../../../src/serve/stream/region-bars.js";
import { RequestedQuotes } from "../../../src/serve/stream/requested-quotes.js";
import { once } from "../../once.js";
import { pickCases } from "../../sweep.js";
import { newLake, serveForTest } from "../served-lake.js";
import { handClock } from "./hand-clock.js";
import { at, fillDays, SYMBOLS } from "./lake-of-days.js";

const RANGE = { start: at("2026-10-29T00:00"), end: at("2026-11-03T00:00") };

test("requests at any time, at the same time too, get what the lake says", async () => {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  await fillDays(lake);
  const pool = await SessionPool.open(2, { threads: 1 });
  onTestFinished(() => pool.close());
  let visibleNow = 0;
  const asOf = (time: number) => ({ now: time + 30_000, visibleUntil: time });
  const reader = new LakeReader(lake, pool, { asOfNow: () => asOf(visibleNow), pointInTime: {} });
  const readLake = lakeReads(reader, new MemoryBudgets(), new AbortController().signal);
  const faults: unknown[] = [];
  const bars = new ReplayedBars(readLake, (fault) => faults.push(fault));
  const requested = new RequestedQuotes({ bars, visibleNow: () => visibleNow });
  onTestFinished(() => requested.clear());
  const quotesAt = (time: number, symbols: readonly string[], read?: typeof requested.read) =>
    readLake((view) => quoteTexts(view, symbols, read), { asOf: asOf(time) });
  const minutes = Math.floor((RANGE.end - RANGE.start) / MINUTE_MS);
  let found = 0;
  for (const pick of pickCases(minutes, { few: 3, all: 400 })) {
    // Forward within a day, and back to another one.
    const first = RANGE.start + ((pick * 7919) % minutes) * MINUTE_MS;
    for (const step of [0, 1, 2, 30]) {
      visibleNow = first + step * MINUTE_MS;
      const some = SYMBOLS.filter((_, n) => (n + pick) % 3 > 0);
      // A request that arrived before the minute passed may be read after one that arrived later.
      const asked = [
        { time: visibleNow, symbols: SYMBOLS },
        { time: visibleNow - MINUTE_MS, symbols: some },
        { time: visibleNow, symbols: some },
      ];
      const shown = await Promise.all(asked.map((one) => quotesAt(one.time, one.symbols, requested.read)));
      for (const [n, { time, symbols }] of asked.entries()) {
        expect(shown[n], new Date(time).toISOString()).toEqual(await quotesAt(time, symbols));
        found += shown[n]?.size ?? 0;
      }
    }
  }
  expect(found).toBeGreaterThan(50);
  expect(faults).toEqual([]);
});

once("quotes that are asked for again and again are made without a query", async () => {
  const clock = handClock(at("2026-12-01T00:00"));
  const replay = new ReplayClock(clock, RANGE, { time: at("2026-11-02T13:00"), speed: 60 });
  const { post } = await serveForTest(fillDays, {
    clock,
    replay: { clock: replay, regions: new Map([["CN", "2026-11-02" as TradingDate]]) },
  });
  const ask = async () => {
    const { body } = await post<{ data: Record<string, number>[] }>("/v1/quotes", { symbols: ["600000.SH"] });
    return body.data[0];
  };
  const nextMinute = async () => {
    clock.advance(1000);
    return ask();
  };
  expect(await ask()).toBeDefined();
  // Waits for the minutes that are read ahead.
  expect(await nextMinute()).toMatchObject({ timestamp: at("2026-11-02T13:01") });
  const queries = vi.spyOn(SessionPool.prototype, "use");
  onTestFinished(() => queries.mockRestore());
  expect(await nextMinute()).toMatchObject({ timestamp: at("2026-11-02T13:02"), high: 14.52, volume: 759 });
  expect(await ask()).toMatchObject({ timestamp: at("2026-11-02T13:02") });
  expect(queries).not.toHaveBeenCalled();
  // Set back: nothing of the later minutes is seen.
  replay.set({ time: at("2026-11-02T13:00") - DAY_MS * 3, speed: 0 });
  expect(await ask()).toMatchObject({ timestamp: at("2026-10-30T11:30") });
  expect(queries).toHaveBeenCalled();
});
