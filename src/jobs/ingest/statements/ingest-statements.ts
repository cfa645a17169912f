import { hoursToMilliseconds } from "date-fns/hoursToMilliseconds";
import { z } from "zod";
import { statesNotOffered } from "../../../client/response-error.js";
import type { ServiceError } from "../../../core/errors.js";
import { releaseAfter } from "../../../core/release-after.js";
import { firstNames } from "../../../core/text-order.js";
import type { Session } from "../../../db/session/session.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import type { Lake } from "../../../lake/lake.js";
import type { Region } from "../../../market/regions.js";
import {
  dueAfterSetAside,
  type EarlierStatements,
  neverHadStatements,
  nextSecondRequest,
  type SetAsideStatements,
  unconfirmedAbsences,
} from "../../../plan/absence/absent-statements.js";
import { inBatches } from "../../../plan/request-units.js";
import type { TableSchema } from "../../../schema/column.js";
import { STATEMENTS, type StatementName } from "../../../schema/statements.js";
import { type DecodedRecords, decodeRecords } from "../../../wire/decode/decode-records.js";
import { ENDPOINTS, type Endpoint } from "../../../wire/endpoints.js";
import { type StatementRecord, statementRecord } from "../../../wire/resources.js";
import { hasDelivered, instantSql, lastResponses, ledgerSql, ROWS_SET_ASIDE } from "../../ledger/ledger.js";
import { type Received, withFailed } from "../../run/request/request-records.js";
import { askEach, CONCURRENCY } from "../../run/request/request-sender.js";
import type { Run } from "../../run/run.js";
import { LandingRecords, reportSetAside } from "../landing-records.js";
import { StatementFields } from "./statement-fields.js";

interface StatementsParts {
  readonly table: TableSchema;
  readonly endpoint: Endpoint;
  readonly fields: StatementFields;
  readonly landing: LandingRecords;
}

/**
 * Requests the statements of a table. Symbols that may have statements although the response had none are requested
 * again.
 */
class AskingStatements {
  readonly #run: Run;
  readonly #parts: StatementsParts;
  readonly #came = new Set<string>();
  readonly #unconfirmed = new Set<string>();
  #earlier: Promise<EarlierStatements> | undefined;
  #isAnswered = false;

  constructor(run: Run, parts: StatementsParts) {
    this.#run = run;
    this.#parts = parts;
  }

  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** Requests a batch of symbols for the first time. @param heals as in `RequestSender.ask`. */
  async ask(batch: readonly string[], heals?: (error: ServiceError) => boolean): Promise<void> {
    await this.#request(
      batch,
      async (response) => {
        const unconfirmed = unconfirmedAbsences(response, await this.#readEarlier());
        for (const symbol of unconfirmed) this.#unconfirmed.add(symbol);
        return unconfirmed;
      },
      heals,
    );
  }

  /**
   * Requests the unconfirmed symbols again, together with symbols that have statements. A response with at least one
   * statement shows that the other symbols have none. After a response without any statement no more requests are sent:
   * the remaining symbols make the run partial, and the next run requests them again.
   */
  async askAgain(): Promise<void> {
    const { requests, progress, context } = this.#run;
    const { name } = this.#parts.table;
    let waiting = [...this.#unconfirmed].sort();
    if (waiting.length === 0) return;
    const earlier = await this.#readEarlier();
    const size = context.limits.symbolsPerRequest("financials");
    while (waiting.length > 0 && !requests.isHalted(name)) {
      const { symbols, controls } = nextSecondRequest(waiting, size, this.#came, earlier);
      waiting = waiting.slice(symbols.length);
      progress.plan(name, 1);
      const isShown = (came: number): boolean => came > 0 || (size === 1 && this.#came.size > 0);
      const came = await this.#request([...controls, ...symbols], async ({ absent, present }) =>
        isShown(present) ? [] : absent,
      );
      if (came === undefined) continue;
      if (!isShown(came)) break;
      for (const symbol of symbols) this.#unconfirmed.delete(symbol);
    }
    this.#conclude(earlier);
  }

  #conclude(earlier: EarlierStatements): void {
    const { endpoint, table } = this.#parts;
    const never = neverHadStatements([...this.#unconfirmed].sort(), this.#came, earlier);
    if (never.length > 0)
      this.#run.ledger.enterSettled({ endpoint, dataset: table.name, symbols: never }, "unavailable");
    for (const symbol of never) this.#unconfirmed.delete(symbol);
    const left = [...this.#unconfirmed].sort();
    if (left.length === 0) return;
    const reason = `no response shows whether there are statements of ${firstNames(left)}; they are requested again by the next run`;
    this.#run.log.failure({ dataset: table.name, request: table.name, reason, symbols: left.length });
  }

  /**
   * @param unconfirmedIn returns the absent symbols about which a response shows nothing; the ledger records that their
   *   request failed, as it does for symbols of which records were set aside.
   * @returns the number of received symbols; undefined where the request failed.
   */
  async #request(
    batch: readonly string[],
    unconfirmedIn: (response: ReturnType<typeof receivedStatements>) => Promise<readonly string[]>,
    heals?: (error: ServiceError) => boolean,
  ): Promise<number | undefined> {
    const { endpoint, table, fields, landing } = this.#parts;
    const got = await this.#run.requests.ask(
      { endpoint, query: { symbols: batch.join(",") } },
      { dataset: table.name, symbols: batch },
      async (body) =>
        receivedStatements(await decodeRecords(body, "map", z.array(statementRecord)), batch, fields),
      heals,
    );
    if (got === undefined) return undefined;
    this.#isAnswered = true;
    const absent = new Set(got.value.absent);
    for (const symbol of batch) if (!absent.has(symbol)) this.#came.add(symbol);
    const unconfirmed = got.value.absent.length > 0 ? await unconfirmedIn(got.value) : [];
    const reasons = new Map([
      ...unconfirmed.map((symbol) => [symbol, "the response does not show that it has none"] as const),
      ...got.value.setAside.map((symbol) => [symbol, ROWS_SET_ASIDE] as const),
    ]);
    const records = got.value.records.map((record) => ({ ...record, source: got.source }));
    const entry = withFailed(got.entry, reasons);
    await landing.take({ requestId: got.requestId, value: { records }, entry });
    return got.value.present;
  }

  #readEarlier(): Promise<EarlierStatements> {
    const { context, exclusive } = this.#run;
    this.#earlier ??= exclusive(() =>
      readEarlierStatements(context.session, context.lake, this.#parts.table),
    );
    return this.#earlier;
  }
}

/**
 * A response as rows of the table. A record that does not fit becomes an issue. A symbol with an empty list is absent.
 * A symbol whose list cannot be read is not absent, since it has statements.
 */
function receivedStatements(
  decoded: DecodedRecords<StatementRecord[]>,
  batch: readonly string[],
  fields: StatementFields,
): Received & {
  readonly records: readonly Record<string, unknown>[];
  readonly present: number;
  readonly hasStrangers: boolean;
  /** Requested symbols of which at least one record is not among the rows. */
  readonly setAside: readonly string[];
} {
  const asked = new Set(batch);
  const records: Record<string, unknown>[] = [];
  const unusable = decoded.issues.counts.flatMap(({ symbol }) => (symbol === undefined ? [] : [symbol]));
  const keys = new Set(unusable);
  for (const [symbol, list] of decoded.entries) {
    if (list.length > 0) keys.add(symbol);
    if (!asked.has(symbol)) continue;
    for (const record of list) {
      const taken = fields.rowOf(symbol, record);
      if ("issue" in taken) decoded.issues.add(taken.issue);
      else records.push(taken.row);
    }
  }
  const { issues, bytes } = decoded;
  const absent = batch.filter((symbol) => !keys.has(symbol));
  const faulty = new Set(issues.counts.map(({ symbol }) => symbol));
  const present = batch.length - absent.length;
  return {
    records,
    rows: records.length,
    rejected: issues.rejected,
    bytes,
    absent,
    issues: issues.stored,
    present,
    hasStrangers: keys.size > present,
    setAside: batch.filter((symbol) => faulty.has(symbol)),
  };
}

/** Reads which statements of a table the lake has, and which symbols were absent in earlier responses. */
async function readEarlierStatements(
  session: Session,
  lake: Lake,
  table: TableSchema,
): Promise<EarlierStatements> {
  const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  const known = await session.json<{ symbol: string }>(
    `SELECT symbol FROM (${live}) GROUP BY symbol ORDER BY max(period_end) DESC, symbol`,
  );
  const lacking = await session.json<{ symbol: string; believed: boolean; runs: number }>(
    `SELECT symbol, bool_or(status = 'answered') AS believed,
       (count(DISTINCT run_id) FILTER (status = 'failed'))::INT AS runs
     FROM (SELECT unnest(absent) AS symbol, status, run_id FROM (${await ledgerSql(session, lake)})
       WHERE dataset = $1 AND window_start IS NULL
         AND ((status = 'answered' AND reason IS NULL) OR (status = 'failed' AND http_status = 200)))
     GROUP BY symbol`,
    [table.name],
  );
  return {
    inLake: new Set(known.map(({ symbol }) => symbol)),
    absentBefore: new Set(lacking.flatMap(({ symbol, believed }) => (believed ? [symbol] : []))),
    emptyRuns: new Map(lacking.map(({ symbol, runs }) => [symbol, runs])),
  };
}

/**
 * The symbols of which a statement was set aside in the last response, and in how many runs in a row. Responses from
 * before a loss in the table do not count. An absent symbol has no statement that could be set aside.
 */
async function readSetAsideStatements(
  session: Session,
  lake: Lake,
  table: string,
): Promise<Map<string, SetAsideStatements>> {
  const rows = await session.json<SetAsideStatements & { readonly symbol: string }>(
    `WITH of_table AS (FROM (${await ledgerSql(session, lake)}) WHERE dataset = $1),
       responses AS (
         SELECT unnest(symbols) AS symbol, absent, run_id, asked_at, status, reason FROM of_table
         WHERE http_status = 200 AND asked_at >=
           coalesce((SELECT max(asked_at) FROM of_table WHERE status = 'lost'), ${instantSql(0)})),
       last AS (SELECT symbol, max(asked_at) AS answered_at FROM responses
         WHERE status IN ('answered', 'empty') GROUP BY symbol)
     SELECT symbol, count(DISTINCT run_id)::DOUBLE AS runs, epoch_ms(max(asked_at))::DOUBLE AS "askedAt"
     FROM responses LEFT JOIN last USING (symbol)
     WHERE status = 'failed' AND contains(reason, $2) AND NOT list_contains(absent, symbol)
       AND asked_at > coalesce(answered_at, ${instantSql(0)})
     GROUP BY symbol`,
    [table, ROWS_SET_ASIDE],
  );
  return new Map(rows.map(({ symbol, ...earlier }) => [symbol, earlier]));
}

interface TableOutcome {
  readonly name: StatementName;
  readonly symbols: number;
  /** Whether no earlier run has received a response. */
  readonly isNew: boolean;
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
      const isLeft = run.context.limits.takesFewer("financials", error, batch.length);
      if (isLeft) left.push(...batch);
      return isLeft;
    });
  };
  await askEach(run.requests, batches, askOne, CONCURRENCY);
  if (left.length > 0) await askInBatches(run, left.sort(), dataset, ask);
}
