import { parseTradingDate, type TradingDate } from "../../src/core/time.js";
import { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { landKlines } from "../../src/lake/land/land-klines.js";
import { landVersions } from "../../src/lake/land/land-versions.js";
import { Rejects } from "../../src/lake/land/rejects.js";
import { landTradingDays } from "../../src/lake/land/trading-days.js";
import { upsert } from "../../src/lake/land/upsert.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { REGIONS, type Region } from "../../src/market/regions.js";
import { dayRange, finalEnd } from "../../src/market/sessions.js";
import { instantOf } from "../../src/market/zone.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import type { TableSchema } from "../../src/schema/column.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../src/schema/reference.js";
import { isStatementName, STATEMENTS } from "../../src/schema/statements.js";
import { type Market, simulateMarket } from "../../src/sim/market.js";
import { instrumentRow } from "../../src/wire/instrument-row.js";
import { fixtureLake } from "../lake/fixture-lake.js";

export const END = "2026-03-31";

/** A market in which everything that the simulation knows of occurs. */
const MARKET: Market = simulateMarket({
  seed: 11,
  symbols: 40,
  days: 300,
  end: parseTradingDate(END),
});
/** Its sessions in China. */
export const DAYS = MARKET.tradingDays("CN");
/** A universe whose members change every quarter. */
export const UNIVERSE = MARKET.universesAsOf(DAYS[0] as TradingDate).find(({ id }) => id.startsWith("SIM_"))
  ?.id as string;

/** Options of a growth. */
interface Growth {
  /** Newest days of it of which minutes are landed. @default 0 */
  readonly minuteDays?: number;
  /** Whether there are snapshots of the reference data. @default true */
  readonly reference?: boolean;
  /** Whether there are statements: to land their tables takes longer than to land the bars. @default true */
  readonly statements?: boolean;
}

/**
 * Lands what the market brought from one day to another, both inclusive, as nightly runs would have: bars, trading days, a
 * snapshot of the reference data every month, and statements when they were first seen.
 */
export async function grow(
  lake: Lake,
  from: TradingDate,
  to: TradingDate,
  { minuteDays = 0, reference = true, statements: hasStatements = true }: Growth = {},
): Promise<void> {
  using session = await Session.open(writerSpillOptions(lake.work));
  const symbols = MARKET.instruments.map(({ symbol }) => symbol);
  const now = dayRange("US", to).end + 86_400_000;
  const options = { operation: "TEST", runId: `until-${to}`, now };
  const ends = { CN: finalEnd("CN", now), HK: finalEnd("HK", now), US: finalEnd("US", now) };
  const bars = (table: TableSchema, columns: ReturnType<Market["dailyBars"]>) =>
    landKlines(session, lake, table, [{ columns, source: "test" }], {
      ...options,
      finalEnd: ends,
      rejects: new Rejects(session, "test"),
    });
  const dates = DAYS.filter(
    (day, i) => reference && day >= from && day <= to && day.slice(0, 7) !== DAYS[i - 1]?.slice(0, 7),
  );
  for (const date of dates) {
    const universes = MARKET.universesAsOf(date);
    const members = universes.flatMap(({ id, region, symbols: of }) =>
      of.map((symbol) => ({ id, symbol, region })),
    );
    const snapshots: [TableSchema, readonly object[]][] = [
      [INSTRUMENTS, MARKET.instrumentsAsOf(date).map(instrumentRow)],
      [UNIVERSES, universes],
      [UNIVERSE_MEMBERS, members],
    ];
    for (const [table, rows] of snapshots) {
      const columns = table.columns.filter(({ name }) => name !== "valid_from" && name !== "valid_to");
      await stageObjects(session, "snapshot", columns, rows as Readonly<Record<string, unknown>>[]);
      await landVersions(session, lake, table, "snapshot", {
        ...options,
        now: dayRange("CN", date).start,
        complete: "true",
      });
    }
  }
  await bars(BARS_1D, MARKET.dailyBars(symbols, from, to));
  await landTradingDays(session, lake, options);
  const minutes = DAYS.filter((day) => day >= from && day <= to).slice(-minuteDays);
  const chinese = symbols.filter((symbol) => /\.(SH|SZ)$/.test(symbol));
  if (minuteDays > 0) await bars(BARS_1M, MARKET.minuteBars(chinese, minutes[0] as TradingDate, to));
  const regions = new Map<string, Region>(MARKET.instruments.map((one) => [one.symbol, one.region]));
  for (const table of hasStatements ? Object.values(STATEMENTS) : []) {
    if (!isStatementName(table.name)) continue;
    const statements = MARKET.statementVersions(table.name, symbols)
      .filter(({ firstSeen }) => firstSeen >= from && firstSeen <= to)
      .map(({ symbol, record, firstSeen }) => {
        const region = regions.get(symbol) as Region;
        return {
          ...record,
          symbol,
          region,
          first_seen_at: instantOf(firstSeen, REGIONS[region].zone, 8 * 60),
        };
      });
    await stageObjects(session, "statements", table.columns, statements);
    await upsert(session, lake, table, "statements", options);
  }
}

/** A lake that holds the market up to a day. */
export async function lakeUntil(folder: string, to: TradingDate, growth: Growth = {}): Promise<Lake> {
  return lakeIn(folder, [to], growth);
}

/** A lake that has grown to each of these days, one after the other. */
export async function lakeIn(
  folder: string,
  steps: readonly TradingDate[],
  growth: Growth = {},
): Promise<Lake> {
  const fixture = { filledBy: import.meta.url, name: JSON.stringify({ steps, ...growth }) };
  return fixtureLake(folder, fixture, async (empty) => {
    let from = DAYS[0] as TradingDate;
    for (const to of steps) {
      await grow(empty, from, to, growth);
      from = DAYS[DAYS.indexOf(to) + 1] ?? to;
    }
  });
}
