import pMap from "p-map";
import { addDays } from "../../calendar/sessions.js";
import { instantOf, localDate } from "../../calendar/zone.js";
import { REGIONS, type Region } from "../../core/exchange.js";
import type { LandedPeriod } from "../../core/period.js";
import { parseTradingDate, type TimeRange } from "../../core/time.js";
import { landKlines } from "../../lake/land-klines.js";
import { expectedBars, planRequestUnits, type RequestUnit, SUSPECT_ROWS } from "../../plan/request-units.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { decodeKlines, type KlineAnswer } from "../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { coveredWindows } from "./ledger.js";
import { CONCURRENCY, type Received, type Run } from "./run.js";

/** Most bars, as planned, and most requests that are landed at once: bounds the memory, and what a crash asks again. */
const GROUP_BARS = 2_000_000;
const GROUP_UNITS = 64;

/** What bars are asked for. */
export interface BarsDemand {
  readonly period: LandedPeriod;
  /** First date (of each exchange's own calendar), or days before today as `-365d`. */
  readonly from: string;
  /** Date after the last one. @default everything so far */
  readonly to?: string | undefined;
  readonly symbols: ReadonlyMap<Region, readonly string[]>;
}

/** The table that a period's bars land in. */
export function barsTable(period: LandedPeriod): TableSchema {
  return period === "1d" ? BARS_1D : BARS_1M;
}

/** The request units that a demand needs, given what the ledger says was answered before. */
export async function planBars(
  run: Pick<Run, "session" | "lake" | "clock">,
  demand: BarsDemand,
): Promise<RequestUnit[]> {
  const covered = await coveredWindows(run.session, run.lake, barsTable(demand.period).name);
  const now = run.clock.now();
  return [...demand.symbols]
    .flatMap(([region, symbols]) =>
      planRequestUnits({
        period: demand.period,
        symbols: new Map([[region, symbols]]),
        range: rangeOf(region, demand, now),
        covered,
        now,
      }),
    )
    .sort((a, b) => a.window.start - b.window.start);
}

/** Asks for bars in the order of their windows, and lands them group by group: the bars first, then the ledger. */
export async function ingestBars(run: Run, demand: BarsDemand): Promise<void> {
  const table = barsTable(demand.period);
  const units = await planBars(run, demand);
  run.plan(units.length);
  for (const group of groupUnits(units, demand.period)) {
    if (run.halted) break;
    run.doing(`${table.name} from ${new Date(group[0]?.window.start ?? 0).toISOString().slice(0, 10)}`);
    const held: HeldAnswer[] = [];
    const ask = async (unit: RequestUnit): Promise<void> => askUnit(run, table, unit, demand.period, held);
    try {
      await pMap(group, ask, { concurrency: CONCURRENCY });
    } finally {
      await run.exclusive(() => landGroup(run, table, held));
    }
  }
}

/** An answer whose bars wait to be landed. */
interface HeldAnswer {
  readonly answer: KlineAnswer;
  readonly source: string;
}

async function landGroup(run: Run, table: TableSchema, held: readonly HeldAnswer[]): Promise<void> {
  run.doing(`landing ${table.name}`);
  try {
    const bars = held.map(({ answer, source }) => ({ columns: answer.columns, source }));
    if (bars.length > 0) {
      const answers = bars.map(({ source }) => source);
      const options = { ...run.landOptions(), finalEnd: run.finalEnds, answers };
      run.landed.push(await landKlines(run.session, run.lake, table, bars, options));
    }
  } finally {
    for (const { answer } of held) answer[Symbol.dispose]();
  }
  await run.landLedger();
}

/** Units, in order, in groups that are asked for side by side and landed at once. */
function groupUnits(units: readonly RequestUnit[], period: LandedPeriod): RequestUnit[][] {
  const groups: RequestUnit[][] = [];
  let bars = 0;
  for (const unit of units) {
    const expected = expectedBars(unit, period);
    const last = groups.at(-1);
    if (last !== undefined && last.length < GROUP_UNITS && bars + expected <= GROUP_BARS) {
      last.push(unit);
      bars += expected;
    } else {
      groups.push([unit]);
      bars = expected;
    }
  }
  return groups;
}

/** Bars that the units can be answered with, at most. */
export function expectedRows(units: readonly RequestUnit[], period: LandedPeriod): number {
  return units.reduce((sum, unit) => sum + expectedBars(unit, period), 0);
}

/** Asks for one unit, and pages back for the symbols whose answer may have been cut; holds the answers that have bars. */
async function askUnit(
  run: Run,
  table: TableSchema,
  unit: RequestUnit,
  period: LandedPeriod,
  held: HeldAnswer[],
): Promise<void> {
  const pages: { symbols: readonly string[]; window: TimeRange }[] = [unit];
  for (let page = pages.shift(); page !== undefined; page = pages.shift()) {
    if (run.halted) return;
    const { symbols, window } = page;
    const finalEnd = run.finalEnds[unit.region];
    const first = window.start;
    const last = window.end - 1;
    const expectation = { shape: "map", symbols, window: { first, last } } as const;
    const older = await run.ask(
      {
        endpoint: ENDPOINTS.klinesBatch,
        query: {
          symbols: symbols.join(","),
          period,
          count: LIMITS.maxCount,
          start_time: first,
          end_time: last,
          adjust: "none",
        },
      },
      { dataset: table.name, symbols, window, finalEnd },
      async (body) => {
        const answer = await decodeKlines(body, expectation, run.buffers);
        const cut = oldestOfCut(answer, window);
        return { ...received(answer), cut, parts: partsOf(answer, symbols, window, cut) };
      },
      async ({ answer, cut }, requestId) => {
        if (answer.columns.rows === 0) answer[Symbol.dispose]();
        else held.push({ answer, source: `${run.runId}/${requestId}` });
        return cut;
      },
    );
    for (const [oldest, group] of older ?? []) {
      run.plan(1);
      pages.push({ symbols: group, window: { start: window.start, end: oldest } });
    }
  }
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
  cut: ReadonlyMap<number, readonly string[]>,
) {
  const partly = new Set([...answer.unusable, ...[...cut.values()].flat()]);
  const newer = [...cut].map(([start, group]) => ({ symbols: group, window: { start, end: window.end } }));
  return [{ symbols: symbols.filter((symbol) => !partly.has(symbol)), window }, ...newer];
}

/** Symbols whose answer may have been cut, by the oldest timestamp that they did get (epoch ms). */
function oldestOfCut({ columns, received: counts }: KlineAnswer, window: TimeRange): Map<number, string[]> {
  const cut = new Map<number, string[]>();
  for (let row = 0; row < columns.rows; row++) {
    const index = columns.symbolIndex[row] as number;
    if (row > 0 && columns.symbolIndex[row - 1] === index) continue;
    const symbol = columns.symbols[index] as string;
    if ((counts.get(symbol) ?? 0) < SUSPECT_ROWS) continue;
    const oldest = Number(columns.timestamp[row]);
    if (oldest <= window.start) continue;
    cut.set(oldest, [...(cut.get(oldest) ?? []), symbol]);
  }
  return cut;
}

/** From the first date to the end of today (or of the day before `to`), by the region's own calendar. */
function rangeOf(region: Region, { from, to }: BarsDemand, now: number): TimeRange {
  const { zone } = REGIONS[region];
  const today = localDate(now, zone);
  const first = from.startsWith("-") ? addDays(today, Number.parseInt(from, 10)) : parseTradingDate(from);
  const end = instantOf(addDays(today, 1), zone);
  return {
    start: instantOf(first, zone),
    end: to === undefined ? end : Math.min(end, instantOf(parseTradingDate(to), zone)),
  };
}
