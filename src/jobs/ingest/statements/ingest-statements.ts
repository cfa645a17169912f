import { subHours } from "date-fns/subHours";
import { isTooManySymbols } from "../../../client/response-error.js";
import type { ServiceError } from "../../../core/errors.js";
import { releaseAfter } from "../../../core/release-after.js";
import type { Region } from "../../../market/regions.js";
import { inBatches } from "../../../plan/request-units.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../../schema/statements.js";
import { ENDPOINTS } from "../../../wire/endpoints.js";
import { lastResponses } from "../../ledger/ledger.js";
import type { Run } from "../../run/run.js";
import { leaseInTurn } from "../ask-beside-others.js";
import { askEach, CONCURRENCY } from "../ask-each.js";
import { AskingStatements } from "./asking-statements.js";
import { LandingStatements } from "./landing-statements.js";
import { StatementFields } from "./statement-fields.js";

const STATEMENTS = {
  balance_sheet: { table: BALANCE_SHEET, endpoint: ENDPOINTS.balanceSheet },
  cash_flow: { table: CASH_FLOW, endpoint: ENDPOINTS.cashFlow },
} as const;

/** The statements that are requested. */
export interface StatementsDemand {
  readonly tables: readonly (keyof typeof STATEMENTS)[];
  readonly symbols: ReadonlyMap<Region, readonly string[]>;
  /** Symbols with a response newer than this are not requested again. */
  readonly refreshHours: number;
}

/** Requests the statements of every symbol, and lands each version that was not seen before. */
export async function ingestStatements(run: Run, demand: StatementsDemand): Promise<void> {
  const oldest = subHours(run.context.marketClock.now(), demand.refreshHours).getTime();
  const symbols = [...demand.symbols.values()].flat().sort();
  for (const name of demand.tables) {
    const { table, endpoint } = STATEMENTS[name];
    const lease = await leaseInTurn(run, { dataset: table.name, symbols });
    const answered = await lastResponses(
      run.context.session,
      run.context.lake,
      table.name,
      `${endpoint.method} ${endpoint.path}`,
    );
    const due = symbols.filter((symbol) => (answered.get(symbol) ?? 0) <= oldest);
    run.progress.doing(table.name);
    const { columns } = await run.context.lake.snapshot(table);
    const fields = new StatementFields(table, columns);
    const landing = new LandingStatements(run, table, fields);
    await releaseAfter(
      async () => {
        const asking = new AskingStatements(run, { table, endpoint, fields, landing });
        await askInBatches(run, due, table.name, (batch, heals) => asking.ask(batch, heals));
        await asking.askAgain();
      },
      () => landing.finish(),
      () => lease.release(),
    );
  }
}

/** Requests symbols in batches; where a batch is too large for the service, the rest is requested in smaller ones. */
async function askInBatches(
  run: Run,
  symbols: readonly string[],
  dataset: string,
  ask: (batch: readonly string[], heals: (error: ServiceError) => boolean) => Promise<void>,
): Promise<void> {
  const left: string[] = [];
  const batches = inBatches(symbols, run.context.limits.symbolsPerRequest("financials"));
  run.progress.replan(dataset, batches.length);
  const askOne = async (batch: readonly string[]): Promise<void> => {
    if (run.requests.isHalted(dataset)) return;
    if (left.length > 0) return void left.push(...batch);
    await ask(batch, (error) => {
      if (batch.length === 1 || !isTooManySymbols(error)) return false;
      run.context.limits.learnedTooMany("financials", error, batch.length);
      left.push(...batch);
      return true;
    });
  };
  await askEach(run.requests, batches, askOne, CONCURRENCY);
  if (left.length > 0) await askInBatches(run, left.sort(), dataset, ask);
}
