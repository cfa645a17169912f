import type { ServerResponse } from "node:http";
import type { LandedPeriod } from "../../../../src/market/period.js";
import type { Region } from "../../../../src/market/regions.js";
import { regionOf } from "../../../../src/market/symbol.js";
import { integer, mixText, uniform } from "../../../../src/sim/random.js";
import { ENDPOINTS, type Endpoint, type EndpointGroup } from "../../../../src/wire/endpoints.js";
import type { EventClock } from "../../clock/event-clock.js";
import { json, openScripted, type ScriptedService, type Seen } from "../../service/scripted-server.js";
import { type Chronicle, isValid, type Outcome } from "../chronicle.js";
import { ENDLESS, type Endless, FAULTS, type Fault, MISSING_DAY, type Schedule } from "../fault-schedule.js";
import type { SymbolTime } from "../findings/symbol-time.js";
import { sendBroken, sendEndlessly, sendSlowly } from "./broken-responses.js";
import type { TrueDay } from "./market-shape.js";
import { type OthersOutcome, sharedQuota } from "./other-users.js";
import type { StatementTable, TrueMarket } from "./true-market.js";
import { inColumns, type Klines, type ReturnedBars, WrongResponses, wrongBars } from "./wrong-responses.js";

/** The parts that the service works with. */
export interface UpstreamParts {
  readonly schedule: Schedule;
  readonly life: number;
  readonly market: TrueMarket;
  readonly clock: EventClock;
  readonly chronicle: Chronicle;
  /** Called for each request and each correct response that was sent completely: the process may die there. */
  readonly passes: (step: "request" | "response", when: "before" | "midway" | "after") => void;
  /** Runs another engine's changes that are due when a request arrives. */
  readonly intrude: (index: number) => Promise<void>;
}

/** The content of a K-line response. */
interface Returned {
  readonly bars: number;
  /** Number of times it was cut. */
  readonly cuts: number;
  readonly leftOut: SymbolTime | undefined;
}
const NOTHING: Returned = { bars: 0, cuts: 0, leftOut: undefined };

/** The service's decision about a request. */
interface Decision {
  readonly outcome: Outcome;
  readonly send: (response: ServerResponse) => void | Promise<void>;
  readonly leftOut?: SymbolTime | undefined;
}

/** Maximum number of consecutive requests of the same content that meet one fault. */
const MOST_REPEATS = 6;
const FORBIDDEN: Readonly<Record<EndpointGroup, string>> = {
  klines: "NO_KLINE_BATCH_PERMISSION",
  intraday: "NO_INTRADAY_BATCH_PERMISSION",
  quotes: "FORBIDDEN",
  reference: "FREE_TIER_RESTRICTED",
  financials: "NO_FINANCIAL_PERMISSION",
};

/** Starts a service on a real socket that serves the truth of a market, within its limits and the schedule's faults. */
export async function openUpstream(parts: UpstreamParts): Promise<ScriptedService> {
  const upstream = new Upstream(parts);
  return openScripted((seen, response, index) => void upstream.answer(seen, response, index));
}

/** A class because its responses depend on earlier requests. */
class Upstream {
  readonly #parts: UpstreamParts;
  readonly #random: number;
  readonly #counters = new Map<EndpointGroup, ReturnType<typeof sharedQuota>>();
  readonly #wrongs: WrongResponses;
  readonly #began: number;
  /** The content of the current response. */
  #returned: Returned = NOTHING;
  /** Remaining faults for a request's content. */
  readonly #pending = new Map<string, { readonly fault: Fault; left: number }>();

  constructor(parts: UpstreamParts) {
    this.#parts = parts;
    this.#random = mixText(parts.schedule.seed, `upstream ${parts.life}`);
    this.#wrongs = new WrongResponses(this.#random, this.#life);
    this.#began = parts.clock.now();
  }

  async answer(seen: Seen, response: ServerResponse, index: number): Promise<void> {
    const { clock, passes, chronicle, intrude } = this.#parts;
    passes("request", "before");
    await intrude(index);
    const endpoint = endpointOf(seen);
    this.#returned = NOTHING;
    const { outcome, send, leftOut } = this.#decide(seen, endpoint, index);
    const { bars, cuts } = this.#returned;
    chronicle.asked({ index, at: clock.now(), endpoint, seen, outcome, bars, cuts, leftOut });
    passes("request", "after");
    await clock.delay(20 + integer(this.#random, 3 * index, 1500));
    if (isValid(outcome)) passes("response", "before");
    await send(response);
    if (isValid(outcome)) response.once("close", () => passes("response", "after"));
  }

  #decide(seen: Seen, endpoint: Endpoint, index: number): Decision {
    const { schedule, clock, market, passes } = this.#parts;
    const { forbidden, slowRate } = this.#life;
    const { group } = endpoint;
    if (forbidden.includes(group)) return refused("forbidden", 403, FORBIDDEN[group], "the key lacks it");
    const refusal = this.#refusal(group);
    if (refusal !== undefined) return refusal;
    const symbols = symbolsOf(seen);
    if (symbols.length > schedule.symbolLimit) {
      const limit = schedule.tellsLimit ? `: at most ${schedule.symbolLimit}` : "";
      return refused("too many", 400, "INVALID_PARAMETER", `too many symbols${limit}`);
    }
    const truth = this.#truth(seen, endpoint, index);
    const body = JSON.stringify(truth);
    const fault = this.#fault(seen, index);
    if (fault !== undefined) {
      // From the first byte to the last but one.
      const bytes = integer(this.#random, 3 * index + 2, Buffer.byteLength(body));
      return { outcome: fault, send: (response) => sendBroken(response, fault, body, bytes) };
    }
    const endless = this.#endless(index);
    if (endless !== undefined)
      return { outcome: endless, send: (response) => sendEndlessly(response, endless, body, clock) };
    const { leftOut } = this.#returned;
    const wrong = group === "klines" ? this.#wrongs.kindOf(seen, index) : undefined;
    if (wrong !== undefined) {
      const facts = { market, now: clock.now(), truth: (truth as { data: Klines }).data };
      const text = JSON.stringify({ data: wrongBars(wrong, seen, facts) });
      return { outcome: wrong, leftOut, send: (response) => json(response, 200, text) };
    }
    const isSlow = uniform(this.#random, 3 * index + 1) < slowRate;
    const onPiece = (): void => passes("response", "midway");
    return {
      outcome: leftOut === undefined ? (isSlow ? "answered slowly" : "answered") : MISSING_DAY,
      leftOut,
      send: (response) => (isSlow ? sendSlowly(response, body, clock, onPiece) : json(response, 200, body)),
    };
  }

  get #life() {
    const { schedule, life } = this.#parts;
    return schedule.lives[life] as Schedule["lives"][number];
  }

  /** The refusal of a request that exceeds the quota. */
  #refusal(group: EndpointGroup): Decision | undefined {
    const { rateLimit, others } = this.#life;
    if (rateLimit === undefined) return undefined;
    let counter = this.#counters.get(group);
    counter ??= sharedQuota(rateLimit.perMinute, others, this.#began);
    this.#counters.set(group, counter);
    const { waitMs, isOthers } = counter(this.#parts.clock.now());
    if (waitMs === 0) return undefined;
    const { waitIn } = rateLimit;
    const byOthers: OthersOutcome =
      waitIn === "nothing" ? "quota used by others, without a wait" : "quota used by others, with a wait";
    return overQuota(isOthers ? byOthers : "over quota", waitMs, waitIn);
  }

  /** The fault of a request, which the next requests of the same content may meet, too. */
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

  /** The kind of endless body that a request gets. */
  #endless(index: number): Endless | undefined {
    const key = mixText(this.#random, `endless ${index}`);
    if (uniform(key, 0) >= this.#life.endlessRate) return undefined;
    return ENDLESS[integer(key, 1, ENDLESS.length)];
  }

  #truth(seen: Seen, endpoint: Endpoint, index: number): object {
    const { market, clock } = this.#parts;
    const now = clock.now();
    switch (endpoint) {
      case ENDPOINTS.klinesBatch: {
        const period = seen.query.get("period") as LandedPeriod;
        return { data: inColumns(this.#klines(seen, period, index)) };
      }
      case ENDPOINTS.intradayUniverse: {
        const days = market.daysOf("CN").filter((day) => day.open <= now);
        const { start: first, end } = days.at(-1) ?? { start: now, end: now };
        const count = Number(seen.query.get("count") ?? 2);
        const members = (seen.query.get("universes") ?? "")
          .split(",")
          .flatMap((id) => market.members(id, now));
        const returned = members.map(
          (symbol) => [symbol, market.bars("1m", symbol, { first, last: end, count }, now)] as const,
        );
        return { data: inColumns(returned) };
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
        const returned = ids.map((id) => [id, { ...this.#universe(id), symbols: market.members(id, now) }]);
        return { data: Object.fromEntries(returned) };
      }
      default:
        throw new TypeError(`nobody was to ask for ${seen.path}`);
    }
  }

  /** The requested bars, without a day that is left out. */
  #klines(seen: Seen, period: LandedPeriod, index: number): ReturnedBars {
    const { market, clock } = this.#parts;
    const now = clock.now();
    // Bars are left out by the rules of the interface: without a count, the newest hundred are returned.
    const count = Math.min(Number(seen.query.get("count") ?? 100), this.#life.rowCap[period]);
    const [first, last] = ["start_time", "end_time"].map((name) =>
      Number(seen.query.get(name) ?? Number.NaN),
    );
    const barsOf = (without?: SymbolTime): ReturnedBars =>
      symbolsOf(seen).map((symbol) => {
        const window = { first: first as number, last: last as number, count };
        const own = symbol === without?.symbol ? { ...window, without } : window;
        return [symbol, market.bars(period, symbol, own, now)] as const;
      });
    const whole = barsOf();
    const daysOf = (symbol: string): readonly TrueDay[] => market.daysOf(regionOf(symbol) as Region);
    const leftOut = this.#wrongs.missingDay(whole, daysOf, index);
    const returned = leftOut === undefined ? whole : barsOf(leftOut);
    const cuts = returned.filter(([, bars]) => bars.length === count);
    this.#returned = {
      bars: returned.reduce((sum, [, bars]) => sum + bars.length, 0),
      cuts: new Set(cuts.map(([, bars]) => bars[0]?.timestamp ?? 0)).size,
      leftOut,
    };
    return returned;
  }

  #statements(table: StatementTable, seen: Seen): object {
    const { market, clock } = this.#parts;
    const returned = symbolsOf(seen).map((symbol) => [symbol, market.statements(table, symbol, clock.now())]);
    return Object.fromEntries(returned.filter(([, records]) => records !== undefined));
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

function refused(outcome: Outcome, status: number, code: string, message: string): Decision {
  return { outcome, send: (response: ServerResponse) => json(response, status, { code, message }) };
}

function overQuota(outcome: Outcome, waitMs: number, waitIn: "header" | "text" | "nothing"): Decision {
  const header: Record<string, string> =
    waitIn === "header" ? { "retry-after": String(Math.ceil(waitMs / 1000)) } : {};
  const message = waitIn === "text" ? `slow down: try again in ${Math.ceil(waitMs)}ms` : "slow down";
  const send = (response: ServerResponse): void =>
    json(response, 429, { code: "RATE_LIMITED", message }, header);
  return { outcome, send };
}
