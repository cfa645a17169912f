import pMap from "p-map";
import { isTooManySymbols } from "../../client/answer-error.js";
import type { Region } from "../../core/exchange.js";
import type { LandedPeriod } from "../../core/period.js";
import type { TimeRange } from "../../core/time.js";
import { CALENDAR_SYMBOLS, FEWEST_SYMBOLS, landTradingDays } from "../../lake/trading-days.js";
import {
  type Doubt,
  isExplained,
  judgeBeginnings,
  nextLooks,
  type Page,
  type Verdict,
} from "../../plan/older-bars.js";
import { expectedBars, type RequestUnit } from "../../plan/request-units.js";
import { ASSUMED_CAP } from "../../plan/row-cap.js";
import { someBars } from "../../plan/some-bars.js";
import { beginningOf, symbolSpans } from "../../plan/window-beginning.js";
import { BARS_1D } from "../../schema/bars.js";
import { decodeKlines, type KlineAnswer } from "../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { type BarsDemand, barsTable, type PlanFacts, planBars, readPlanFacts } from "./bars-demand.js";
import { LandingBars } from "./landing-bars.js";
import type { Received } from "./request-records.js";
import { CONCURRENCY, type Run } from "./run.js";

/** Most bars, as planned, that may be on their way at once: their columns are in memory. */
const BARS_UNDER_WAY = 2_000_000;

/**
 * Asks for the bars that are not covered, in the order of their windows; answers land while others are asked for.
 *
 * The requests are planned anew whenever an answer shows that the service gives more, or less, than was assumed.
 */
export async function ingestBars(run: Run, demand: BarsDemand): Promise<void> {
  const asking = new AskingBars(run, demand, await readPlanFacts(run, demand));
  try {
    while (!run.isHalted(asking.table.name) && (await asking.askPlanned()));
  } finally {
    await asking.landing.finish();
  }
  const hasLanded = run.landed.some(({ table, inserted }) => table === BARS_1D.name && inserted > 0);
  if (hasLanded) run.landed.push(await landTradingDays(run.session, run.lake, run.landOptions()));
}

/** The asking for one demand; a class because it learns from one response what the next plan needs. */
class AskingBars {
  readonly table;
  readonly landing: LandingBars;
  readonly #run: Run;
  readonly #demand: BarsDemand;
  readonly #facts: PlanFacts;
  readonly #cap;
  /** Whether a response has changed what the plan was made from. */
  #isStale = false;
  #hasMeasured = false;
  /** Beginnings of windows that are still to be looked at. */
  #doubts: Doubt[] = [];
  #isProbing = false;
  /** Ranges in which a region did not trade, as looks for older bars have shown. */
  readonly #closed: Record<Region, TimeRange[]> = { CN: [], HK: [], US: [] };
  /** Responses of which it is known whether they were cut. */
  readonly #shown = new Set<string>();

  constructor(run: Run, demand: BarsDemand, facts: PlanFacts) {
    this.table = barsTable(demand.period);
    this.landing = new LandingBars(run, this.table);
    this.#run = run;
    this.#demand = demand;
    this.#facts = facts;
    this.#cap = run.limits.rowCap(demand.period);
  }

  /** Plans, and asks until the plan is done or stale. @returns whether there may be more. */
  async askPlanned(): Promise<boolean> {
    const { period } = this.#demand;
    const run = this.#run;
    const planned = planBars(this.#demand, this.#facts, {
      rowCap: this.#cap.known ?? LIMITS.maxCount,
      symbolsPerRequest: run.limits.symbolsPerRequest("klines"),
    });
    // Whether the service keeps to the documented cap shows in one response: the others wait for it.
    const measures =
      !this.#hasMeasured && this.#cap.known === undefined && ASSUMED_CAP[period] < LIMITS.maxCount;
    this.#hasMeasured = true;
    const units = measures ? planned.slice(0, 1) : planned;
    if (units.length === 0) return false;
    run.progress.replan(this.table.name, planned.length);
    this.#isStale = measures;
    const largest = units.reduce((max, unit) => Math.max(max, expectedBars(unit, period)), 1);
    const concurrency = Math.min(CONCURRENCY, Math.max(1, Math.floor(BARS_UNDER_WAY / largest)));
    await pMap(this.#untilStale(units), (unit) => this.#askUnit(unit), { concurrency });
    await this.#settleDoubts(concurrency);
    return this.#isStale;
  }

  *#untilStale(units: readonly RequestUnit[]): Generator<RequestUnit> {
    const measuring = this.#isStale;
    for (const unit of units) {
      if (this.#run.isHalted(this.table.name) || (this.#isStale && !measuring)) return;
      yield unit;
    }
  }

  /** Asks for one unit. The first response that looks as if a cap had cut it is looked into at once: the plan depends on it. */
  async #askUnit(unit: RequestUnit): Promise<void> {
    const run = this.#run;
    run.progress.doing(`${this.table.name} from ${new Date(unit.window.start).toISOString().slice(0, 10)}`);
    await this.#askPage(unit);
    const urgent = this.#doubts.filter((doubt) => doubt.isUrgent && !this.#isClosed(doubt));
    if (this.#isProbing || this.#isStale || urgent.length === 0) return;
    this.#isProbing = true;
    const [probe] = nextLooks(urgent, run.limits.symbolsPerRequest("klines")).looks;
    if (probe !== undefined) await this.#look(probe);
    this.#isProbing = false;
  }

  /** Looks for older bars until no beginning is in doubt. */
  async #settleDoubts(concurrency: number): Promise<void> {
    const run = this.#run;
    while (this.#doubts.length > 0 && !run.isHalted(this.table.name)) {
      this.#settleClosed();
      const { looks } = nextLooks(this.#doubts, run.limits.symbolsPerRequest("klines"));
      await pMap(looks, (look) => this.#look(look), { concurrency });
    }
  }

  async #look(look: Page): Promise<void> {
    if (this.#run.isHalted(this.table.name)) return;
    const taken = new Set(look.doubts?.values());
    this.#doubts = this.#doubts.filter((doubt) => !taken.has(doubt));
    this.#run.progress.plan(this.table.name, 1);
    await this.#askPage(look);
  }

  /** Asks for a page, and hands what came to the landing. */
  async #askPage(page: Page): Promise<void> {
    const { symbols, window, region } = page;
    const { period } = this.#demand;
    const run = this.#run;
    const expectation = {
      shape: "map",
      symbols,
      window: { first: window.start, last: window.end - 1 },
    } as const;
    let isTooLarge = false;
    const got = await run.ask(
      { endpoint: ENDPOINTS.klinesBatch, query: klinesQuery(symbols, window, period) },
      { dataset: this.table.name, symbols, window, finalEnd: run.finalEnds[region] },
      async (body, requestId) => {
        const answer = await decodeKlines(body, expectation, run.buffers);
        const verdict = this.#judge(page, answer, requestId);
        const parts = verdict.settled;
        // Symbols of a look are known to have bars: that a look finds no older ones does not make them absent.
        const absent = page.doubts === undefined ? answer.absent : [];
        return { ...received(olderOnly(page, answer)), absent, verdict, parts };
      },
      (error) => (isTooLarge = isTooManySymbols(error) && this.#takesFewer(error, symbols.length)),
    );
    if (got === undefined) {
      // What had too many symbols is asked for again with fewer; what failed is left to the next run.
      if (!isTooLarge) this.#settle(symbols, window);
      else if (page.doubts !== undefined) this.#doubts.push(...page.doubts.values());
      return;
    }
    const { answer, verdict } = got.value;
    for (const part of verdict.settled) this.#settle(part.symbols, part.window);
    this.#settle(answer.unusable, window);
    this.#doubts.push(...verdict.doubts);
    this.#learn(page, verdict);
    await this.landing.take(got);
  }

  /** Takes a window for asked, so that a new plan of this run leaves it out. */
  #settle(symbols: readonly string[], window: TimeRange): void {
    const { covered } = this.#facts;
    for (const symbol of symbols) covered.set(symbol, [...(covered.get(symbol) ?? []), window]);
  }

  #judge(page: Page, answer: KlineAnswer, source: string): Verdict {
    const { region, window } = page;
    const { calendars, now, listedAt } = this.#facts;
    const days = calendars.get(region)?.daysIn(window, now) ?? [];
    const expected = { region, period: this.#demand.period, days, closed: this.#closed[region], listedAt };
    const beginnings = symbolSpans(answer.columns).map((span) =>
      beginningOf(span, answer.received.get(span.symbol) ?? 0, answer.columns, expected),
    );
    return judgeBeginnings(page, beginnings, this.#cap, { source, open: new Set(answer.unusable) });
  }

  /** Learns what a look has shown: a cap, or days on which a region did not trade. */
  #learn(page: Page, verdict: Verdict): void {
    const before = this.#cap.known;
    for (const { source, rows, wasCut } of verdict.shown) {
      const key = `${source} ${rows} ${wasCut}`;
      if (!this.#shown.has(key)) this.#cap.learn(rows, wasCut);
      this.#shown.add(key);
    }
    if (this.#cap.known !== undefined && this.#cap.known !== before) {
      this.#isStale = true;
      this.#run.limits.learnedCap(this.#demand.period, this.#cap.known);
    }
    if (page.doubts === undefined) return;
    const indexes = CALENDAR_SYMBOLS[page.region];
    for (const { symbols, window } of verdict.settled) {
      const empty = symbols.filter((symbol) => page.doubts?.get(symbol)?.window.end === window.end);
      const tells = empty.length >= FEWEST_SYMBOLS || empty.some((symbol) => indexes.includes(symbol));
      const brought = verdict.shown.some(({ wasCut }) => wasCut);
      if (tells && !brought && window.start === page.window.start) this.#closed[page.region].push(window);
    }
  }

  #isClosed(doubt: Doubt): boolean {
    return isExplained(doubt, this.#closed[doubt.region]);
  }

  /** Settles doubts about a time at which the region did not trade. */
  #settleClosed(): void {
    const settled = this.#doubts.filter((doubt) => this.#isClosed(doubt));
    this.#doubts = this.#doubts.filter((doubt) => !this.#isClosed(doubt));
    for (const { region, symbols, window } of nextLooks(settled, Number.POSITIVE_INFINITY).looks) {
      this.#settle(symbols, window);
      this.#run.enterSettled({
        endpoint: ENDPOINTS.klinesBatch,
        dataset: this.table.name,
        symbols,
        window,
        finalEnd: this.#run.finalEnds[region],
      });
    }
  }

  #takesFewer(error: Error, symbols: number): boolean {
    if (symbols <= 1) return false;
    this.#run.limits.learnedTooMany("klines", error, symbols);
    this.#isStale = true;
    this.#hasMeasured = false;
    return true;
  }
}

/** A look's response without the bars that were known before it. */
function olderOnly({ doubts, window }: Page, answer: KlineAnswer): KlineAnswer {
  if (doubts === undefined) return answer;
  const endOf = (symbol: string): number => doubts.get(symbol)?.window.end ?? window.end;
  if ([...doubts.values()].every((doubt) => doubt.window.end === window.end)) return answer;
  return { ...answer, columns: someBars(answer.columns, (symbol, timestamp) => timestamp < endOf(symbol)) };
}

/** The query of a request for all bars of a window, as the exchange reported them. */
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

/** What the ledger is told of a decoded answer. */
export function received(answer: KlineAnswer): Received & { readonly answer: KlineAnswer } {
  return {
    answer,
    rows: answer.columns.rows,
    rejected: answer.issues.rejected,
    bytes: answer.bytes,
    absent: answer.absent,
    issues: answer.issues.kept,
  };
}
