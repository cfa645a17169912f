import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { TimeRange } from "../../../../src/core/time.js";
import { literalList } from "../../../../src/db/quote.js";
import { Session } from "../../../../src/db/session/session.js";
import { parquetRelation } from "../../../../src/db/views/parquet-relation.js";
import type { Lake } from "../../../../src/lake/lake.js";
import { withdrawRows } from "../../../../src/lake/land/absent-days.js";
import { emptySnapshot } from "../../../../src/lake/log/snapshot.js";
import { optimize } from "../../../../src/lake/maintenance/optimize.js";
import { BARS_1D, BARS_1M } from "../../../../src/schema/bars.js";
import { BarCache } from "../../../../src/serve/klines/bar-cache.js";
import type { BarRun } from "../../../../src/serve/klines/bar-runs.js";
import { bringForward } from "../../../../src/serve/klines/bring-forward.js";
import { MINUTES_OF_A_DAY, seriesOf } from "../../../../src/serve/klines/requested-bars.js";
import { DOUBLE_COLUMNS, type KlineValues } from "../../../../src/wire/kline-columns.js";
import { virtualClock } from "../../../faults/clock/virtual-clock.js";
import { once } from "../../../once.js";
import { cases } from "../../../sweep.js";
import { type LandedBar, landRows, NOW, newLake, serve } from "../../served-lake.js";

const MINUTE = 60_000;
const SYMBOLS = ["000001.SZ", "600000.SH", "600519.SH"];
const DATES = ["2026-11-17", "2026-11-18", "2026-11-19", "2026-11-20"];
const cn = (text: string): number => Date.parse(`${text}+08:00`);

/** Bars with numbers that say which landing they are from. */
const bar = (symbol: string, timestamp: number, value: number): LandedBar => ({
  symbol,
  timestamp,
  open: value % 3 === 0 ? 0 : value,
  high: value % 3 === 0 ? 0 : value + (value % 5),
  low: value % 3 === 0 ? 0 : value - (value % 4),
  close: value,
  volume: value * 10,
  amount: value * 16,
  lot: [100, 1, 10][value % 3] as number,
  prev_close: value % 2 === 0 ? value - 1 : null,
});

/** A landing: of days, or of minutes; of some symbols, at the end of what there is or anywhere. */
interface Landing {
  readonly kind: "days" | "minutes" | "compaction" | "withdrawal";
  readonly symbols: readonly string[];
  readonly first: number;
  readonly count: number;
}

const landings: fc.Arbitrary<Landing> = fc.record({
  kind: fc.constantFrom("days", "minutes", "minutes", "compaction", "withdrawal" as const),
  symbols: fc.subarray(SYMBOLS, { minLength: 1 }),
  first: fc.nat({ max: 11 }),
  count: fc.integer({ min: 1, max: 4 }),
}) as fc.Arbitrary<Landing>;

/** Later bars, bars that go, bars between others, another form of the same bars, and revised ones. */
const EACH_KIND: Landing[] = [
  { kind: "minutes", symbols: SYMBOLS, first: 9, count: 2 },
  { kind: "withdrawal", symbols: SYMBOLS.slice(1), first: 0, count: 1 },
  { kind: "compaction", symbols: SYMBOLS, first: 0, count: 1 },
  { kind: "minutes", symbols: SYMBOLS.slice(0, 2), first: 6, count: 2 },
  { kind: "days", symbols: SYMBOLS, first: 2, count: 2 },
];

async function land(lake: Lake, { kind, symbols, first, count }: Landing, value: number): Promise<void> {
  if (kind === "compaction") {
    using session = await Session.open({ threads: 1 });
    await optimize(session, lake, BARS_1M, { runId: "compaction" }, virtualClock(NOW));
    return;
  }
  if (kind === "withdrawal") {
    // The newest minutes, so that the next ones may come before them.
    using session = await Session.open({ threads: 1 });
    const rows = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1M)));
    await session.run(
      `CREATE TEMP TABLE gone AS SELECT symbol, "timestamp" FROM (${rows})
       WHERE symbol = ANY(${literalList(symbols)}) QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY "timestamp" DESC) <= ${count}`,
    );
    await withdrawRows(session, lake, BARS_1M, "gone", { runId: "withdrawal", now: NOW });
    return;
  }
  const times = Array.from({ length: count }, (_, k) => first + k);
  const at = (time: number): number =>
    kind === "days"
      ? cn(`${DATES[time % DATES.length]}T00:00`)
      : cn(`${DATES[time % 3 === 0 ? 3 : 2]}T09:31`) + time * MINUTE;
  const bars = symbols.flatMap((symbol) =>
    times.map((time) => bar(symbol, at(time), 3 + ((value * 7 + time) % 40))),
  );
  await landRows(lake, kind === "days" ? BARS_1D : BARS_1M, bars);
}

const ALL = SYMBOLS.join();
const PATHS = [
  `/v1/klines/batch?symbols=${ALL}&adjust=none&count=1`,
  `/v1/klines/batch?symbols=${ALL}&adjust=none&count=100`,
  `/v1/klines/batch?symbols=${ALL}&adjust=forward&count=2`,
  `/v1/klines/batch?symbols=${ALL}&adjust=none&period=1w&count=1`,
  `/v1/klines/batch?symbols=${ALL}&adjust=none&period=1m&count=3`,
  `/v1/klines/batch?symbols=${ALL}&adjust=none&period=5m&count=2`,
  `/v1/klines/intraday/batch?symbols=${ALL}&count=2`,
  `/v1/klines/intraday/batch?symbols=${ALL}`,
  `/v1/quotes?symbols=${ALL}`,
  `/v1/quotes?symbols=${SYMBOLS[1]}`,
];

test("after any landing a service that has cached bars says what a new one says", async () => {
  const runs = cases({ few: 1, more: 2, all: 200 });
  await fc.assert(
    fc.asyncProperty(fc.array(landings, { minLength: 5, maxLength: 8 }), async (list) => {
      const { lake, remove } = newLake();
      try {
        await land(lake, { kind: "days", symbols: SYMBOLS, first: 0, count: 3 }, 1);
        await land(lake, { kind: "minutes", symbols: SYMBOLS, first: 0, count: 4 }, 1);
        const clock = { now: () => cn("2026-11-20T10:00") };
        const old = await serve(lake, { clock, threads: 1, segments: false });
        for (const path of PATHS) await old.ask(path);
        for (const [n, landing] of list.entries()) {
          await land(lake, landing, n + 2);
          const fresh = await serve(lake, { clock, threads: 1, segments: false });
          for (const path of PATHS) {
            const expected = await fresh.ask(path);
            expect((await old.ask(path)).body, `${path} after ${JSON.stringify(landing)}`).toEqual(
              expected.body,
            );
          }
          await fresh.service.close();
        }
        await old.service.close();
      } finally {
        remove();
      }
    }),
    { numRuns: runs, examples: [[EACH_KIND]], endOnFailure: true },
  );
});

once("after new bars have landed the files of the old ones are not read again", async () => {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  const minutes = (first: number, count: number): Landing => ({
    kind: "minutes",
    symbols: SYMBOLS,
    first,
    count,
  });
  await land(lake, { kind: "days", symbols: SYMBOLS, first: 0, count: 3 }, 1);
  for (const symbol of SYMBOLS) await land(lake, { ...minutes(0, 1), symbols: [symbol] }, 1);
  const served = await serve(lake, {
    clock: { now: () => cn("2026-11-20T10:00") },
    segments: false,
    verify: false,
  });
  onTestFinished(() => served.service.close());
  const paths = PATHS.filter((path) => !/forward|5m|1w/.test(path));
  for (const path of paths) await served.ask(path);
  const damage = async (): Promise<void> => {
    for (const table of [BARS_1D, BARS_1M])
      for (const file of (await lake.snapshot(table)).files.keys())
        writeFileSync(join(lake.location, table.name, file), "damaged");
  };
  const { version, dataVersion } = await lake.snapshot(BARS_1M);
  await land(lake, { ...minutes(0, 0), kind: "compaction" }, 1);
  expect(await lake.snapshot(BARS_1M)).toMatchObject({ version: version + 1, dataVersion });
  await damage();
  for (const path of paths) expect((await served.ask(path)).status, path).toBe(200);
  await land(lake, { kind: "days", symbols: SYMBOLS, first: 3, count: 1 }, 2);
  for (const path of paths) expect((await served.ask(path)).status, path).toBe(200);
  await damage();
  await land(lake, minutes(3, 1), 2);
  for (const path of paths) expect((await served.ask(path)).status, path).toBe(200);
  expect(
    (await served.ask(`/v1/klines/batch?symbols=${ALL}&adjust=none&period=1m&count=100`)).body,
  ).toMatchObject({
    data: { "600519.SH": { timestamp: [cn("2026-11-20T09:31"), cn("2026-11-20T09:34")] } },
  });
});

/** Bars of a symbol with the given labels. */
function runOf(symbol: string, labels: readonly number[]): BarRun {
  const integers = BigInt64Array.from(labels, BigInt);
  const values = Float64Array.from(labels);
  const doubles = Object.fromEntries(
    DOUBLE_COLUMNS.map((name) => [name, { values, validity: undefined }]),
  ) as KlineValues["doubles"];
  const end = labels.length;
  return { symbol, values: { timestamp: integers, volume: integers, doubles }, start: 0, end, found: end };
}

once("a request for more symbols than the cache has space for reads their new bars once", async () => {
  const symbols = Array.from({ length: 20 }, (_, n) => `${600_000 + n}.SH`);
  const labels = Array.from({ length: 100 }, (_, n) => n);
  const fill = (cache: BarCache): void => {
    for (const symbol of symbols) cache.add("key", "1", [{ run: runOf(symbol, labels), since: 0 }]);
  };
  const unlimited = new BarCache(1e8);
  fill(unlimited);
  const cache = new BarCache(unlimited.bytes);
  fill(cache);
  // The last ones are cached when they are requested again.
  fill(cache);
  const file = { path: "a", partitionValues: { region: "CN" }, size: 1, writtenAt: 0, stats: undefined };
  const read: string[] = [];
  const found = await bringForward({
    cache,
    key: "key",
    version: "2",
    snapshot: emptySnapshot(BARS_1D),
    series: seriesOf("1d"),
    symbols,
    isInShares: false,
    rangeOf: (): TimeRange => ({ start: 0, end: 101 }),
    count: 90,
    changesSince: () => ({ added: [file], removed: [] }),
    async readAdded(_, some) {
      read.push(...some);
      return new Map(some.map((symbol) => [symbol, runOf(symbol, [100, 101])]));
    },
  });
  expect(read).toEqual(symbols);
  expect([...found.keys()]).toEqual(symbols);
  for (const { values, start, end } of found.values())
    expect([...values.timestamp.subarray(start, end)]).toEqual(
      Array.from({ length: 90 }, (_, n) => BigInt(11 + n)),
    );
  // Extended runs have space for more bars, so the cache has fewer of them than before.
  const kept = symbols.filter((symbol) => cache.get("key", symbol) !== undefined);
  expect(kept.length).toBeGreaterThan(0);
  expect(kept.length).toBeLessThan(symbols.length);
  expect(cache.bytes).toBeLessThanOrEqual(unlimited.bytes);
  // Of an evicted run just the requested bars remain in memory.
  const rows = symbols.map((symbol) => found.get(symbol)?.values.timestamp.length);
  expect(rows.filter((n) => n === 90)).toHaveLength(symbols.length - kept.length);
});

once(
  "the minutes of many symbols are read at once where the new files have few rows, else in parts",
  async () => {
    const symbols = Array.from({ length: 1200 }, (_, n) => `${600_000 + n}.SH`);
    const readsFor = async (numRecords: number): Promise<number[]> => {
      const cache = new BarCache(1e8);
      cache.add(
        "key",
        "1",
        symbols.map((symbol) => ({ run: runOf(symbol, [cn("2026-11-20T09:31")]), since: 0 })),
      );
      const stats = { numRecords, minValues: {}, maxValues: {}, nullCount: {} };
      const reads: number[] = [];
      const found = await bringForward({
        cache,
        key: "key",
        version: "2",
        snapshot: emptySnapshot(BARS_1M),
        series: MINUTES_OF_A_DAY,
        symbols,
        isInShares: true,
        rangeOf: (): TimeRange => ({ start: cn("2026-11-20T00:00"), end: cn("2026-11-21T00:00") }),
        count: 1,
        changesSince: () => ({
          added: [{ path: "a", partitionValues: { region: "CN" }, size: 1, writtenAt: 0, stats }],
          removed: [],
        }),
        async readAdded(_, some) {
          reads.push(some.length);
          return new Map(some.map((symbol) => [symbol, runOf(symbol, [cn("2026-11-20T09:32")])]));
        },
      });
      expect(found.size).toBe(symbols.length);
      return reads;
    };
    expect(await readsFor(120_000)).toEqual([1200]);
    expect(await readsFor(120_001)).toEqual([500, 500, 200]);
  },
);
