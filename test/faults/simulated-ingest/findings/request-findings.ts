import { parseTradingDate, subtractRanges, type TimeRange } from "../../../../src/core/time.js";
import type { RequestRecord } from "../../../../src/jobs/ledger/ledger.js";
import { CALENDAR_SYMBOLS } from "../../../../src/lake/land/trading-days.js";
import type { LandedPeriod } from "../../../../src/market/period.js";
import { REGIONS, type Region } from "../../../../src/market/regions.js";
import { addDays } from "../../../../src/market/sessions.js";
import { regionOf } from "../../../../src/market/symbol.js";
import { TradingCalendar } from "../../../../src/market/trading-calendar.js";
import { instantOf, localDate } from "../../../../src/market/zone.js";
import { ASKED_AGAIN_SOON } from "../../../../src/plan/absence/absence.js";
import { planRequestUnits } from "../../../../src/plan/request-units.js";
import type { RunStatus } from "../../../../src/schema/runs.js";
import { type Event, isValid, type Outcome } from "../chronicle.js";
import { MISSING_DAY, type Schedule, WRONGS } from "../fault-schedule.js";
import { TrueMarket } from "../upstream/true-market.js";
import { earliestRecheck } from "./lookback.js";

type Asked = Event & { readonly kind: "asked" };

/** Maximum number of requests of a run in flight: a kill can lose these. */
const IN_FLIGHT = 4;
/** A request younger than this is not repeated. */
const RECHECK_MS = 12 * 3_600_000;
/** Reference data older than this is requested again. */
const REFRESH_MS = 12 * 3_600_000;
/** Reasons of absence for which the next run may request a window again. */
const ASKED_AGAIN: ReadonlySet<string | undefined> = new Set(ASKED_AGAIN_SOON);
const INDEXES: ReadonlySet<string> = new Set(Object.values(CALENDAR_SYMBOLS).flat());
const REFUSED: ReadonlySet<Outcome> = new Set(["forbidden"]);

/** The requests of one run of a pipeline, and which of their responses were spooled. */
interface Run {
  readonly life: number;
  readonly pipeline: string;
  readonly at: number;
  readonly asked: Asked[];
  readonly kept: (readonly RequestRecord[])[];
  /** Undefined if the run was killed. */
  ended?: Event & { readonly kind: "ended" };
}

/**
 * Compares the requests with the permitted ones.
 *
 * - Every correct response was spooled, except those in flight at a kill: four at most.
 * - No request asks only for what was spooled before, is final and is not due to be requested again. A window whose last
 *   response was wrong is due: the service has contradicted what was spooled before.
 * - A run gets no more correct responses than a plan with known limits has requests for what was not spooled when the
 *   run began; plus one for each response that the service cut, one for each further request about a window whose
 *   first session was not seen or in which nothing came, and those for measuring the cap.
 *
 * All other requests met a fault. So there are at most the requests of the plan, the pages that caps cause, one for
 * each fault, and four for each kill.
 */
export function requestFindings(schedule: Schedule, events: readonly Event[]): string[] {
  const findings: string[] = [];
  const paid = new Paid(schedule);
  /** The times at which requests for reference data were answered. */
  const fresh = new Map<string, number>();
  let knowsUniverses = false;
  for (const run of runsOf(events)) {
    const name = `run of ${run.pipeline} in life ${run.life}`;
    const pipeline = schedule.pipelines.find((one) => one.name === run.pipeline);
    for (const one of run.asked) paid.leaveOut(one);
    const answered = run.asked.filter(({ outcome }) => isValid(outcome));
    const unknown = unknownUniverses(run);
    if (unknown > 0 && knowsUniverses) findings.push(`${name}: does not know universes that have landed`);
    const lost = answered.length - run.kept.length - unknown;
    const isKept = pipeline?.kind !== "reference";
    if (isKept && lost > (run.ended === undefined ? IN_FLIGHT : 0))
      findings.push(`${name}: ${answered.length} right responses, of which ${run.kept.length} were kept`);
    const isOpen = unknown > 0 || (run.ended?.open.length ?? 0) > 0;
    if (run.ended !== undefined && run.ended.status !== statusOf(run, isOpen))
      findings.push(
        `${name}: ended ${run.ended.status} and should ${statusOf(run, isOpen)}: ${run.ended.failures.join("; ")}`,
      );
    knowsUniverses ||=
      run.ended !== undefined && answered.some(({ content }) => /^\/v1\/universes\b/.test(content));
    if (run.ended !== undefined && !run.ended.failures.length) findings.push(...believedFindings(run, name));
    if (pipeline?.kind === "bars") findings.push(...receivedFindings(run, name));
    if (pipeline?.kind === "bars") {
      const plan = paid.plan(pipeline.period, run.at, run.life);
      const cuts = answered.reduce((sum, { cuts: n }) => sum + n, 0);
      const doubts = answered.filter((one, n) => isLook(one, answered.slice(0, n))).length;
      if (answered.length > plan + cuts + doubts + 1)
        findings.push(
          `${name}: ${answered.length} right responses to a plan of ${plan}, ${cuts} cuts and ${doubts} doubts`,
        );
      for (const one of run.asked) {
        if (!paid.isUseful(pipeline.period, one, run.at))
          findings.push(`${name}: asked again for what was kept: ${one.content}`);
      }
    }
    if (pipeline?.kind === "reference") {
      for (const { content } of answered) {
        const before = fresh.get(content) ?? Number.NEGATIVE_INFINITY;
        if (before > run.at - REFRESH_MS)
          findings.push(`${name}: asked again for what had landed: ${content}`);
      }
      // One request is in flight at a time: the last response of a killed run may not have landed.
      const landed = run.ended === undefined ? answered.slice(0, -1) : answered;
      for (const { content, at } of landed) fresh.set(content, at);
    }
    for (const one of run.asked) if (isWrong(one)) paid.reopen(one);
    for (const records of run.kept) for (const record of records) paid.add(record);
  }
  return findings;
}

/** The empty responses for universes that no run has landed before: such a universe may be misspelled, and has failed. */
function unknownUniverses({ ended }: Run): number {
  return ended?.failures.filter((text) => text.includes("and the lake does not know it")).length ?? 0;
}

/** A day that a response leaves out is assumed to be a suspension: the report must count it as one. */
function believedFindings({ asked, ended }: Run, name: string): string[] {
  const left = asked.flatMap(({ outcome, leftOut }) =>
    outcome === MISSING_DAY && leftOut !== undefined ? [`${leftOut.symbol} ${leftOut.start}`] : [],
  );
  const days = new Set(left).size;
  if (ended === undefined || ended.noBar >= days) return [];
  return [
    `${name}: responses left out ${days} days, and the report has ${ended.noBar} sessions without a bar`,
  ];
}

/** The report counts the received bars, if all of them were requested. Further requests return known bars, too. */
function receivedFindings({ asked, ended }: Run, name: string): string[] {
  const hasWrong = asked.some(isWrong);
  const valid = asked.filter(({ outcome }) => isValid(outcome));
  const countOf = (some: readonly Asked[]): number => some.reduce((sum, { bars }) => sum + bars, 0);
  const most = countOf(valid);
  const least = countOf(valid.filter((one, n) => !isLook(one, valid.slice(0, n))));
  if (ended === undefined || hasWrong || (ended.received <= most && ended.received >= least)) return [];
  return [`${name}: ${least} to ${most} bars came, and the report has ${ended.received}`];
}

/** Whether a response was not about what was requested. */
function isWrong({ outcome }: Asked): boolean {
  return (WRONGS as readonly Outcome[]).includes(outcome);
}

/** Whether a request repeats a time that the same run has requested for its symbols before. */
function isLook({ symbols, first, last }: Asked, before: readonly Asked[]): boolean {
  return symbols.every((symbol) =>
    before.some((one) => one.first <= first && one.last >= last && one.symbols.includes(symbol)),
  );
}

/** The runs, in order. */
function runsOf(events: readonly Event[]): Run[] {
  const runs: Run[] = [];
  for (const event of events) {
    const run = runs.at(-1);
    if (event.kind === "began")
      runs.push({ life: event.life, pipeline: event.pipeline, at: event.at, asked: [], kept: [] });
    else if (event.kind === "asked") run?.asked.push(event);
    else if (event.kind === "kept") run?.kept.push(event.records);
    else if (event.kind === "ended" && run !== undefined) run.ended = event;
  }
  return runs;
}

/**
 * The required end of a run: it depends on the outcome of the last request of each content, unless smaller requests
 * replaced it, and on whether the report leaves something open.
 */
function statusOf({ asked }: Run, isOpen: boolean): RunStatus {
  const last = new Map(asked.map((one) => [one.content, one.outcome]));
  const bad = [...last.values()].filter((outcome) => !isValid(outcome) && outcome !== "too many");
  if (bad.length === 0) return isOpen ? "partial" : "complete";
  // The same request may be sent twice: nothing came at first, and the further request failed.
  if (isOpen || asked.some(({ outcome }) => isValid(outcome))) return "partial";
  return bad.some((outcome) => REFUSED.has(outcome)) ? "refused" : "failed";
}

/** The spooled bars: these must not be requested again. */
class Paid {
  readonly #schedule: Schedule;
  readonly #market: TrueMarket;
  /** All weekdays: more than the trading days, some of which a run may not know yet. */
  readonly #calendars: Readonly<Record<"CN" | "US", TradingCalendar>>;
  readonly #ranges = new Map<string, { readonly range: TimeRange; readonly askedAt: number }[]>();

  /** Starts of days that a response left out of the bars of an index. */
  readonly #withoutIndex = new Set<number>();

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
    this.#market = new TrueMarket(schedule.market);
    this.#calendars = { CN: new TradingCalendar("CN"), US: new TradingCalendar("US") };
  }

  add({ dataset, symbols, window, finalEnd: end, askedAt, reason }: RequestRecord): void {
    if (window === undefined || ASKED_AGAIN.has(reason)) return;
    const range = { start: window.start, end: Math.min(window.end, end ?? window.end) };
    for (const symbol of symbols) {
      const key = `${dataset} ${symbol}`;
      this.#ranges.set(key, [...(this.#ranges.get(key) ?? []), { range, askedAt }]);
    }
  }

  /** Makes the window of a wrong response due again, as far as what the same run spools of it does not close it. */
  reopen({ period, symbols, first, last }: Asked): void {
    for (const symbol of symbols) {
      const key = `bars_${period} ${symbol}`;
      const left = (this.#ranges.get(key) ?? []).flatMap(({ range, askedAt }) =>
        subtractRanges(range, [{ start: first, end: last + 1 }]).map((part) => ({ range: part, askedAt })),
      );
      this.#ranges.set(key, left);
    }
  }

  /** Notes the day that a response left out of the bars of an index: the lake may not know that it was a trading day. */
  leaveOut({ period, leftOut }: Asked): void {
    if (period === "1d" && leftOut !== undefined && INDEXES.has(leftOut.symbol))
      this.#withoutIndex.add(leftOut.start);
  }

  /** Number of requests of a plan for what is not spooled, with the service's limits known. */
  plan(period: LandedPeriod, now: number, life: number): number {
    const { symbolLimit, tellsLimit, lives, pipelines } = this.#schedule;
    // A cap that was learned in an earlier life stays.
    const rowCap = {
      "1d": Math.min(...lives.slice(0, life + 1).map((one) => one.rowCap["1d"])),
      "1m": Math.min(...lives.slice(0, life + 1).map((one) => one.rowCap["1m"])),
    };
    const pipeline = pipelines.find((one) => one.kind === "bars" && one.period === period);
    if (pipeline?.kind !== "bars") return 0;
    const units = (["CN", "US"] as const).map((region) => {
      const symbols = (pipeline.symbols ?? []).filter((symbol) => regionOf(symbol) === region);
      const { zone } = REGIONS[region];
      return planRequestUnits({
        period,
        calendar: this.#calendars[region],
        symbols,
        range: {
          start: instantOf(parseTradingDate(pipeline.from), zone),
          end: instantOf(addDays(localDate(now, zone), 1), zone),
        },
        covered: new Map(symbols.map((symbol) => [symbol, this.#of(period, symbol, now)])),
        now,
        rowCap: rowCap[period],
        // A limit that is not stated is found by halving.
        symbolsPerRequest: tellsLimit ? symbolLimit : Math.max(1, Math.floor(symbolLimit / 2)),
      }).length;
    });
    return units.reduce((sum, n) => sum + n, 0);
  }

  /** Whether a request of a run that began at a given time asks for a day of a symbol that was not spooled. */
  isUseful(period: LandedPeriod, { symbols, first, last }: Asked, began: number): boolean {
    return symbols.some((symbol) => {
      const region = regionOf(symbol) as "CN" | "US";
      const rest = subtractRanges({ start: first, end: last + 1 }, this.#of(period, symbol, began));
      return rest.some((range) => this.#calendars[region].daysIn(range, began).length > 0);
    });
  }

  #of(period: LandedPeriod, symbol: string, now: number): TimeRange[] {
    const since = earliestRecheck(this.#market, regionOf(symbol) as Region, now, this.#withoutIndex);
    const kept = this.#ranges.get(`bars_${period} ${symbol}`) ?? [];
    return kept
      .map(({ range, askedAt }) =>
        askedAt < now - RECHECK_MS ? { start: range.start, end: Math.min(range.end, since) } : range,
      )
      .filter(({ start, end }) => end > start);
  }
}
