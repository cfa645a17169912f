import { z } from "zod";
import { isOverQuota, statesNotOffered } from "../../client/response-error.js";
import type { ServiceError } from "../../core/errors.js";
import { releaseAfter } from "../../core/release-after.js";
import type { TradingDate } from "../../core/time.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { finalEnd } from "../../market/sessions.js";
import type { TradingCalendar } from "../../market/trading-calendar.js";
import { localDate } from "../../market/zone.js";
import { inBatches, planRequestUnits, type RequestUnit } from "../../plan/request-units.js";
import { EX_FACTORS } from "../../schema/actions.js";
import { type DecodedRecords, decodeRecords } from "../../wire/decode/decode-records.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { exFactor } from "../../wire/resources.js";
import { coveredWindows } from "../ledger/ledger-windows.js";
import type { Received } from "../run/request/request-records.js";
import { askEach, CONCURRENCY } from "../run/request/request-sender.js";
import type { RequestSizeLimits } from "../run/request/request-size-limits.js";
import type { Run } from "../run/run.js";
import { type BarsDemand, coverUnwanted, type PlanFacts, rangeOf, recheckSince } from "./bars/bars-demand.js";
import { LandingRecords, reportSetAside } from "./landing-records.js";

interface ExFactorsPlan {
  readonly units: readonly RequestUnit[];
  /** Whether the service has never responded to a request for factors. */
  readonly isNew: boolean;
  /** Symbols of which factors were set aside, and which are not due to be requested again. */
  readonly setAside: readonly string[];
  /** From when windows are requested again by later runs, by region; epoch milliseconds. */
  readonly repeatedSince: Readonly<Partial<Record<Region, number>>>;
}

/**
 * Plans the requests for factors of the symbols and the time of a demand for daily bars: of days that are final and have
 * no response yet. Together with a new day, the last days of the demand's lookback are requested again, which takes no
 * further request.
 *
 * @param facts those of the plan of the bars.
 * @returns no request where the demand has no factors, or the service was seen to have none.
 */
export function planExFactors(
  demand: BarsDemand,
  facts: PlanFacts,
  limits: RequestSizeLimits,
): ExFactorsPlan {
  const { now, calendars, listedAt, delistedAt, askedFactors: asked } = facts;
  if (asked === undefined || limits.refusalOf(EX_FACTORS.name) !== undefined)
    return { units: [], isNew: true, setAside: [], repeatedSince: {} };
  const covered = coveredWindows(asked, { now, openHoles: demand.allHoles ? "all" : "due" });
  coverUnwanted(covered, demand, delistedAt);
  const repeatedSince: ExFactorsPlan["repeatedSince"] = demand.lookbackDays
    ? recheckSince(demand.lookbackDays, calendars, now)
    : {};
  const units = [...demand.symbols].flatMap(([region, symbols]) => {
    const { start, end } = rangeOf(region, demand, now);
    const range = { start, end: Math.min(end, finalEnd(region, now)) };
    if (range.start >= range.end) return [];
    const planned = planRequestUnits({
      period: "1d",
      calendar: calendars.get(region) as TradingCalendar,
      symbols,
      range,
      covered,
      listedAt,
      now,
      rowCap: LIMITS.maxCount,
      symbolsPerRequest: limits.symbolsPerRequest("exFactors"),
    });
    const since = Math.max(start, repeatedSince[region] ?? Number.POSITIVE_INFINITY);
    return planned.map((unit) => {
      const { window } = unit;
      return { ...unit, window: { start: Math.min(window.start, since), end: window.end } };
    });
  });
  const isWaiting = (symbol: string): boolean =>
    asked.holes.get(symbol)?.some(({ reason, dueAt }) => reason === "set_aside" && dueAt > now) ?? false;
  const setAside = demand.allHoles ? [] : [...demand.symbols.values()].flat().filter(isWaiting);
  return { units, isNew: asked.answered.size === 0, setAside, repeatedSince };
}

/** The source of factors that a service states. Services of one interface say the same, so that it names no host. */
const SOURCE = "service";

/** A service may add fields. */
const factors = z.array(z.object(exFactor.shape));
type Factor = z.infer<typeof exFactor>;

const COLUMNS = EX_FACTORS.columns.filter(({ name }) => name !== "first_seen_at");

/**
 * Requests the factors of ex-events for the symbols and the time of a demand for daily bars, after these.
 *
 * The endpoint is an extension that services may lack. If the first request is refused, no other is sent; the run reports
 * that, and it is no failure. A refusal of the endpoint is remembered, so that runs of the next days do not request it.
 *
 * @param facts those of the plan of the bars.
 */
export async function ingestExFactors(run: Run, demand: BarsDemand, facts: PlanFacts): Promise<void> {
  const { name } = EX_FACTORS;
  const { context } = run;
  if (run.requests.isHalted(name) || context.limits.refusalOf(name) !== undefined) return;
  const landing = new LandingRecords(run, EX_FACTORS, { columns: COLUMNS });
  await releaseAfter(
    async () => {
      const plan = planExFactors(demand, facts, context.limits);
      reportSetAside(run, name, "factors", plan.setAside);
      await new AskingFactors(run, plan, landing).askAll();
    },
    () => landing.finish(),
  );
}

class AskingFactors {
  readonly #run: Run;
  readonly #plan: ExFactorsPlan;
  readonly #landing: LandingRecords;
  #isAnswered = false;
  #refusal: ServiceError | undefined;

  constructor(run: Run, plan: ExFactorsPlan, landing: LandingRecords) {
    this.#run = run;
    this.#plan = plan;
    this.#landing = landing;
  }

  async askAll(): Promise<void> {
    const { units, isNew } = this.#plan;
    if (units.length === 0) return;
    this.#run.progress.doing(EX_FACTORS.name);
    // One request shows whether the service has the endpoint; the others wait for it.
    if (isNew) await this.#ask(units.slice(0, 1));
    if (!isNew) await this.#ask(units);
    else if (this.#isAnswered) await this.#ask(units.slice(1));
    const { log, context } = this.#run;
    const { name } = EX_FACTORS;
    if (this.#refusal !== undefined) {
      log.notOffered(name, this.#refusal.message);
      context.limits.learnedRefusal(name, this.#refusal.status);
      return;
    }
    // The first request may have failed because something else responds to the path.
    const failure = log.facts().failures.findLast(({ dataset }) => dataset === name);
    if (isNew && !this.#isAnswered && failure !== undefined) log.notOffered(name, failure.reason);
  }

  async #ask(units: readonly RequestUnit[]): Promise<void> {
    const { requests, progress, context } = this.#run;
    const left: RequestUnit[] = [];
    progress.replan(EX_FACTORS.name, units.length);
    const askOne = async (unit: RequestUnit): Promise<void> => {
      if (requests.isHalted(EX_FACTORS.name) || this.#refusal !== undefined) return;
      if (left.length > 0) return void left.push(unit);
      await this.#askUnit(unit, (error) => {
        if (!context.limits.takesFewer("exFactors", error, unit.symbols.length))
          return this.#isRefused(error);
        left.push(unit);
        return true;
      });
    };
    await askEach(requests, units, askOne, CONCURRENCY);
    if (left.length === 0 || this.#refusal !== undefined) return;
    const size = context.limits.symbolsPerRequest("exFactors");
    await this.#ask(
      left.flatMap((unit) => inBatches(unit.symbols, size).map((symbols) => ({ ...unit, symbols }))),
    );
  }

  /** Whether an error says that the service lacks the endpoint, or that the key may not use it. */
  #isRefused(error: ServiceError): boolean {
    const isFirst = this.#plan.isNew && !this.#isAnswered;
    const isOfRequest =
      error.status >= 400 && error.status < 500 && error.status !== 401 && !isOverQuota(error);
    if (error.status !== 403 && !statesNotOffered(error) && !(isFirst && isOfRequest)) return false;
    this.#refusal ??= error;
    return true;
  }

  async #askUnit(unit: RequestUnit, heals: (error: ServiceError) => boolean): Promise<void> {
    const { symbols, window, region } = unit;
    const { finalEnds } = this.#run.context;
    const query = { symbols: symbols.join(","), start_time: window.start, end_time: window.end - 1 };
    const got = await this.#run.requests.ask(
      { endpoint: ENDPOINTS.exFactors, query },
      { dataset: EX_FACTORS.name, symbols, window, finalEnd: finalEnds[region] },
      async (body) => this.#received(unit, await decodeRecords(body, "map", factors)),
      heals,
    );
    if (got === undefined) return;
    this.#isAnswered = true;
    await this.#landing.take(got);
  }

  /**
   * A response as rows of the table. Symbols with a factor that breaks a rule are requested again, as are those of a
   * response that names no symbol at all, unless later runs request its whole window in any case: a service may leave
   * out symbols without factors, and a 200 with an empty map was seen where there was data.
   */
  #received(unit: RequestUnit, decoded: DecodedRecords<Factor[]>): Received & { readonly records: Row[] } {
    const { symbols, window, region } = unit;
    const { issues, bytes, entries } = decoded;
    const { zone } = REGIONS[region];
    const asked = new Set(symbols);
    const records: Row[] = [];
    for (const [symbol, list] of entries) {
      if (!asked.has(symbol)) continue;
      const days = new Map<TradingDate, number>();
      for (const { timestamp, ex_factor: factor } of list) {
        if (timestamp < window.start || timestamp >= window.end) continue;
        const date = localDate(timestamp, zone);
        const fault = faultOf(factor, days.get(date));
        if (fault === undefined) days.set(date, factor);
        else issues.add({ ...fault, message: `${symbol} ${date}: ${fault.message}`, symbol, rejected: 1 });
      }
      for (const [ex_date, factor] of days) records.push({ symbol, ex_date, source: SOURCE, factor, region });
    }
    const faulty = new Set(issues.counts.map(({ symbol }) => symbol));
    const setAside = symbols.filter((symbol) => faulty.has(symbol));
    const isRepeated = window.start >= (this.#plan.repeatedSince[region] ?? Number.POSITIVE_INFINITY);
    const saysNothing = entries.length === 0 && setAside.length === 0 && !isRepeated;
    const settled = saysNothing ? [] : symbols.filter((symbol) => !faulty.has(symbol));
    return {
      records: records.filter(({ symbol }) => !faulty.has(symbol)),
      rows: records.length,
      rejected: issues.rejected,
      bytes,
      absent: saysNothing ? symbols : [],
      issues: issues.stored,
      parts: settled.length > 0 ? [{ symbols: settled, window }] : [],
      holes: [
        ...(setAside.length > 0 ? [{ symbols: setAside, window, reason: "set_aside" } as const] : []),
        ...(saysNothing ? [{ symbols, window, reason: "unexplained" } as const] : []),
      ],
    };
  }
}

interface Row extends Readonly<Record<string, unknown>> {
  readonly symbol: string;
}

/** What is wrong with a factor. @param other another one of the same symbol and date. */
function faultOf(factor: number, other: number | undefined) {
  if (!(factor > 0) || factor === Number.POSITIVE_INFINITY)
    return { rule: "out_of_range", message: `factor ${factor} is not above 0` } as const;
  if (other !== undefined && other !== factor)
    return { rule: "duplicate_key", message: `factors ${other} and ${factor} for one date` } as const;
  return undefined;
}
