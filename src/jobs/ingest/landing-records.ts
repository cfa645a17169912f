import { firstNames } from "../../core/text-order.js";
import { TempTable } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { stageObjects } from "../../lake/land/clear-values.js";
import { landStatements } from "../../lake/land/land-statements.js";
import { landActions } from "../../lake/land/land-versions.js";
import { EX_FACTORS } from "../../schema/actions.js";
import type { Column, TableSchema } from "../../schema/column.js";
import type { LedgerEntry, PendingResponse } from "../run/request/request-records.js";
import type { Run } from "../run/run.js";
import { landOptions } from "../run/run-context.js";

/**
 * Most responses that land together, in a lake that does not contain the responses that this machine has received. If
 * the machine dies, another one requests again what the ledger does not have: for each run at most two groups, of which
 * one may be landing, and the requests in flight.
 */
export const SHARED_GROUP_RESPONSES = 16;

/**
 * Most responses that land together. In a folder there is no limit: the next run, on any machine, lands what a killed
 * run had received.
 */
export function groupResponses({ isShared }: Pick<Lake, "isShared">): number {
  return isShared ? SHARED_GROUP_RESPONSES : Number.POSITIVE_INFINITY;
}

/**
 * Reports symbols of which records were set aside by earlier runs, and which are not requested again yet.
 *
 * @param what the records: statements, or factors.
 */
export function reportSetAside(run: Run, table: string, what: string, symbols: readonly string[]): void {
  if (symbols.length === 0) return;
  const reason = `earlier runs have set aside ${what} of ${firstNames(symbols)}; they are requested again after a wait`;
  run.log.failure({ dataset: table, request: table, reason, symbols: symbols.length });
}

/** Number of records that land together; it limits memory. */
const GROUP_ROWS = 20_000;

type Row = Readonly<Record<string, unknown>>;

/** What is stored on disk for a response of records until it has landed. */
export interface RecordsNote {
  readonly dataset: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly entry: LedgerEntry;
}

interface PendingRecords {
  readonly requestId: string;
  readonly note: RecordsNote;
}

/** Lands responses of statements or ex-factors in groups: first the records, then the ledger. */
export class LandingRecords {
  readonly #run: Run;
  readonly #table: TableSchema;
  readonly #fields: { readonly columns: readonly Column[] };
  #pending: PendingRecords[] = [];
  #rows = 0;

  /** @param fields the columns of the records so far. */
  constructor(run: Run, table: TableSchema, fields: { readonly columns: readonly Column[] }) {
    this.#run = run;
    this.#table = table;
    this.#fields = fields;
  }

  async take({
    requestId,
    entry,
    value,
  }: Pick<
    PendingResponse<{ readonly records: readonly Row[] }>,
    "requestId" | "entry" | "value"
  >): Promise<void> {
    const rows = value.records;
    const note = { dataset: this.#table.name, columns: this.#fields.columns, rows, entry };
    await this.#run.responses.store(requestId, note);
    this.#pending.push({ requestId, note });
    this.#rows += rows.length;
    const isFull = this.#rows >= GROUP_ROWS || this.#pending.length >= groupResponses(this.#run.context.lake);
    if (isFull) await this.finish();
  }

  async finish(): Promise<void> {
    const group = this.#pending;
    this.#pending = [];
    this.#rows = 0;
    if (group.length === 0) return this.#run.exclusive(() => this.#run.ledger.land());
    await this.#run.exclusive(async () => {
      this.#run.progress.doing(`landing ${this.#table.name}`);
      await landRecordNotes(
        this.#run,
        this.#table,
        this.#fields.columns,
        group.map(({ note }) => note),
      );
      await this.#run.responses.forget(group.map(({ requestId }) => requestId));
    });
  }
}

/** Lands records in one commit, and then their ledger entries. */
export async function landRecordNotes(
  run: Run,
  table: TableSchema,
  columns: readonly Column[],
  notes: readonly RecordsNote[],
): Promise<void> {
  const isFactors = table === EX_FACTORS;
  const all = notes.flatMap((note) => note.rows);
  const rows = isFactors ? newestOfEach(all) : all;
  if (rows.length > 0) {
    const { session, lake, rejects } = run.context;
    await using staged = new TempTable(session, "staged_records");
    await stageObjects(session, staged.name, columns, rows);
    const options = { ...landOptions(run.context), rejects };
    const land = isFactors ? landActions : landStatements;
    run.log.landed(await land(session, lake, table, staged.name, options));
  }
  for (const { entry } of notes) run.ledger.enter(entry);
  await run.ledger.land();
}

/** One row for each symbol and ex-date: the last one, as the windows of two responses may overlap. */
function newestOfEach(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [`${String(row.symbol)} ${String(row.ex_date)}`, row])).values()];
}
