import pMap from "p-map";
import { openMinute } from "../../calendar/sessions.js";
import { isTooManySymbols } from "../../client/answer-error.js";
import type { Region } from "../../core/exchange.js";
import type { LandedPeriod } from "../../core/period.js";
import { MINUTE_MS, type TimeRange } from "../../core/time.js";
import type { Lease } from "../../lake/request-leases.js";
import { landTradingDays } from "../../lake/trading-days.js";
import { expectedBars, type RequestUnit } from "../../plan/request-units.js";
import { ASSUMED_CAP, type SymbolRows } from "../../plan/row-cap.js";
import { BARS_1D } from "../../schema/bars.js";
import { decodeKlines, type KlineAnswer } from "../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { SharedAsking } from "./ask-beside-others.js";
import { type BarsDemand, barsTable, type PlanFacts, planBars } from "./bars-demand.js";
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
  const { facts, sharing } = await SharedAsking.open(run, demand);
  const asking = new AskingBars(run, demand, facts, sharing);
  try {
    while (!run.isHalted(asking.table.name) && (await asking.askPlanned()));
  } finally {
    await asking.landing.finish();
  }
  const hasLanded = run.landed.some(({ table, inserted }) => table === BARS_1D.name && inserted > 0);
  if (hasLanded) run.landed.push(await landTradingDays(run.session, run.lake, run.landOptions()));
}

/** A part of a unit: what a symbol may still have before what an answer was cut at. */
interface Page {
  readonly symbols: readonly string[];
  readonly window: TimeRange;
  /** Bars of a symbol in the answer that this page goes on from. */
  readonly follows?: number;
}

/** The asking for one demand; a class because it learns from one answer what the next plan needs. */
class AskingBars {
  readonly table;
  readonly landing: LandingBars;
  readonly #run: Run;
  readonly #demand: BarsDemand;
  readonly #facts: PlanFacts;
  readonly #cap;
  /** Whether an answer has changed what the plan was made from. */
  #isStale = false;
  #hasMeasured = false;
  readonly #sharing: SharedAsking;
  /** Whether another run asks for a part of the plan. */
  #isElsewhere = false;

  constructor(run: Run, demand: BarsDemand, facts: PlanFacts, sharing: SharedAsking) {
    this.#sharing = sharing;
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
    this.#sharing.planned();
    const planned = planBars(this.#demand, this.#facts, {
      rowCap: this.#cap.known ?? LIMITS.maxCount,
      symbolsPerRequest: run.limits.symbolsPerRequest("klines"),
    });
    // Whether the service keeps to the documented cap shows in one answer: the others wait for it.
    const measures =
      !this.#hasMeasured && this.#cap.known === undefined && ASSUMED_CAP[period] < LIMITS.maxCount;
    this.#hasMeasured = true;
    const units = measures ? planned.slice(0, 1) : planned;
    if (units.length === 0) return false;
    run.progress.replan(this.table.name, planned.length);
    this.#isStale = measures;
    const largest = units.reduce((max, unit) => Math.max(max, expectedBars(unit, period)), 1);
    const concurrency = Math.min(CONCURRENCY, Math.max(1, Math.floor(BARS_UNDER_WAY / largest)));
    this.#isElsewhere = false;
    await pMap(this.#untilStale(units), (unit) => this.#askUnit(unit), { concurrency });
    if (!this.#isElsewhere || run.isHalted(this.table.name)) return this.#isStale;
    // What waits to be landed is leased: another run may wait for it in turn.
    await this.landing.finish();
    await this.#sharing.waitForOthers();
    this.#hasMeasured &&= !measures;
    return true;
  }

  *#untilStale(units: readonly RequestUnit[]): Generator<RequestUnit> {
    const measuring = this.#isStale;
    for (const unit of units) {
      if (this.#run.isHalted(this.table.name) || (this.#isStale && !measuring)) return;
      yield unit;
    }
  }

  /** Asks for one unit, unless another run does, and pages back for the symbols whose answer may have been cut. */
  async #askUnit(unit: RequestUnit): Promise<void> {
    const run = this.#run;
    const leased = await this.#sharing.lease(this.table.name, unit);
    if (leased.kind === "elsewhere") this.#isElsewhere = true;
    if (leased.kind === "news") this.#isStale = true;
    if (leased.kind !== "leased") return;
    const { lease } = leased;
    run.progress.doing(`${this.table.name} from ${new Date(unit.window.start).toISOString().slice(0, 10)}`);
    const pages: Page[] = [unit];
    try {
      for (let page = pages.shift(); page !== undefined; page = pages.shift()) {
        if (run.isHalted(this.table.name)) return;
        const older = await this.#askPage(unit, page, lease);
        if (pages.length + older.length > 0) run.progress.plan(this.table.name, older.length);
        pages.push(...older);
      }
    } finally {
      await lease.release();
    }
  }

  /** @returns what is still to be asked for before what came. */
  async #askPage(unit: RequestUnit, page: Page, lease: Lease): Promise<readonly Page[]> {
    const { symbols, window } = page;
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
      {
        dataset: this.table.name,
        symbols,
        window,
        finalEnd: run.finalEnds[unit.region],
        bars: expectedBars({ ...unit, symbols }, period),
      },
      async (body) => {
        const answer = await decodeKlines(body, expectation, run.buffers);
        const cut = this.#cutOf(unit, page, answer);
        return { ...received(answer), cut, parts: partsOf(answer, symbols, window, cut) };
      },
      (error) => (isTooLarge = isTooManySymbols(error) && this.#takesFewer(error, symbols.length)),
    );
    if (got === undefined) {
      // What had too many symbols is asked for by the next plan; what failed is left to the next run.
      if (!isTooLarge) this.#settle(symbols, window);
      return [];
    }
    const { answer, cut, parts } = got.value;
    for (const part of parts) this.#settle(part.symbols, part.window);
    this.#settle(answer.unusable, window);
    await this.landing.take(got, lease);
    return [...cut].map(([oldest, group]) => ({
      symbols: group.map(({ symbol }) => symbol),
      window: { start: window.start, end: oldest },
      follows: group[0]?.rows ?? 0,
    }));
  }

  /** Takes a window for asked, so that a new plan of this run leaves it out. */
  #settle(symbols: readonly string[], window: TimeRange): void {
    const { covered } = this.#facts;
    for (const symbol of symbols) covered.set(symbol, [...(covered.get(symbol) ?? []), window]);
  }

  /**
   * Learns what an answer shows of the cap, and gives the symbols that may have been cut at it, by the oldest timestamp
   * that they did get (epoch ms).
   */
  #cutOf(unit: RequestUnit, page: Page, answer: KlineAnswer): Map<number, SymbolRows[]> {
    const before = this.#cap.known;
    // A page shows first whether the answer that it goes on from was cut: it may have been cut at the same number.
    if (page.follows !== undefined) this.#cap.learn(page.follows, answer.columns.rows > 0);
    const rows = this.#rowsOf(unit, page.window, answer);
    const suspects = new Set<SymbolRows>(this.#cap.suspects(rows));
    if (suspects.size === 0) for (const count of answer.received.values()) this.#cap.sawWhole(count);
    if (this.#cap.known !== undefined && this.#cap.known !== before) {
      this.#isStale = true;
      this.#run.limits.learnedCap(this.#demand.period, this.#cap.known);
    }
    const cut = new Map<number, SymbolRows[]>();
    for (const one of rows) {
      if (suspects.has(one)) cut.set(one.oldest, [...(cut.get(one.oldest) ?? []), one]);
    }
    return cut;
  }

  /** What each symbol of an answer had, but for those that have a bar at the very start of the window. */
  #rowsOf(
    { region }: RequestUnit,
    window: TimeRange,
    { columns, received: counts }: KlineAnswer,
  ): (SymbolRows & { readonly oldest: number })[] {
    const { calendars, now, listedAt } = this.#facts;
    const firstDay = calendars.get(region)?.daysIn(window, now)[0]?.start ?? window.start;
    const firstBarMs = firstBarAfterMidnight(region, this.#demand.period);
    const rows: (SymbolRows & { readonly oldest: number })[] = [];
    for (let row = 0; row < columns.rows; row++) {
      const index = columns.symbolIndex[row] as number;
      if (row > 0 && columns.symbolIndex[row - 1] === index) continue;
      const symbol = columns.symbols[index] as string;
      const oldest = Number(columns.timestamp[row]);
      const beginsLate = oldest > Math.max(firstDay, listedAt.get(symbol) ?? firstDay) + firstBarMs;
      if (oldest > window.start) rows.push({ symbol, rows: counts.get(symbol) ?? 0, beginsLate, oldest });
    }
    return rows;
  }

  #takesFewer(error: Error, symbols: number): boolean {
    if (symbols <= 1) return false;
    this.#run.limits.learnedTooMany("klines", error, symbols);
    this.#isStale = true;
    this.#hasMeasured = false;
    return true;
  }
}

/**
 * Longest time after a day's midnight at which its first bar is labelled, in milliseconds. A daily bar is labelled by
 * midnight itself, as the region's zone or, where its clocks have changed, another one has it.
 */
function firstBarAfterMidnight(region: Region, period: LandedPeriod): number {
  return (period === "1d" ? 12 * 60 : openMinute(region) + 1) * MINUTE_MS;
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

/** What of a window was answered in full: all of it for most symbols, its newer part for those that were cut. */
function partsOf(
  answer: KlineAnswer,
  symbols: readonly string[],
  window: TimeRange,
  cut: ReadonlyMap<number, readonly SymbolRows[]>,
) {
  const partly = new Set([...answer.unusable, ...[...cut.values()].flat().map(({ symbol }) => symbol)]);
  const newer = [...cut].map(([start, group]) => ({
    symbols: group.map(({ symbol }) => symbol),
    window: { start, end: window.end },
  }));
  return [{ symbols: symbols.filter((symbol) => !partly.has(symbol)), window }, ...newer];
}
