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

/** So many sessions without a bar of a universe show that the service has none; fewer may be a fault that passes. */
const NEVER = 3;

/**
 * Records the empty responses of a run: as failures, so that the run is partial; or as explained, where the lake has no
 * minute of a member, and nothing ever came in at least three sessions, or no member is of China. What may change, the next
 * run requests again.
 * Call it after the bars of the run have landed: members may be in several universes.
 */
export async function recordEmpty(run: Run, empty: readonly EmptyUniverse[]): Promise<void> {
  const { session, lake } = run.context;
  const never = new Set<EmptyUniverse>();
  const possible = empty.filter(({ times, members }) => times.length >= NEVER || !hasChinese(members));
  if (possible.length > 0) {
    const landed = await symbolsWithMinutes(session, lake);
    const known = await readTradingDays(session, lake);
    for (const one of possible) {
      if (one.members.some((symbol) => landed.has(symbol))) continue;
      if (!hasChinese(one.members) || fewestSessions(one.members, one.times, known) >= NEVER) never.add(one);
    }
  }
  for (const one of empty) {
    if (never.has(one)) recordNoMinutes(run, one);
    else {
      const why = `the service gave nothing for its ${one.members.length} members; it is requested again`;
      failEmpty(run, one.id, why, one.got);
    }
  }
}

/** Whether a universe has members of China: many services have minutes of no other region. */
export function hasChinese(members: readonly string[] = []): boolean {
  return members.some((symbol) => regionOf(symbol) === "CN");
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
 * The number of different sessions that responses are certainly about, each about the latest session at its time: two are
 * about different sessions if a known one, or more weekdays than a holiday has, lie between them.
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
