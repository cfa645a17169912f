import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openLake } from "../../../src/api/lake/open-lake.js";
import { systemClock } from "../../../src/client/system-clock.js";
import type { Lake } from "../../../src/lake/lake.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import type { EndpointHandler } from "../../../src/serve/endpoints/response.js";
import { MemoryBudgets } from "../../../src/serve/http/memory-budget.js";
import { endpointHandlers } from "../../../src/serve/http/routes.js";
import { startWarmUp, type WarmUpParts } from "../../../src/serve/http/warm-up.js";
import { plainKeys } from "../../../src/serve/keys/key-ring.js";
import { LakeReader } from "../../../src/serve/read/lake-reader.js";
import { SessionPool } from "../../../src/serve/read/session-pool.js";
import { replayRange } from "../../../src/serve/replay/add-replay.js";
import { ReplayClock } from "../../../src/serve/replay/replay-clock.js";
import { fixtureLake } from "../../lake/fixture-lake.js";
import { temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";
import { KEY, type LandedBar, landReference, landRows, NOW, serve } from "../served-lake.js";

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
/** Midnight of the first day in Shanghai, and the end of its first minute. */
const FIRST = Date.parse("2026-11-17T16:00:00Z");
const OPENED = Date.parse("2026-11-18T01:31:00Z");
const DAYS = 3;
const MINUTES = 4;
/** More than two groups of a warm-up. */
const SYMBOLS = Array.from({ length: 560 }, (_, s) => `${600_000 + s}.SH`);
const ALL = SYMBOLS.slice(0, 555);
const OTHERS = SYMBOLS.slice(540);

function bars(start: number, step: number, count: number): LandedBar[] {
  return SYMBOLS.flatMap((symbol, s) =>
    Array.from({ length: count }, (_, n) => {
      const open = 10 + s + n / 100;
      const prices = { open, high: open + 1, low: open - 1, close: open + 0.5, prev_close: open };
      return { symbol, timestamp: start + n * step, ...prices, volume: 100 * s + n, amount: 1000 + n };
    }),
  );
}

/** Lands one more minute of each symbol. */
const landMinute = (lake: Lake): Promise<void> =>
  landRows(lake, BARS_1M, bars(OPENED + (DAYS - 1) * DAY + MINUTES * MINUTE, MINUTE, 1));

/** A lake whose last day has minutes and no daily bar. */
const newMarket = (): Promise<Lake> =>
  fixtureLake(temporaryLake().location, { filledBy: import.meta.url, name: "market" }, fillMarket);

async function fillMarket(lake: Lake): Promise<void> {
  await landRows(lake, BARS_1D, bars(FIRST, DAY, DAYS - 1));
  for (let day = 0; day < DAYS; day++)
    await landRows(lake, BARS_1M, bars(OPENED + day * DAY, MINUTE, MINUTES));
  const facts = { exchange: "SH", region: "CN", type: "stock" };
  await landReference(
    lake,
    INSTRUMENTS,
    SYMBOLS.map((symbol) => ({ symbol, code: symbol.slice(0, 6), name: `N ${symbol}`, ...facts })),
  );
  const ids = ["all", "others", "none"];
  await landReference(
    lake,
    UNIVERSES,
    ids.map((id) => ({ id, name: id, category: "x", symbol_count: 1, region: "CN" })),
  );
  const members = { all: ALL, others: OTHERS };
  await landReference(
    lake,
    UNIVERSE_MEMBERS,
    Object.entries(members).flatMap(([id, symbols]) =>
      symbols.map((symbol) => ({ id, symbol, region: "CN" })),
    ),
  );
}

interface Line {
  readonly facts: { readonly err?: Error; readonly symbols?: number };
  readonly message: string;
}

/** A log, and a promise of the line with which a warm-up ends. */
function newLog() {
  const lines: Line[] = [];
  let end: (line: Line) => void = () => {};
  const ended = new Promise<Line>((resolve) => {
    end = resolve;
  });
  const write = (facts: object, message: string): void => {
    lines.push({ facts, message });
    if (message.includes("warmed up")) end({ facts, message });
  };
  return { lines, ended, logger: { info: write, error: write } };
}

interface Init {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const REQUESTS: readonly [path: string, init?: Init][] = [
  ["/v1/klines/intraday/universe?universes=all"],
  ["/v1/klines/intraday/universe?universes=others,all"],
  ["/v1/klines/intraday/universe?universes=none"],
  ["/v1/klines/intraday/universe?universes=all&count=3"],
  [
    "/v1/klines/intraday/universe?universes=all",
    { headers: { accept: "application/vnd.apache.arrow.stream" } },
  ],
  [`/v1/klines/intraday?symbol=${SYMBOLS[7]}`],
  [`/v1/klines/intraday/batch?symbols=${SYMBOLS[558]},600009.SH,999999.SH&count=2`],
  [`/v1/klines/batch?symbols=${ALL.slice(3, 90).join()}&count=2&adjust=none`],
  ["/v1/quotes?universes=others"],
  [
    "/v1/quotes",
    {
      method: "POST",
      body: JSON.stringify({ universes: ["all"] }),
      headers: { "content-type": "application/json" },
    },
  ],
  [`/v1/quotes?symbols=${[...SYMBOLS].reverse().slice(0, 300).join()}`],
  ["/v1/universes"],
];

/** The status, headers and bytes of each response. */
async function responses(url: string): Promise<readonly unknown[]> {
  return Promise.all(
    REQUESTS.map(async ([path, init]) => {
      const response = await fetch(url + path, { ...init, headers: { "x-api-key": KEY, ...init?.headers } });
      const { headers, status } = response;
      const bytes = Buffer.from(await response.arrayBuffer());
      return [path, status, headers.get("etag"), headers.get("content-type"), bytes.toString("latin1")];
    }),
  );
}

/** Deletes the data files of bars: what is asked for afterwards comes from caches, or fails. */
function removeBars(lake: Lake): void {
  for (const { name } of [BARS_1D, BARS_1M])
    for (const entry of readdirSync(join(lake.location, name)))
      if (entry.startsWith("region=")) rmSync(join(lake.location, name, entry), { recursive: true });
}

describe("responses with a warm-up equal those without one", () => {
  test.each([["from data files"], ["from segments"]])("%s", async (from) => {
    const lake = await newMarket();
    const folder = temporaryFolder();
    const segments = from === "from segments" && { folder };
    if (segments) {
      await using reader = openLake(lake.location, { segments });
      await reader.buildSegments(["bars_1d", "bars_1m"]);
    }
    const cold = await serve(lake, { segments });
    onTestFinished(() => cold.service.close());
    const expected = await responses(cold.service.url);
    expect(expected.map((one) => (one as unknown[])[1])).toEqual(REQUESTS.map(() => 200));
    const { ended, logger } = newLog();
    const warm = await serve(lake, { segments, warmUp: true, logger });
    onTestFinished(() => warm.service.close());
    // While the warm-up reads, and after it.
    expect(await responses(warm.service.url)).toEqual(expected);
    expect(await ended).toMatchObject({ message: "warmed up", facts: { symbols: SYMBOLS.length } });
    expect(await responses(warm.service.url)).toEqual(expected);
  });
});

test("after a warm-up the first minutes and quotes of the universes read no file", async () => {
  const lake = await newMarket();
  const { ended, logger } = newLog();
  const { service, ask, post } = await serve(lake, { segments: false, warmUp: true, logger });
  onTestFinished(() => service.close());
  await ended;
  removeBars(lake);
  for (const id of ["all", "others"]) {
    expect((await ask(`/v1/klines/intraday/universe?universes=${id}`)).status).toBe(200);
    expect((await post("/v1/quotes", { universes: [id] })).status).toBe(200);
  }
  expect((await ask("/v1/klines/intraday/universe?universes=all&count=4")).status).toBe(500);
});

test("a service that is not asked to does not warm up", async () => {
  const now = vi.fn<() => number>(() => NOW);
  const { service } = await serve(await newMarket(), { segments: false, clock: { now } });
  onTestFinished(() => service.close());
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  // Each read begins with the time.
  expect(now).not.toHaveBeenCalled();
});

test("a replay does not warm up", async () => {
  const lake = await newMarket();
  const time = OPENED + (DAYS - 1) * DAY + 2 * MINUTE;
  const { range, regions } = await replayRange(lake, {});
  const clock = new ReplayClock(systemClock, range, { time, speed: 0 });
  const asOf = vi.spyOn(clock, "asOf");
  const replay = { clock, regions, assumesReference: true };
  const { service } = await serve(lake, { segments: false, warmUp: true, replay });
  onTestFinished(() => service.close());
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect(asOf).not.toHaveBeenCalled();
});

test("a warm-up that fails is logged in one line without a key, and the service answers", async () => {
  const lake = await newMarket();
  removeBars(lake);
  const { lines, ended, logger } = newLog();
  const { service, ask } = await serve(lake, {
    segments: false,
    warmUp: true,
    logger,
    keys: plainKeys(["a-secret-key"]),
  });
  onTestFinished(() => service.close());
  const { facts, message } = await ended;
  expect(message).toBe("the service was not warmed up: its first responses take longer");
  expect(facts.err).toBeInstanceOf(Error);
  expect(lines).toHaveLength(1);
  expect(`${JSON.stringify(lines)} ${facts.err?.message}`).not.toContain("secret");
  const headers = { "x-api-key": "a-secret-key" };
  expect((await ask("/v1/universes", { headers })).status).toBe(200);
  expect((await ask("/v1/klines/intraday/universe?universes=none", { headers })).status).toBe(200);
  expect((await ask("/v1/klines/intraday/universe?universes=all", { headers })).status).toBe(500);
});

test("a universe with a blank symbol does not end a warm-up", async () => {
  const { parts, used, universe } = await newReader(await newMarket());
  const current = parts.reader.current.bind(parts.reader);
  parts.reader.current = (reading) => {
    const view = current(reading);
    // The third group of the first universe is the blank alone, which no request may ask for.
    const members = new Map([
      ["odd", [...ALL.slice(0, 550), " "]],
      ["others", OTHERS],
    ]);
    return { ...view, members: async () => members };
  };
  const { ended, logger } = newLog();
  const warming = startWarmUp({ ...parts, logger });
  expect(await ended).toMatchObject({ message: "warmed up", facts: { symbols: 550 + 1 + 10 } });
  await warming[Symbol.asyncDispose]();
  parts.reader.current = current;
  const before = used.count;
  await universe("others");
  expect(used.count).toBe(before);
});

test("closing ends a warm-up at any time, and leaves no handle", async () => {
  const lake = await newMarket();
  const before = process.getActiveResourcesInfo();
  /** The handles that were not there before: those of earlier tests may close meanwhile. */
  const added = (): string[] => {
    const known = [...before];
    return process.getActiveResourcesInfo().filter((kind) => {
      const at = known.indexOf(kind);
      return at < 0 || known.splice(at, 1).length === 0;
    });
  };
  for (const turns of [0, 1, 3, 10, 30, 100, 300, 1000]) {
    const { lines, logger } = newLog();
    const { service } = await serve(lake, { segments: false, warmUp: true, logger });
    for (let turn = 0; turn < turns; turn++) await setImmediate();
    await service.close();
    const messages = lines.map(({ message }) => message);
    expect(messages.filter((message) => message !== "warmed up")).toEqual([]);
    const isDone = messages.length > 0;
    // The test runner uses some turns of the event loop, too.
    for (let turn = 0; turn < 100 && added().length > 0; turn++) await setImmediate();
    expect(added()).toEqual([]);
    // Nothing of it is logged after the end.
    expect(lines).toHaveLength(isDone ? 1 : 0);
  }
});

/** A reader of a lake, and a warm-up with it. */
async function newReader(lake: Lake) {
  const pool = await SessionPool.open(3, {});
  const used = { count: 0 };
  const use: SessionPool["use"] = (run, signal) => {
    used.count += 1;
    return pool.use(run, signal);
  };
  const reader = new LakeReader(lake, { use } as SessionPool, {
    segments: false,
    asOfNow: () => ({ now: NOW, visibleUntil: undefined }),
    pointInTime: {},
  });
  onTestFinished(async () => {
    await reader.close();
    await pool.close();
  });
  const { signal } = new AbortController();
  const view = () =>
    reader.current({ caller: { name: "test" }, signal, acquireMemory: () => Promise.resolve() });
  const handlers = endpointHandlers();
  const parts: WarmUpParts = {
    reader,
    budgets: new MemoryBudgets(),
    requests: { count: 0, none: async () => {} },
    handlers,
  };
  const asked = { query: {}, body: undefined, path: {}, format: "json" as const };
  const text = async (handler: EndpointHandler, own: object): Promise<string> => {
    const response = await handler(view(), { ...asked, ...own });
    return "bytes" in response ? Buffer.from(await response.bytes()).toString() : JSON.stringify(response);
  };
  const universe = async (id = "all"): Promise<readonly string[]> => [
    await text(handlers.intradayUniverse, { query: { universes: id } }),
    await text(handlers.quotes, { body: { universes: [id] } }),
  ];
  return { reader, view, used, handlers, parts, universe };
}

test("a request at the same time shares the reads of a warm-up", async () => {
  const lake = await newMarket();
  const alone = await newReader(lake);
  const expected = await alone.universe("others");
  const together = await newReader(lake);
  // Only the smaller universe, which is one group.
  const members = new Map<string, readonly string[]>([
    ["all", []],
    ["others", OTHERS],
  ]);
  const own = together.reader.current.bind(together.reader);
  together.reader.current = (reading) => {
    const view = own(reading);
    return { ...view, members: async () => members };
  };
  const log = newLog();
  const warming = startWarmUp({ ...together.parts, logger: log.logger });
  expect(await together.universe("others")).toEqual(expected);
  await log.ended;
  expect(together.used.count).toBe(alone.used.count);
  await warming[Symbol.asyncDispose]();
});

test("a commit during a warm-up leads to no stale response", async () => {
  const lake = await newMarket();
  const { parts, handlers, universe, view } = await newReader(lake);
  const before = await universe();
  const steps: string[] = [];
  const { ended, logger } = newLog();
  // Each step reads the version from before the commit, although a request has cached the next one.
  const old = view();
  await Promise.all([BARS_1D, BARS_1M].map((table) => old.version.snapshot(table)));
  await landMinute(lake);
  const fresh = await newReader(lake);
  const after = await fresh.universe();
  expect(after).not.toEqual(before);
  const late =
    (handler: EndpointHandler): EndpointHandler =>
    async (reading, asked) => {
      expect(await universe()).toEqual(after);
      const response = await handler({ ...reading, version: old.version }, asked);
      steps.push("read");
      expect(await universe()).toEqual(after);
      return response;
    };
  const warming = startWarmUp({
    ...parts,
    logger,
    handlers: { intradayBatch: late(handlers.intradayBatch), quotes: late(handlers.quotes) },
  });
  expect((await ended).message).toBe("warmed up");
  expect(steps.length).toBeGreaterThanOrEqual(6);
  expect(await universe()).toEqual(after);
  await warming[Symbol.asyncDispose]();
});

test("the service of a commit during its warm-up answers with it", async () => {
  const lake = await newMarket();
  const { ended, logger } = newLog();
  const warm = await serve(lake, { segments: false, warmUp: true, logger });
  onTestFinished(() => warm.service.close());
  await landMinute(lake);
  const cold = await serve(lake, { segments: false });
  onTestFinished(() => cold.service.close());
  const expected = await responses(cold.service.url);
  expect(await responses(warm.service.url)).toEqual(expected);
  expect((await ended).message).toBe("warmed up");
  expect(await responses(warm.service.url)).toEqual(expected);
});

test("a warm-up builds no segments", async () => {
  const { parts, handlers } = await newReader(await newMarket());
  const builds: boolean[] = [];
  const noted =
    (handler: EndpointHandler): EndpointHandler =>
    (view, asked) => {
      builds.push(view.buildsSegments);
      return handler(view, asked);
    };
  const { ended, logger } = newLog();
  const { intradayBatch, quotes } = handlers;
  startWarmUp({ ...parts, logger, handlers: { intradayBatch: noted(intradayBatch), quotes: noted(quotes) } });
  await ended;
  expect([...new Set(builds)]).toEqual([false]);
});

test("a read waits until no request is in flight, and an end does not wait for that", async () => {
  const lake = await newMarket();
  const { parts, used } = await newReader(lake);
  const { lines, logger } = newLog();
  const waits: AbortSignal[] = [];
  const none = (signal: AbortSignal): Promise<void> => {
    waits.push(signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  };
  const warming = startWarmUp({ ...parts, logger, requests: { count: 1, none } });
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  expect(used.count).toBe(0);
  await warming[Symbol.asyncDispose]();
  expect([waits.length, lines]).toEqual([1, []]);
});
