import type { TimeRange } from "../../../core/time.js";
import type { Session } from "../../../db/session/session.js";
import type { Lake } from "../../../lake/lake.js";
import { CALENDAR_SYMBOLS, FEWEST_SYMBOLS, readTradingDays } from "../../../lake/land/trading-days.js";
import { REGION_NAMES, type Region } from "../../../market/regions.js";
import { regionOf } from "../../../market/symbol.js";
import { TradingCalendar } from "../../../market/trading-calendar.js";
import { BARS_1D } from "../../../schema/bars.js";
import { coveredWindows, type LedgerWindows, readLedgerWindows } from "../../ledger/ledger-windows.js";

/**
 * The calendar of every region, as the lake knows it. A weekday without a bar counts as a holiday only where bars were
 * requested: of the region's index, or of at least half of the symbols that were requested before and after.
 *
 * @param now epoch milliseconds.
 * @param daily the windows of daily bars in the ledger. @default its newest version is read
 */
export async function regionCalendars(
  session: Session,
  lake: Lake,
  now: number,
  daily?: LedgerWindows,
): Promise<Map<Region, TradingCalendar>> {
  const known = await readTradingDays(session, lake);
  const asked = daily ?? (await readLedgerWindows(session, lake, BARS_1D.name, { now }));
  const covered = coveredWindows(asked, { now, openHoles: "all" });
  const byRegion = new Map<Region, (readonly TimeRange[])[]>();
  for (const [symbol, windows] of covered) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    const own = byRegion.get(region);
    if (own === undefined) byRegion.set(region, [windows]);
    else own.push(windows);
  }
  return new Map(
    REGION_NAMES.map((region) => {
      const indexes = CALENDAR_SYMBOLS[region].flatMap((symbol) => [covered.get(symbol) ?? []]);
      const others = byRegion.get(region) ?? [];
      const isKnownClosed = (day: TimeRange): boolean =>
        indexes.some((windows) => holds(windows, day)) || mostHold(others, day);
      return [region, new TradingCalendar(region, known.get(region), isKnownClosed)];
    }),
  );
}

/**
 * Whether at least half of the symbols that were requested before and after a day were also requested on it.
 *
 * @param asked the windows of each symbol, ascending.
 */
function mostHold(asked: readonly (readonly TimeRange[])[], day: TimeRange): boolean {
  let [around, within] = [0, 0];
  for (const windows of asked) {
    const [first, last] = [windows[0], windows.at(-1)];
    if (first === undefined || last === undefined || first.start > day.start || last.end < day.end) continue;
    around += 1;
    if (holds(windows, day)) within += 1;
  }
  return around >= FEWEST_SYMBOLS && 2 * within >= around;
}

function holds(windows: readonly TimeRange[], day: TimeRange): boolean {
  return windows.some(({ start, end }) => start <= day.start && end >= day.end);
}
