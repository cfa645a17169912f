import type { Region } from "../../../market/regions.js";
import { finalEnd } from "../../../market/sessions.js";
import type { TradingCalendar } from "../../../market/trading-calendar.js";
import { BARS_SET_ASIDE } from "../../../plan/absence/absence.js";
import { planRequestUnits, type RequestUnit } from "../../../plan/request-units.js";
import { EX_FACTORS } from "../../../schema/actions.js";
import { LIMITS } from "../../../wire/endpoints.js";
import { coveredWindows, readLedgerWindows } from "../../ledger/ledger-windows.js";
import type { RequestSizeLimits } from "../../run/request/request-size-limits.js";
import type { RunContext } from "../../run/run-context.js";
import {
  type BarsDemand,
  coverUnwanted,
  type PlanFacts,
  rangeOf,
  recheckSince,
} from "../bars/bars-demand.js";

/** The requests for factors of ex-events, and what was known before them. */
export interface ExFactorsPlan {
  readonly units: readonly RequestUnit[];
  /** Whether the service has never responded to a request for factors. */
  readonly isNew: boolean;
  /** Symbols of which factors were set aside, and which are not due to be requested again. */
  readonly setAside: readonly string[];
  /** From when windows are requested again by later runs, by region; epoch milliseconds. */
  readonly repeatedSince: Readonly<Partial<Record<Region, number>>>;
}

/**
 * Plans the requests for factors of the symbols and the time of a demand for daily bars: of days that are final and have
 * no response yet. Together with a new day, the last days of the demand's lookback are requested again, which takes no
 * further request.
 *
 * @param facts those of the plan of the bars.
 * @returns no request where the service was seen to have no factors.
 */
export async function planExFactors(
  { session, lake }: Pick<RunContext, "session" | "lake">,
  demand: BarsDemand,
  facts: PlanFacts,
  limits: RequestSizeLimits,
): Promise<ExFactorsPlan> {
  if (limits.refusalOf(EX_FACTORS.name) !== undefined)
    return { units: [], isNew: true, setAside: [], repeatedSince: {} };
  const { now, calendars, listedAt, delistedAt } = facts;
  const asked = await readLedgerWindows(session, lake, EX_FACTORS.name, { now });
  const covered = coveredWindows(asked, { now, openHoles: demand.allHoles ? "all" : "due" });
  coverUnwanted(covered, demand, delistedAt);
  const repeatedSince: ExFactorsPlan["repeatedSince"] = demand.lookbackDays
    ? recheckSince(demand.lookbackDays, calendars, now)
    : {};
  const units = [...demand.symbols].flatMap(([region, symbols]) => {
    const { start, end } = rangeOf(region, demand, now);
    const range = { start, end: Math.min(end, finalEnd(region, now)) };
    if (range.start >= range.end) return [];
    const planned = planRequestUnits({
      period: "1d",
      calendar: calendars.get(region) as TradingCalendar,
      symbols,
      range,
      covered,
      listedAt,
      now,
      rowCap: LIMITS.maxCount,
      symbolsPerRequest: limits.symbolsPerRequest("exFactors"),
    });
    const since = Math.max(start, repeatedSince[region] ?? Number.POSITIVE_INFINITY);
    return planned.map((unit) => {
      const { window } = unit;
      return { ...unit, window: { start: Math.min(window.start, since), end: window.end } };
    });
  });
  const isWaiting = (symbol: string): boolean =>
    asked.holes.get(symbol)?.some(({ reason, dueAt }) => reason === BARS_SET_ASIDE && dueAt > now) ?? false;
  const setAside = demand.allHoles ? [] : [...demand.symbols.values()].flat().filter(isWaiting);
  return { units, isNew: asked.answered.size === 0, setAside, repeatedSince };
}
