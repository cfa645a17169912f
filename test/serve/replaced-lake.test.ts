import { cpSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Lake } from "../../src/lake/lake.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { INSTRUMENTS } from "../../src/schema/reference.js";
import type { ServiceOptions } from "../../src/serve/http/service.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { KEY, type LandedBar, landReference, landRows, NOW, serveForTest } from "./served-lake.js";
import { handClock } from "./stream/hand-clock.js";
import { openStream } from "./stream/stream-client.js";

const DAYS = [2, 3, 4, 5, 6].map((day) =>
  Date.parse(`2026-11-${String(day).padStart(2, "0")}T00:00:00+08:00`),
);
const SYMBOL = "600000.SH";
const barOf = (day: number, close: number): LandedBar => ({
  symbol: SYMBOL,
  timestamp: DAYS[day] as number,
  open: close,
  high: close,
  low: close,
  close,
  volume: 100,
  amount: 100 * close,
});

/** Fills a lake with days, one commit each. */
async function fill(lake: Lake, closes: readonly number[], name: string): Promise<void> {
  await landReference(lake, INSTRUMENTS, [
    { symbol: SYMBOL, code: "600000", exchange: "SH", region: "CN", type: "stock", name },
  ]);
  for (const [day, close] of closes.entries()) await landRows(lake, BARS_1D, [barOf(day, close)]);
}

/** A served lake with three days, and what replaces it by another one. */
async function served(options: Partial<ServiceOptions> = {}) {
  const logged: string[] = [];
  const log = (_facts: object, message: string): void => void logged.push(message);
  const the = await serveForTest((lake) => fill(lake, [10, 11, 12], "former"), {
    logger: { info: () => {}, error: log },
    ...options,
  });
  const replace = async (closes: readonly number[]): Promise<void> => {
    const backup = new Lake(join(temporaryFolder(), "lake"));
    await fill(backup, closes, "restored");
    renameSync(the.lake.location, `${the.lake.location}.old`);
    cpSync(backup.location, the.lake.location, { recursive: true });
  };
  return { ...the, logged, replace };
}

const BARS = `/v1/klines?symbol=${SYMBOL}&period=1d&count=10&adjust=none`;
const LISTED = `/v1/instruments?symbols=${SYMBOL}`;

test.each([
  ["fewer", [20, 21]],
  ["as many", [20, 21, 22]],
  ["more", [20, 21, 22, 23, 24]],
])("answers are of the history that replaces a lake, with %s versions", async (_, closes) => {
  const { ask, logged, replace } = await served();
  type Bars = { data: { close: number[] } };
  const [before, listed] = [await ask<Bars>(BARS), await ask(LISTED)];
  expect(before.body.data.close).toEqual([10, 11, 12]);
  expect(JSON.stringify(listed.body)).toContain("former");
  await replace(closes);
  const unlessSame = (etag: string | null) => ({ headers: { "if-none-match": etag ?? "" } });
  const after = await ask<Bars>(BARS, unlessSame(before.headers.get("etag")));
  expect([after.status, after.body?.data.close]).toEqual([200, closes]);
  const now = await ask(LISTED, unlessSame(listed.headers.get("etag")));
  expect([now.status, JSON.stringify(now.body).includes("restored")]).toEqual([200, true]);
  expect(logged.filter((text) => text.includes("table bars_1d: its log was replaced"))).toHaveLength(1);
});

test("a stream gets the quotes of the history that replaces a lake", async () => {
  const clock = handClock(NOW);
  const { service, replace } = await served({ clock });
  const client = await openStream(service.url, `/v1/ws/stream?api_key=${KEY}`);
  client.send({ op: "subscribe", channel: "quotes", symbols: [SYMBOL] });
  await client.next();
  expect((await client.next()).data?.map(({ last_price }) => last_price)).toEqual([12]);
  await replace([20, 21, 22]);
  // The look that finds the tables replaced sends nothing.
  for (let looks = 0; looks < 2; looks++) {
    await clock.sleeper();
    clock.advance(1000);
  }
  expect((await client.next()).data?.map(({ last_price }) => last_price)).toEqual([22]);
  client.socket.terminate();
});
