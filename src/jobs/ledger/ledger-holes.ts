import { subtractRanges, type TimeRange } from "../../core/time.js";
import { literalList } from "../../db/quote.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { type AbsenceReason, ASKED_AGAIN_SOON, waitAfter } from "../../plan/absence/absence.js";
import { ledgerSql } from "./ledger-sql.js";

/** A window of which a symbol has no bar, or not all, for a reason that may pass; nothing has answered it since. */
export interface Hole {
  readonly symbol: string;
  readonly window: TimeRange;
  readonly reason: AbsenceReason;
  /** Runs that found nothing, one after the other. */
  readonly looks: number;
  /** When the last of them asked, and when it is due again; epoch milliseconds. */
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

/** The holes in what was asked for of a dataset, by symbol. A later response about the same time closes a hole. */
export async function readHoles(
  session: Session,
  lake: Lake,
  dataset: string,
): Promise<ReadonlyMap<string, readonly Hole[]>> {
  // A response matters where it overlaps a hole that was there before: few of a ledger's responses do.
  // Ledgers of before reasons were noted: a response without any bar explained nothing.
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
  // What a response leaves open is noted beside what it settles, and asked at the same time.
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
