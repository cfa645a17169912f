import { isTooManySymbols } from "../../client/response-error.js";
import type { Issue } from "../../core/issue.js";
import { lowerBound } from "../../core/lower-bound.js";
import { freedAfterUse } from "../../core/memory-pool.js";
import { inOrder } from "../../core/permits.js";
import { compareText } from "../../core/text-order.js";
import { DAY_MS, subtractRanges, type TimeRange } from "../../core/time.js";
import { expectationOf, klinesQuery } from "../../jobs/ingest/bars/klines-request.js";
import { ClosedRanges } from "../../jobs/ledger/closed-ranges.js";
import { CONCURRENCY } from "../../jobs/run/request/request-sender.js";
import { basePeriod, type LandedPeriod } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { NO_DAYS, TradingCalendar } from "../../market/trading-calendar.js";
import { judgeResponse, type ResponseVerdict } from "../../plan/absence/judge-response.js";
import { nextFollowUps, type Page, type PossibleGap } from "../../plan/absence/older-bars.js";
import { ASSUMED_CAP, type RowCap } from "../../plan/absence/row-cap.js";
import { soundBars } from "../../plan/absence/sound-bars.js";
import { barsPerDay, expectedBars, inBatches, planRequestUnits } from "../../plan/request-units.js";
import { type DecodedKlines, decodeKlines } from "../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import { type GrowingReport, type KlineRequest, labelledLaterMs, landedCap } from "./kline-request.js";
import type { ServiceAccess } from "./service-access.js";

/** The bars of the responses about one window, by symbol. It is a class because each response adds to it. */
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

  /** Number of a symbol's bars. */
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

/**
 * Sends the requests of one question for K-lines, as an ingest does: windows below the row cap, older bars where a
 * response may be cut, a second request for symbols that are missing without a reason. It is a class because a response
 * can change the rest of the plan.
 */
export class AskingKlines {
  readonly #access: ServiceAccess;
  readonly #request: KlineRequest;
  readonly #report: GrowingReport;
  readonly #signal: AbortSignal;
  readonly #base: LandedPeriod;
  readonly #cap: RowCap;
  readonly #now: number;
  readonly #closed = new ClosedRanges();
  /** Windows that were requested, by symbol. */
  readonly #covered = new Map<string, TimeRange[]>();
  /** Responses that are known to be cut or to be whole. */
  readonly #shown = new Set<string>();
  #isStale = false;

  constructor(access: ServiceAccess, request: KlineRequest, report: GrowingReport, signal: AbortSignal) {
    this.#access = access;
    this.#request = request;
    this.#report = report;
    this.#signal = signal;
    this.#base = basePeriod(request.period);
    this.#cap = access.capOf(request.period);
    this.#now = access.use.clock.now();
  }

  /** The bars, window by window: of each, those of its symbols in order, ascending in time. */
  async *blocks(): AsyncGenerator<readonly KlineRun[], void, undefined> {
    let hasMeasured = false;
    for (;;) {
      const planned = this.#plan();
      if (planned.length === 0) return;
      // One response shows whether the service keeps to the documented cap: the other requests wait for it.
      const { known } = this.#cap;
      const measures = !hasMeasured && known === undefined && ASSUMED_CAP[this.#base] < LIMITS.maxCount;
      hasMeasured = true;
      const units = measures ? planned.slice(0, 1) : planned;
      const largest = units.reduce((max, { bars }) => Math.max(max, bars), 1);
      const concurrency = Math.min(CONCURRENCY, Math.max(1, Math.floor(BARS_IN_FLIGHT / largest)));
      this.#isStale = false;
      yield* inOrder(this.#untilStale(units), concurrency, (unit) => this.#askUnit(unit));
    }
  }

  *#untilStale(units: readonly Unit[]): Generator<Unit> {
    for (const unit of units) {
      if (this.#isStale) return;
      for (const symbol of unit.symbols)
        this.#covered.set(symbol, [...(this.#covered.get(symbol) ?? []), unit.window]);
      yield unit;
    }
  }

  /** What was not requested yet, ordered by time. */
  #plan(): Unit[] {
    const { byRegion, count, period, rangeOf } = this.#request;
    const size = this.#access.limits.symbolsPerRequest("klines");
    const rowCap = this.#cap.known ?? LIMITS.maxCount;
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
  async #askUnit(unit: Unit): Promise<readonly KlineRun[]> {
    const bars = new UnitBars();
    const { count = Number.POSITIVE_INFINITY } = this.#request;
    let gaps: PossibleGap[] = [];
    let pages: readonly Page[] = [unit];
    while (pages.length > 0) {
      const again: Page[] = [];
      for (const page of pages) {
        const response = await this.#askPage(page);
        if (response === undefined) {
          again.push(...this.#inParts(page));
          continue;
        }
        const verdict = this.#judge(page, response);
        const { runs, issues } = soundBars(response.columns);
        bars.add(page, runs, verdict);
        gaps.push(...verdict.gaps);
        again.push(...this.#take(page, response, verdict, issues));
      }
      // As many of the newest bars came as were requested.
      gaps = gaps.filter((gap) => bars.countOf(gap.symbol) < count && !this.#closed.explains(gap));
      const { followUps, left } = nextFollowUps(gaps, this.#access.limits.symbolsPerRequest("klines"));
      gaps = [...left];
      pages = [...again, ...followUps];
    }
    const runs = bars.runs(unit.symbols, count);
    for (const { symbol } of runs) this.#report.came.add(symbol);
    return runs;
  }

  /** @returns undefined where the request has too many symbols. */
  async #askPage(page: Page): Promise<DecodedKlines | undefined> {
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
      if (!(isTooManySymbols(error) && symbols.length > 1)) throw error;
      this.#access.limits.learnedTooMany("klines", error, symbols.length);
      this.#isStale = true;
      return undefined;
    }
  }

  #inParts(page: Page): Page[] {
    const parts = inBatches(page.symbols, this.#access.limits.symbolsPerRequest("klines"));
    return parts.map((symbols) => ({ ...page, symbols }));
  }

  #judge(page: Page, response: DecodedKlines): ResponseVerdict {
    const { region } = page;
    const verdict = judgeResponse(page, response, {
      period: this.#base,
      calendar: this.#firstDays(region),
      closed: this.#closed.of(region),
      listedAt: new Map(),
      covered: new Map(),
      cap: this.#cap,
      now: this.#now,
      source: String(this.#report.requests),
      labelledLaterMs: labelledLaterMs(this.#request.period),
    });
    const before = this.#cap.known;
    for (const { source, rows, wasCut } of verdict.shown) {
      const key = `${source} ${rows} ${wasCut}`;
      if (!this.#shown.has(key)) this.#cap.learn(rows, wasCut);
      this.#shown.add(key);
    }
    this.#isStale ||= this.#cap.known !== before;
    this.#closed.learn(page, verdict);
    return verdict;
  }

  /**
   * The first trading days of a window on which the region may have traded: they show whether a response begins late.
   * A window can have decades of days.
   */
  #firstDays(region: Region): Pick<TradingCalendar, "daysIn"> {
    const calendar = new TradingCalendar(region);
    return {
      daysIn: (range, now) => {
        const [open] = subtractRanges(range, this.#closed.of(region));
        if (open === undefined) return NO_DAYS;
        return calendar.daysIn({ start: open.start, end: Math.min(range.end, open.start + FIRST_MS) }, now);
      },
    };
  }

  /** Reports what a response lacks. @returns a second request for symbols that are missing without a reason. */
  #take(page: Page, response: DecodedKlines, verdict: ResponseVerdict, broken: readonly Issue[]): Page[] {
    const { region, window, again } = page;
    const { open, log } = this.#report;
    const missing = again === undefined ? verdict.absence.unconfirmed : [];
    const isAgain = new Set(missing);
    log.addAll(response.issues, isAgain);
    for (const issue of broken) if (!isAgain.has(issue.symbol ?? "")) log.add(issue);
    for (const symbol of response.unusable) open.push({ symbol, window, reason: "set_aside" });
    for (const gap of verdict.abandoned)
      open.push({ symbol: gap.symbol, window: gap.window, reason: "unexplained" });
    if (again !== undefined)
      for (const symbol of new Set([...verdict.absence.unconfirmed, ...verdict.mislabelled])) {
        const reason = verdict.mislabelled.has(symbol) ? "other_period" : "set_aside";
        if ((response.received.get(symbol) ?? 0) > 0) open.push({ symbol, window, reason });
      }
    return missing.length === 0 ? [] : [{ region, window, symbols: missing, again: "all" }];
  }
}
