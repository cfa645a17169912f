import { subHours } from "date-fns";
import pMap from "p-map";
import { z } from "zod";
import type { Region } from "../../core/exchange.js";
import { inBatches } from "../../plan/request-units.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../schema/statements.js";
import { type DecodedRecords, decodeRecords } from "../../wire/decode/decode-records.js";
import { ENDPOINTS } from "../../wire/endpoints.js";
import { type StatementRecord, statementRecord } from "../../wire/resources.js";
import { receivedRecords } from "./ingest-reference.js";
import { LandingStatements } from "./landing-statements.js";
import { lastAnswers } from "./ledger.js";
import type { Purpose } from "./request-records.js";
import { CONCURRENCY, type Run } from "./run.js";
import { StatementFields } from "./statement-fields.js";

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
    const batches = inBatches(due, run.limits.symbolsPerRequest("financials"));
    run.progress.plan(table.name, batches.length);
    run.progress.doing(table.name);
    const { columns } = await run.lake.snapshot(table);
    const fields = new StatementFields(table, columns);
    const landing = new LandingStatements(run, table, fields);
    const purpose = (batch: readonly string[]): Purpose => ({ dataset: table.name, symbols: batch });
    try {
      await pMap(
        batches,
        async (batch) => {
          if (run.isHalted(table.name)) return;
          const got = await run.ask(
            { endpoint, query: { symbols: batch.join(",") } },
            purpose(batch),
            async (body) =>
              receivedStatements(await decodeRecords(body, "map", z.array(statementRecord)), batch, fields),
          );
          if (got !== undefined) await landing.take(got);
        },
        { concurrency: CONCURRENCY },
      );
    } finally {
      await landing.finish();
    }
  }
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
