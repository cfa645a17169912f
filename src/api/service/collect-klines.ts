import type { Issue } from "../../core/issue.js";
import { lowerBound } from "../../core/lower-bound.js";
import { freedAfterUse } from "../../core/memory-pool.js";
import { inOrder } from "../../core/permits.js";
import { compareText } from "../../core/text-order.js";
import { DAY_MS, subtractRanges, type TimeRange } from "../../core/time.js";
import { DemandAbsences } from "../../jobs/ingest/bars/explain-absences.js";
import {
  expectationOf,
  KlineRequester,
  klinesQuery,
  ServiceTraits,
} from "../../jobs/ingest/bars/kline-requester.js";
import { CONCURRENCY } from "../../jobs/run/request/request-sender.js";
import { basePeriod, type LandedPeriod } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { NO_DAYS, TradingCalendar } from "../../market/trading-calendar.js";
import type { ResponseVerdict } from "../../plan/absence/judge-response.js";
import type { Page } from "../../plan/absence/older-bars.js";
import { soundBars } from "../../plan/bar-rules.js";
import { barsPerDay, expectedBars, inBatches, planRequestUnits } from "../../plan/request-units.js";
import { type DecodedKlines, decodeKlines } from "../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import { type GrowingReport, type KlineRequest, labelledLaterMs, landedCap } from "./kline-request.js";
import type { ServiceAccess } from "./service-access.js";

class UnitBars {
  readonly #runs = new Map<string, KlineRun[]>();

  /**
   * Adds the valid bars of a response. Left out are the bar that a request for older bars repeats, symbols that will be requested
   * a second time, and bars of another period.
   */
  add(
    { gaps, window, again }: Page,
    sound: readonly KlineRun[],
    { absence, mislabelled }: ResponseVerdict,
  ): void {
    const excluded = new Set([...(again === undefined ? absence.unconfirmed : []), ...mislabelled]);
    for (const { symbol, values, start, end: last } of sound) {
      if (excluded.has(symbol)) continue;
      const endMs = gaps?.get(symbol)?.window.end ?? window.end;
      const end = lowerBound(start, last, (row) => Number(values.timestamp[row]) >= endMs);
      if (end === start) continue;
      const run = { symbol, values, start, end };
      this.#runs.set(symbol, [...(this.#runs.get(symbol) ?? []), run]);
    }
  }

  countOf(symbol: string): number {
    return (this.#runs.get(symbol) ?? []).reduce((sum, { start, end }) => sum + end - start, 0);
  }

  /**
   * The bars of each symbol, ascending in time.
   *
   * @param symbols their order.
   * @param newest most bars of a symbol: its newest ones.
   */
  runs(symbols: readonly string[], newest = Number.POSITIVE_INFINITY): KlineRun[] {
    return symbols.flatMap((symbol) => {
      const runs = (this.#runs.get(symbol) ?? []).toSorted((a, b) => firstTime(a) - firstTime(b));
      let extra = this.countOf(symbol) - newest;
      return runs.flatMap((run) => {
        const start = Math.min(run.end, run.start + Math.max(0, extra));
        extra -= run.end - run.start;
        return start < run.end ? [{ ...run, start }] : [];
      });
    });
  }
}

function firstTime({ values, start }: KlineRun): number {
  return Number(values.timestamp[start]);
}

/** Most planned bars of the requests in flight together: their columns are in memory. */
const BARS_IN_FLIGHT = 1_000_000;

/** In so many milliseconds every region has a trading day, also around holidays. */
const FIRST_MS = 14 * DAY_MS;

/** A window of some symbols that is requested at once, and most bars that it can have. */
interface Unit extends Page {
  readonly bars: number;
}

export class KlineCollection {
  readonly #access: ServiceAccess;
  readonly #request: KlineRequest;
  readonly #report: GrowingReport;
  readonly #signal: AbortSignal;
  readonly #base: LandedPeriod;
  readonly #traits: ServiceTraits;
  readonly #now: number;
  readonly #covered = new Map<string, TimeRange[]>();

  constructor(access: ServiceAccess, request: KlineRequest, report: GrowingReport, signal: AbortSignal) {
    this.#access = access;
    this.#request = request;
    this.#report = report;
    this.#signal = signal;
    this.#base = basePeriod(request.period);
    this.#traits = new ServiceTraits(this.#base, access.capOf(request.period), access.limits);
    this.#now = access.use.clock.now();
  }

  /** The bars, window by window: of each, those of its symbols in order, ascending in time. */
  async *blocks(): AsyncGenerator<readonly KlineRun[], void, undefined> {
    for (;;) {
      const units = this.#traits.begin(this.#plan());
      if (units.length === 0) return;
      const largest = units.reduce((max, { bars }) => Math.max(max, bars), 1);
      const concurrency = Math.min(CONCURRENCY, Math.max(1, Math.floor(BARS_IN_FLIGHT / largest)));
      yield* inOrder(this.#untilStale(units), concurrency, (unit) => this.#requestUnit(unit));
    }
  }

  *#untilStale(units: readonly Unit[]): Generator<Unit> {
    for (const unit of units) {
      if (this.#traits.isStale) return;
      for (const symbol of unit.symbols)
        this.#covered.set(symbol, [...(this.#covered.get(symbol) ?? []), unit.window]);
      yield unit;
    }
  }

  /** What was not requested yet, ordered by time. */
  #plan(): Unit[] {
    const { byRegion, count, period, rangeOf } = this.#request;
    const size = this.#traits.symbolsPerRequest;
    const rowCap = this.#traits.cap.known ?? LIMITS.maxCount;
    const units = [...byRegion].flatMap(([region, symbols]): Unit[] => {
      const range = rangeOf(region, this.#now);
      if (range.end <= range.start) return [];
      if (count !== undefined) {
        const left = symbols.filter((symbol) => !this.#covered.has(symbol));
        return inBatches(left, size).map((some) => ({
          region,
          symbols: some,
          window: range,
          bars: some.length * count,
        }));
      }
      const planned = planRequestUnits({
        period: this.#base,
        calendar: new TradingCalendar(region),
        symbols,
        range,
        covered: this.#covered,
        now: this.#now,
        rowCap: landedCap(period, barsPerDay(region, this.#base), rowCap),
        symbolsPerRequest: size,
      });
      return planned.map((unit) => ({ ...unit, bars: expectedBars(unit, this.#base) }));
    });
    return units.sort((a, b) => a.window.start - b.window.start || compareText(a.region, b.region));
  }

  /** Requests a window until its bars are complete, as far as responses can show. */
  async #requestUnit(unit: Unit): Promise<readonly KlineRun[]> {
    const bars = new UnitBars();
    const { count = Number.POSITIVE_INFINITY } = this.#request;
    const requester: KlineRequester = new KlineRequester(
      this.#traits,
      new DemandAbsences(this.#base, () => false),
      {
        send: async (page) => {
          const response = await this.#send(page);
          if (response === undefined) return true;
          const verdict = this.#judge(page, response);
          const { runs, issues } = soundBars(response.columns);
          bars.add(page, runs, verdict);
          requester.take(page, verdict);
          this.#take(page, response, verdict, issues);
          return false;
        },
        sendEach: async (pages, send) => {
          for (const page of pages) await send(page);
        },
        isHalted: () => false,
        // As many of the newest bars came as were requested.
        settle: (open) => open.filter(({ symbol }) => bars.countOf(symbol) < count),
      },
    );
    await requester.request(unit);
    await requester.complete();
    const runs = bars.runs(unit.symbols, count);
    for (const { symbol } of runs) this.#report.came.add(symbol);
    return runs;
  }

  /** @returns undefined where the request has too many symbols. */
  async #send(page: Page): Promise<DecodedKlines | undefined> {
    const { symbols, window } = page;
    const { period, adjust, count = LIMITS.maxCount } = this.#request;
    const query = { ...klinesQuery(symbols, window, this.#base), period, adjust, count };
    const client = await this.#access.client();
    this.#report.requests += 1;
    try {
      const { value } = await client.ask(
        { endpoint: ENDPOINTS.klinesBatch, query },
        (body) => decodeKlines(freedAfterUse(body), expectationOf(page)),
        this.#signal,
      );
      return value;
    } catch (error) {
      if (this.#traits.takesFewer(error, symbols.length)) return undefined;
      throw error;
    }
  }

  #judge(page: Page, response: DecodedKlines): ResponseVerdict {
    return this.#traits.judge(page, response, {
      calendar: this.#firstDays(page.region),
      listedAt: new Map(),
      covered: new Map(),
      now: this.#now,
      source: String(this.#report.requests),
      labelledLaterMs: labelledLaterMs(this.#request.period),
    });
  }

  /**
   * The first trading days of a window on which the region may have traded: they show whether a response begins late.
   * A window can have decades of days.
   */
  #firstDays(region: Region): Pick<TradingCalendar, "daysIn"> {
    const calendar = new TradingCalendar(region);
    return {
      daysIn: (range, now) => {
        const [open] = subtractRanges(range, this.#traits.closed(region));
        if (open === undefined) return NO_DAYS;
        return calendar.daysIn({ start: open.start, end: Math.min(range.end, open.start + FIRST_MS) }, now);
      },
    };
  }

  #take(page: Page, response: DecodedKlines, verdict: ResponseVerdict, rejected: readonly Issue[]): void {
    const { window, again } = page;
    const { open, log } = this.#report;
    const isAgain = new Set(again === undefined ? verdict.absence.unconfirmed : []);
    log.addAll(response.issues, isAgain);
    for (const issue of rejected) if (!isAgain.has(issue.symbol ?? "")) log.add(issue);
    for (const symbol of response.unusable) open.push({ symbol, window, reason: "set_aside" });
    for (const gap of verdict.abandoned)
      open.push({ symbol: gap.symbol, window: gap.window, reason: "unexplained" });
    if (again === undefined) return;
    for (const symbol of new Set([...verdict.absence.unconfirmed, ...verdict.mislabelled])) {
      const reason = verdict.mislabelled.has(symbol) ? "other_period" : "set_aside";
      if ((response.received.get(symbol) ?? 0) > 0) open.push({ symbol, window, reason });
    }
  }
}
