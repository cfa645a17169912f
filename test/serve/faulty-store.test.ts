import { setImmediate as turn } from "node:timers/promises";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Lake } from "../../src/lake/lake.js";
import { objectStorage } from "../../src/lake/storage/object-storage.js";
import { openStorePlace } from "../../src/object-store/store-place.js";
import { BARS_1D } from "../../src/schema/bars.js";
import type { Fault, FaultyStore, Passing } from "../object-store/faulty-store.js";
import { HAS_STORE, storeLakes } from "../object-store/store-lakes.js";
import { once } from "../once.js";
import { cases, pickFrom } from "../sweep.js";
import { landRows, type Served, serve } from "./served-lake.js";

const DAY = 86_400_000;
/** Ends a wait for a response that does not come: on a busy machine, many requests may exceed their time first. */
const HANG_MS = 300_000;
const SYMBOLS = ["600000.SH", "600519.SH", "000001.SZ"];
const bars = (year: number) =>
  SYMBOLS.flatMap((symbol, s) =>
    Array.from({ length: 30 }, (_, n) => ({
      symbol,
      timestamp: Date.UTC(year, 2, 1, 16) + n * DAY,
      open: 10,
      high: 30,
      low: 5,
      close: 10 + s + n / 100,
      volume: 100 * year + n,
      amount: 1000,
    })),
  );
const year = (of: number): string => `start_time=${Date.UTC(of, 0)}&end_time=${Date.UTC(of, 11, 20)}`;
/** Requests that read different files, columns and tables. */
const PATHS = [
  `/v1/klines/batch?symbols=${SYMBOLS.join(",")}&adjust=none&${year(2023)}`,
  `/v1/klines/batch?symbols=600519.SH&adjust=none&${year(2024)}`,
  "/v1/klines/batch?symbols=600519.SH,000001.SZ&adjust=forward&count=20",
  "/v1/exchanges",
];

type FaultOf = (passing: Passing, index: number) => Fault | undefined;
const half = (body: Buffer): Buffer => body.subarray(0, body.length >> 1);
const SLOW_DOWN: Fault = { kind: "refused", status: 503, code: "SlowDown" };
const isFile = ({ key }: Passing): boolean => key.endsWith(".parquet");
const isRead = (one: Passing): boolean => one.method === "GET" && isFile(one);
const FAULTS: readonly [string, FaultOf][] = [
  ["refuses everything", () => SLOW_DOWN],
  ["asks for fewer requests of files", (one) => (isFile(one) ? SLOW_DOWN : undefined)],
  ["has an error of its own", () => ({ kind: "refused", status: 500, code: "InternalError" })],
  ["is a proxy that does not find it", () => ({ kind: "refused", status: 404, code: "" })],
  ["breaks off each connection", () => ({ kind: "lost" })],
  ["breaks off the reads of files", (one) => (isRead(one) ? { kind: "lost" } : undefined)],
  ["sends a part of each file", (one) => (isRead(one) ? { kind: "cut", bytes: 500 } : undefined)],
  [
    "sends a part of each file, and says that it is the whole",
    (one) => (isRead(one) ? { kind: "edited", edit: half } : undefined),
  ],
  ["sends empty files", (one) => (isRead(one) ? { kind: "edited", edit: () => Buffer.alloc(0) } : undefined)],
  [
    "sends a part of each commit",
    (one) => (one.key.endsWith(".json") ? { kind: "cut", bytes: 20 } : undefined),
  ],
  [
    "sends no end of a commit",
    (one) => (one.key.endsWith(".json") ? { kind: "stalled", bytes: 20 } : undefined),
  ],
  ["fails at each third request", (_, index) => (index % 3 === 0 ? { kind: "lost" } : undefined)],
  ["refuses each second request", (_, index) => (index % 2 === 0 ? SLOW_DOWN : undefined)],
];

describe.skipIf(!HAS_STORE)("a service over a store that is not well", () => {
  const stores = storeLakes();
  let location: string;
  /** Years of which a test lands bars while a service reads the lake. */
  let landed = 2000;
  beforeAll(async () => {
    location = stores.newLocation();
    for (const one of [2023, 2024]) await landRows(stores.open(location), BARS_1D, bars(one));
  });

  /** Opens the lake as a service does. Its pauses take no time. */
  function setUp({ verify = true } = {}) {
    const lake = stores.open(location);
    const clock = { now: () => Date.now(), sleep: () => turn() };
    const open = async (): Promise<Served> => {
      const options = { env: stores.env, clock, retries: 2, timeoutMs: 300 };
      const place = await openStorePlace(location, options);
      onTestFinished(() => place.store.close());
      const extensions = stores.env.BARLAKE_DUCKDB_EXTENSIONS;
      const storage = objectStorage(place, { extensions });
      const opened = new Lake(location, { environment: stores.env, storage, hasDatabase: false });
      const served = await serve(opened, { verify });
      onTestFinished(() => served.service.close());
      return served;
    };
    return { lake, open };
  }

  /** Runs some work while the store misbehaves. */
  async function through<T>(faultOf: FaultOf, work: () => Promise<T>): Promise<T> {
    const before: FaultyStore["faultOf"] = stores.store.faultOf;
    let index = 0;
    stores.store.faultOf = (passing) => faultOf(passing, index++);
    try {
      return await work();
    } finally {
      stores.store.faultOf = before;
    }
  }

  const askAll = (served: Served) =>
    Promise.all(
      PATHS.map(async (path) => {
        const { status, headers, body } = await served.ask(path);
        return { status, retryAfter: headers.get("retry-after"), body };
      }),
    );

  test.each(pickFrom(FAULTS, cases({ few: 1, more: 13, all: 13 }), [7]))(
    "it %s: each response is right, or 503, and all are right afterwards",
    async (name, faultOf) => {
      const { lake, open } = setUp();
      const expected = await askAll(await open());
      expect(expected.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const served = await open();
      // A commit that the service has not read yet, of rows that no request is about.
      await landRows(lake, BARS_1D, bars(++landed));
      const received = await through(faultOf, async () => [
        ...(await askAll(served)),
        ...(await askAll(served)),
      ]);
      let failed = 0;
      for (const [n, response] of received.entries()) {
        if (response.status === 200) {
          expect(response).toEqual(expected[n % PATHS.length]);
          continue;
        }
        failed += 1;
        expect([name, response]).toEqual([
          name,
          {
            status: 503,
            retryAfter: "5",
            body: { code: "LAKE_UNAVAILABLE", message: expect.stringContaining("try again later") },
          },
        ]);
      }
      if (!name.includes("each third") && !name.includes("each second")) expect(failed).toBeGreaterThan(0);
      expect(await askAll(served)).toEqual(expected);
    },
  );

  once("a store that has gone away is no reason to end; when it is back, new rows are seen", async () => {
    const { lake, open } = setUp();
    const served = await open();
    const expected = await askAll(served);
    const away = await stores.store.without(() => askAll(served));
    expect(away.map(({ status, retryAfter }) => [status, retryAfter])).toEqual(PATHS.map(() => [503, "5"]));
    expect((await served.ask("/healthz")).status).toBe(200);
    expect(await askAll(served)).toEqual(expected);
    await landRows(lake, BARS_1D, bars(2025));
    const { body } = await served.ask<{ data: object }>(
      `/v1/klines/batch?symbols=600519.SH&adjust=none&${year(2025)}`,
    );
    expect(JSON.stringify(body.data)).toContain(String(100 * 2025));
  });

  once("without verification, no response has a part of the rows either", async () => {
    const { open } = setUp({ verify: false });
    const expected = await askAll(await open());
    const served = await open();
    const faultOf: FaultOf = (one) => (isRead(one) ? { kind: "edited", edit: half } : undefined);
    for (const [n, response] of (await through(faultOf, () => askAll(served))).entries())
      if (response.status === 200) expect(response).toEqual(expected[n]);
      else expect(response.status).toBe(503);
    expect(await askAll(served)).toEqual(expected);
  });

  /** What a response waits for, at most until the end of the test. */
  function gate(): { readonly until: Promise<void>; readonly release: () => void } {
    let release = (): void => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    onTestFinished(() => release());
    return { until, release };
  }

  /** Asks until a request is answered within its time: on a busy machine the first reads may take longer. */
  async function expectSoon(served: Served, path: string): Promise<void> {
    await expect.poll(async () => (await served.ask(path)).status, { timeout: HANG_MS }).toBe(200);
  }

  once("a store that does not respond ends a request after its time, with 503", async () => {
    const lake = stores.open(location, { patience: { retries: 0, timeoutMs: 60_000 } });
    const served = await serve(lake, { requestTimeoutMs: 300 });
    onTestFinished(() => served.service.close());
    const { until, release } = gate();
    const late = await through(
      () => ({ kind: "held", until }),
      () => served.ask(PATHS[0] as string),
    );
    release();
    expect([late.status, late.headers.get("retry-after"), late.body]).toEqual([
      503,
      "5",
      { code: "LAKE_UNAVAILABLE", message: expect.stringContaining("within 0.3 seconds") },
    ]);
    await expectSoon(served, PATHS[0] as string);
  });

  once("reads that go on after their requests keep their memory, and release it when they end", async () => {
    const lake = stores.open(location, { patience: { retries: 0, timeoutMs: 60_000 } });
    const options = { requestTimeoutMs: 500, segments: false, connections: 12 } as const;
    const served = await serve(lake, options);
    onTestFinished(() => served.service.close());
    const cached = `/v1/klines/batch?symbols=600519.SH&adjust=none&${year(2024)}`;
    await expectSoon(served, cached);
    const { until, release } = gate();
    // Each is the largest response of the budget for short ones, and together they are all of it.
    const path = (n: number): string => {
      const symbols = ["000001.SZ", ...[1, 2, 3, 4].map((k) => `3000${n}${k}.SZ`)];
      return `/v1/klines/batch?symbols=${symbols.join(",")}&adjust=none&count=10000`;
    };
    const late = new Set<number>();
    const askAgain = async (): Promise<number> => {
      const responses = await Promise.all(Array.from({ length: 10 }, (_, n) => served.ask(path(n))));
      for (const { status } of responses) late.add(status);
      return (await served.ask(cached)).status;
    };
    await through(
      // It is read for its hash first: that takes no thread, as a read of DuckDB does.
      (one) => (isRead(one) && one.key.includes("year=2023") ? { kind: "held", until } : undefined),
      // On a busy machine, some requests may end before they have their memory: then others take it.
      () => expect.poll(askAgain, { timeout: HANG_MS }).toBe(503),
    );
    expect([...late]).toEqual([503]);
    release();
    await expectSoon(served, cached);
  });
});
