import type { TimeRange } from "../../core/time.js";
import { INCOMPLETE } from "../../plan/absence/absence.js";
import type { TableSchema } from "../../schema/column.js";
import { ENDPOINTS } from "../../wire/endpoints.js";
import { type BarsDemand, type PlanFacts, rangeOf } from "../ingest/bars/bars-demand.js";
import { type DemandAbsences, explainAbsences, joinWindows } from "../ingest/bars/explain-absences.js";
import { holesNow } from "../ledger/ledger-windows.js";
import type { RecentWindows } from "../ledger/recent-windows.js";
import type { Run } from "./run.js";

/** What remains to be explained after the requests of a demand. */
export interface Leftovers {
  readonly table: TableSchema;
  readonly facts: PlanFacts;
  readonly absent: DemandAbsences;
  readonly recent: RecentWindows;
  /** Windows that a full response has settled, by symbol. */
  readonly answered: ReadonlyMap<string, readonly TimeRange[]>;
}

/**
 * Explains absent rows, and reports missing and withdrawn ones. It is called when everything has landed.
 */
export async function explainLeftovers(run: Run, demand: BarsDemand, leftovers: Leftovers): Promise<void> {
  await enterAbsences(run, demand, leftovers);
  await noteWithdrawn(run, leftovers);
  await noteHoles(run, demand, leftovers);
}

/** Records absences and their reasons in the ledger, once. */
async function enterAbsences(
  run: Run,
  { period, lookbackDays }: BarsDemand,
  { table, facts, absent, answered, recent }: Leftovers,
): Promise<void> {
  const { session, lake } = run.context;
  if (run.requests.isHalted(table.name)) return;
  const { calendars, listedAt, now } = facts;
  const isOneOfFew: DemandAbsences["isOneOfFew"] = (...one) => absent.isOneOfFew(...one);
  const { wasEmpty } = absent;
  const parts = { session, lake, table, period, calendars, listedAt, answered, isOneOfFew, wasEmpty, now };
  const explained = await run.exclusive(() => explainAbsences(parts, absent.symbols.takeUnseen()));
  for (const { region, window, symbols, reason } of joinWindows(explained)) {
    const finalEnd = run.context.finalEnds[region];
    run.ledger.enterSettled(
      { endpoint: ENDPOINTS.klinesBatch, dataset: table.name, symbols, window, finalEnd },
      reason,
    );
  }
  for (const { region, requested, window, symbols, reason, days } of explained) {
    // Bars that the service no longer has are withdrawn, as a response with others lacks them.
    if (reason === "suspended" && lookbackDays) {
      const lacked = symbols.filter((symbol) => isOneOfFew(symbol, region, requested));
      recent.addEmpty(lacked, window);
    }
    if (!INCOMPLETE.has(reason)) run.log.completeness.absent(table.name, reason, symbols, days);
  }
  await run.exclusive(() => run.ledger.land());
}

/** Reports bars of recent days that the service no longer has. */
async function noteWithdrawn(run: Run, { table, recent }: Leftovers): Promise<void> {
  for (const gone of await run.exclusive(() => recent.gone(run.context.session, run.context.lake, table)))
    run.log.completeness.withdrawn(table.name, gone);
}

/**
 * Reports the windows of a demand that are unexplained, or have bars that were set aside, in this run or an earlier
 * one.
 */
async function noteHoles(run: Run, demand: BarsDemand, { table, facts }: Leftovers): Promise<void> {
  const dataset = table.name;
  const { session, lake } = run.context;
  const leavesNone = (version: number): boolean => run.ledger.leavesNone(version);
  const holes = await run.exclusive(() => holesNow(session, lake, facts.asked, leavesNone));
  for (const [region, symbols] of demand.symbols) {
    const { start, end } = rangeOf(region, demand, run.context.marketClock.now());
    for (const symbol of symbols) {
      for (const { reason, window } of holes.get(symbol) ?? []) {
        if (!INCOMPLETE.has(reason)) continue;
        // A day that is now known to be a holiday, or to be before the listing, is no longer requested.
        const since = Math.max(start, window.start, facts.listedAt.get(symbol) ?? start);
        const asked = { start: since, end: Math.min(end, window.end) };
        if (facts.calendars.get(region)?.daysIn(asked, facts.now).length === 0) continue;
        if (reason === "unexplained") run.log.completeness.unexplained(dataset, { symbol, ...window });
        else if (!run.log.completeness.hasSetAside(dataset, symbol, window))
          run.log.completeness.setAside(dataset, { symbol, window, bars: undefined });
      }
    }
  }
}
