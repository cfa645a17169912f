import { decodeKlineResponse } from "../../../arrow/stream/decode-kline-response.js";
import { isTooManySymbols } from "../../../client/response-error.js";
import { int64At, int64Words } from "../../../core/bits.js";
import { releaseAfter } from "../../../core/release-after.js";
import { DAY_MS, subtractRanges, type TimeRange, unionRanges } from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/named-values.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import { fileRange } from "../../../lake/files/prune.js";
import type { Lease } from "../../../lake/requests/request-leases.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { localDate } from "../../../market/zone.js";
import { judgeResponse, type ResponseVerdict } from "../../../plan/absence/judge-response.js";
import {
  nextFollowUps,
  type Page,
  type PossibleGap,
  type Verdict,
} from "../../../plan/absence/older-bars.js";
import { ASSUMED_CAP } from "../../../plan/absence/row-cap.js";
import { type SymbolSpan, symbolSpans } from "../../../plan/absence/window-beginning.js";
import { expectedBars, type RequestUnit } from "../../../plan/request-units.js";
import { BARS_1D } from "../../../schema/bars.js";
import type { DecodedKlines } from "../../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../../wire/endpoints.js";
import type { KlineColumns } from "../../../wire/kline-columns.js";
import { ClosedRanges } from "../../ledger/closed-ranges.js";
import { instantSql } from "../../ledger/ledger.js";
import { RecentWindows } from "../../ledger/recent-windows.js";
import { enterAbsences, type Leftovers } from "../../run/leftovers.js";
import type { Completeness } from "../../run/report/completeness.js";
import { askEach, CONCURRENCY } from "../../run/request/request-sender.js";
import type { Run } from "../../run/run.js";
import type { RequestSharing } from "../request-sharing.js";
import { type BarsDemand, barsTable, lookbackStart, type PlanFacts, planBarRequests } from "./bars-demand.js";
import { DemandAbsences } from "./explain-absences.js";
import { expectationOf, judgedResponse, klinesQuery } from "./klines-request.js";
import { LandingBars } from "./landing-bars.js";
import { tradedBefore } from "./traded-before.js";

/**
 * Counts each requested session of one demand once. It is a class because it stores which time will be planned again.
 */
export class AskedSessions {
  readonly #completeness: Completeness;
  readonly #dataset: string;
  readonly #facts: Pick<PlanFacts, "calendars" | "now">;
  /** Counted time that a later plan requests again, by symbol. */
  readonly #postponed = new Map<string, TimeRange[]>();

  constructor(
    completeness: Completeness,
    { dataset, facts }: { readonly dataset: string; readonly facts: Pick<PlanFacts, "calendars" | "now"> },
  ) {
    this.#completeness = completeness;
    this.#dataset = dataset;
    this.#facts = facts;
  }

  /** The number of trading days in the window of a region. */
  days({ region, window }: { readonly region: Region; readonly window: TimeRange }): number {
    return this.#facts.calendars.get(region)?.daysIn(window, this.#facts.now).length ?? 0;
  }

  /**
   * Counts the symbols and sessions of a page of the plan. Follow-up requests add no sessions, so they are not counted.
   */
  count({ region, symbols, window, gaps, again }: Page, sessions?: ReadonlyMap<string, number>): void {
    if (gaps !== undefined || again !== undefined) return;
    const days = this.days({ region, window });
    let total = 0;
    for (const symbol of symbols) {
      total += sessions?.get(symbol) ?? days;
      for (const { start, end } of this.#postponed.get(symbol) ?? []) {
        const counted = { start: Math.max(start, window.start), end: Math.min(end, window.end) };
        if (counted.start < counted.end) total -= this.days({ region, window: counted });
      }
    }
    this.#completeness.asked(this.#dataset, symbols, total, window.start);
  }

  /** Records the windows that a response leaves to the next plan. @returns whether there are any. */
  postpone({ postponed }: Pick<Verdict, "postponed">): boolean {
    for (const { symbol, window } of postponed)
      this.#postponed.set(symbol, unionRanges([...(this.#postponed.get(symbol) ?? []), window]));
    return postponed.length > 0;
  }
}

/** Number of symbols that is sufficient to recognise another period by the values of their bars. */
const MANY_SYMBOLS = 10;
/** No two sessions that follow one another without a weekend or a holiday are further apart, in milliseconds. */
const NEIGHBOURS_MS = 1.5 * DAY_MS;
/** A time that contains the longest period, in milliseconds. */
const YEAR_MS = 366 * DAY_MS;

/**
 * The symbols of a response of days if each of their newest bars is the one of a week, month, quarter or year that has not
 * ended. Its opening is then that of the first session, its high and low are no lower and no higher than those of any session
 * that the lake has since; one day's bar has this by chance for hardly any symbol, and here more than half of ten or more have
 * it. In a response for one session, or about fewer symbols, nothing is recognised.
 *
 * @param sessions number of sessions of the requested window.
 */
async function formingBars(
  run: Run,
  { region, gaps }: Page,
  columns: KlineColumns,
  sessions: number,
): Promise<ReadonlySet<string>> {
  const spans = symbolSpans(columns);
  const isSuspicious = gaps === undefined && sessions > 1 && spans.length >= MANY_SYMBOLS;
  if (!isSuspicious || haveNeighbours(spans, int64Words(columns.timestamp))) return new Set();
  const { open, high, low } = columns.doubles;
  const newest = spans.map(({ symbol, end }) => ({
    symbol,
    row: end - 1,
    at: Number(columns.timestamp[end - 1]),
  }));
  const values = (column: typeof open): string =>
    jsonParameter(newest.map(({ row }) => column.values[row] as number));
  const end = newest.reduce((latest, { at }) => Math.max(latest, at), 0);
  const { session, lake } = run.context;
  const [units] = await run.exclusive(async () => {
    const snapshot = await lake.snapshot(BARS_1D);
    const files = [...snapshot.files.values()].filter((file) => {
      const range = fileRange(file);
      const isOfRegion = (file.partitionValues.region ?? region) === region;
      return isOfRegion && range.start < end && range.end > end - YEAR_MS;
    });
    if (files.length === 0) return [];
    return session.json<{ n: number }>(
      `WITH came AS (
         SELECT unnest(from_json($1, '["VARCHAR"]')) AS symbol, unnest(from_json($2, '["DATE"]')) AS day,
           unnest(from_json($3, '["DOUBLE"]')) AS open, unnest(from_json($4, '["DOUBLE"]')) AS high,
           unnest(from_json($5, '["DOUBLE"]')) AS low),
       known AS (
         SELECT symbol, trade_date, open, high, low FROM (${await parquetRelation(session, lake.filesOf(snapshot, files))})
         WHERE timestamp >= ${instantSql(end - YEAR_MS)} AND timestamp < ${instantSql(end)} AND volume > 0),
       judged AS (
         SELECT unit, came.symbol, any_value(came.open) = arg_min(known.open, trade_date)
           AND any_value(came.high) >= max(known.high) AND any_value(came.low) <= min(known.low) AS matches
         FROM came JOIN known ON known.symbol = came.symbol AND trade_date < came.day
           CROSS JOIN (SELECT unnest(['week', 'month', 'quarter', 'year']) AS unit)
         WHERE trade_date >= date_trunc(unit, came.day)
         GROUP BY unit, came.symbol HAVING max(known.high) > min(known.low))
       SELECT count(*)::DOUBLE AS n FROM (
         SELECT unit FROM judged GROUP BY unit
         HAVING count(*) >= ${MANY_SYMBOLS} AND count(*) FILTER (matches) > count(*) / 2)`,
      [
        jsonParameter(newest.map(({ symbol }) => symbol)),
        jsonParameter(newest.map(({ at }) => localDate(at, REGIONS[region].zone))),
        values(open),
        values(high),
        values(low),
      ],
    );
  });
  return units !== undefined && units.n > 0 ? new Set(spans.map(({ symbol }) => symbol)) : new Set();
}

/** Whether two bars of a symbol are on days that follow one another: in most responses the first two. */
function haveNeighbours(spans: readonly SymbolSpan[], words: Uint32Array): boolean {
  for (const { start, end } of spans)
    for (let row = start + 1; row < end; row++)
      if (int64At(words, row) - int64At(words, row - 1) < NEIGHBOURS_MS) return true;
  return false;
}

/** Most planned bars of all requests in flight, whose columns are in memory. */
const BARS_IN_FLIGHT = 2_000_000;

/** Sends the requests of one demand. It is a class because a response can change the next plan. */
export class AskingBars {
  readonly table;
  readonly landing: LandingBars;
  readonly #run: Run;
  readonly #demand: BarsDemand;
  readonly #facts: PlanFacts;
  readonly #cap;
  /** Whether a response has changed the facts of the plan. */
  #isStale = false;
  /** Whether a response has left windows to the next plan. */
  #hasPostponed = false;
  #hasMeasured = false;
  /** Beginnings of windows that still need a request. */
  #gaps: PossibleGap[] = [];
  /** Whether a response that seems to be cut was examined during this plan; further ones wait until it ends. */
  #hasProbed = false;
  readonly #recent: RecentWindows;
  /** Symbols without any bars in a response. */
  readonly #absent: DemandAbsences;
  readonly #closed = new ClosedRanges();
  readonly #asked: AskedSessions;
  /** Names of the responses that are known to be cut, or known to be complete. */
  readonly #shown = new Set<string>();
  readonly #sharing: RequestSharing;
  /** Windows with a full response, by symbol. `#facts.covered` also contains windows that failed or have a gap. */
  readonly #answered: Map<string, TimeRange[]>;

  constructor(run: Run, demand: BarsDemand, facts: PlanFacts, sharing: RequestSharing) {
    this.#sharing = sharing;
    this.#answered = new Map(facts.covered);
    this.table = barsTable(demand.period);
    this.landing = new LandingBars(run, this.table);
    this.#run = run;
    this.#demand = demand;
    this.#absent = new DemandAbsences(demand.period, (symbol, window) => {
      const empty = facts.empty.get(symbol) ?? [];
      const known = [...empty, ...(this.#answered.get(symbol) ?? [])];
      return empty.length > 0 && subtractRanges(window, known).length === 0;
    });
    this.#facts = facts;
    this.#asked = new AskedSessions(run.log.completeness, { dataset: this.table.name, facts });
    this.#cap = run.context.limits.rowCap(demand.period);
    this.#recent = new RecentWindows(lookbackStart(run.context.startedAt, demand.lookbackDays));
  }

  /** Plans, and sends requests until the plan is done or out of date. @returns whether more requests may follow. */
  async askPlanned(): Promise<boolean> {
    const [run, { period }] = [this.#run, this.#demand];
    this.#sharing.planned();
    const planned = planBarRequests(this.#demand, this.#facts, {
      rowCap: this.#cap.known ?? LIMITS.maxCount,
      symbolsPerRequest: run.context.limits.symbolsPerRequest("klines"),
    });
    // One response shows whether the service follows the documented cap; the other requests wait for it.
    const measures =
      !this.#hasMeasured && this.#cap.known === undefined && ASSUMED_CAP[period] < LIMITS.maxCount;
    this.#hasMeasured = true;
    this.#hasProbed = false;
    this.#hasPostponed = false;
    const units = measures ? planned.slice(0, 1) : planned;
    if (units.length === 0) return false;
    run.progress.replan(this.table.name, planned.length);
    this.#isStale = measures;
    const largest = units.reduce((max, unit) => Math.max(max, expectedBars(unit, period)), 1);
    const concurrency = Math.min(CONCURRENCY, Math.max(1, Math.floor(BARS_IN_FLIGHT / largest)));
    await askEach(run.requests, this.#untilStale(units), (unit) => this.#askUnit(unit), concurrency);
    await this.#askFollowUps(concurrency);
    if (!this.#sharing.isElsewhere || run.requests.isHalted(this.table.name))
      return this.#isStale || this.#hasPostponed;
    // Another run may wait for these leases, so the ledger must have the requests before the leases are released.
    await this.landing.finish();
    await enterAbsences(run, this.#demand, this.leftovers);
    await this.#sharing.release();
    await this.#sharing.waitForOthers();
    this.#hasMeasured &&= !measures;
    return true;
  }

  *#untilStale(units: readonly RequestUnit[]): Generator<RequestUnit> {
    const measuring = this.#isStale;
    for (const unit of units) {
      if (this.#run.requests.isHalted(this.table.name) || (this.#isStale && !measuring)) return;
      yield unit;
    }
  }

  /**
   * Requests a unit unless another run does. The first response that seems to be cut is examined at once, because the
   * plan depends on the result.
   */
  async #askUnit(unit: RequestUnit): Promise<void> {
    const run = this.#run;
    const lease = await this.#sharing.lease(this.table.name, unit);
    this.#isStale ||= this.#sharing.hasNews;
    if (lease === undefined) return;
    run.progress.doing(`${this.table.name} from ${new Date(unit.window.start).toISOString().slice(0, 10)}`);
    await releaseAfter(
      () => this.#askPage(unit, lease),
      () => (this.#gaps.length > 0 || !this.#absent.isEmpty ? this.#sharing.retain(lease) : lease.release()),
    );
    const urgent = this.#gaps.filter((gap) => gap.isUrgent && !this.#closed.explains(gap));
    if (this.#hasProbed || this.#isStale || urgent.length === 0) return;
    this.#hasProbed = true;
    const { followUps } = nextFollowUps(urgent, run.context.limits.symbolsPerRequest("klines"));
    await this.#followUp(followUps[0] as Page);
  }

  /** Requests older bars and absent symbols until all possible gaps are settled and all absences confirmed. */
  async #askFollowUps(concurrency: number): Promise<void> {
    const run = this.#run;
    while ((this.#gaps.length > 0 || !this.#absent.isEmpty) && !run.requests.isHalted(this.table.name)) {
      this.#settleClosed();
      const size = run.context.limits.symbolsPerRequest("klines");
      const followUps = [...nextFollowUps(this.#gaps, size).followUps, ...this.#absent.takeFollowUps(size)];
      await askEach(run.requests, followUps, (followUp) => this.#followUp(followUp), concurrency);
    }
  }

  async #followUp(followUp: Page): Promise<void> {
    if (this.#run.requests.isHalted(this.table.name)) return;
    this.#gaps = this.#gaps.filter((gap) => followUp.gaps?.get(gap.symbol) !== gap);
    this.#run.progress.plan(this.table.name, 1);
    await this.#askPage(followUp, this.#sharing.retained);
  }

  /** Requests a page, and passes the response to the landing, which retains the lease until the response has landed. */
  async #askPage(page: Page, lease: Lease): Promise<void> {
    const { symbols, window, region } = page;
    const [{ period }, run] = [this.#demand, this.#run];
    let isTooLarge = false;
    const got = await run.requests.ask(
      { endpoint: ENDPOINTS.klinesBatch, query: klinesQuery(symbols, window, period), arrow: true },
      {
        dataset: this.table.name,
        symbols,
        window,
        finalEnd: run.context.finalEnds[region],
        bars: expectedBars({ ...page, days: this.#asked.days(page) }, period),
      },
      async (body, source, type) => {
        const response = await decodeKlineResponse(body, type, expectationOf(page), run.buffers);
        const verdict = await this.#judge(page, response, source);
        return judgedResponse(page, response, verdict, this.#answered);
      },
      (error) => (isTooLarge = isTooManySymbols(error) && this.#takesFewer(error, symbols.length)),
    );
    if (got === undefined) this.#giveUp(page, isTooLarge);
    else {
      const { response, verdict } = got.value;
      this.#takeVerdict(page, verdict, response.columns);
      this.#run.log.completeness.received(this.table.name, response.columns.rows);
      await this.landing.take(got, lease);
    }
  }

  /** After an error: a page with too many symbols is requested again in parts, any other is left to the next run. */
  #giveUp(page: Page, isTooLarge: boolean): void {
    const { region, symbols, window } = page;
    if (!isTooLarge) {
      this.#settle(symbols, window);
      this.#absent.symbols.drop(page);
      this.#asked.count(page);
    } else if (page.gaps !== undefined) this.#gaps.push(...page.gaps.values());
    else if (page.again === "all") this.#absent.symbols.add({ region, window, symbols }, true);
  }

  #takeVerdict(page: Page, verdict: ResponseVerdict, columns: KlineColumns): void {
    const { region, window } = page;
    for (const part of verdict.settled) {
      this.#settle(part.symbols, part.window);
      this.#settle(part.symbols, part.window, this.#answered);
    }
    for (const { symbol, window: left } of verdict.abandoned) this.#settle([symbol], left);
    this.#settle(verdict.absence.unconfirmed, window);
    for (const one of verdict.lost) this.#settle([one.symbol], one.window);
    this.#gaps.push(...verdict.gaps);
    this.#learn(page, verdict);
    this.#absent.take(page, verdict);
    this.#asked.count(page, verdict.sessions);
    if (this.#asked.postpone(verdict)) this.#hasPostponed = true;
    if (this.#demand.lookbackDays) this.#recent.add(verdict, columns);
    this.#run.log.completeness.judged(this.table.name, page, verdict);
    if (verdict.present.length > 0) this.#absent.minutes.came(region);
  }

  /** The absences and windows that are explained and compared once everything has landed. */
  get leftovers(): Leftovers {
    const [facts, absent, recent, answered] = [this.#facts, this.#absent, this.#recent, this.#answered];
    return { table: this.table, facts, absent, recent, answered };
  }

  /** Counts a window as requested, so that no later plan of this run contains it. */
  #settle(symbols: readonly string[], window: TimeRange, covered = this.#facts.covered): void {
    for (const symbol of symbols) covered.set(symbol, [...(covered.get(symbol) ?? []), window]);
  }

  async #judge(page: Page, response: DecodedKlines, source: string): Promise<ResponseVerdict> {
    const { calendars, now, listedAt } = this.#facts;
    // If no symbol came, the response shows nothing about the absent ones, whenever they traded.
    const absent = response.columns.rows > 0 && page.gaps === undefined ? response.absent : [];
    const known = { ...this.#facts, answered: this.#answered };
    const traded = await tradedBefore(this.#run, this.table, page, absent, known);
    const forming =
      this.#demand.period === "1d"
        ? await formingBars(this.#run, page, response.columns, this.#asked.days(page))
        : undefined;
    return judgeResponse(page, response, {
      covered: this.#answered,
      period: this.#demand.period,
      calendar: calendars.get(page.region),
      closed: this.#closed.of(page.region),
      listedAt,
      cap: this.#cap,
      traded,
      forming,
      now,
      source,
    });
  }

  /** Learns from a follow-up request: a cap, or days on which a region did not trade. */
  #learn(page: Page, verdict: Verdict): void {
    const before = this.#cap.known;
    for (const { source, rows, wasCut } of verdict.shown) {
      const key = `${source} ${rows} ${wasCut}`;
      if (!this.#shown.has(key)) this.#cap.learn(rows, wasCut);
      this.#shown.add(key);
    }
    if (this.#cap.known !== undefined && this.#cap.known !== before) {
      this.#isStale = true;
      this.#run.context.limits.learnedCap(this.#demand.period, this.#cap.known);
    }
    this.#closed.learn(page, verdict);
  }

  /** Settles the gaps that lie in a time at which the region did not trade. */
  #settleClosed(): void {
    const closed = this.#gaps.filter((gap) => this.#closed.explains(gap));
    const settled = closed.map((gap) => ({ ...gap, since: gap.window.start }));
    this.#gaps = this.#gaps.filter((gap) => !this.#closed.explains(gap));
    for (const { region, symbols, window } of nextFollowUps(settled, Number.POSITIVE_INFINITY).followUps) {
      this.#settle(symbols, window);
      this.#run.ledger.enterSettled({
        endpoint: ENDPOINTS.klinesBatch,
        dataset: this.table.name,
        symbols,
        window,
        finalEnd: this.#run.context.finalEnds[region],
      });
    }
  }

  #takesFewer(error: Error, symbols: number): boolean {
    if (symbols <= 1) return false;
    this.#run.context.limits.learnedTooMany("klines", error, symbols);
    this.#isStale = true;
    this.#hasMeasured = false;
    return true;
  }
}
