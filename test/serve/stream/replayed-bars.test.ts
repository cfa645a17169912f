import { expect, onTestFinished, test, vi } from "vitest";
import { MINUTE_MS, type TradingDate } from "../../../src/core/time.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { quoteTexts } from "../../../src/serve/endpoints/quotes.js";
import { MemoryBudgets } from "../../../src/serve/http/memory-budget.js";
import { LakeReader } from "../../../src/serve/read/lake-reader.js";
import { SessionPool } from "../../../src/serve/read/session-pool.js";
import { ReplayClock } from "../../../src/serve/replay/replay-clock.js";
import { lakeReads } from "../../../src/serve/stream/read-lake.js";
import { ReplayedBars } from "../../../src/serve/stream/region-bars.js";
import { once } from "../../once.js";
import { pickFrom } from "../../sweep.js";
import { KEY, landRows, newLake, serveForTest } from "../served-lake.js";
import { handClock } from "./hand-clock.js";
import { ALL_DAY, at, fillDays, minutesOf, SYMBOLS } from "./lake-of-days.js";
import { openStream } from "./stream-client.js";

/** A lake that is replayed, and how often it was queried. */
async function replayed() {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  await fillDays(lake);
  const pool = await SessionPool.open(2, { threads: 1 });
  onTestFinished(() => pool.close());
  const asOf = { now: 0, visibleUntil: 0 };
  const reader = new LakeReader(lake, pool, { asOfNow: () => ({ ...asOf }), pointInTime: {} });
  const readLake = lakeReads(reader, new MemoryBudgets(), new AbortController().signal);
  const faults: unknown[] = [];
  const bars = new ReplayedBars(readLake, (fault) => faults.push(fault));
  onTestFinished(() => bars.clear());
  const setTime = (time: number): void => {
    Object.assign(asOf, { now: time + 30_000, visibleUntil: time });
  };
  return {
    setTime,
    bars,
    faults,
    lake,
    kept: (symbols: readonly string[]) => readLake((view) => quoteTexts(view, symbols, bars.read)),
    read: (symbols: readonly string[]) => readLake((view) => quoteTexts(view, symbols)),
  };
}

test("bars that are brought forward minute by minute are those of a request", async () => {
  const { setTime, kept, read, faults } = await replayed();
  let quotes = 0;
  // Each change of a bar or a day, and the minutes around it: two sessions, a night, a weekend, the days' ends.
  const instants = new Set<number>();
  for (let time = at("2026-10-29T09:25"); time <= at("2026-11-03T06:00"); time += 30 * MINUTE_MS)
    instants.add(time);
  for (const date of ["2026-10-29", "2026-10-30", "2026-10-31", "2026-11-02"])
    for (const time of [
      ...ALL_DAY,
      "03:00",
      "04:00",
      "09:00",
      "12:00",
      "16:00",
      "17:00",
      "18:00",
      "21:31",
      "23:00",
    ])
      for (const minute of [-1, 0, 1]) instants.add(at(`${date}T${time.slice(0, 5)}`) + minute * MINUTE_MS);
  const sorted = [...instants].filter((one) => one >= at("2026-10-29T09:25")).sort((a, b) => a - b);
  for (const time of pickFrom(sorted, { few: 20, more: 40, all: sorted.length })) {
    setTime(time);
    const found = await kept(SYMBOLS);
    expect(found, new Date(time).toISOString()).toEqual(await read(SYMBOLS));
    quotes += found.size;
  }
  expect(quotes).toBeGreaterThan(100);
  expect(faults).toEqual([]);
});

once("after a jump to any time, and with symbols that come and go, too", async () => {
  const { setTime, kept, read, bars } = await replayed();
  const times = ["10-29T10:00", "10-29T10:01", "10-30T13:02", "10-29T09:31", "11-02T09:31", "11-02T09:32"];
  for (const [step, text] of [
    ...times,
    "10-30T09:31",
    "10-30T16:59",
    "10-30T17:00",
    "10-28T00:00",
  ].entries()) {
    setTime(at(`2026-${text}`));
    const some = SYMBOLS.filter((_, k) => (k + step) % 3 > 0);
    expect(await kept(some), text).toEqual(await read(some));
    for (const symbol of some.slice(0, 3)) bars.forget(symbol);
    expect(await kept(SYMBOLS), text).toEqual(await read(SYMBOLS));
    if (step === 4) bars.clear();
  }
});

once("bars that land while the lake is replayed are seen", async () => {
  const { setTime, kept, read, lake } = await replayed();
  setTime(at("2026-11-02T10:00"));
  await kept(SYMBOLS);
  await landRows(lake, BARS_1M, minutesOf("600003.SH", "2026-11-02", ALL_DAY));
  for (const time of ["10:00", "10:01", "11:30"]) {
    setTime(at(`2026-11-02T${time}`));
    expect(await kept(SYMBOLS)).toEqual(await read(SYMBOLS));
  }
});

once("the quotes of a minute are pushed without a query", async () => {
  const clock = handClock(at("2026-12-01T00:00"));
  const range = { start: at("2026-10-29T00:00"), end: at("2026-11-03T00:00") };
  const replay = new ReplayClock(clock, range, { time: at("2026-11-02T13:00"), speed: 60 });
  const { service } = await serveForTest(fillDays, {
    clock,
    replay: { clock: replay, regions: new Map([["CN", "2026-11-02" as TradingDate]]) },
  });
  const client = await openStream(service.url, `/v1/ws/stream?api_key=${KEY}`);
  onTestFinished(() => client.socket.terminate());
  client.send({ op: "subscribe", channel: "quotes", symbols: ["600000.SH"] });
  expect((await client.next()).total).toBe(1);
  await client.next();
  const nextPush = async () => {
    await clock.sleeper();
    clock.advance(1000);
    return (await client.next()).data?.[0];
  };
  // The first one waits for the minutes that are read ahead.
  expect(await nextPush()).toMatchObject({ timestamp: at("2026-11-02T13:01") });
  const queries = vi.spyOn(SessionPool.prototype, "use");
  onTestFinished(() => queries.mockRestore());
  expect(await nextPush()).toMatchObject({ timestamp: at("2026-11-02T13:02"), high: 14.52, volume: 759 });
  expect(queries).not.toHaveBeenCalled();
});
