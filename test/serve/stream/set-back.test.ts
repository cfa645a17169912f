import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { TradingDate } from "../../../src/core/time.js";
import type { Lake } from "../../../src/lake/lake.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { quoteTexts } from "../../../src/serve/endpoints/quotes.js";
import { MemoryBudgets } from "../../../src/serve/http/memory-budget.js";
import { plainKeys } from "../../../src/serve/keys/key-ring.js";
import { LakeReader } from "../../../src/serve/read/lake-reader.js";
import { SessionPool } from "../../../src/serve/read/session-pool.js";
import { ReplayClock } from "../../../src/serve/replay/replay-clock.js";
import { streamOptions } from "../../../src/serve/stream/add-stream.js";
import { QuoteHub } from "../../../src/serve/stream/quote-hub.js";
import { QuoteStream } from "../../../src/serve/stream/quote-stream.js";
import { lakeReads } from "../../../src/serve/stream/read-lake.js";
import { once } from "../../once.js";
import { pickCases } from "../../sweep.js";
import { KEY, landRows, newLake } from "../served-lake.js";
import { handClock } from "./hand-clock.js";
import { HeldSocket, openHeld } from "./held-socket.js";

const at = (text: string): number => Date.parse(`2026-11-02T${text}+08:00`);
/** More than the hub makes quotes of at once. */
const SYMBOLS = Array.from({ length: 1100 }, (_, k) => `${600_000 + k}.SH`);
const MINUTES = ["09:31", "09:32", "09:33", "09:34", "09:35"];

interface Quote {
  readonly symbol: string;
  readonly timestamp: number;
}

let lake: Lake;
let removeLake: () => void;
let pool: SessionPool;
beforeAll(async () => {
  ({ lake, remove: removeLake } = newLake());
  const bars = MINUTES.flatMap((minute, k) =>
    SYMBOLS.map((symbol) => {
      const [timestamp, price] = [at(minute), 10 + k];
      return { symbol, timestamp, open: price, high: price, low: price, close: price, volume: 1, amount: 1 };
    }),
  );
  await landRows(lake, BARS_1M, bars);
  pool = await SessionPool.open(2, { threads: 1 });
});
afterAll(async () => {
  await pool.close();
  removeLake();
});

/** A hub over a lake that is replayed. It looks at the lake when the test says so. */
function replayed(time: number) {
  const clock = handClock(at("23:00"));
  const range = { start: at("00:00"), end: at("24:00") };
  const replay = new ReplayClock(clock, range, { time, speed: 1 });
  const reader = new LakeReader(lake, pool, { asOfNow: () => replay.asOf(), pointInTime: {} });
  const keys = plainKeys([KEY]);
  const faults: unknown[] = [];
  const sleepers: (() => void)[] = [];
  const hub = new QuoteHub({
    ...streamOptions({
      keys,
      clock,
      replay: { clock: replay, regions: new Map([["CN", "2026-11-02" as TradingDate]]) },
    }),
    reader,
    budgets: new MemoryBudgets(),
    nextChange: (signal) =>
      new Promise((resolve, reject) => {
        sleepers.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      }),
    callerOf: ({ caller }) => caller,
    takeQuota: async () => {},
    onFault: (fault) => faults.push(fault),
  });
  onTestFinished(async () => {
    hub.close(1001, "the test ends");
    await hub.idle();
  });
  /** Lets the hub look at the lake, and waits until it is done and waits again. */
  const look = async (): Promise<void> => {
    await until(() => sleepers.length > 0);
    sleepers.pop()?.();
    await until(() => sleepers.length > 0);
  };
  const late: Quote[] = [];
  const open = async () => {
    const socket = new HeldSocket();
    const latest = new Map<string, string>();
    const client = { socket, latest, subscribed: 0, onQuotes: (): void => {} };
    socket.onText = (text) => {
      const { op, data = [] } = JSON.parse(text) as { op: string; data?: Quote[] };
      if (op === "subscribed") client.subscribed += 1;
      late.push(...data.filter(({ timestamp }) => timestamp > replay.now()));
      for (const quote of data) latest.set(quote.symbol, JSON.stringify(quote));
      if (data.length > 0) client.onQuotes();
    };
    const options = { caller: { name: "test" }, path: "/v1/ws/stream", clock } as const;
    hub.add(new QuoteStream(await openHeld(socket), options, hub.carry, (fault) => faults.push(fault)));
    return client;
  };
  const read = lakeReads(reader, new MemoryBudgets(), new AbortController().signal);
  /** The quotes of some symbols as a request gets them now. */
  const current = async (symbols: readonly string[]): Promise<Map<string, string>> =>
    new Map(
      [...(await read((view) => quoteTexts(view, symbols)))].map(([symbol, quote]) => [
        symbol,
        JSON.stringify(JSON.parse(quote)),
      ]),
    );
  return { replay, clock, hub, look, open, late, faults, current };
}

const subscribe = (symbols: readonly string[], op = "subscribe") => ({ op, channel: "quotes", symbols });

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

once("what a slow client has not been sent is dropped when the replay is set back", async () => {
  const { replay, look, open, late, faults, current } = replayed(at("09:33"));
  const [quick, slow] = [await open(), await open()];
  const symbols = SYMBOLS.slice(0, 500);
  slow.socket.hold();
  for (const { socket } of [quick, slow]) socket.say(subscribe(symbols));
  await until(() => quick.latest.size === symbols.length && slow.subscribed === 1);
  // Nothing but the reply has left: the quotes wait.
  await look();
  expect(slow.latest.size).toBe(0);
  replay.set({ time: at("09:31") });
  slow.socket.takeAll();
  await look();
  await until(() => slow.latest.size === symbols.length);
  expect(late).toEqual([]);
  const now = await current(symbols);
  expect([slow.latest, quick.latest]).toEqual([now, now]);
  expect(faults).toEqual([]);
});

once("a replay that is set back between two blocks of quotes takes the first block back", async () => {
  const { replay, look, open, late, current } = replayed(at("09:32"));
  const client = await open();
  for (const some of [SYMBOLS.slice(0, 600), SYMBOLS.slice(600)]) client.socket.say(subscribe(some));
  await until(() => client.latest.size === SYMBOLS.length);
  await look();
  replay.set({ time: at("09:33") });
  client.onQuotes = () => {
    client.onQuotes = () => {};
    replay.set({ time: at("09:32") });
  };
  await look();
  await look();
  expect(client.latest).toEqual(await current(SYMBOLS));
  expect(late).toEqual([]);
});

test("any order of times, subscriptions and slow clients shows nothing later than its now, and ends with the quotes of its now", async () => {
  let quotes = 0;
  for (const seed of pickCases(1000, { few: 4, all: 1000 })) {
    const draw = numbersOf(seed);
    const { replay, clock, look, open, late, faults, current } = replayed(at("09:33"));
    const clients = [await open(), await open(), await open()];
    const wanted = clients.map(() => new Set<string>());
    const commands = clients.map(() => 0);
    for (let step = 0; step < 25; step++) {
      const k = draw(clients.length);
      const { socket } = clients[k] as (typeof clients)[0];
      const some = SYMBOLS.slice(draw(4) * 10, 10 + draw(8) * 10);
      const minute = at(MINUTES[draw(MINUTES.length)] as string) + draw(60_000);
      const acts: (() => unknown)[] = [
        () => replay.set({ time: minute }),
        () => replay.set({ time: minute }),
        () => replay.set({ speed: draw(100) }),
        () => clock.advance(draw(3000)),
        () => socket.hold(),
        () => socket.takeAll(),
        () => void look(),
        () => {
          if (some.length === 0) return;
          const op = draw(4) === 0 ? "unsubscribe" : "subscribe";
          socket.say(subscribe(some, op));
          commands[k] = (commands[k] as number) + 1;
          for (const symbol of some)
            if (op === "subscribe") wanted[k]?.add(symbol);
            else wanted[k]?.delete(symbol);
        },
      ];
      await acts[draw(acts.length)]?.();
      for (let turns = draw(6); turns > 0; turns--) await setImmediate();
    }
    for (const { socket } of clients) socket.takeAll();
    replay.set({ time: at(MINUTES[draw(MINUTES.length)] as string), speed: 0 });
    await until(() => clients.every(({ subscribed }, k) => subscribed === commands[k]));
    await look();
    await look();
    expect([late, faults], `seed ${seed}`).toEqual([[], []]);
    for (const [k, { latest }] of clients.entries()) {
      const symbols = [...(wanted[k] as Set<string>)];
      const shown = new Map(symbols.map((symbol) => [symbol, latest.get(symbol)]));
      expect(shown, `seed ${seed}, client ${k}`).toEqual(await current(symbols));
      quotes += symbols.length;
    }
  }
  expect(quotes).toBeGreaterThan(0);
});

/** Random whole numbers below a bound. */
function numbersOf(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
