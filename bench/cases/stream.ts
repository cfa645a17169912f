import { join } from "node:path";
import { Session } from "../../src/db/session/session.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { type MarketSpec, writeMarket } from "../lakes/market-lake.js";
import type { Benchmark, Case, Outcome } from "../measure/benchmark.js";
import { temporaryFolder } from "../measure/temporary-folder.js";
import { percentile } from "../serving/http-load.js";
import { openQuotes, type Quote } from "../serving/quote-client.js";
import { type Serving, startServing } from "../serving/serving.js";

const API_KEY = "benchmark-key";
const HEADERS = { "x-api-key": API_KEY, "content-type": "application/json" };
/** A trading day of the market, after which it has no more daily bar. */
const OPENING = Date.parse("2025-01-31T09:31:00+08:00");
const MINUTE_MS = 60_000;

/** How a day is replayed. */
interface ReplaySpec {
  readonly symbols: readonly string[];
  /** Replayed seconds for each second. */
  readonly speed: number;
  /** Minutes of the replay. */
  readonly minutes: number;
}

/** How late the quotes of a replayed day arrive: pushed over a WebSocket, and asked for at the end of each minute. */
export const stream: Benchmark = {
  name: "stream",
  doc: "quotes of a replayed day: pushed by the service, against asked for at the end of each minute",
  shared: true,
  lengthy: true,
  async prepare(size) {
    const full = size === "full";
    const spec = { symbols: full ? 2000 : 40, years: 1, months: 1 };
    const replay = { speed: full ? 60 : 600, minutes: full ? 60 : 5 };
    const folder = temporaryFolder();
    const lake = new Lake(join(folder.path, "lake"));
    await fill(lake, spec);
    const rows = rowCount(await lake.snapshot(BARS_1M));
    const serving = await startServing("replay", lake.location, API_KEY, OPENING);
    const symbols = Array.from({ length: spec.symbols }, (_, s) => `${600_000 + s}.SH`);
    const name = (kind: string): string => `${kind}: ${spec.symbols} symbols at speed ${replay.speed}`;
    const caseOf = (kind: string, work: typeof asked): Case => ({
      name: name(kind),
      baseline: name("asked"),
      run: (timed) => timed(() => work(serving, { ...replay, symbols })),
    });
    return {
      summary: `${spec.symbols} symbols, ${rows} minutes; ${replay.minutes} minutes are replayed`,
      work: {},
      cases: [caseOf("asked", asked), caseOf("pushed", pushed)],
      async close() {
        await serving.close();
        folder[Symbol.dispose]();
      },
    };
  },
};

async function fill(lake: Lake, spec: MarketSpec): Promise<void> {
  using session = await Session.open(writerSpillOptions(lake.work));
  await writeMarket(session, lake, spec);
}

/** Sets the replay to the opening. @returns the real time (performance.now) at which a replayed instant is due. */
async function begin({ url }: Serving, speed: number): Promise<(instant: number) => number> {
  const set = (state: object): Promise<Response> =>
    fetch(`${url}/replay`, { method: "POST", headers: HEADERS, body: JSON.stringify(state) });
  const before = performance.now();
  const response = await set({ time: OPENING, speed });
  if (!response.ok) throw new Error(`the replay was not set: ${await response.text()}`);
  return (instant) => before + (instant - OPENING) / speed;
}

/** The newest quote of each symbol, and how late the quotes came. */
class Arrivals {
  readonly #newest = new Map<string, Quote>();
  readonly #late: number[] = [];
  readonly #last: number;
  readonly #dueAt: (instant: number) => number;

  constructor(dueAt: (instant: number) => number, last: number) {
    this.#dueAt = dueAt;
    this.#last = last;
  }

  /** @returns whether every symbol has its quote of the last minute. */
  take(quotes: readonly Quote[], symbols: number): boolean {
    const now = performance.now();
    for (const quote of quotes) {
      if (quote.timestamp <= OPENING || quote.timestamp > this.#last) continue;
      this.#newest.set(quote.symbol, quote);
      this.#late.push(now - this.#dueAt(quote.timestamp));
    }
    const ended = [...this.#newest.values()].filter(({ timestamp }) => timestamp === this.#last);
    return ended.length === symbols;
  }

  async outcome(serving: Serving, memoryBefore: number): Promise<Outcome> {
    const late = this.#late.toSorted((a, b) => a - b);
    const sum = [...this.#newest.values()].reduce((total, { last_price }) => total + last_price, 0);
    const peak = await serving.peak();
    return {
      checks: { symbols: this.#newest.size, "last prices": sum },
      figures: {
        "p50 ms": percentile(late, 0.5),
        "p99 ms": percentile(late, 0.99),
        quotes: late.length,
        "peak MB": peak / 1e6,
        "growth MB": Math.max(0, peak - memoryBefore) / 1e6,
      },
    };
  }
}

/** Asks for all quotes as soon as a minute is over. */
async function asked(serving: Serving, { symbols, speed, minutes }: ReplaySpec): Promise<Outcome> {
  const body = JSON.stringify({ symbols });
  const ask = async (): Promise<Quote[]> => {
    const response = await fetch(`${serving.url}/v1/quotes`, { method: "POST", headers: HEADERS, body });
    return ((await response.json()) as { data: Quote[] }).data;
  };
  await ask();
  const memoryBefore = await serving.peak();
  const dueAt = await begin(serving, speed);
  const last = OPENING + minutes * MINUTE_MS;
  const arrivals = new Arrivals(dueAt, last);
  for (let minute = OPENING + MINUTE_MS; ; minute += MINUTE_MS) {
    const wait = dueAt(Math.min(minute, last)) - performance.now();
    await new Promise((resolve) => setTimeout(resolve, Math.max(1, wait)));
    if (arrivals.take(await ask(), symbols.length)) break;
    // Past the last minute, the quotes are of later ones.
    if (minute >= last) await fetch(`${serving.url}/replay`, stoppedAt(last));
  }
  return arrivals.outcome(serving, memoryBefore);
}

const stoppedAt = (time: number): RequestInit => ({
  method: "POST",
  headers: HEADERS,
  body: JSON.stringify({ time, speed: 0 }),
});

/** Subscribes to all symbols, and takes what is pushed. */
async function pushed(serving: Serving, { symbols, speed, minutes }: ReplaySpec): Promise<Outcome> {
  await fetch(`${serving.url}/replay`, stoppedAt(OPENING));
  const client = await openQuotes(serving.url, API_KEY);
  try {
    await client.subscribe(symbols);
    const memoryBefore = await serving.peak();
    const dueAt = await begin(serving, speed);
    const last = OPENING + minutes * MINUTE_MS;
    const arrivals = new Arrivals(dueAt, last);
    const stop = setTimeout(
      () => void fetch(`${serving.url}/replay`, stoppedAt(last)),
      dueAt(last) - performance.now() + MINUTE_MS / speed / 2,
    );
    for await (const quotes of client.quotes()) if (arrivals.take(quotes, symbols.length)) break;
    clearTimeout(stop);
    return await arrivals.outcome(serving, memoryBefore);
  } finally {
    client.close();
  }
}
