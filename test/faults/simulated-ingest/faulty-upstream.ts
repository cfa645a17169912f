import type { ServerResponse } from "node:http";
import { DAY_MS } from "../../../src/core/time.js";
import type { LandedPeriod } from "../../../src/market/period.js";
import { integer, mixText, uniform } from "../../../src/sim/random.js";
import { ENDPOINTS, type Endpoint, type EndpointGroup } from "../../../src/wire/endpoints.js";
import { type Counter, slidingWindow } from "../../client/simulated-service.js";
import type { EventClock } from "../event-clock.js";
import {
  cutAfter,
  html,
  json,
  openScripted,
  type ScriptedService,
  type Seen,
  truncated,
} from "../scripted-server.js";
import { type Chronicle, isValid, type Outcome } from "./chronicle.js";
import { FAULTS, type Fault, type Schedule, WRONGS, type Wrong } from "./fault-schedule.js";
import type { StatementTable, TrueMarket } from "./true-market.js";

/** What the service works with. */
export interface UpstreamParts {
  readonly schedule: Schedule;
  readonly life: number;
  readonly market: TrueMarket;
  readonly clock: EventClock;
  readonly chronicle: Chronicle;
  /** Is told of each request that arrives and of each right answer that was sent whole: the process may die of it. */
  readonly passes: (moment: "request" | "answer", when: "before" | "midway" | "after") => void;
}

/** Most requests of the same content, one after the other, that meet one fault. */
const MOST_REPEATS = 6;
/** Requests after a wrong response that are answered rightly. */
const RIGHT_BETWEEN = 9;
/** Pieces of a body that comes slowly. */
const PIECES = 3;
const FORBIDDEN: Readonly<Record<EndpointGroup, string>> = {
  klines: "NO_KLINE_BATCH_PERMISSION",
  intraday: "NO_INTRADAY_BATCH_PERMISSION",
  quotes: "FORBIDDEN",
  reference: "FREE_TIER_RESTRICTED",
  financials: "NO_FINANCIAL_PERMISSION",
};

/** Starts a service on a real socket that tells what is true of a market, as its limits and the schedule's faults let it. */
export async function openUpstream(parts: UpstreamParts): Promise<ScriptedService> {
  const upstream = new Upstream(parts);
  return openScripted((seen, response, index) => void upstream.answer(seen, response, index));
}

/** A class because what it answers depends on what it was asked before. */
class Upstream {
  readonly #parts: UpstreamParts;
  readonly #random: number;
  readonly #counters = new Map<EndpointGroup, Counter>();
  /** Bars of the answer at hand, and times at which it was cut. */
  #bars = 0;
  readonly #cuts = new Set<number>();
  /** Requests that were answered wrongly, and the number of the next one that may be. */
  readonly #wronged = new Set<string>();
  #rightUntil = 0;
  /** Faults that are still to come for a request's content. */
  readonly #pending = new Map<string, { readonly fault: Fault; left: number }>();

  constructor(parts: UpstreamParts) {
    this.#parts = parts;
    this.#random = mixText(parts.schedule.seed, `upstream ${parts.life}`);
  }

  async answer(seen: Seen, response: ServerResponse, index: number): Promise<void> {
    const { clock, passes, chronicle } = this.#parts;
    passes("request", "before");
    const endpoint = endpointOf(seen);
    this.#bars = 0;
    this.#cuts.clear();
    const { outcome, send } = this.#decide(seen, endpoint, index);
    const told = { bars: this.#bars, cuts: this.#cuts.size };
    chronicle.asked({ index, at: clock.now(), endpoint, seen, outcome, ...told });
    passes("request", "after");
    await clock.delay(20 + integer(this.#random, 3 * index, 1500));
    if (isValid(outcome)) passes("answer", "before");
    await send(response);
    if (isValid(outcome)) response.once("close", () => passes("answer", "after"));
  }

  #decide(
    seen: Seen,
    endpoint: Endpoint,
    index: number,
  ): { readonly outcome: Outcome; readonly send: (response: ServerResponse) => void | Promise<void> } {
    const { schedule, clock } = this.#parts;
    const { rateLimit, forbidden, slowRate } = this.#life;
    const { group } = endpoint;
    if (forbidden.includes(group)) return refused("forbidden", 403, FORBIDDEN[group], "the key lacks it");
    const waitMs = this.#counter(group)(clock.now());
    if (waitMs > 0 && rateLimit) return overQuota(waitMs, rateLimit.tells);
    const symbols = symbolsOf(seen);
    if (symbols.length > schedule.symbolLimit) {
      const told = schedule.tellsLimit ? `: at most ${schedule.symbolLimit}` : "";
      return refused("too many", 400, "INVALID_PARAMETER", `too many symbols${told}`);
    }
    const truth = this.#truth(seen, endpoint);
    const body = JSON.stringify(truth);
    const fault = this.#fault(seen, index);
    if (fault !== undefined) return { outcome: fault, send: this.#broken(fault, body, index) };
    const wrong = fault === undefined && group === "klines" ? this.#wrong(seen, index) : undefined;
    if (wrong !== undefined) {
      const text = JSON.stringify({ data: this.#wrongBars(wrong, seen, truth as { data: object }) });
      return { outcome: wrong, send: (response) => json(response, 200, text) };
    }
    if (uniform(this.#random, 3 * index + 1) >= slowRate)
      return { outcome: "answered", send: (response) => json(response, 200, body) };
    return { outcome: "answered", send: (response) => this.#slowly(response, body) };
  }

  get #life() {
    const { schedule, life } = this.#parts;
    return schedule.lives[life] as Schedule["lives"][number];
  }

  #counter(group: EndpointGroup): Counter {
    const known = this.#counters.get(group);
    if (known !== undefined) return known;
    const { rateLimit } = this.#life;
    const counter = rateLimit === undefined ? () => 0 : slidingWindow(rateLimit.perMinute);
    this.#counters.set(group, counter);
    return counter;
  }

  /** The fault of a request, which the next ones of the same content may meet too. */
  #fault({ path, query, body }: Seen, index: number): Fault | undefined {
    const content = `${path}?${query.toString()} ${body}`;
    const pending = this.#pending.get(content);
    if (pending !== undefined && pending.left > 0) {
      pending.left--;
      return pending.fault;
    }
    const key = mixText(this.#random, `fault ${index}`);
    if (uniform(key, 0) >= this.#life.faultRate) return undefined;
    const fault = FAULTS[integer(key, 1, FAULTS.length)] as Fault;
    this.#pending.set(content, { fault, left: integer(key, 2, MOST_REPEATS) });
    return fault;
  }

  /** How a response about K-lines is wrong; the next few are right. */
  #wrong({ path, query }: Seen, index: number): Wrong | undefined {
    const content = `${path}?${query.toString()}`;
    const key = mixText(this.#random, `wrong ${index}`);
    const isDue = index >= this.#rightUntil && !this.#wronged.has(content);
    if (!isDue || uniform(key, 0) >= this.#life.wrongRate) return undefined;
    this.#wronged.add(content);
    this.#rightUntil = index + RIGHT_BETWEEN;
    return WRONGS[integer(key, 1, WRONGS.length)];
  }

  /** What a wrong response holds instead of the truth: the first symbol's bars are not what was asked for. */
  #wrongBars(wrong: Wrong, seen: Seen, { data }: { readonly data: object }): object {
    const { market, clock } = this.#parts;
    const [symbol = ""] = Object.keys(data);
    const { [symbol]: own, ...others } = data as Record<string, object>;
    const period = seen.query.get("period") as LandedPeriod;
    const [first, last] = [Number(seen.query.get("start_time")), Number(seen.query.get("end_time"))];
    const tell = (of: LandedPeriod, start: number, end: number): Record<string, object> => {
      const bars = market.bars(of, symbol, { first: start, last: end, count: 500 }, clock.now());
      // Of a symbol without such bars those of another name are told: it must not just be left out.
      return bars.length > 0 ? Object.fromEntries([inColumns([symbol, bars])]) : { "699999.SH": own ?? {} };
    };
    if (own === undefined) return {};
    switch (wrong) {
      case "empty map":
        return {};
      case "another symbol":
        return { "699999.SH": own, ...others };
      case "another period":
        return { ...tell(period === "1d" ? "1m" : "1d", first, last), ...others };
      case "older window":
        return { ...tell(period, first - 60 * DAY_MS, first - 1), ...others };
    }
  }

  #broken(fault: Fault, body: string, index: number): (response: ServerResponse) => void {
    // From the first byte to the last but one.
    const bytes = integer(this.#random, 3 * index + 2, Buffer.byteLength(body));
    switch (fault) {
      case "reset":
        return (response) => void response.destroy();
      case "cut body":
        return (response) => cutAfter(response, body, bytes);
      case "short body":
        return (response) => truncated(response, body, bytes);
      case "html 200":
        return (response) => html(response, 200);
      case "html 502":
        return (response) => html(response, 502);
      case "error 200":
        return (response) => json(response, 200, { code: "INTERNAL", message: "not well" });
      case "error 500":
        return (response) => json(response, 500, { code: "INTERNAL", message: "not well" });
      case "error 503":
        return (response) => json(response, 503, { code: "OVERLOADED", message: "later" });
    }
  }

  /** Sends a body in pieces, with waits in between. */
  async #slowly(response: ServerResponse, text: string): Promise<void> {
    const { clock, passes } = this.#parts;
    const body = Buffer.from(text);
    response.writeHead(200, { "content-type": "application/json", "content-length": String(body.length) });
    for (let piece = 0; piece < PIECES; piece++) {
      if (piece > 0) await clock.delay(20_000);
      const [from, to] = [piece, piece + 1].map((n) => Math.floor((body.length * n) / PIECES));
      response.write(body.subarray(from, to));
      if (piece === 0) passes("answer", "midway");
    }
    response.end();
  }

  #truth(seen: Seen, endpoint: Endpoint): object {
    const { market, clock } = this.#parts;
    const now = clock.now();
    switch (endpoint) {
      case ENDPOINTS.klinesBatch: {
        const period = seen.query.get("period") as LandedPeriod;
        // What is left out counts as the interface says: without a count the newest hundred.
        const count = Math.min(Number(seen.query.get("count") ?? 100), this.#life.rowCap[period]);
        const [first, last] = ["start_time", "end_time"].map((name) =>
          Number(seen.query.get(name) ?? Number.NaN),
        );
        const window = { first: first as number, last: last as number, count };
        const told = symbolsOf(seen).map(
          (symbol) => [symbol, market.bars(period, symbol, window, now)] as const,
        );
        for (const [, bars] of told) {
          this.#bars += bars.length;
          if (bars.length === count) this.#cuts.add(bars[0]?.timestamp ?? 0);
        }
        return { data: Object.fromEntries(told.filter(([, bars]) => bars.length > 0).map(inColumns)) };
      }
      case ENDPOINTS.intradayUniverse: {
        const days = market.daysOf("CN").filter((day) => day.open <= now);
        const { start: first, end } = days.at(-1) ?? { start: now, end: now };
        const count = Number(seen.query.get("count") ?? 2);
        const members = (seen.query.get("universes") ?? "")
          .split(",")
          .flatMap((id) => market.members(id, now));
        const told = members.map(
          (symbol) => [symbol, market.bars("1m", symbol, { first, last: end, count }, now)] as const,
        );
        return { data: Object.fromEntries(told.filter(([, bars]) => bars.length > 0).map(inColumns)) };
      }
      case ENDPOINTS.balanceSheet:
        return { data: this.#statements("balance_sheet", seen) };
      case ENDPOINTS.cashFlow:
        return { data: this.#statements("cash_flow", seen) };
      case ENDPOINTS.exchanges:
        return {
          data: EXCHANGES.map((one) => ({ ...one, count: market.instruments(one.exchange, now).length })),
        };
      case ENDPOINTS.exchangeInstruments: {
        const exchange = seen.path.split("/")[3] as string;
        const data = market.instruments(exchange, now);
        return { count: data.length, exchange, data };
      }
      case ENDPOINTS.universes:
        return { data: market.universes.map((id) => this.#universe(id)) };
      case ENDPOINTS.universesBatch: {
        const { ids } = JSON.parse(seen.body) as { ids: string[] };
        const told = ids.map((id) => [id, { ...this.#universe(id), symbols: market.members(id, now) }]);
        return { data: Object.fromEntries(told) };
      }
      default:
        throw new TypeError(`nobody was to ask for ${seen.path}`);
    }
  }

  #statements(table: StatementTable, seen: Seen): object {
    const { market, clock } = this.#parts;
    const told = symbolsOf(seen).map((symbol) => [symbol, market.statements(table, symbol, clock.now())]);
    return Object.fromEntries(told.filter(([, records]) => records !== undefined));
  }

  #universe(id: string): Record<string, unknown> {
    const { market, clock } = this.#parts;
    const symbol_count = market.members(id, clock.now()).length;
    return { id, name: id.toLowerCase(), category: "test", region: "CN", symbol_count };
  }
}

const EXCHANGES = [
  { exchange: "SH", region: "CN" },
  { exchange: "SZ", region: "CN" },
  { exchange: "US", region: "US" },
];

function endpointOf({ method, path }: Seen): Endpoint {
  const found = Object.values(ENDPOINTS).find((endpoint) => {
    const pattern = new RegExp(`^${endpoint.path.replace(/:[a-z]+/, "[A-Z]+")}$`);
    return endpoint.method === method && pattern.test(path);
  });
  if (found === undefined) throw new TypeError(`nobody was to ask for ${method} ${path}`);
  return found;
}

function symbolsOf({ query }: Seen): string[] {
  return query.get("symbols")?.split(",") ?? [];
}

function inColumns([symbol, bars]: readonly [string, ReturnType<TrueMarket["bars"]>]): [string, object] {
  const names = Object.keys(bars[0] ?? {}) as (keyof (typeof bars)[number])[];
  const columns = names.map((name) => [name, bars.map((bar) => bar[name])] as const);
  return [symbol, Object.fromEntries(columns.filter(([, values]) => values[0] !== undefined))];
}

function refused(outcome: Outcome, status: number, code: string, message: string) {
  return { outcome, send: (response: ServerResponse) => json(response, status, { code, message }) };
}

function overQuota(waitMs: number, tells: "header" | "text" | "nothing") {
  const header: Record<string, string> =
    tells === "header" ? { "retry-after": String(Math.ceil(waitMs / 1000)) } : {};
  const message = tells === "text" ? `slow down: try again in ${Math.ceil(waitMs)}ms` : "slow down";
  const send = (response: ServerResponse): void =>
    json(response, 429, { code: "RATE_LIMITED", message }, header);
  return { outcome: "over quota" as const, send };
}
