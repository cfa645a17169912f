import { hoursToMilliseconds } from "date-fns/hoursToMilliseconds";
import { isTooManySymbols, statesNotOffered } from "../../../client/response-error.js";
import type { ServiceError } from "../../../core/errors.js";
import { releaseAfter } from "../../../core/release-after.js";
import type { Region } from "../../../market/regions.js";
import { dueAfterSetAside } from "../../../plan/absence/absent-statements.js";
import { inBatches } from "../../../plan/request-units.js";
import { STATEMENTS, type StatementName } from "../../../schema/statements.js";
import { ENDPOINTS, type Endpoint } from "../../../wire/endpoints.js";
import { readSetAsideStatements } from "../../ledger/earlier-statements.js";
import { hasDelivered, lastResponses } from "../../ledger/ledger.js";
import { askEach, CONCURRENCY } from "../../run/request/request-sender.js";
import type { Run } from "../../run/run.js";
import { LandingRecords, reportSetAside } from "../landing-records.js";
import { AskingStatements } from "./asking-statements.js";
import { StatementFields } from "./statement-fields.js";

/** How the requests for a table of statements ended. */
interface TableOutcome {
  readonly name: StatementName;
  /** Number of symbols that were to be requested. */
  readonly symbols: number;
  /** Whether no earlier run has received a response. */
  readonly isNew: boolean;
  /** Whether this run has received a response. */
  readonly isAnswered: boolean;
  /** The refusal of the whole table; undefined where there was none. */
  readonly refusal: ServiceError | undefined;
  /** The HTTP status of a refusal that an earlier run received, because of which this run requested nothing. */
  readonly remembered: number | undefined;
}

/**
 * Reports the tables that the service refuses. If the service has never offered a table to the key but offers another
 * one, this is not a failure: the refusal is remembered, so that runs of the next days do not request the table again.
 * If the table was offered before, or all tables are refused, it is a failure, because the lake then lacks data.
 */
function reportRefusals(run: Run, outcomes: readonly TableOutcome[]): void {
  const { limits } = run.context;
  const isOneAnswered = outcomes.some(({ isAnswered }) => isAnswered);
  const isOneOffered = isOneAnswered || outcomes.some(({ isNew }) => !isNew);
  for (const { name, symbols, isNew, isAnswered, refusal, remembered } of outcomes) {
    if (remembered !== undefined) {
      const reason =
        `an earlier run was refused it with status ${remembered}; it is requested again a week after that, ` +
        "or by the next run once the service's file in limits/ of the lake is deleted";
      if (isOneOffered) run.log.notOffered(name, reason);
      else run.log.forbid(name, reason);
    } else if (refusal !== undefined && isNew && !isAnswered && isOneOffered) {
      run.log.notOffered(name, refusal.message);
      if (isOneAnswered) limits.learnedRefusal(name, refusal.status);
    } else if (refusal?.status === 404 && isNew) {
      // This is also a failure if a response was received before the refusal: the rest of the table was not requested.
      run.log.failure({ dataset: name, request: name, reason: refusal.message, symbols });
    }
  }
}

const ENDPOINT_OF: Readonly<Record<StatementName, Endpoint>> = {
  balance_sheet: ENDPOINTS.balanceSheet,
  cash_flow: ENDPOINTS.cashFlow,
  income: ENDPOINTS.income,
  metrics: ENDPOINTS.metrics,
  shares: ENDPOINTS.shares,
};

/** The statements that are requested. */
interface StatementsDemand {
  readonly tables: readonly StatementName[];
  readonly symbols: ReadonlyMap<Region, readonly string[]>;
  /** Symbols whose last response is newer than this number of hours are not requested again. */
  readonly refreshHours: number;
}

/**
 * Requests the statements of every symbol, and lands each version that was not seen before. A table that the service
 * does not offer to the key is reported; it does not affect the other tables.
 */
export async function ingestStatements(run: Run, demand: StatementsDemand): Promise<void> {
  const symbols = [...demand.symbols.values()].flat().sort();
  const outcomes: TableOutcome[] = [];
  for (const name of new Set(demand.tables))
    outcomes.push(await ingestTable(run, name, symbols, demand.refreshHours));
  reportRefusals(run, outcomes);
}

async function ingestTable(
  run: Run,
  name: StatementName,
  symbols: readonly string[],
  refreshHours: number,
): Promise<TableOutcome> {
  const [table, endpoint] = [STATEMENTS[name], ENDPOINT_OF[name]];
  const { session, lake, marketClock, limits } = run.context;
  const refreshMs = hoursToMilliseconds(refreshHours);
  const path = `${endpoint.method} ${endpoint.path}`;
  const responses = await lastResponses(session, lake, name, path);
  const isNew = responses.size === 0 && !(await hasDelivered(session, lake, name, path));
  const remembered = isNew ? limits.refusalOf(name) : undefined;
  if (remembered !== undefined)
    return { name, symbols: symbols.length, isNew, isAnswered: false, refusal: undefined, remembered };
  const setAside = await readSetAsideStatements(session, lake, name);
  const isDue = (symbol: string): boolean => {
    const earlier = setAside.get(symbol);
    const dueAt = earlier ? dueAfterSetAside(earlier, refreshMs) : (responses.get(symbol) ?? 0) + refreshMs;
    return dueAt <= marketClock.now();
  };
  const due = symbols.filter(isDue);
  const asked = new Set(due);
  reportSetAside(
    run,
    name,
    "statements",
    symbols.filter((symbol) => setAside.has(symbol) && !asked.has(symbol)),
  );
  run.progress.doing(name);
  const { columns } = await lake.snapshot(table);
  const fields = new StatementFields(table, columns);
  const landing = new LandingRecords(run, table, fields);
  const asking = new AskingStatements(run, { table, endpoint, fields, landing });
  let refusal: ServiceError | undefined;
  // The run stops at a 403 in any case. A 404 of the service means that the table does not exist if no response was ever
  // received for it.
  const isMissing = (error: ServiceError): boolean => {
    if (!statesNotOffered(error)) return false;
    refusal ??= error;
    if (error.status === 403 || !isNew || asking.isAnswered) return false;
    run.log.forbid(name, error.message);
    return true;
  };
  await releaseAfter(
    async () => {
      await askInBatches(run, due, name, (batch, heals) =>
        asking.ask(batch, (error) => isMissing(error) || heals(error)),
      );
      await asking.askAgain();
    },
    () => landing.finish(),
  );
  return { name, symbols: due.length, isNew, isAnswered: asking.isAnswered, refusal, remembered: undefined };
}

/**
 * Requests symbols in batches. If a batch is too large for the service, the remaining symbols are requested in smaller
 * batches.
 */
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
