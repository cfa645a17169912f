import { DAY_MS, type TimeRange } from "../../core/time.js";
import { localMidnightSql } from "../../db/market/region-sql.js";
import { literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { type AbsentDays, landAbsentDays } from "../../lake/land/absent-days.js";
import type { LandOptions } from "../../lake/land/upsert.js";
import { commitWithRetries } from "../../lake/log/commit.js";
import { commitInfoAction } from "../../lake/log/commit-actions.js";
import { retryOnConflict } from "../../lake/log/retry-on-conflict.js";
import { schemaActions } from "../../lake/log/schema-actions.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { localDay } from "../../market/zone.js";
import { type AbsenceReason, BARS_SET_ASIDE } from "../../plan/absence/absence.js";
import { ABSENCES_1D } from "../../schema/absences.js";
import { BARS_1D } from "../../schema/bars.js";
import { INSTRUMENTS } from "../../schema/reference.js";
import { REQUESTS, type RequestStatus } from "../../schema/requests.js";
import { TRADING_DAYS } from "../../schema/trading-days.js";
import { ledgerSql } from "./ledger-sql.js";

/** The record, in the log of the absences, that those of an earlier version's ledger have landed. */
const EARLIER = "barlake/absences-of-the-ledger";

/**
 * Reasons with which a response vouches for it that a symbol did not trade. Of the others, `ended`, `not_yet`,
 * `begins_late` and `no_bars` are about time without bars on one of its sides, `no_session` is about days that are none,
 * and an unexplained absence, or bars that were set aside, vouch for nothing.
 */
const VOUCHING: readonly AbsenceReason[] = ["others_came", "as_before", "suspended"];

/** What a record of the ledger says about bars that did not come. */
export interface AnswerRecord {
  readonly dataset: string;
  readonly status: RequestStatus;
  /** Undefined for a snapshot. */
  readonly window?: TimeRange | undefined;
  /** End of the final bars at the time of the request (epoch ms); undefined for data that does not become final. */
  readonly finalEnd?: number | undefined;
  readonly symbols: readonly string[];
  readonly absent: readonly string[];
  readonly reason?: string | undefined;
  /**
   * Of a response of daily bars: the stretches of the window without a bar of the symbols that have some in it. They land
   * as absences; of these symbols nothing else is absent in the window.
   */
  readonly empty?: readonly { readonly symbol: string; readonly window: TimeRange }[] | undefined;
}

/**
 * Lands what records of the ledger show about days without daily bars. Call it before the records land: a run that is
 * killed in between requests the days again.
 */
export async function landAbsences(
  session: Session,
  lake: Lake,
  records: readonly AnswerRecord[],
  options: LandOptions,
): Promise<void> {
  await landAbsentDays(session, lake, records.flatMap(shownBy), options);
}

function shownBy(record: AnswerRecord): AbsentDays[] {
  const { dataset, status, reason = "", symbols, absent, window, finalEnd, empty } = record;
  if (dataset !== BARS_1D.name || window === undefined || (status !== "answered" && status !== "empty"))
    return [];
  const shown: AbsentDays[] = [];
  if (empty !== undefined) {
    const without = new Set(absent);
    for (const symbol of symbols)
      if (!without.has(symbol)) shown.push({ ...daysOf(symbol, window, finalEnd), hasNone: false });
    for (const one of empty) shown.push({ ...daysOf(one.symbol, one.window, finalEnd), hasNone: true });
  }
  const hasNone = (VOUCHING as readonly string[]).includes(reason);
  if (!hasNone && reason !== BARS_SET_ASIDE) return shown;
  return [...shown, ...absent.map((symbol) => ({ ...daysOf(symbol, window, finalEnd), hasNone }))];
}

/** The days of a symbol whose bars, labelled with local midnight, lie in a window, up to the end of what was final. */
function daysOf(symbol: string, { start, end }: TimeRange, finalEnd = Number.POSITIVE_INFINITY) {
  const region = regionOf(symbol);
  if (region === undefined) return { symbol, first: 0, end: 0 };
  const { zone } = REGIONS[region];
  // The first day whose midnight is not before an instant.
  const dayFrom = (at: number): number => localDay(at - 1, zone) + 1;
  return { symbol, first: dayFrom(start), end: dayFrom(Math.min(end, finalEnd)) };
}

/**
 * Lands the absences that a ledger of an earlier version shows, which landed none: windows without a bar of a symbol,
 * and sessions since its listing between two of its bars in a window that was answered. Of a time whose bars were lost since,
 * nothing is known. It does so once: the table's log records it, unless a restore undoes that.
 */
export async function landEarlierAbsences(session: Session, lake: Lake, options: LandOptions): Promise<void> {
  const [absences, ledger, bars, tradingDays, instruments] = [
    await lake.snapshot(ABSENCES_1D),
    await lake.snapshot(REQUESTS),
    await lake.snapshot(BARS_1D),
    await lake.snapshot(TRADING_DAYS),
    await lake.snapshot(INSTRUMENTS),
  ];
  if (absences.txns.has(EARLIER) || ledger.version < 0 || bars.version < 0) return;
  const of = (snapshot: Snapshot): Promise<string> => parquetRelation(session, lake.filesOf(snapshot));
  await using windows = new TempTable(session, "earlier_windows");
  await windows.fill(
    `SELECT symbols, absent, reason, status, asked_at, epoch_ms(window_start)::DOUBLE AS s, epoch_ms(least(window_end, final_end))::DOUBLE AS e
     FROM (${await ledgerSql(session, lake, ledger)})
     WHERE dataset = ${literal(BARS_1D.name)} AND status IN ('answered', 'empty', 'lost')
       AND window_start < least(window_end, final_end)`,
  );
  const absent = await session.json<{ symbol: string; s: number; e: number; at: number; has_none: boolean }>(
    `SELECT symbol, s, e, epoch_ms(asked_at)::DOUBLE AS at, has_none FROM (
       SELECT unnest(absent) AS symbol, s, e, asked_at, list_contains(${literalList(VOUCHING)}, reason) AS has_none FROM ${windows.name}
       WHERE list_contains(${literalList([...VOUCHING, BARS_SET_ASIDE])}, reason) AND status <> 'lost'
       UNION ALL
       SELECT unnest(symbols), s, e, asked_at, false FROM ${windows.name} WHERE status = 'lost')`,
  );
  const between = await session.json<{ symbol: string; day: number; at: number }>(
    `WITH gaps AS (
       SELECT b.symbol, d.trade_date, ${localMidnightSql("d.trade_date", "d.region")} AS midnight
       FROM (
         SELECT symbol, region, trade_date, lag(trade_date) OVER (PARTITION BY symbol ORDER BY trade_date) AS last_date
         FROM (${await of(bars)}) QUALIFY trade_date - last_date > 1) AS b
       JOIN (${await of(tradingDays)}) AS d
         ON d.region = b.region AND d.trade_date > b.last_date AND d.trade_date < b.trade_date
       ANTI JOIN (SELECT symbol, listing_date FROM (${await of(instruments)}) WHERE valid_to IS NULL) AS i
         ON i.symbol = b.symbol AND i.listing_date > d.trade_date)
     SELECT g.symbol, CAST(g.trade_date - DATE '1970-01-01' AS INTEGER) AS day, epoch_ms(max(asked_at))::DOUBLE AS at
     FROM gaps AS g
     JOIN (SELECT unnest(symbols) AS symbol, * FROM ${windows.name} WHERE status <> 'lost' AND e - s > ${DAY_MS}) AS w
       ON w.symbol = g.symbol AND w.s <= g.midnight AND w.e > g.midnight AND NOT list_contains(w.absent, w.symbol)
     GROUP BY g.symbol, g.trade_date`,
  );
  const shown = [
    ...absent.map(({ symbol, s, e, at, has_none }) => ({
      at,
      ...daysOf(symbol, { start: s, end: e }),
      hasNone: has_none,
    })),
    ...between.map(({ symbol, day, at }) => ({
      at,
      symbol,
      first: day,
      end: day + 1,
      hasNone: true,
    })),
  ];
  // What a response did not vouch for counts more than the rest of the response.
  shown.sort((a, b) => a.at - b.at || Number(b.hasNone) - Number(a.hasNone));
  await landAbsentDays(session, lake, shown, options);
  await recordAbsencesLand(lake, options);
}

/** Records that all absences of the ledger have landed, in a table that may not exist yet. A second time it does nothing. */
export async function recordAbsencesLand(lake: Lake, options: LandOptions): Promise<void> {
  if ((await lake.snapshot(ABSENCES_1D)).txns.has(EARLIER)) return;
  await retryOnConflict(lake, ABSENCES_1D, (base) =>
    commitWithRetries(lake, base, {
      actions: [
        commitInfoAction(options, {}),
        ...(base.version < 0 ? schemaActions(base, base.columns, options.now) : []),
        // Without a time of its last change, a record remains in all checkpoints.
        { txn: { appId: EARLIER, version: 1 } },
      ],
      stillHolds: (newest) => base.version >= 0 || newest.version < 0,
      now: options.now,
      fence: options.fence,
    }),
  );
}
