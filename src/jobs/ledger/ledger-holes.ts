import { subtractRanges, type TimeRange } from "../../core/time.js";
import { literalList } from "../../db/quote.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { type AbsenceReason, ASKED_AGAIN_SOON, waitAfter } from "../../plan/absence/absence.js";
import { ledgerSql } from "./ledger-sql.js";

/** A window in which a symbol lacks bars for a reason that may pass, without a later response that closes it. */
export interface Hole {
  readonly symbol: string;
  readonly window: TimeRange;
  readonly reason: AbsenceReason;
  /** Consecutive runs that found nothing. */
  readonly looks: number;
  /** When the last of them sent its request, and when the next is due; epoch milliseconds. */
  readonly askedAt: number;
  readonly dueAt: number;
}

interface Row {
  readonly symbol: string;
  readonly start: number;
  readonly end: number;
  readonly askedAt: number;
  /** Null where the response settled the window. */
  readonly reason: AbsenceReason | null;
}

/** The holes in a dataset's requests, by symbol. A later response about the same time closes a hole. */
export async function readHoles(
  session: Session,
  lake: Lake,
  dataset: string,
): Promise<ReadonlyMap<string, readonly Hole[]>> {
  // Only responses that overlap an earlier hole matter, and these are few. Ledgers from before reasons were recorded: a
  // response without any bar explained nothing.
  const reason = `CASE WHEN reason IN (SELECT unnest(${literalList(ASKED_AGAIN_SOON)})) THEN reason
    WHEN reason IS NULL AND status = 'empty' AND list_contains(absent, symbol) THEN 'unexplained' END`;
  const rows = await session.json<Row>(
    `WITH asked AS (
       SELECT symbol, epoch_ms(window_start)::DOUBLE AS start, epoch_ms(least(window_end, final_end))::DOUBLE AS "end",
         epoch_ms(asked_at)::DOUBLE AS "askedAt", ${reason} AS reason
       FROM (SELECT unnest(symbols) AS symbol, * EXCLUDE (symbols) FROM (${await ledgerSql(session, lake)})
         WHERE dataset = $1 AND status IN ('answered', 'empty') AND window_start < least(window_end, final_end)))
     FROM asked SEMI JOIN (FROM asked WHERE reason IS NOT NULL) AS open
       ON asked.symbol = open.symbol AND asked.start < open."end" AND asked."end" > open.start
         AND asked."askedAt" >= open."askedAt"
     ORDER BY symbol, "askedAt", reason NULLS LAST, start`,
    [dataset],
  );
  const holes = new Map<string, Hole[]>();
  for (const row of rows) holes.set(row.symbol, withRow(holes.get(row.symbol) ?? [], row));
  return holes;
}

/** The holes of a symbol after one more response. */
function withRow(holes: readonly Hole[], { symbol, start, end, askedAt, reason }: Row): Hole[] {
  const range = { start, end };
  // A response's holes are recorded with its settled windows, and have the same request time.
  const left = holes.flatMap((hole) =>
    hole.askedAt === askedAt
      ? [hole]
      : subtractRanges(hole.window, [range]).map((window) => ({ ...hole, window })),
  );
  if (reason === null) return left;
  const before = holes.filter(
    ({ window, askedAt: at }) => at < askedAt && window.start < end && window.end > start,
  );
  const looks = 1 + Math.max(0, ...before.map((hole) => hole.looks));
  return [
    ...left,
    { symbol, window: range, reason, looks, askedAt, dueAt: askedAt + waitAfter(looks, reason) },
  ];
}

/** Takes holes out of covered windows. @param isOpen whether a hole counts. */
export function withoutHoles(
  covered: Map<string, TimeRange[]>,
  holes: ReadonlyMap<string, readonly Hole[]>,
  isOpen: (hole: Hole) => boolean,
): Map<string, TimeRange[]> {
  for (const [symbol, own] of holes) {
    const windows = covered.get(symbol);
    if (windows === undefined) continue;
    const open = own.filter(isOpen).map(({ window }) => window);
    covered.set(
      symbol,
      windows.flatMap((window) => subtractRanges(window, open)),
    );
  }
  return covered;
}
