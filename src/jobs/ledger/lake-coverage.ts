import type { Clock } from "../../core/time.js";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { LandedPeriod } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { finalEnd } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import type { TradingCalendar } from "../../market/trading-calendar.js";
import { ASKED_AGAIN_SOON } from "../../plan/absence/absence.js";
import { type Coverage, type CoverageFacts, measureCoverage } from "../../plan/coverage.js";
import type { AbsenceReason } from "../../schema/runs.js";
import { barsTable, type PlanFacts, readPlanFacts } from "../ingest/bars/bars-demand.js";
import { askedSymbols } from "./ledger.js";

export interface TableCoverage extends Coverage {
  readonly dataset: string;
  readonly region: Region;
  /** Number of symbols with empty windows without a certain explanation, by reason. These windows count as gaps. */
  readonly open: readonly { readonly reason: AbsenceReason; readonly symbols: number }[];
}

interface LakeParts {
  readonly session: Session;
  readonly lake: Lake;
  readonly clock: Pick<Clock, "now">;
}

/** Compares the requests in the ledger with the trading calendar, by table of bars and region. */
export async function lakeCoverage(parts: LakeParts): Promise<TableCoverage[]> {
  const found: TableCoverage[] = [];
  for (const period of ["1d", "1m"] as const) {
    const { name: dataset } = barsTable(period);
    for (const [region, facts] of await coverageFacts(parts, period)) {
      const { holes } = facts.asked;
      const open = ASKED_AGAIN_SOON.map((reason) => {
        const has = (symbol: string): boolean =>
          holes.get(symbol)?.some((one) => one.reason === reason) ?? false;
        return { reason, symbols: facts.symbols.filter(has).length };
      }).filter(({ symbols }) => symbols > 0);
      found.push({ dataset, region, ...measureCoverage(facts), open });
    }
  }
  return found;
}

/**
 * What was requested of a period's bars, by region: the symbols, the earliest time of each and of all, and the windows with a
 * response.
 */
export async function coverageFacts(
  { session, lake, clock }: LakeParts,
  period: LandedPeriod,
): Promise<Map<Region, CoverageFacts & Pick<PlanFacts, "asked">>> {
  const asked = await askedSymbols(session, lake, barsTable(period).name);
  const firstAsked = new Map(asked.map((one) => [one.symbol, one.since]));
  const regions = new Map<Region, { symbols: string[]; start: number }>();
  for (const { symbol, since } of asked) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    const known = regions.get(region) ?? { symbols: [], start: since };
    known.symbols.push(symbol);
    known.start = Math.min(known.start, since);
    regions.set(region, known);
  }
  const facts = await readPlanFacts(
    { session, lake, clock },
    {
      period,
      symbols: new Map([...regions].map(([region, { symbols }]) => [region, symbols])),
      allHoles: true,
    },
    new Map([...regions].map(([region, { start }]) => [region, start])),
  );
  return new Map(
    [...regions].map(([region, { symbols, start }]) => {
      const calendar = facts.calendars.get(region) as TradingCalendar;
      const range = { start, end: finalEnd(region, facts.now) };
      return [region, { ...facts, calendar, symbols, range, since: firstAsked }];
    }),
  );
}
