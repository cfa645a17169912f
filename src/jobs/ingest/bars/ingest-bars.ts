import { int64At, int64Words } from "../../../core/bits.js";
import { freedAfterUse } from "../../../core/memory-pool.js";
import { releaseAfter } from "../../../core/release-after.js";
import { DAY_MS, subtractRanges, type TimeRange, unionRanges } from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/named-values.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import { fileRange } from "../../../lake/files/prune.js";
import { landTradingDays } from "../../../lake/land/trading-days.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { dayAt, type TradingCalendar } from "../../../market/trading-calendar.js";
import { localDate } from "../../../market/zone.js";
import { MANY_SYMBOLS } from "../../../plan/absence/absence.js";
import type { ResponseVerdict } from "../../../plan/absence/judge-response.js";
import {
  nextFollowUps,
  type Page,
  type PossibleGap,
  type Verdict,
} from "../../../plan/absence/older-bars.js";
import { type SymbolSpan, symbolSpans } from "../../../plan/absence/window-beginning.js";
import { expectedBars, type RequestUnit } from "../../../plan/request-units.js";
import { BARS_1D } from "../../../schema/bars.js";
import type { TableSchema } from "../../../schema/column.js";
import { type DecodedKlines, decodeKlines } from "../../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../../wire/endpoints.js";
import type { KlineColumns } from "../../../wire/kline-columns.js";
import { instantSql, landEarlierAbsences, recordAbsencesLand } from "../../ledger/ledger.js";
import { RecentWindows } from "../../ledger/recent-windows.js";
import type { Completeness } from "../../run/report/completeness.js";
import { askEach, CONCURRENCY } from "../../run/request/request-sender.js";
import type { Run } from "../../run/run.js";
import { landOptions } from "../../run/run-context.js";
import {
  type BarsDemand,
  barsTable,
  lookbackStart,
  type PlanFacts,
  planBarRequests,
  readPlanFacts,
} from "./bars-demand.js";
import { DemandAbsences, explainLeftovers, type Leftovers } from "./explain-absences.js";
import {
  expectationOf,
  judgedResponse,
  KlineRequester,
  type KlineSink,
  klinesQuery,
  ServiceTraits,
} from "./kline-requester.js";
import { LandingBars } from "./landing-bars.js";

class RequestedSessions {
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

/** A symbol traded up to a time if it has bars on each of this number of sessions before it. */
const SESSIONS = 5;
/** A time that contains these sessions, also with the longest holiday among them, in milliseconds. */
const SPAN_MS = 25 * DAY_MS;

/** What is known about a demand: the calendars, the delisted symbols, and the windows with a full response. */
interface DemandFacts extends Pick<PlanFacts, "calendars" | "delistedAt" | "now"> {
  readonly answered: ReadonlyMap<string, readonly TimeRange[]>;
}

/**
 * Those of the absent symbols of a response that traded up to its window, or up to the first time in it that no
 * response has settled, according to the bars in the lake. Symbols that are delisted are left out, and so are symbols
 * that often have days without a bar: their absence is usual.
 */
async function tradedBefore(
  run: Run,
  table: TableSchema,
  { region, window }: Page,
  absent: readonly string[],
  { calendars, delistedAt, answered, now }: DemandFacts,
): Promise<ReadonlySet<string>> {
  const byTime = new Map<number, string[]>();
  for (const symbol of absent) {
    const [open = window] = subtractRanges(window, answered.get(symbol) ?? []);
    // While a session runs, a symbol may have no bar yet.
    if (delistedAt.has(symbol) || open.start >= run.context.finalEnds[region]) continue;
    const known = byTime.get(open.start);
    if (known === undefined) byTime.set(open.start, [symbol]);
    else known.push(symbol);
  }
  const found = new Set<string>();
  for (const [time, symbols] of byTime) {
    const calendar = calendars.get(region);
    const start = calendar && startOfSessions(calendar, time, now);
    if (start === undefined) continue;
    for (const one of await run.exclusive(() => tradingOn(run, table, region, symbols, { start, end: time })))
      found.add(one);
  }
  return found;
}

/**
 * The start of the last {@link SESSIONS} sessions before a time. Weekdays after the last known session may be a holiday, so
 * they count only where too few sessions are known.
 */
function startOfSessions(calendar: TradingCalendar, time: number, now: number): number | undefined {
  const known = calendar.knownDaysBefore(time, SESSIONS);
  const [start] = known;
  if (start !== undefined && known.length === SESSIONS && start >= time - SPAN_MS) return start;
  const days = calendar.daysIn({ start: time - SPAN_MS, end: time }, now);
  return days.length < SESSIONS ? undefined : dayAt(days, days.length - SESSIONS).start;
}

/** The symbols that have bars on {@link SESSIONS} days of a time range. */
async function tradingOn(
  { context: { session, lake } }: Run,
  table: TableSchema,
  region: Region,
  symbols: readonly string[],
  { start, end }: TimeRange,
): Promise<string[]> {
  const snapshot = await lake.snapshot(table);
  const files = [...snapshot.files.values()].filter((file) => {
    const range = fileRange(file);
    return range.start < end && range.end > start && (file.partitionValues.region ?? region) === region;
  });
  if (files.length === 0) return [];
  const rows = await session.json<{ symbol: string }>(
    `SELECT symbol FROM (${await parquetRelation(session, lake.filesOf(snapshot, files))})
     WHERE symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
       AND timestamp >= ${instantSql(start)} AND timestamp < ${instantSql(end)}
     GROUP BY symbol HAVING count(DISTINCT trade_date) >= ${SESSIONS}`,
    [jsonParameter(symbols)],
  );
  return rows.map(({ symbol }) => symbol);
}

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

class BarRequests implements KlineSink {
  readonly table;
  readonly landing: LandingBars;
  readonly #run: Run;
  readonly #demand: BarsDemand;
  readonly #facts: PlanFacts;
  readonly #traits: ServiceTraits;
  readonly #requester: KlineRequester;
  #hasPostponed = false;
  #concurrency = 1;
  readonly #recent: RecentWindows;
  readonly #sessions: RequestedSessions;
  /** Units of the plan whose request has not been sent. */
  readonly #planned = new Set<Page>();
  /** Windows with a full response, by symbol. `#facts.covered` also contains windows that failed or have a gap. */
  readonly #answered: Map<string, readonly TimeRange[]>;

  constructor(run: Run, demand: BarsDemand, facts: PlanFacts) {
    const { limits, startedAt } = run.context;
    this.#answered = new Map(facts.covered);
    this.table = barsTable(demand.period);
    this.landing = new LandingBars(run, this.table);
    this.#run = run;
    this.#demand = demand;
    const absent = new DemandAbsences(demand.period, (symbol, window) => {
      const empty = facts.empty.get(symbol) ?? [];
      const known = [...empty, ...(this.#answered.get(symbol) ?? [])];
      return empty.length > 0 && subtractRanges(window, known).length === 0;
    });
    this.#facts = facts;
    this.#sessions = new RequestedSessions(run.log.completeness, { dataset: this.table.name, facts });
    this.#traits = new ServiceTraits(demand.period, limits.rowCap(demand.period), limits);
    this.#requester = new KlineRequester(this.#traits, absent, this);
    this.#recent = new RecentWindows(lookbackStart(startedAt, demand.lookbackDays));
  }

  /** Plans, and sends requests until the plan is done or out of date. @returns whether more requests may follow. */
  async requestPlanned(): Promise<boolean> {
    const [run, { period }] = [this.#run, this.#demand];
    const planned = planBarRequests(this.#demand, this.#facts, {
      rowCap: this.#traits.cap.known ?? LIMITS.maxCount,
      symbolsPerRequest: this.#traits.symbolsPerRequest,
    });
    this.#hasPostponed = false;
    const units = this.#traits.begin(planned);
    if (units.length === 0) return false;
    run.progress.replan(this.table.name, planned.length);
    const largest = units.reduce((max, unit) => Math.max(max, expectedBars(unit, period)), 1);
    this.#concurrency = Math.min(CONCURRENCY, Math.max(1, Math.floor(BARS_IN_FLIGHT / largest)));
    const request = (unit: RequestUnit): Promise<void> => this.#requestUnit(unit);
    await askEach(run.requests, this.#untilStale(units), request, this.#concurrency);
    await this.#requester.complete();
    return this.#traits.isStale || this.#hasPostponed || units.length < planned.length;
  }

  *#untilStale(units: readonly RequestUnit[]): Generator<RequestUnit> {
    for (const unit of units) {
      if (this.isHalted() || this.#traits.isStale) return;
      yield unit;
    }
  }

  async #requestUnit(unit: RequestUnit): Promise<void> {
    const run = this.#run;
    run.progress.doing(`${this.table.name} from ${new Date(unit.window.start).toISOString().slice(0, 10)}`);
    this.#planned.add(unit);
    await this.#requester.request(unit);
  }

  isHalted(): boolean {
    return this.#run.requests.isHalted(this.table.name);
  }

  async sendEach(pages: readonly Page[], send: (page: Page) => Promise<void>): Promise<void> {
    await askEach(this.#run.requests, pages, send, this.#concurrency);
  }

  /** Requests a page, and passes the response to the landing. @returns whether it had too many symbols. */
  async send(page: Page): Promise<boolean> {
    // The plan counts its units; what follows from their responses is more.
    if (!this.#planned.delete(page)) this.#run.progress.plan(this.table.name, 1);
    const { symbols, window, region } = page;
    const [{ period }, run] = [this.#demand, this.#run];
    let isTooLarge = false;
    const got = await run.requests.ask(
      { endpoint: ENDPOINTS.klinesBatch, query: klinesQuery(symbols, window, period) },
      {
        dataset: this.table.name,
        symbols,
        window,
        finalEnd: run.context.finalEnds[region],
        bars: expectedBars({ ...page, days: this.#sessions.days(page) }, period),
      },
      async (body, source) => {
        const response = await decodeKlines(freedAfterUse(body), expectationOf(page), run.buffers);
        const verdict = await this.#judge(page, response, source);
        return judgedResponse(page, response, verdict, this.#answered);
      },
      (error) => (isTooLarge = this.#traits.takesFewer(error, symbols.length)),
    );
    if (got !== undefined) {
      const { response, verdict } = got.value;
      this.#takeVerdict(page, verdict, response.columns);
      run.log.completeness.received(this.table.name, response.columns.rows);
      await this.landing.take(got);
    } else if (!isTooLarge) {
      // What failed is left to the next run.
      this.#settle(symbols, window);
      this.#requester.absent.symbols.drop(page);
      this.#sessions.count(page);
    }
    return isTooLarge;
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
    this.#requester.take(page, verdict);
    this.#sessions.count(page, verdict.sessions);
    if (this.#sessions.postpone(verdict)) this.#hasPostponed = true;
    if (this.#demand.lookbackDays) this.#recent.add(verdict, columns);
    this.#run.log.completeness.judged(this.table.name, page, verdict);
    if (verdict.present.length > 0) this.#requester.absent.minutes.came(region);
  }

  /** The absences and windows that are explained and compared once everything has landed. */
  get leftovers(): Leftovers {
    const [facts, { absent }, recent] = [this.#facts, this.#requester, this.#recent];
    return { table: this.table, facts, absent, recent, answered: this.#answered };
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
        ? await formingBars(this.#run, page, response.columns, this.#sessions.days(page))
        : undefined;
    const calendar = calendars.get(page.region);
    const covered = this.#answered;
    return this.#traits.judge(page, response, { covered, calendar, listedAt, traded, forming, now, source });
  }

  /** Records that nothing can have been cut off before the gaps in which the region did not trade. */
  settle(open: readonly PossibleGap[], closed: readonly PossibleGap[]): PossibleGap[] {
    const settled = closed.map((gap) => ({ ...gap, since: gap.window.start }));
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
    return [...open];
  }
}

/**
 * Requests the bars that are not covered, in the order of their windows; responses land while other requests are in
 * flight.
 *
 * The requests are planned again when a response shows that the service returns more, or fewer, bars than assumed.
 */
export async function ingestBars(run: Run, demand: BarsDemand): Promise<PlanFacts> {
  run.progress.doing("planning");
  const { session, lake, marketClock } = run.context;
  if (demand.period === "1d") await landEarlierAbsences(session, lake, landOptions(run.context));
  const facts = await readPlanFacts({ session, lake, clock: marketClock }, demand);
  const requests = new BarRequests(run, demand, facts);
  await releaseAfter(
    async () => {
      while (!run.requests.isHalted(requests.table.name) && (await requests.requestPlanned()));
      await requests.landing.finish();
      await explainLeftovers(run, demand, requests.leftovers);
    },
    () => requests.landing.finish(),
  );
  const { landed } = run.log.facts();
  const hasLanded = landed.some(({ table, inserted }) => table === BARS_1D.name && inserted > 0);
  if (!hasLanded) return facts;
  run.log.landed(await landTradingDays(session, lake, landOptions(run.context)));
  // A lake that began with this version has nothing to derive later.
  await recordAbsencesLand(lake, landOptions(run.context));
  return facts;
}
