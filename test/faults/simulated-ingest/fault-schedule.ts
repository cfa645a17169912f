import { DAY_MS, MINUTE_MS } from "../../../src/core/time.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { mixText } from "../../../src/sim/random.js";
import type { EndpointGroup } from "../../../src/wire/endpoints.js";
import { type Draws, drawsOf } from "./draws.js";
import { ACTS, type Act, INTRUSIONS } from "./foreign-writer.js";
import type { MarketShape } from "./upstream/market-shape.js";
import type { OtherUsers } from "./upstream/other-users.js";
import { TrueMarket } from "./upstream/true-market.js";

/** Faults that a request may meet instead of a correct response. */
export const FAULTS = [
  "reset",
  "cut body",
  "short body",
  "html 200",
  "html 502",
  "error 200",
  "error 500",
  "error 503",
] as const;
export type Fault = (typeof FAULTS)[number];

/** Endless bodies: too slow, fast enough but without an end, and larger than any response. */
export const ENDLESS = ["trickle", "endless body", "flood"] as const;
export type Endless = (typeof ENDLESS)[number];

/** Responses that are valid but wrong: only their content differs from that of a correct response. */
export const WRONGS = ["empty map", "another symbol", "another period", "older window"] as const;
/** A response that looks correct: a symbol has no bars on a day between two days with bars. */
export const MISSING_DAY = "missing day";
export type Wrong = (typeof WRONGS)[number] | typeof MISSING_DAY;

/** When a process dies: at the n-th event of a kind, from 1; before it, during it or after it. */
export interface Kill {
  readonly at: "request" | "response" | "keep" | "commit" | "file" | "statement";
  readonly nth: number;
  readonly when: "before" | "midway" | "after";
}

/** How the service counts requests, and where it states the waiting time. */
export interface RateLimit {
  readonly perMinute: number;
  readonly waitIn: "header" | "text" | "nothing";
}

/** A further run of the pipelines, in the same process and with the same open lake. */
export interface Round {
  /** Time since the previous round, in milliseconds. */
  readonly gapMs: number;
  /** Another engine's changes to the lake just before. */
  readonly acts: readonly Act[];
}

/** Another engine's change to the lake when a request arrives; requests are counted from 0 in a life. */
export interface Intrusion {
  readonly atRequest: number;
  readonly act: Act;
}

/** One process that runs the pipelines, and the service's faults during it. */
export interface Life {
  /** Time since the end of the previous life, in milliseconds. */
  readonly gapMs: number;
  /** Share of the requests that meet a fault. */
  readonly faultRate: number;
  /** Share of the bodies that are sent slowly. */
  readonly slowRate: number;
  readonly rateLimit: RateLimit | undefined;
  /** Groups of endpoints that the key has no permission for. */
  readonly forbidden: readonly EndpointGroup[];
  readonly kill: Kill | undefined;
  /** Share of the K-line responses that are valid but wrong. */
  readonly wrongRate: number;
  /** Share of the correct K-line responses in which a symbol lacks a day. */
  readonly missingDayRate: number;
  /** Share of the requests whose body does not end. */
  readonly endlessRate: number;
  /** Other users of the key: only if there is a limit. */
  readonly others: OtherUsers | undefined;
  /** The runs after the first. */
  readonly rounds: readonly Round[];
  readonly intrusions: readonly Intrusion[];
  /** Name of the key: caps differ by key. */
  readonly key: string;
  /** Maximum number of bars of one symbol in one response. */
  readonly rowCap: Readonly<Record<"1d" | "1m", number>>;
}

/** Faults that are drawn separately: the rest of a schedule does not depend on them. */
type OwnDraws = "missingDayRate" | "endlessRate" | "others" | "rounds" | "intrusions";

/** A whole schedule: a market, a service with its limits, and processes one after the other. */
export interface Schedule {
  readonly seed: number;
  readonly market: MarketShape;
  /** Maximum number of symbols per request, and whether a refusal states the number. */
  readonly symbolLimit: number;
  readonly tellsLimit: boolean;
  readonly pipelines: readonly PipelineDefinition[];
  /** When the first life begins, in epoch milliseconds. */
  readonly start: number;
  /** The last life is undisturbed. */
  readonly lives: readonly Life[];
}

/** Number of days that each run requests again. */
export const LOOKBACK_DAYS = 4;
/** Minimum time between the other lives and the last one: corrections in it are requested again. */
const REST_MS = 14 * 3_600_000;

/** The undisturbed life. */
const CALM = {
  gapMs: 0,
  faultRate: 0,
  slowRate: 0,
  rateLimit: undefined,
  forbidden: [],
  kill: undefined,
  wrongRate: 0,
  missingDayRate: 0,
  endlessRate: 0,
  others: undefined,
  rounds: [],
  intrusions: [],
};

/** The schedule of a seed: the same on each call. */
export function scheduleOf(seed: number): Schedule {
  const draw = drawsOf(seed, "schedule");
  // Noon in UTC: no session is open, and every past day has settled.
  const end = Date.parse("2026-03-11T12:00:00Z") + draw.below(7) * DAY_MS;
  const isLarge = draw.below(40) === 0;
  const market = {
    seed: mixText(seed, "market"),
    days: draw.of([40, 40, 120, 700]),
    minuteDays: isLarge ? 60 : 2 + draw.below(8),
    end,
    changesLate: drawsOf(seed, "late changes").below(3) === 0,
  };
  const small = 500 + draw.below(140);
  const rowCap = {
    "1d": draw.of([10_000, small]),
    "1m": isLarge ? draw.of([10_000, 5000]) : draw.of([10_000, small, small + 400]),
  };
  // Later additions are drawn from separate numbers, so that the rest of the schedule stays the same.
  const wrongs = drawsOf(seed, "wrong responses");
  const capOf = capsOf(drawsOf(seed, "caps"), rowCap, isLarge);
  const ownOf = ownDraws(seed);
  return {
    seed,
    market,
    symbolLimit: draw.of([100, 100, 3, 5]),
    tellsLimit: draw.below(2) === 0,
    pipelines: pipelinesOf(draw, new TrueMarket(market)),
    start: end - 3 * DAY_MS + draw.below(DAY_MS),
    lives: [...Array.from({ length: draw.of([1, 1, 1, 2]) }, () => ownOf(lifeOf(draw))), CALM].map(
      (life) => ({
        ...life,
        ...capOf(),
        wrongRate: life === CALM ? 0 : wrongs.of([0, 0, 0.1, 0.3]),
      }),
    ),
  };
}

/** Adds the separately drawn faults to the lives, one after the other. */
function ownDraws(
  seed: number,
): <T extends Pick<Life, "rateLimit" | "kill">>(life: T) => T & Pick<Life, OwnDraws> {
  const [missing, endless] = [drawsOf(seed, "missing days"), drawsOf(seed, "endless bodies")];
  const [others, engine] = [drawsOf(seed, "other users"), drawsOf(seed, "another engine")];
  const acts = <One extends Act>(most: number, choices: readonly One[]): One[] =>
    Array.from({ length: 1 + engine.below(most) }, () => engine.of(choices));
  return (life) => {
    const isShared = others.below(4) === 0;
    const limit = {
      perMinute: 6 + others.below(12),
      waitIn: others.of(["header", "text", "nothing"] as const),
    };
    const use = {
      perMinute: limit.perMinute * others.of([0.6, 1, 3]),
      forMs: others.of([1, 3, 8]) * MINUTE_MS,
    };
    const hasEngine = engine.below(5) < 2;
    const gaps = [MINUTE_MS, 40 * MINUTE_MS, 13 * 60 * MINUTE_MS];
    return {
      ...life,
      missingDayRate: missing.of([0, 0, 0.15, 0.5]),
      endlessRate: endless.of([0, 0, 0, 0.2]),
      ...(isShared ? { rateLimit: limit, others: use } : { others: undefined }),
      rounds: hasEngine
        ? Array.from({ length: 1 + engine.below(3) }, () => ({ gapMs: engine.of(gaps), acts: acts(4, ACTS) }))
        : [],
      // A process that dies soon sees little of the other engine.
      kill: hasEngine && engine.below(3) > 0 ? undefined : life.kill,
      intrusions: hasEngine ? acts(3, INTRUSIONS).map((act) => ({ atRequest: engine.below(7), act })) : [],
    };
  };
}

/** Draws the key of each life and its caps: constant in half of the schedules, otherwise changing and maybe small. */
function capsOf(draw: Draws, rowCap: Life["rowCap"], isLarge: boolean): () => Pick<Life, "key" | "rowCap"> {
  const changes = draw.below(2) === 0;
  return () => {
    const key = draw.of(["first", "second"]);
    const daily = draw.of([rowCap["1d"], 400, 100, 23]);
    const minute = draw.of([rowCap["1m"], isLarge ? 2000 : 400, isLarge ? 1000 : 130]);
    return changes ? { key, rowCap: { "1d": daily, "1m": minute } } : { key: "first", rowCap };
  };
}

/** When a life begins. @param before end of the previous life. */
export function startOf({ lives, start, market }: Schedule, life: number, before: number): number {
  if (life === lives.length - 1) return market.end;
  const begun = life === 0 ? start : before + (lives[life]?.gapMs ?? 0);
  const roundsMs = lives.slice(life).flatMap(({ rounds }) => rounds.map(({ gapMs }) => gapMs));
  const latest = market.end - REST_MS - roundsMs.reduce((sum, gapMs) => sum + gapMs, 0);
  return Math.max(before, Math.min(begun, latest + life * 2 * MINUTE_MS));
}

function pipelinesOf(draw: Draws, market: TrueMarket): PipelineDefinition[] {
  const symbols = [...market.symbols];
  const bars = (name: string, period: "1d" | "1m"): PipelineDefinition => ({
    name,
    kind: "bars",
    period,
    from: market.firstDate(period),
    lookback: `${LOOKBACK_DAYS}d`,
    symbols,
  });
  const daily = bars("daily", "1d");
  const minute = bars("minute", "1m");
  const reference: PipelineDefinition = { name: "reference", kind: "reference" };
  const intraday: PipelineDefinition = { name: "intraday", kind: "intraday", universes: ["U0", "U1"] };
  const financials: PipelineDefinition = {
    name: "financials",
    kind: "statements",
    tables: ["balance_sheet", "cash_flow"],
    symbols,
    // Shorter than the rest before the last life: what was corrected in it is requested again.
    refreshHours: 12,
  };
  return draw.of([
    [daily],
    [daily],
    [minute],
    [minute],
    [daily, minute],
    [intraday, minute],
    [financials],
    [reference],
    [reference, daily],
    [financials, daily],
  ]);
}

function lifeOf(draw: Draws): Omit<Life, "key" | "rowCap" | "wrongRate" | OwnDraws> {
  const limit = { perMinute: 2 + draw.below(12), waitIn: draw.of(["header", "text", "nothing"] as const) };
  return {
    gapMs: draw.of([2000, MINUTE_MS, 40 * MINUTE_MS, 5 * 3_600_000, 17 * 3_600_000]),
    faultRate: draw.of([0, 0.1, 0.3, 0.6]),
    slowRate: draw.of([0, 0.3]),
    rateLimit: draw.below(3) === 0 ? limit : undefined,
    forbidden:
      draw.below(8) === 0 ? [draw.of<EndpointGroup>(["klines", "intraday", "reference", "financials"])] : [],
    kill: draw.below(6) === 0 ? undefined : killOf(draw),
  };
}

function killOf(draw: Draws): Kill {
  const at = draw.of(["request", "response", "keep", "commit", "file", "file", "file", "statement"] as const);
  const most = { request: 10, response: 6, keep: 5, commit: 6, file: 120, statement: 100 }[at];
  // Small numbers more often: a life that does little does not reach large ones.
  const nth = 1 + Math.floor(most * draw.fraction() ** 2);
  return { at, nth, when: draw.of(["before", "midway", "after"] as const) };
}
