import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { TimeRange } from "../../../../src/core/time.js";
import { emptySnapshot } from "../../../../src/lake/log/snapshot.js";
import { BARS_1M } from "../../../../src/schema/bars.js";
import { BarCache } from "../../../../src/serve/klines/bar-cache.js";
import type { BarRun } from "../../../../src/serve/klines/bar-runs.js";
import { bringForward } from "../../../../src/serve/klines/bring-forward.js";
import { MINUTES_OF_A_DAY, type Series, seriesOf } from "../../../../src/serve/klines/requested-bars.js";
import { DOUBLE_COLUMNS, type KlineValues } from "../../../../src/wire/kline-columns.js";
import { landRows, newLake, serve } from "../../served-lake.js";

const MINUTE = 60_000;
const BEGIN = Date.parse("2026-11-20T09:30+08:00");
const DAY: TimeRange = {
  start: Date.parse("2026-11-20T00:00+08:00"),
  end: Date.parse("2026-11-21T00:00+08:00"),
};
const ALL: TimeRange = { start: -1e14, end: 1e14 };

function runOf(symbol: string, labels: readonly number[]): BarRun {
  const integers = BigInt64Array.from(labels, BigInt);
  const values = Float64Array.from(labels);
  const doubles = Object.fromEntries(
    DOUBLE_COLUMNS.map((name) => [name, { values, validity: undefined }]),
  ) as KlineValues["doubles"];
  const end = labels.length;
  return { symbol, values: { timestamp: integers, volume: integers, doubles }, start: 0, end, found: end };
}

const labelsOf = ({ values, start, end }: BarRun): number[] =>
  Array.from(values.timestamp.subarray(start, end), Number);

/** A table to which each version adds later minutes of some symbols, and a cache of its bars. */
class Market {
  readonly cache: BarCache;
  readonly #series: Series;
  readonly #landed = new Map<string, number[]>();
  #added = new Map<string, number[]>();
  #version = 0;
  /** Number of symbols whose bars were not in the cache. */
  reads = 0;

  constructor(bytes: number, series: Series) {
    this.cache = new BarCache(bytes);
    this.#series = series;
  }

  land(added: ReadonlyMap<string, number[]>): void {
    this.#version += 1;
    this.#added = new Map(added);
    for (const [symbol, labels] of added)
      this.#landed.set(symbol, [...(this.#landed.get(symbol) ?? []), ...labels]);
  }

  /** The labels of the newest `count` bars of each symbol, as a request finds them. */
  async ask(symbols: readonly string[], range: TimeRange, count: number): Promise<Map<string, number[]>> {
    const { cache } = this;
    const version = String(this.#version);
    const file = { path: "a", partitionValues: { region: "CN" }, size: 1, writtenAt: 0, stats: undefined };
    const found = new Map(
      await bringForward({
        cache,
        key: "key",
        version,
        snapshot: emptySnapshot(BARS_1M),
        series: this.#series,
        symbols,
        isInShares: true,
        rangeOf: () => range,
        count,
        changesSince: (earlier) =>
          Number(earlier) === this.#version - 1 ? { added: [file], removed: [] } : undefined,
        readAdded: async (_, some) =>
          new Map(
            some.flatMap((symbol) => {
              const labels = this.#added.get(symbol);
              return labels === undefined ? [] : [[symbol, runOf(symbol, labels)] as const];
            }),
          ),
      }),
    );
    for (const symbol of symbols) {
      const cached = found.get(symbol) ?? cache.find("key", version, symbol, range, count);
      if (cached !== undefined) {
        found.set(symbol, cached);
        continue;
      }
      this.reads += 1;
      const all = this.#inRange(symbol, range);
      const newest = all.slice(-count);
      const since = all.length > count ? (newest[0] as number) : range.start;
      const run = runOf(symbol, newest);
      found.set(symbol, run);
      const isNewest = (this.#landed.get(symbol)?.at(-1) ?? 0) < range.end;
      if (isNewest) cache.add("key", version, [{ run, since }]);
    }
    return new Map([...found].map(([symbol, run]) => [symbol, labelsOf(run)]));
  }

  expected(symbol: string, range: TimeRange, count: number): number[] {
    return this.#inRange(symbol, range).slice(-count);
  }

  #inRange(symbol: string, { start, end }: TimeRange): number[] {
    return (this.#landed.get(symbol) ?? []).filter((label) => label >= start && label < end);
  }
}

const SYMBOLS = Array.from({ length: 100 }, (_, n) => `${600_000 + n}.SH`);

/** The minutes of a commit, of the symbols whose index trades in it. */
const minuteOf = (commit: number, trades: (index: number) => boolean): Map<string, number[]> =>
  new Map(
    SYMBOLS.filter((_, n) => commit === 0 || trades(n)).map((symbol) => [symbol, [BEGIN + commit * MINUTE]]),
  );
const always = (): boolean => true;
/** Symbols that need new memory at different times. */
const rarely = (commit: number) => (n: number) => commit % (1 + (n % 29)) === 0;
/** One symbol after the other trades no longer, and stays in memory that the others leave. */
const ending = (commit: number) => (n: number) => n % 10 > 0 || commit < 3 * (n + 10);

test.each([
  ["minutes of symbols that all trade each minute", seriesOf("1m"), () => always],
  ["minutes of symbols that rarely trade", seriesOf("1m"), rarely],
  ["minutes of symbols that trade no longer", seriesOf("1m"), ending],
  ["days of symbols that rarely trade", MINUTES_OF_A_DAY, rarely],
])("cached %s take as much memory after many commits as after a few", async (_, series, tradesIn) => {
  // 34 rows of 80 bytes and the entry take 3.2 KB; twice that where half of the rows of columns are in use.
  const market = new Market(SYMBOLS.length * 6500, series);
  const range = series === MINUTES_OF_A_DAY ? DAY : ALL;
  for (let commit = 0; commit < 400; commit++) {
    market.land(minuteOf(commit, tradesIn(commit)));
    await market.ask(SYMBOLS, range, 1);
  }
  expect(market.reads).toBe(SYMBOLS.length);
});

test("after a cut, larger requests find the same bars as in the table", async () => {
  const few = SYMBOLS.slice(0, 3);
  const commit = fc.record({
    rows: fc.array(fc.nat({ max: 6 }), { minLength: 3, maxLength: 3 }),
    count: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 1, max: 3 }) },
      fc.integer({ min: 4, max: 200 }),
    ),
    back: fc.option(fc.nat({ max: 100 }), { freq: 3 }),
    until: fc.option(fc.nat({ max: 30 }), { freq: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(commit, { minLength: 30, maxLength: 60 }), async (commits) => {
      const market = new Market(1e6, seriesOf("1m"));
      let time = BEGIN;
      for (const { rows, count, back, until } of commits) {
        const first = time;
        market.land(
          new Map(
            few.flatMap((symbol, n) => {
              const labels = Array.from({ length: rows[n] as number }, (_, k) => first + k * MINUTE);
              return labels.length === 0 ? [] : [[symbol, labels] as const];
            }),
          ),
        );
        time += 6 * MINUTE;
        const end = until === null ? ALL.end : time - until * MINUTE;
        const start = back === null ? ALL.start : Math.min(end, time - back * MINUTE);
        const range = { start, end };
        const found = await market.ask(few, range, count);
        for (const symbol of few) expect(found.get(symbol)).toEqual(market.expected(symbol, range, count));
      }
    }),
    { numRuns: 100 },
  );
});

test("requests that come less often than commits need no other read of bars that they have needed", async () => {
  const market = new Market(1e6, seriesOf("1m"));
  for (let commit = 0; commit < 200; commit++) {
    market.land(minuteOf(commit, always));
    if (commit % 10 === 0) await market.ask(SYMBOLS.slice(0, 3), DAY, 1000);
    await market.ask(SYMBOLS.slice(0, 3), ALL, 1);
  }
  expect(market.reads).toBe(3);
});

test("long runs that are needed no longer leave space for all symbols", async () => {
  // 80 runs of 500 rows of 80 bytes take 3.2 MB.
  const market = new Market(4e6, seriesOf("1m"));
  for (let commit = 0; commit < 500; commit++) market.land(minuteOf(commit, always));
  await market.ask(SYMBOLS.slice(0, 80), ALL, 500);
  for (let commit = 500; commit < 600; commit++) {
    // The first commit keeps what was asked for in the version before it, and so evicts others.
    if (commit < 503) market.reads = 0;
    market.land(minuteOf(commit, always));
    await market.ask(SYMBOLS, ALL, 1);
  }
  expect(market.reads).toBe(0);
});

test("bars that a request of each version needs remain, although others need few", async () => {
  const market = new Market(4e6, seriesOf("1m"));
  for (let commit = 0; commit < 300; commit++) market.land(minuteOf(commit, always));
  await market.ask(SYMBOLS, ALL, 240);
  market.reads = 0;
  for (let commit = 300; commit < 400; commit++) {
    market.land(minuteOf(commit, always));
    await market.ask(SYMBOLS, ALL, 1);
    await market.ask(SYMBOLS, ALL, 240);
  }
  expect(market.reads).toBe(0);
});

test("a cut leaves the bars that another request of the same version has needed", async () => {
  const market = new Market(1e6, seriesOf("1m"));
  for (let commit = 0; commit < 200; commit++) {
    market.land(minuteOf(commit, always));
    await market.ask(SYMBOLS.slice(0, 3), ALL, 1);
    await market.ask(SYMBOLS.slice(0, 3), ALL, 50);
  }
  expect(market.reads).toBe(3);
});

test("a service whose cached minutes were cut says what a new one says", async () => {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  const symbols = SYMBOLS.slice(0, 3);
  const clock = { now: () => BEGIN + 60 * MINUTE };
  const land = (minute: number): Promise<void> =>
    landRows(
      lake,
      BARS_1M,
      symbols.map((symbol, n) => {
        const price = 10 + ((minute * 7 + n) % 40);
        return {
          symbol,
          timestamp: BEGIN + minute * MINUTE,
          open: price,
          high: price + 1,
          low: price - 1,
          close: price,
          volume: price * 100,
          amount: price * 1000,
        };
      }),
    );
  await land(0);
  const old = await serve(lake, { clock, threads: 1, segments: false });
  onTestFinished(() => old.service.close());
  const path = `/v1/klines/intraday/batch?symbols=${symbols.join()}`;
  await old.ask(`${path}&count=1`);
  for (let minute = 1; minute <= 40; minute++) {
    await land(minute);
    const { body } = await old.ask<{ data: Record<string, { timestamp: number[] }> }>(`${path}&count=1`);
    expect(body.data[symbols[2] as string]?.timestamp).toEqual([BEGIN + minute * MINUTE]);
  }
  const fresh = await serve(lake, { clock, threads: 1, segments: false });
  onTestFinished(() => fresh.service.close());
  const minutes = `/v1/klines/batch?symbols=${symbols.join()}&adjust=none&period=1m`;
  for (const one of [
    `${path}&count=2`,
    `${path}&count=30`,
    path,
    `${minutes}&count=35`,
    `${minutes}&count=3&start_time=${BEGIN}`,
    `${minutes}&count=100&start_time=${BEGIN + 5 * MINUTE}&end_time=${BEGIN + 38 * MINUTE}`,
    `${minutes}&count=1`,
    `${minutes}&count=1000`,
  ])
    expect((await old.ask(one)).body, one).toEqual((await fresh.ask(one)).body);
});
