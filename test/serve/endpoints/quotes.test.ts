import { expect, onTestFinished, test } from "vitest";
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
  type LandedBar,
  landReference,
  landRows,
  listed,
  NOW,
  newLake,
  serveForFile,
  serveForTest,
} from "../served-lake.js";
import { goldenResponses } from "./golden-responses.js";

type Body = { readonly data: readonly { readonly prev_close: number }[] };

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

goldenResponses(served, "quotes");

test("after a hole of sessions a quote does not take the close before the hole", async () => {
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
