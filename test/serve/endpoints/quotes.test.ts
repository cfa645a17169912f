import { describe, expect, onTestFinished, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { upsert } from "../../../src/lake/land/upsert.js";
import { BARS_1D, BARS_1M, TRADING_DAYS } from "../../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { quoteTexts } from "../../../src/serve/endpoints/quotes.js";
import { MemoryBudgets } from "../../../src/serve/http/memory-budget.js";
import { readQuoteBars } from "../../../src/serve/klines/quote-bars.js";
import { LakeReader } from "../../../src/serve/read/lake-reader.js";
import { SessionPool } from "../../../src/serve/read/session-pool.js";
import { lakeReads } from "../../../src/serve/stream/read-lake.js";
import {
  KEY,
  type LandedBar,
  landReference,
  landRows,
  listed,
  NOW,
  newLake,
  serveForFile,
  serveForTest,
} from "../served-lake.js";

interface Quote {
  readonly symbol: string;
  readonly region: string;
  readonly session: string;
  readonly last_price: number;
  readonly prev_close: number;
  readonly volume: number;
  readonly timestamp: number;
  readonly ext: Readonly<Record<string, unknown>>;
}
type Body = { readonly data: readonly Quote[] };

const cn = (text: string): number => Date.parse(`${text}+08:00`);
const bar = (symbol: string, timestamp: number, close: number, more: Partial<LandedBar> = {}): LandedBar => ({
  symbol,
  timestamp,
  open: close - 0.5,
  high: close + 1,
  low: close - 1,
  close,
  volume: 20,
  amount: 2000,
  ...more,
});

const served = serveForFile(async (lake) => {
  await landRows(lake, BARS_1D, [
    bar("600000.SH", cn("2024-03-14T00:00"), 9),
    bar("600000.SH", cn("2024-03-15T00:00"), 10, { prev_close: 8 }),
    bar("600001.SH", cn("2024-03-14T00:00"), 20),
    bar("600001.SH", cn("2024-03-15T00:00"), 25),
    bar("600002.SH", cn("2024-03-14T00:00"), 5),
    bar("600003.SH", cn("2024-03-15T00:00"), 5),
    bar("00700.HK", cn("2024-03-15T00:00"), 300, { volume: 12_345 }),
  ]);
  await landRows(lake, BARS_1M, [
    bar("600000.SH", cn("2024-03-15T14:57"), 11),
    bar("600002.SH", cn("2024-03-15T09:31"), 6, { volume: 3 }),
    bar("600002.SH", cn("2024-03-15T09:32"), 7, { volume: 4 }),
  ]);
  await landReference(lake, INSTRUMENTS, [
    listed("600000.SH", { name: "Bank", float_shares: 1e6 }),
    listed("600009.SH"),
  ]);
  await landReference(lake, UNIVERSES, [
    { id: "u", name: "U", category: "x", symbol_count: 2, region: "CN" },
  ]);
  await landReference(
    lake,
    UNIVERSE_MEMBERS,
    ["600001.SH", "600003.SH"].map((symbol) => ({ id: "u", symbol, region: "CN" })),
  );
});

const quotes = async (body: object): Promise<readonly Quote[]> =>
  (await served.post<Body>("/v1/quotes", body)).body.data;

describe("a quote", () => {
  test("of a finished day is its daily bar, timed with its last minute", async () => {
    expect(await quotes({ symbols: ["600000.SH"] })).toEqual([
      {
        symbol: "600000.SH",
        region: "CN",
        session: "closed",
        last_price: 10,
        open: 9.5,
        high: 11,
        low: 9,
        prev_close: 8,
        volume: 20,
        amount: 2000,
        timestamp: cn("2024-03-15T14:57"),
        ext: {
          type: "cn_equity",
          change_amount: 2,
          change_pct: 0.25,
          amplitude: 0.25,
          turnover_rate: 0.002,
          name: "Bank",
        },
      },
    ]);
  });

  test("takes the close before where the exchange states none, and the session's close as its time", async () => {
    const [quote] = await quotes({ symbols: ["600001.SH"] });
    expect(quote).toMatchObject({ last_price: 25, prev_close: 20, timestamp: cn("2024-03-15T15:00") });
    expect(quote?.ext).toEqual({
      type: "cn_equity",
      change_amount: 5,
      change_pct: 0.25,
      amplitude: 0.1,
    });
  });

  test("of a day that has minutes alone is made of them", async () => {
    const [quote] = await quotes({ symbols: ["600002.SH"] });
    expect(quote).toMatchObject({
      open: 5.5,
      high: 8,
      low: 5,
      last_price: 7,
      volume: 7,
      amount: 4000,
      prev_close: 5,
    });
    expect(quote?.timestamp).toBe(cn("2024-03-15T09:32"));
  });

  test("without a session before has no change, and 0 as its previous close", async () => {
    const [quote, hk] = await quotes({ symbols: ["600003.SH", "00700.HK"] });
    expect(quote).toMatchObject({ prev_close: 0, ext: { type: "cn_equity" } });
    expect(quote?.ext).toEqual({ type: "cn_equity" });
    expect(hk).toMatchObject({
      region: "HK",
      volume: 12_345,
      timestamp: cn("2024-03-15T16:00"),
      ext: { type: "hk_equity" },
    });
  });

  test("after a hole of sessions does not take the close before the hole", async () => {
    const days = [bar("600004.SH", cn("2024-03-05T00:00"), 9), bar("600004.SH", cn("2024-03-15T00:00"), 18)];
    const near = [bar("600005.SH", cn("2024-03-05T00:00"), 9), bar("600005.SH", cn("2024-03-06T00:00"), 18)];
    const calendar = ["2024-03-05", "2024-03-06", "2024-03-14", "2024-03-15"];
    const fill = async (own: typeof served.lake): Promise<void> => {
      await landRows(own, BARS_1D, [...days, ...near]);
      using session = await Session.open({ threads: 1 });
      const known = calendar.map((trade_date) => ({ region: "CN", trade_date, source: "index" }));
      await stageObjects(session, "days", TRADING_DAYS.columns, known);
      await upsert(session, own, TRADING_DAYS, "days", { operation: "TEST", runId: "test", now: NOW });
    };
    const { post } = await serveForTest(fill);
    const { data } = (await post<Body>("/v1/quotes", { symbols: ["600004.SH", "600005.SH"] })).body;
    expect(data.map((quote) => quote.prev_close)).toEqual([0, 9]);
  });

  test("has doubles with a fraction, and integers without", async () => {
    const response = await fetch(`${served.service.url}/v1/quotes?symbols=600000.SH`, {
      headers: { "x-api-key": KEY },
    });
    const text = await response.text();
    expect(text).toContain('"last_price":10.0,"open":9.5,"high":11.0');
    expect(text).toContain('"volume":20,"amount":2000.0,"timestamp":1710485820000,');
  });
});

test("symbols and universes are joined; what has no bar is left out", async () => {
  const symbols = async (body: object) => (await quotes(body)).map((quote) => quote.symbol);
  expect(
    await symbols({ symbols: ["600003.SH", "600009.SH", "x", "600000.SH"], universes: ["u", "nope"] }),
  ).toEqual(["600003.SH", "600000.SH", "600001.SH"]);
  expect(await symbols({ universes: ["u"] })).toEqual(["600001.SH", "600003.SH"]);
});

test("one of both is required", async () => {
  for (const [body, message] of [
    [{}, "symbols or universes is required"],
    [{ symbols: [], universes: [] }, "symbols or universes is required"],
    [{ universes: "u" }, "universes is not an array of strings"],
  ] as const) {
    const reply = await served.post("/v1/quotes", body);
    expect([reply.status, reply.body]).toEqual([400, { code: "INVALID_PARAMETER", message }]);
  }
});

test("while the day still runs, its minutes go before its daily bar", async () => {
  let now = cn("2024-03-15T14:30");
  const fill = async (own: typeof served.lake): Promise<void> => {
    await landRows(own, BARS_1D, [
      bar("600000.SH", cn("2024-03-14T00:00"), 9),
      bar("600000.SH", cn("2024-03-15T00:00"), 10, { prev_close: 8 }),
      bar("600001.SH", cn("2024-03-15T00:00"), 30),
    ]);
    await landRows(own, BARS_1M, [bar("600000.SH", cn("2024-03-15T14:29"), 11)]);
  };
  const { post } = await serveForTest(fill, { clock: { now: () => now } });
  const ask = async () => (await post<Body>("/v1/quotes", { symbols: ["600000.SH", "600001.SH"] })).body.data;
  expect(await ask()).toMatchObject([
    { session: "regular", last_price: 11, prev_close: 8, timestamp: cn("2024-03-15T14:29") },
    { last_price: 30, timestamp: now },
  ]);
  now = cn("2024-03-15T17:01");
  expect(await ask()).toMatchObject([
    { session: "closed", last_price: 10, prev_close: 8 },
    { timestamp: cn("2024-03-15T15:00") },
  ]);
});

test("other requests get their turn while many quotes are made; in a replay all are made in one turn", async () => {
  const symbols = Array.from({ length: 1200 }, (_, n) => `${600_000 + n}.SH`);
  const [many, day] = [newLake(), cn("2024-03-15T00:00")];
  onTestFinished(many.remove);
  await landRows(
    many.lake,
    BARS_1D,
    symbols.map((symbol) => bar(symbol, day, 10)),
  );
  const pool = await SessionPool.open(1, { threads: 1 });
  onTestFinished(() => pool.close());
  const options = { asOfNow: () => ({ now: NOW, visibleUntil: undefined }), pointInTime: {} };
  const readLake = lakeReads(
    new LakeReader(many.lake, pool, options),
    new MemoryBudgets(),
    new AbortController().signal,
  );
  let [turn, isEnded] = [0, false];
  const count = (): void => {
    turn += 1;
    if (!isEnded) setImmediate(count);
  };
  setImmediate(count);
  onTestFinished(() => {
    isEnded = true;
  });
  /** The turns of the event loop in which quotes were made. */
  const turnsOf = async (visibleUntil: number | undefined): Promise<number[]> => {
    const turns = new Map<number, number>();
    const made = await readLake(
      (view) =>
        quoteTexts(view, symbols, async (...args) => {
          const barsAt = await readQuoteBars(...args);
          return (index) => {
            turns.set(turn, (turns.get(turn) ?? 0) + 1);
            return barsAt(index);
          };
        }),
      { asOf: { now: NOW, visibleUntil } },
    );
    expect([...made.keys()]).toEqual(symbols);
    return [...turns.values()];
  };
  expect(await turnsOf(NOW)).toEqual([1200]);
  expect(await turnsOf(undefined)).toEqual([500, 500, 200]);
});
