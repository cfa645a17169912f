import { compareText } from "../../core/text-order.js";
import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { upsert } from "../../lake/land/upsert.js";
import type { LostFile } from "../../lake/maintenance/lost-files.js";
import { regionOf } from "../../market/symbol.js";
import { EX_FACTORS } from "../../schema/actions.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { REQUESTS, RUNS } from "../../schema/runs.js";
import { askedSymbols, landRequests, ledgerSql, type RequestRecord } from "./ledger.js";

/** How a loss is recorded. */
interface AskAgainOptions {
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether nothing is recorded. */
  readonly dryRun: boolean;
}

/**
 * Records in the ledger that the contents of lost files are requested again. For bars, these are all requested symbols
 * that a file can contain, in the time range of the file; for factors, the symbols at all times; for other tables,
 * everything. Earlier responses no longer
 * count for this data.
 *
 * @returns the number of symbols that are requested again, by file.
 */
export async function askAgain(
  session: Session,
  lake: Lake,
  table: TableSchema,
  lost: readonly LostFile[],
  { runId, now, dryRun }: AskAgainOptions,
): Promise<Map<LostFile, number>> {
  const counts = new Map<LostFile, number>();
  // A request without ledger rows is not covered anyway, and reports of runs cannot be requested.
  if (lost.length === 0 || table === REQUESTS || table === RUNS) return counts;
  if (!dryRun) await datedBeforeNow(session, lake, table.name, { runId, now });
  const hasWindows = table === BARS_1D || table === BARS_1M || table === EX_FACTORS;
  const asked = hasWindows ? await askedSymbols(session, lake, table.name) : [];
  const records: RequestRecord[] = [];
  for (const [index, one] of lost.entries()) {
    const symbols = asked.filter(({ symbol }) => canHold(one, symbol));
    counts.set(one, symbols.length);
    if (hasWindows && symbols.length === 0) continue;
    const since = Math.min(...symbols.map((symbol) => symbol.since));
    records.push({
      runId,
      pipeline: "repair",
      requestId: `${table.name}-${index}`,
      dataset: table.name,
      endpoint: "repair",
      symbols: symbols.map(({ symbol }) => symbol),
      window: hasWindows ? (one.range ?? { start: since, end: now }) : undefined,
      askedAt: now,
      status: "lost",
      attempts: 0,
      rows: 0,
      rejected: 0,
      bytes: 0,
      durationMs: 0,
      absent: [],
      reason: `${one.file.path} ${one.what}`,
    });
  }
  if (!dryRun) await landRequests(session, lake, records, { operation: "REPAIR", runId, now });
  return counts;
}

/**
 * Corrects the times of requests that a clock which was ahead has dated now or later: they become earlier than now, in
 * the same order. Otherwise their responses would count as newer than the loss.
 */
async function datedBeforeNow(
  session: Session,
  lake: Lake,
  dataset: string,
  { runId, now }: Pick<AskAgainOptions, "runId" | "now">,
): Promise<void> {
  await using ahead = new TempTable(session, "requests_ahead");
  await ahead.fill(
    `SELECT * REPLACE (make_timestamptz((${now} - dense_rank() OVER (ORDER BY asked_at DESC)) * 1000) AS asked_at)
     FROM (${await ledgerSql(session, lake)})
     WHERE dataset = ${literal(dataset)} AND asked_at >= make_timestamptz(${now * 1000}::BIGINT)`,
  );
  await upsert(session, lake, REQUESTS, ahead.name, { operation: "REPAIR", runId, now });
}

function canHold({ file, symbols }: LostFile, symbol: string): boolean {
  const { region } = file.partitionValues;
  if (region && regionOf(symbol) !== region) return false;
  return (
    symbols === undefined ||
    (compareText(symbol, symbols.first) >= 0 && compareText(symbol, symbols.last) <= 0)
  );
}
