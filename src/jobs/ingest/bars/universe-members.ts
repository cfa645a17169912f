import type { TradingDate } from "../../../core/time.js";
import type { Session } from "../../../db/session/session.js";
import type { Lake } from "../../../lake/lake.js";
import { readTradingDays } from "../../../lake/land/trading-days.js";
import { REGIONS } from "../../../market/regions.js";
import { finalEnd } from "../../../market/sessions.js";
import { regionOf } from "../../../market/symbol.js";
import { TradingCalendar } from "../../../market/trading-calendar.js";
import { localDate } from "../../../market/zone.js";
import type { AbsenceReason } from "../../../plan/absence/absence.js";
import { BARS_1M } from "../../../schema/bars.js";
import { symbolsByRegion } from "../../ledger/file-symbols.js";
import type { PendingResponse } from "../../run/request/request-records.js";
import type { Run } from "../../run/run.js";

/** A response without a bar of a universe that has members. */
export interface EmptyUniverse {
  readonly id: string;
  readonly members: readonly string[];
  /** Epoch milliseconds of this response and, if none had a bar, of all earlier ones; ascending. */
  readonly times: readonly number[];
  readonly got: PendingResponse<unknown>;
}

/** After so many sessions without a bar of a universe the service has none of it; fewer may be a fault that passes. */
const SESSIONS_OF_NONE = 3;

/** A response with bars of a universe. */
export interface ReceivedUniverse {
  readonly members: readonly string[];
  /** The symbols of which bars came. */
  readonly came: ReadonlySet<string>;
  readonly rows: number;
}

/**
 * Records which members have no bar in the responses of a run. Call it after the bars of the run have landed: members
 * may be in several universes.
 */
export async function recordMembers(
  run: Run,
  {
    received,
    empty,
  }: { readonly received: readonly ReceivedUniverse[]; readonly empty: readonly EmptyUniverse[] },
): Promise<void> {
  const { session, lake } = run.context;
  const landed = once(() => symbolsWithMinutes(session, lake));
  for (const one of received) await recordReceived(run, one, landed);
  await recordEmpty(run, empty, landed);
}

type Landed = () => Promise<ReadonlySet<string>>;

/**
 * Counts the members of a universe, and those of which the response has no bar. Where the lake has no minute of a
 * member of a region other than China, and the response has none of that region, the service may have none.
 */
async function recordReceived(
  { log: { completeness }, context: { marketClock } }: Run,
  { members, came, rows }: ReceivedUniverse,
  landed: Landed,
): Promise<void> {
  completeness.asked(BARS_1M.name, members, members.length, marketClock.now());
  completeness.received(BARS_1M.name, rows);
  const regions = new Set([...came].map(regionOf));
  const absent = members.filter((symbol) => !came.has(symbol));
  const foreign = absent.filter((symbol) => !isChinese(symbol) && !regions.has(regionOf(symbol)));
  const have = foreign.length > 0 ? await landed() : new Set();
  const without = new Set(foreign.filter((symbol) => !have.has(symbol)));
  const others = absent.filter((symbol) => !without.has(symbol));
  completeness.absent(BARS_1M.name, "others_came", others, 1);
  if (without.size > 0) completeness.absent(BARS_1M.name, "no_minutes", [...without], 1);
}

/**
 * Records empty responses. Such a universe is a failure, so that the run is partial. It is explained where the lake has
 * no minute of a member, and nothing ever came in at least three sessions, or no member is of China. In any case the
 * next run requests the universe again.
 */
async function recordEmpty(run: Run, empty: readonly EmptyUniverse[], landed: Landed): Promise<void> {
  const { session, lake } = run.context;
  const known = once(() => readTradingDays(session, lake));
  const hasNoMinutes = async ({ members, times }: EmptyUniverse): Promise<boolean> => {
    const chinese = members.filter(isChinese);
    if (chinese.length > 0 && times.length < SESSIONS_OF_NONE) return false;
    const expected = chinese.length > 0 ? chinese : members;
    const have = await landed();
    if (expected.some((symbol) => have.has(symbol))) return false;
    return chinese.length === 0 || fewestSessions(chinese, times, await known()) >= SESSIONS_OF_NONE;
  };
  for (const one of empty) {
    if (await hasNoMinutes(one)) recordNoMinutes(run, one);
    else {
      const why = `the service gave nothing for its ${one.members.length} members; it is requested again`;
      failEmpty(run, one.id, why, one.got);
    }
  }
}

/** Many services have minutes of no other region. */
function isChinese(symbol: string): boolean {
  return regionOf(symbol) === "CN";
}

/** A function that loads a value at its first call. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => (loaded ??= load());
}

/** Records a failed request for a universe of which nothing came, so that the next run requests it again. */
export function failEmpty(
  run: Run,
  id: string,
  why: string,
  { requestId, entry }: PendingResponse<unknown>,
): void {
  const reason = `universe ${id}: ${why}`;
  const dataset = BARS_1M.name;
  run.log.failure({ dataset, request: `${dataset} ${requestId}`, reason, symbols: 0 });
  run.ledger.enter({ ...entry, records: entry.records.map((one) => ({ ...one, status: "failed", reason })) });
}

/** Records that the service has no minutes of the members of a universe. */
function recordNoMinutes(run: Run, { members, got: { entry } }: EmptyUniverse): void {
  const { completeness } = run.log;
  const reason: AbsenceReason = "no_minutes";
  completeness.asked(BARS_1M.name, members, members.length, run.context.marketClock.now());
  completeness.absent(BARS_1M.name, reason, members, 1);
  run.ledger.enter({ ...entry, records: entry.records.map((one) => ({ ...one, reason })) });
}

/** The symbols of which the lake has a minute. */
async function symbolsWithMinutes(session: Session, lake: Lake): Promise<ReadonlySet<string>> {
  const byRegion = await symbolsByRegion(session, lake, await lake.snapshot(BARS_1M));
  return new Set([...byRegion.values()].flatMap((symbols) => [...symbols]));
}

/** The fewest sessions, in any region of some symbols, that responses at some times are about. */
function fewestSessions(
  symbols: readonly string[],
  times: readonly number[],
  known: Awaited<ReturnType<typeof readTradingDays>>,
): number {
  const regions = new Set(symbols.flatMap((symbol) => regionOf(symbol) ?? []));
  return Math.min(
    ...[...regions].map((region) => sessionsOf(new TradingCalendar(region, known.get(region)), times)),
  );
}

/**
 * The number of different sessions that responses are certainly about, each about the latest session at its time: two
 * are about different sessions if a known one, or more weekdays than a holiday has, lie between them.
 */
function sessionsOf(calendar: TradingCalendar, times: readonly number[]): number {
  const { region } = calendar;
  const { zone } = REGIONS[region];
  let sessions = 0;
  let last: TradingDate | undefined;
  for (const time of times) {
    const afterFinal = localDate(finalEnd(region, time), zone);
    if (last !== undefined && calendar.areNeighbours(last, afterFinal)) continue;
    sessions += 1;
    last = localDate(time, zone);
  }
  return sessions;
}
