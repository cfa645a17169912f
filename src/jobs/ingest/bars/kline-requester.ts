import { subtractRanges, type TimeRange } from "../../../core/time.js";
import { CALENDAR_SYMBOLS, FEWEST_SYMBOLS } from "../../../lake/land/trading-days.js";
import type { LandedPeriod } from "../../../market/period.js";
import { byRegion, type Region } from "../../../market/regions.js";
import { judgeResponse, type ResponseVerdict } from "../../../plan/absence/judge-response.js";
import {
  ASSUMED_CAP,
  isExplained,
  nextFollowUps,
  type Page,
  type PossibleGap,
  type RowCap,
  type Verdict,
} from "../../../plan/absence/older-bars.js";
import { filteredBars } from "../../../plan/filtered-bars.js";
import type { DecodedKlines } from "../../../wire/decode/decode-klines.js";
import { LIMITS } from "../../../wire/endpoints.js";
import type { AbsentPart, Received } from "../../run/request/request-records.js";
import type { RequestSizeLimits } from "../../run/request/request-size-limits.js";
import type { DemandAbsences } from "./explain-absences.js";

/** The query of a request for all bars in a window, without adjustment. */
export function klinesQuery(symbols: readonly string[], { start, end }: TimeRange, period: LandedPeriod) {
  return {
    symbols: symbols.join(","),
    period,
    count: LIMITS.maxCount,
    start_time: start,
    end_time: end - 1,
    adjust: "none",
  };
}

export function received(response: DecodedKlines): Received & { readonly response: DecodedKlines } {
  return {
    response,
    rows: response.columns.rows,
    rejected: response.issues.rejected,
    bytes: response.bytes,
    absent: response.absent,
    issues: response.issues.stored,
  };
}

/**
 * The requested windows that a response leaves open, in the form of the ledger. Time in an abandoned gap that other
 * responses have settled remains settled.
 */
function holesOf(
  { lost, abandoned }: ResponseVerdict,
  answered: ReadonlyMap<string, readonly TimeRange[]>,
): AbsentPart[] {
  const setAside = new Map<string, AbsentPart & { readonly symbols: string[] }>();
  for (const { symbol, window } of lost) {
    const key = `${window.start} ${window.end}`;
    const part = setAside.get(key);
    if (part === undefined) setAside.set(key, { symbols: [symbol], window, reason: "set_aside" });
    else part.symbols.push(symbol);
  }
  const unexplained = abandoned.flatMap((gap) =>
    subtractRanges(gap.window, answered.get(gap.symbol) ?? []).map(
      (left): AbsentPart => ({ symbols: [gap.symbol], window: left, reason: "unexplained" }),
    ),
  );
  return [...setAside.values(), ...unexplained];
}

/**
 * A response without the bars that must not land. From a request for older bars, these are the bars that were known
 * before; from any other request, the bars of symbols that are requested again. Bars of another period never land.
 */
function barsToLand(
  { gaps, window, again }: Page,
  response: DecodedKlines,
  verdict: ResponseVerdict,
): DecodedKlines {
  const endOf = (symbol: string): number => gaps?.get(symbol)?.window.end ?? window.end;
  const known = gaps !== undefined;
  const repeated = new Set([
    ...(again === undefined ? verdict.absence.unconfirmed : []),
    ...verdict.mislabelled,
  ]);
  if (!known && !verdict.present.some((symbol) => repeated.has(symbol))) return response;
  const lands = (symbol: string, timestamp: number): boolean =>
    timestamp < endOf(symbol) && !repeated.has(symbol);
  return { ...response, columns: filteredBars(response.columns, lands) };
}

/** What the response to a page must be about. */
export function expectationOf({ symbols, window }: Page) {
  return { shape: "map", symbols, window: { first: window.start, last: window.end - 1 } } as const;
}

/**
 * A response in the form in which it lands and is recorded in the ledger.
 *
 * @param answered windows that a full response has settled, by symbol.
 */
export function judgedResponse(
  page: Page,
  response: DecodedKlines,
  verdict: ResponseVerdict,
  answered: ReadonlyMap<string, readonly TimeRange[]>,
) {
  return {
    ...received(barsToLand(page, response, verdict)),
    // Symbols of a follow-up request are known to have bars, so a response without older bars does not make them
    // absent.
    absent: page.gaps === undefined ? response.absent : [],
    verdict,
    parts: verdict.settled,
    empty: verdict.empty,
    holes: holesOf(verdict, answered),
  };
}

/** What responses show of a service, on which the rest of a plan depends: its caps, and when regions did not trade. */
export class ServiceTraits {
  readonly cap: RowCap;
  isStale = false;
  /** Ranges in which a region did not trade, as requests for older bars have shown. */
  readonly #closed: Record<Region, TimeRange[]> = byRegion(() => []);
  readonly #period: LandedPeriod;
  readonly #limits: RequestSizeLimits;
  /** Names of the responses that are known to be cut, or known to be complete. */
  readonly #shown = new Set<string>();
  /** Whether a response has shown whether the service follows the documented cap. */
  #isMeasured = false;

  constructor(period: LandedPeriod, cap: RowCap, limits: RequestSizeLimits) {
    this.#period = period;
    this.cap = cap;
    this.#limits = limits;
  }

  get symbolsPerRequest(): number {
    return this.#limits.symbolsPerRequest("klines");
  }

  /**
   * Begins a plan. One response shows whether the service follows the documented cap; the other requests wait for it.
   *
   * @returns those of its requests that are to be sent before the next plan.
   */
  begin<Unit>(planned: readonly Unit[]): readonly Unit[] {
    const measures =
      !this.#isMeasured && this.cap.known === undefined && ASSUMED_CAP[this.#period] < LIMITS.maxCount;
    this.isStale = false;
    return measures ? planned.slice(0, 1) : planned;
  }

  /** Ranges in which a region did not trade, as far as it is known. */
  closed(region: Region): readonly TimeRange[] {
    return this.#closed[region];
  }

  judge(
    page: Page,
    response: DecodedKlines,
    facts: Omit<Parameters<typeof judgeResponse>[2], "period" | "closed" | "cap">,
  ): ResponseVerdict {
    this.#isMeasured = true;
    const [period, { cap }] = [this.#period, this];
    return judgeResponse(page, response, { ...facts, period, closed: this.closed(page.region), cap });
  }

  /** Learns from a judged response: a cap, or days on which a region did not trade. */
  learn(page: Page, verdict: Verdict): void {
    const before = this.cap.known;
    for (const { source, rows, wasCut } of verdict.shown) {
      const key = `${source} ${rows} ${wasCut}`;
      if (!this.#shown.has(key)) this.cap.learn(rows, wasCut);
      this.#shown.add(key);
    }
    const { known } = this.cap;
    if (known !== undefined && known !== before) {
      this.isStale = true;
      // A period that is aggregated from this one has a cap of its own, which is not remembered.
      if (this.cap === this.#limits.rowCap(this.#period)) this.#limits.learnedCap(this.#period, known);
    }
    if (page.gaps === undefined || verdict.shown.some(({ wasCut }) => wasCut)) return;
    // That nothing older was found for enough symbols, or for the region's index, shows that the region did not trade.
    for (const { symbols, window } of verdict.settled) {
      const empty = symbols.filter((symbol) => page.gaps?.get(symbol)?.window.end === window.end);
      const hasIndex = empty.some((symbol) => CALENDAR_SYMBOLS[page.region].includes(symbol));
      if ((empty.length >= FEWEST_SYMBOLS || hasIndex) && window.start === page.window.start)
        this.#closed[page.region].push(window);
    }
  }

  /** Learns from a refused request for some symbols. @returns whether one for fewer symbols may be answered. */
  takesFewer(error: unknown, symbols: number): boolean {
    if (!this.#limits.takesFewer("klines", error, symbols)) return false;
    this.isStale = true;
    return true;
  }
}

/** Sends the requests of a {@link KlineRequester} and takes the responses: a run lands them, a program collects them. */
export interface KlineSink {
  /**
   * Sends a request, and hands the verdict on its response to {@link KlineRequester.take}.
   *
   * @returns whether the same is to be requested in parts, because the service takes fewer symbols.
   */
  readonly send: (page: Page) => Promise<boolean>;
  /** Sends some follow-up requests, as many at a time as the sink permits. */
  readonly sendEach: (pages: readonly Page[], send: (page: Page) => Promise<void>) => Promise<void>;
  readonly isHalted: () => boolean;
  /** Removes the gaps that need no request. @param closed the gaps that are in a time at which the region did not trade. */
  readonly settle: (open: readonly PossibleGap[], closed: readonly PossibleGap[]) => PossibleGap[];
}

/**
 * Requests K-lines until they are complete, as far as responses can show: older bars where a response may be cut, and a
 * second time the symbols that are missing without a reason.
 */
export class KlineRequester {
  readonly absent: DemandAbsences;
  readonly #traits: ServiceTraits;
  readonly #sink: KlineSink;
  /** Beginnings of windows that still need a request. */
  #gaps: PossibleGap[] = [];
  /** Whether a response that seems to be cut was examined during this plan; further ones wait until it ends. */
  #hasProbed = false;

  constructor(traits: ServiceTraits, absent: DemandAbsences, sink: KlineSink) {
    this.#traits = traits;
    this.absent = absent;
    this.#sink = sink;
  }

  get isOpen(): boolean {
    return this.#gaps.length > 0 || !this.absent.isEmpty;
  }

  take(page: Page, verdict: ResponseVerdict): void {
    this.#gaps.push(...verdict.gaps);
    this.#traits.learn(page, verdict);
    this.absent.take(page, verdict);
  }

  /**
   * Sends a request of the plan. The first response that seems to be cut is examined at once, because the plan depends on the
   * result.
   */
  async request(unit: Page): Promise<void> {
    await this.#send(unit);
    const unsettled = this.#gaps.filter((gap) => gap.isUrgent && !this.#isClosed(gap));
    const urgent = this.#sink.settle(unsettled, []);
    if (this.#hasProbed || this.#traits.isStale || urgent.length === 0) return;
    this.#hasProbed = true;
    const [followUp] = nextFollowUps(urgent, this.#traits.symbolsPerRequest).followUps;
    await this.#send(followUp as Page);
  }

  /** Requests older bars and absent symbols until all possible gaps are settled and all absences confirmed. */
  async complete(): Promise<void> {
    while (this.isOpen && !this.#sink.isHalted()) {
      const closed = this.#gaps.filter((gap) => this.#isClosed(gap));
      const open = this.#gaps.filter((gap) => !this.#isClosed(gap));
      this.#gaps = this.#sink.settle(open, closed);
      const size = this.#traits.symbolsPerRequest;
      const followUps = [...nextFollowUps(this.#gaps, size).followUps, ...this.absent.takeFollowUps(size)];
      await this.#sink.sendEach(followUps, (page) => this.#send(page));
    }
    this.#hasProbed = false;
  }

  async #send(page: Page): Promise<void> {
    if (this.#sink.isHalted()) return;
    this.#gaps = this.#gaps.filter((gap) => page.gaps?.get(gap.symbol) !== gap);
    if (!(await this.#sink.send(page)) || page.again === "some") return;
    // A part may be refused in turn: the next ones then have as few symbols.
    for (let left = page.symbols; left.length > 0; ) {
      const symbols = left.slice(0, this.#traits.symbolsPerRequest);
      left = left.slice(symbols.length);
      await this.#send({ ...page, symbols });
    }
  }

  #isClosed(gap: PossibleGap): boolean {
    return isExplained(gap, this.#traits.closed(gap.region));
  }
}
