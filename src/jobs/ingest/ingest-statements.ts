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
import { decodeRecords } from "../../wire/decode/decode-records.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { type StatementRecord, statementRecord } from "../../wire/resources.js";
import { receivedRecords } from "./ingest-reference.js";
import { lastAnswers } from "./ledger.js";
import { CONCURRENCY, type Run } from "./run.js";

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
              receivedStatements(await decodeRecords(body, "map", z.array(statementRecord)), batch),
            async ({ records }, requestId) => {
              rows.push(
                ...records.map(([symbol, record]) =>
                  statementRow(symbol, record, `${run.runId}/${requestId}`),
                ),
              );
            },
          );
        },
        { concurrency: CONCURRENCY },
      );
    } finally {
      await run.exclusive(() => land(run, table, rows));
    }
    if (run.halted) return;
  }
}

async function land(run: Run, table: TableSchema, rows: readonly Record<string, unknown>[]): Promise<void> {
  if (rows.length > 0) {
    run.doing(`landing ${table.name}`);
    const identity: Column[] = [
      { name: "symbol", type: "string", doc: "" },
      { name: "period_end", type: "date", doc: "" },
      { name: "announce_date", type: "date", doc: "" },
      { name: "source", type: "string", doc: "" },
      { name: "line", type: "int64", doc: "" },
    ];
    await stageRows(run.session, STAGED, [...identity, ...fieldsOf(rows, identity)], rows);
    run.landed.push(await landStatements(run.session, run.lake, table, STAGED, run.landOptions()));
    await run.session.run(`DROP TABLE ${ident(STAGED)}`);
  }
  await run.landLedger();
}

/** The numeric fields that the records have, known or not. */
function fieldsOf(rows: readonly Record<string, unknown>[], identity: readonly Column[]): Column[] {
  const names = new Set<string>();
  for (const row of rows)
    for (const [name, value] of Object.entries(row)) if (typeof value === "number") names.add(name);
  for (const { name } of identity) names.delete(name);
  return [...names].sort().map((name) => ({ name, type: "double", nullable: true, doc: "" }));
}

function statementRow(symbol: string, record: StatementRecord, source: string): Record<string, unknown> {
  const numbers = Object.entries(record).filter(
    ([name, value]) => typeof value === "number" && /^[A-Za-z_]\w{0,62}$/.test(name),
  );
  const { period_end, announce_date } = record;
  return { ...Object.fromEntries(numbers), symbol, period_end, announce_date: announce_date ?? null, source };
}

function receivedStatements(
  decoded: Awaited<ReturnType<typeof decodeRecords<StatementRecord[]>>>,
  batch: readonly string[],
) {
  const asked = new Set(batch);
  const records = decoded.entries.flatMap(([symbol, list]) =>
    asked.has(symbol) ? list.map((record) => [symbol, record] as const) : [],
  );
  return { ...receivedRecords(decoded, batch), records, rows: records.length };
}
