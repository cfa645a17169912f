import { subHours } from "date-fns";
import pMap from "p-map";
import { z } from "zod";
import type { Region } from "../../core/exchange.js";
import { ident } from "../../db/quote.js";
import { landStatements } from "../../lake/land-statements.js";
import { stageRows } from "../../lake/stage-rows.js";
import { inBatches } from "../../plan/request-units.js";
import type { Column, TableSchema } from "../../schema/column.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../schema/statements.js";
import { type DecodedRecords, decodeRecords } from "../../wire/decode/decode-records.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { type StatementRecord, statementRecord } from "../../wire/resources.js";
import { receivedRecords } from "./ingest-reference.js";
import { lastAnswers } from "./ledger.js";
import { CONCURRENCY, type Run } from "./run.js";
import { StatementFields } from "./statement-fields.js";

const STAGED = "staged_statements";
const STATEMENTS = {
  balance_sheet: { table: BALANCE_SHEET, endpoint: ENDPOINTS.balanceSheet },
  cash_flow: { table: CASH_FLOW, endpoint: ENDPOINTS.cashFlow },
} as const;

/** What statements are asked for. */
export interface StatementsDemand {
  readonly tables: readonly (keyof typeof STATEMENTS)[];
  readonly symbols: ReadonlyMap<Region, readonly string[]>;
  /** Symbols that were answered for less than this ago are not asked for again. */
  readonly refreshHours: number;
}

/** Asks for the statements of every symbol, and keeps each version that was not seen before. */
export async function ingestStatements(run: Run, demand: StatementsDemand): Promise<void> {
  const oldest = subHours(run.clock.now(), demand.refreshHours).getTime();
  const symbols = [...demand.symbols.values()].flat().sort();
  for (const name of demand.tables) {
    const { table, endpoint } = STATEMENTS[name];
    const answered = await lastAnswers(
      run.session,
      run.lake,
      table.name,
      `${endpoint.method} ${endpoint.path}`,
    );
    const due = symbols.filter((symbol) => (answered.get(symbol) ?? 0) <= oldest);
    const batches = inBatches(due, LIMITS.symbolsPerRequest);
    run.plan(batches.length);
    run.doing(table.name);
    const { columns } = await run.lake.snapshot(table);
    const fields = new StatementFields(table, columns);
    const rows: Record<string, unknown>[] = [];
    try {
      await pMap(
        batches,
        async (batch) => {
          if (run.halted) return;
          await run.ask(
            { endpoint, query: { symbols: batch.join(",") } },
            { dataset: table.name, symbols: batch },
            async (body) =>
              receivedStatements(await decodeRecords(body, "map", z.array(statementRecord)), batch, fields),
            async ({ records }, requestId) => {
              const source = `${run.runId}/${requestId}`;
              for (const record of records) rows.push({ ...record, source });
            },
          );
        },
        { concurrency: CONCURRENCY },
      );
    } finally {
      await run.exclusive(() => land(run, table, fields.columns, rows));
    }
    if (run.halted) return;
  }
}

async function land(
  run: Run,
  table: TableSchema,
  columns: readonly Column[],
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  if (rows.length > 0) {
    run.doing(`landing ${table.name}`);
    await stageRows(run.session, STAGED, columns, rows);
    run.landed.push(await landStatements(run.session, run.lake, table, STAGED, run.landOptions()));
    await run.session.run(`DROP TABLE ${ident(STAGED)}`);
  }
  await run.landLedger();
}

/** What an answer holds, as rows of the table; a record that does not fit it is an issue. */
function receivedStatements(
  decoded: DecodedRecords<StatementRecord[]>,
  batch: readonly string[],
  fields: StatementFields,
) {
  const asked = new Set(batch);
  const records: Record<string, unknown>[] = [];
  for (const [symbol, list] of decoded.entries) {
    if (!asked.has(symbol)) continue;
    for (const record of list) {
      const taken = fields.rowOf(symbol, record);
      if ("issue" in taken) decoded.issues.add(taken.issue);
      else records.push(taken.row);
    }
  }
  return { ...receivedRecords(decoded, batch), records, rows: records.length };
}
