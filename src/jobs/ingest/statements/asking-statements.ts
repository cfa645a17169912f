import { z } from "zod";
import type { ServiceError } from "../../../core/errors.js";
import {
  type EarlierStatements,
  neverHadStatements,
  nextSecondRequest,
  unconfirmedAbsences,
} from "../../../plan/absence/absent-statements.js";
import type { TableSchema } from "../../../schema/column.js";
import { type DecodedRecords, decodeRecords } from "../../../wire/decode/decode-records.js";
import type { Endpoint } from "../../../wire/endpoints.js";
import { type StatementRecord, statementRecord } from "../../../wire/resources.js";
import { readEarlierStatements } from "../../ledger/earlier-statements.js";
import { ROWS_SET_ASIDE } from "../../ledger/ledger.js";
import { type Received, withFailed } from "../../run/request/request-records.js";
import type { Run } from "../../run/run.js";
import type { LandingRecords } from "../landing-records.js";
import type { StatementFields } from "./statement-fields.js";

/** Most unconfirmed symbols that a report names. */
const NAMED = 5;

/** The table whose statements are requested. */
interface StatementsParts {
  readonly table: TableSchema;
  readonly endpoint: Endpoint;
  readonly fields: StatementFields;
  readonly landing: LandingRecords;
}

/**
 * Requests the statements of a table. Symbols that may have statements although the response had none are requested
 * again. It is a class because it stores what the responses have shown so far.
 */
export class AskingStatements {
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

  /** Whether a response was received. */
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
      this.#run.ledger.enterSettled({ endpoint, dataset: table.name, symbols: never }, "as_before");
    for (const symbol of never) this.#unconfirmed.delete(symbol);
    const left = [...this.#unconfirmed].sort();
    if (left.length === 0) return;
    const named = left.slice(0, NAMED).join(", ") + (left.length > NAMED ? ", ..." : "");
    const reason = `no response shows whether there are statements of ${named}; they are requested again by the next run`;
    this.#run.log.failure({ dataset: table.name, request: table.name, reason, symbols: left.length });
  }

  /**
   * Sends a request and takes its statements.
   *
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
