import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landActions } from "../../../src/lake/land/land-versions.js";
import { finalEnd } from "../../../src/market/sessions.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../../../src/schema/actions.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { BALANCE_SHEET, INCOME, METRICS, SHARES } from "../../../src/schema/statements.js";
import type { KeyRing } from "../../../src/serve/keys/key-ring.js";
import { replayRange } from "../../../src/serve/replay/add-replay.js";
import { ReplayClock } from "../../../src/serve/replay/replay-clock.js";
import { ARROW_STREAM } from "../../../src/wire/media-type.js";
import { fixtureLake } from "../../lake/fixture-lake.js";
import { once } from "../../once.js";
import { pickCases, pickFrom } from "../../sweep.js";
import {
  KEY,
  type LandedBar,
  landFinancials,
  landReference,
  landRows,
  type Served,
  serve,
  serveForTest,
} from "../served-lake.js";
import { handClock } from "../stream/hand-clock.js";
import { openStream } from "../stream/stream-client.js";

const MINUTE = 60_000;
const DATES = ["2026-10-29", "2026-10-30", "2026-11-02", "2026-11-03"];
const SYMBOLS = ["600000.SH", "000001.SZ"];
const at = (text: string): number => Date.parse(`${text}+08:00`);

/** Minutes of each day: two in the morning, two in the afternoon; one of them without a trade. */
const TIMES = ["09:31", "11:30", "13:01", "15:00"];

interface Day {
  readonly daily: LandedBar;
  readonly minutes: readonly LandedBar[];
}

/** The days of a symbol; the second one is an ex-date. */
const daysOf = (symbol: string, number: number): Day[] =>
  DATES.map((date, day) => {
    const minutes = TIMES.map((time, k): LandedBar => {
      const close = 10 + number + day + k / 4;
      const isQuiet = k === 1;
      return {
        symbol,
        timestamp: at(`${date}T${time}`),
        open: isQuiet ? 0 : close - 0.5,
        high: isQuiet ? 0 : close + 1,
        low: isQuiet ? 0 : close - 1,
        close,
        volume: isQuiet ? 0 : 100 + k,
        amount: isQuiet ? 0 : 1000 + k,
      };
    });
    const prev = day === 0 ? null : 10 + number + day - 1 + 0.75;
    const prev_close = day === 1 && prev !== null ? prev / 2 : prev;
    return { daily: { ...dayOf(minutes), timestamp: at(`${date}T00:00`), prev_close }, minutes };
  });

/** The bar of a day, of its minutes: written by hand, as the test of the rule. */
function dayOf(minutes: readonly LandedBar[]): LandedBar {
  const stated = minutes.map((bar) => ({
    ...bar,
    open: bar.open || bar.close,
    high: bar.high || bar.close,
    low: bar.low || bar.close,
  }));
  const [first, last] = [stated[0], stated.at(-1)] as [LandedBar, LandedBar];
  return {
    symbol: first.symbol,
    timestamp: first.timestamp,
    open: first.open,
    high: Math.max(...stated.map(({ high }) => high)),
    low: Math.min(...stated.map(({ low }) => low)),
    close: last.close,
    volume: stated.reduce((sum, { volume }) => sum + Number(volume), 0),
    amount: stated.reduce((sum, { amount }) => sum + amount, 0),
  };
}

const DAYS = SYMBOLS.flatMap((symbol, number) => daysOf(symbol, number));
const SEEN = ["2026-10-28T18:00", "2026-10-30T20:00", "2026-11-02T12:00"].map(at);

/** Fills a lake with what was there at an instant: as it would have been landed by then. */
async function fillUntil(lake: Lake, until: number): Promise<void> {
  const minutes = DAYS.flatMap((day) => day.minutes).filter(({ timestamp }) => timestamp <= until);
  const final = finalEnd("CN", until);
  const daily = DAYS.flatMap(({ daily: bar, minutes: own }) => {
    if (bar.timestamp < final) return [bar];
    const ended = own.filter(({ timestamp }) => timestamp <= until);
    if (ended.length === 0) return [];
    return [{ ...dayOf(ended), timestamp: bar.timestamp, prev_close: bar.prev_close ?? null }];
  });
  if (minutes.length > 0) await landRows(lake, BARS_1M, minutes);
  if (daily.length > 0) await landRows(lake, BARS_1D, daily);
  await tellUntil(lake, until);
  for (const [version, now] of SEEN.entries()) {
    if (now > until) continue;
    const symbols = version === 0 ? SYMBOLS.slice(0, 1) : SYMBOLS;
    const listed = symbols.map((symbol) => ({
      symbol,
      code: symbol.slice(0, 6),
      exchange: symbol.slice(7),
      region: "CN",
      type: "stock",
      name: `name ${version}`,
      float_shares: 1e6 + version,
    }));
    await landReference(lake, INSTRUMENTS, listed, { now });
    await landReference(lake, EXCHANGES, [{ exchange: "SH", region: "CN", count: version + 1 }], { now });
    const universe = { id: "all", name: "All", category: "c", region: "CN", symbol_count: symbols.length };
    await landReference(lake, UNIVERSES, [universe], { now });
    const members = (version === 2 ? symbols.slice(1) : symbols).map((symbol) => ({
      id: "all",
      symbol,
      region: "CN",
    }));
    await landReference(lake, UNIVERSE_MEMBERS, members, { now, complete: "true" });
  }
  const statements = [
    { announce_date: "2026-10-29", seen: at("2026-11-05T00:00"), period_end: "2026-06-30", total_assets: 1 },
    { announce_date: "2026-11-02", seen: at("2026-11-02T13:00"), period_end: "2026-06-30", total_assets: 2 },
    // A restatement with the announcement of the original.
    { announce_date: "2026-11-02", seen: at("2026-11-03T09:45"), period_end: "2026-06-30", total_assets: 4 },
    { announce_date: null, seen: at("2026-11-03T10:00"), period_end: "2026-09-30", total_assets: 3 },
  ];
  for (const { seen: firstSeen, ...row } of statements) {
    const isFirst = row.announce_date !== null && row.total_assets !== 4;
    const announced = isFirst ? at(`${row.announce_date}T00:00`) + 86_400_000 : firstSeen;
    const seen = Math.min(firstSeen, announced);
    if (seen > until) continue;
    const { total_assets, ...own } = { symbol: "600000.SH", ...row };
    await landFinancials(lake, BALANCE_SHEET, [{ ...own, total_assets }], seen);
    await landFinancials(lake, INCOME, [{ ...own, revenue: total_assets }], seen);
    await landFinancials(lake, METRICS, [{ ...own, roe: total_assets }], seen);
    await landFinancials(lake, SHARES, [{ ...own, total_shares: total_assets }], seen);
  }
}

/** What sources say of ex-dates, and when the lake saw it: a dividend that is corrected during a session, and a factor. */
const TOLD = [
  { seen: at("2026-10-29T10:00"), ex_date: "2026-11-02", kind: "cash_dividend", cash: 1 },
  { seen: at("2026-11-02T14:00"), ex_date: "2026-11-02", kind: "cash_dividend", cash: 2 },
  { seen: at("2026-11-03T09:15"), ex_date: "2026-11-03", factor: 1.5 },
];

async function tellUntil(lake: Lake, until: number): Promise<void> {
  using session = await Session.open({ threads: 1 });
  for (const { seen, ...told } of TOLD) {
    if (seen > until) continue;
    const table = "factor" in told ? EX_FACTORS : CORPORATE_ACTIONS;
    const columns = table.columns.filter(({ name }) => name !== "first_seen_at");
    const row = { symbol: SYMBOLS["factor" in told ? 1 : 0], source: "test", region: "CN", ...told };
    await stageObjects(session, "staged", columns, [row]);
    await landActions(session, lake, table, "staged", { operation: "TEST", runId: "told", now: seen });
  }
}

const ALL = SYMBOLS.join();
const PATHS = [
  ...["1m", "5m", "60m", "1d", "1w", "1M", "1Q", "1Y"].map(
    (period) => `/v1/klines/batch?symbols=${ALL}&period=${period}`,
  ),
  ...["none", "backward", "forward_additive"].map(
    (adjust) => `/v1/klines/batch?symbols=${ALL}&adjust=${adjust}`,
  ),
  `/v1/klines/batch?symbols=${ALL}&count=1`,
  `/v1/klines/batch?symbols=${ALL}&start_time=${at("2026-10-30T00:00")}&end_time=${at("2026-11-02T12:00")}&period=1m`,
  "/v1/klines?symbol=600000.SH&adjust=none",
  "/v1/klines?symbol=000001.SZ&period=30m",
  `/v1/klines/ex-factors?symbols=${ALL}`,
  "/v1/klines/intraday?symbol=600000.SH",
  `/v1/klines/intraday/batch?symbols=${ALL}&period=5m`,
  "/v1/klines/intraday/universe?universes=all&count=9",
  `/v1/quotes?symbols=${ALL}`,
  "/v1/quotes?universes=all",
  `/v1/instruments?symbols=${ALL}`,
  `/v1/symbols?symbols=${ALL}`,
  "/v1/universes",
  "/v1/universes/all",
  "/v1/exchanges",
  "/v1/exchanges/SH/instruments",
  ...["balance-sheet", "cash-flow", "income", "metrics", "shares"].map(
    (kind) => `/v1/financials/${kind}?symbols=${ALL}`,
  ),
];
/** Paths whose responses have a form as an Arrow stream, too. */
const TABLE = /klines|instruments|financials/;

/** What an Arrow stream says: all but the versions of the tables, which are those of the lake that is replayed. */
async function arrowOf(url: string): Promise<unknown> {
  const response = await fetch(url, { headers: { "x-api-key": KEY, accept: ARROW_STREAM } });
  if (response.status !== 200) return { status: response.status, body: await response.json() };
  expect(response.headers.get("content-type")).toBe(ARROW_STREAM);
  const { schema, ...table } = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
  const fields = schema.fields.map(String);
  const rows = table.batches.flatMap((batch) =>
    batch.toArray().map((row) => JSON.stringify(row.toJSON(), exactly)),
  );
  return { fields, rows, metadata: [...schema.metadata].filter(([name]) => name !== "versions") };
}

const exactly = (_name: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value);

async function responses({ ask, post, service }: Served): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for (const path of PATHS) {
    const { status, body } = await ask(path);
    found.set(path, { status, body });
    if (TABLE.test(path)) found.set(`${path} as Arrow`, await arrowOf(service.url + path));
  }
  found.set("POST quotes", (await post("/v1/quotes", { universes: ["all"] })).body);
  found.set("POST universes", (await post("/v1/universes/batch", { ids: ["all"] })).body);
  return found;
}

const folder = mkdtempSync(join(tmpdir(), "barlake-replay-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A lake that ends at an instant: the tests only read it. */
function lakeUntil(until: number): Promise<Lake> {
  const filledBy = import.meta.url;
  return fixtureLake(join(folder, String(until)), { filledBy, name: `until ${until}` }, (lake) =>
    fillUntil(lake, until),
  );
}

/** The lake that is replayed. */
let whole: Promise<Lake> | undefined;

/** A service that replays the whole lake; its time does not pass until it is set. */
async function replayed(
  start: number,
  options: {
    readonly speed?: number;
    readonly assume?: boolean;
    readonly callerOf?: KeyRing["callerOf"];
  } = {},
) {
  const clock = handClock(at("2026-12-01T00:00"));
  const lake = await (whole ??= lakeUntil(at("2027-01-01T00:00")));
  const { range, regions } = await replayRange(lake, {});
  const own = new ReplayClock(clock, range, { time: start, speed: options.speed ?? 0 });
  const replay = { clock: own, regions, assumesReference: options.assume ?? false };
  const served = await serve(lake, {
    clock,
    replay,
    ...(options.callerOf === undefined ? {} : { keys: { callerOf: options.callerOf } }),
  });
  onTestFinished(() => served.service.close());
  return { ...served, replay: own, clock };
}

/** In the middle of a day; after that its first minute, the last one of a day that is not final, and the last of all. */
const rareInstants = pickFrom(
  ["2026-11-02T11:30", "2026-10-29T09:31", "2026-11-02T16:59", "2026-11-03T15:00"],
  { few: 1, more: 4, all: 4 },
  [0],
).map(at);
/** Whole minutes of six days, from the first one on. */
const MINUTES = 6 * 1440;
const drawn = pickCases(MINUTES, { few: 0, more: 1, all: 200 }).map(
  (minute) => at("2026-10-29T00:00") + minute * MINUTE,
);

test("every endpoint shows in each form what a lake that ends there shows", async () => {
  const { replay, ...served } = await replayed(at("2026-11-01T00:00"));
  // Backwards and forwards: what was cached of a later time must not be seen.
  for (const now of [...rareInstants, ...drawn]) {
    replay.set({ time: now });
    const shown = await responses(served);
    const cut = await serve(await lakeUntil(now), { clock: { now: () => now } });
    try {
      for (const [path, expected] of await responses(cut)) {
        const where = `${path} at ${new Date(now).toISOString()}`;
        const found = shown.get(path);
        // A table that landed later: the lake that ends before has none, and the replay has no statement of it.
        const isMissing = path.startsWith("/v1/financials/") && statusOf(expected) === 404;
        if (isMissing && statusOf(found) !== 404)
          expect([valuesOf("period_end", found), valuesOf("rows", found)], where).toEqual([[], []]);
        else expect(found, where).toEqual(expected);
      }
    } finally {
      await cut.service.close();
    }
  }
});

/** Instants of the days with bars, most of them within their sessions, each asked for less than everything. */
const instants = pickCases(MINUTES, { few: 1, more: 16, all: 2000 });
const NEWEST = [
  `/v1/klines/batch?symbols=${ALL}&period=1m&count=2`,
  `/v1/klines/batch?symbols=${ALL}&period=60m&count=1`,
  `/v1/klines/batch?symbols=${ALL}&count=1&adjust=none`,
  `/v1/klines/intraday/batch?symbols=${ALL}&count=1`,
  `/v1/quotes?symbols=${ALL}`,
  `/v1/klines/ex-factors?symbols=${ALL}`,
  `/v1/financials/income?symbols=${ALL}`,
];

const statusOf = (response: unknown) => (response as { readonly status: number }).status;

/** Every value of the members with a name, however deep. */
function valuesOf(name: string, value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([own, one]) =>
    own === name ? (Array.isArray(one) ? one : [one]) : valuesOf(name, one),
  );
}

test("nothing is shown that is later than its now", async () => {
  const { ask, replay } = await replayed(at("2026-11-01T00:00"));
  let shown = 0;
  for (const minute of instants) {
    // In the middle of a minute, the minute has not ended.
    const now = at("2026-10-29T00:00") + minute * MINUTE + 30_000;
    if (now >= replay.range.end) continue;
    replay.set({ time: now });
    for (const path of NEWEST) {
      const { body } = await ask(path);
      const times = valuesOf("timestamp", body) as number[];
      const dates = (valuesOf("announce_date", body) as (string | null)[]).flatMap((date) =>
        date === null ? [] : [at(`${date}T00:00`)],
      );
      // The bar of an hour is labelled with the hour's end, also while it forms.
      const latest = path.includes("period=60m") ? now + 60 * MINUTE : now;
      for (const time of [...times, ...dates])
        expect(time, `${path} at ${new Date(now).toISOString()}`).toBeLessThanOrEqual(latest);
      shown += times.length;
    }
  }
  expect(shown).toBeGreaterThan(0);
});

once("time and speed are set by a key that may, and each response says its time", async () => {
  const { ask, post, clock } = await replayed(at("2026-11-02T13:00"), { speed: 60 });
  const quote = async (): Promise<readonly unknown[]> => {
    const { body, headers } = await ask<{ data: { last_price: number }[] }>("/v1/quotes?symbols=600000.SH");
    return [body.data[0]?.last_price, headers.get("x-replay-time")];
  };
  expect(await quote()).toEqual([12.25, "2026-11-02T05:00:00.000Z"]);
  clock.advance(1000);
  expect(await quote()).toEqual([12.5, "2026-11-02T05:01:00.000Z"]);
  const { status, body } = await post("/replay", { time: "2026-11-02T15:00", speed: 0 });
  expect([status, body]).toEqual([
    200,
    {
      data: {
        time: at("2026-11-02T15:00"),
        speed: 0,
        start: at("2026-10-29T00:00"),
        end: at("2026-11-04T00:00"),
      },
    },
  ]);
  clock.advance(60_000);
  expect(await quote()).toEqual([12.75, "2026-11-02T07:00:00.000Z"]);
  for (const wrong of [{}, { time: "2030-01-01" }, { time: "soon" }, { speed: -1 }, { pace: 1 }])
    expect((await post("/replay", wrong)).status).toBe(400);
  expect((await post<{ message: string }>("/replay", { time: "2030-01-01" })).body.message).toBe(
    "time 2029-12-31T16:00:00.000Z is not in the lake, whose bars are from 2026-10-28T16:00:00.000Z to 2026-11-03T16:00:00.000Z",
  );
  expect((await post<{ message: string }>("/replay", { time: "soon" })).body.message).toContain(
    "; write it like 2026-11-20T09:25",
  );
  expect((await ask<{ data: { speed: number } }>("/replay")).body.data.speed).toBe(0);
});

once(
  "a key without the right may not set the time, and a service that does not replay has none",
  async () => {
    const caller = { name: "reader" };
    const { post } = await replayed(at("2026-11-02T13:00"), { callerOf: () => caller });
    expect((await post<{ code: string }>("/replay", { speed: 0 })).body.code).toBe("FORBIDDEN");
    const { ask } = await serveForTest(async () => {});
    expect((await ask("/replay")).status).toBe(404);
  },
);

once("reference data that was seen later is assumed only where that is asked for", async () => {
  const before = at("2026-10-29T00:00");
  const namesOf = async (assume: boolean): Promise<unknown> => {
    const { ask, replay } = await replayed(before, { assume });
    replay.set({ time: before });
    return (await ask<{ data: { symbol: string }[] }>(`/v1/instruments?symbols=${ALL}`)).body.data.map(
      ({ symbol }) => symbol,
    );
  };
  expect(await namesOf(false)).toEqual(["600000.SH"]);
  expect(await namesOf(true)).toEqual(SYMBOLS);
});

once("the stream pushes a quote when the replayed time passes its minute", async () => {
  const { service, clock } = await replayed(at("2026-11-02T13:00"), { speed: 60 });
  const client = await openStream(service.url, `/v1/ws/stream?api_key=${KEY}`);
  onTestFinished(() => client.socket.terminate());
  client.send({ op: "subscribe", channel: "quotes", symbols: ["600000.SH"] });
  expect((await client.next()).total).toBe(1);
  expect((await client.next()).data?.[0]).toMatchObject({ last_price: 12.25 });
  await clock.sleeper();
  clock.advance(1000);
  expect((await client.next()).data?.[0]).toMatchObject({
    last_price: 12.5,
    timestamp: at("2026-11-02T13:01"),
  });
});

once("the stream shows no quote of a time that the replay has left", async () => {
  const { service, replay } = await replayed(at("2026-11-02T13:00"));
  const open = async () => {
    const client = await openStream(service.url, `/v1/ws/stream?api_key=${KEY}`);
    onTestFinished(() => client.socket.terminate());
    client.send({ op: "subscribe", channel: "quotes", symbols: ["600000.SH"] });
    expect((await client.next()).total).toBe(1);
    return client;
  };
  const first = await open();
  expect((await first.next()).data?.[0]).toMatchObject({ last_price: 12.25 });
  // No bar had ended then: there is no quote, and the one of the later time is not shown.
  replay.set({ time: at("2026-10-29T00:00") });
  const second = await open();
  replay.set({ time: at("2026-10-29T09:31") });
  expect((await second.next()).data?.[0]).toMatchObject({ last_price: 10 });
});
