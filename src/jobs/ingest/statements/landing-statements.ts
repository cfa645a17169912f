import { TempTable } from "../../../db/session/temp-table.js";
import { landStatements } from "../../../lake/land/land-statements.js";
import { stageObjects } from "../../../lake/land/stage-objects.js";
import type { Column, TableSchema } from "../../../schema/column.js";
import type { LedgerEntry, PendingResponse } from "../../run/request/request-records.js";
import type { Run } from "../../run/run.js";
import { landOptions } from "../../run/run-context.js";
import { groupResponses } from "../group-responses.js";
import type { StatementFields } from "./statement-fields.js";

/** Number of statements that land together; it limits memory. */
const GROUP_ROWS = 20_000;

type Row = Readonly<Record<string, unknown>>;

/** What is stored on disk for a response until it has landed. */
export interface StatementsNote {
  readonly dataset: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly entry: LedgerEntry;
}

interface PendingStatements {
  readonly requestId: string;
  readonly note: StatementsNote;
}

/** Lands responses of statements in groups: first the statements, then the ledger. */
export class LandingStatements {
  readonly #run: Run;
  readonly #table: TableSchema;
  readonly #fields: StatementFields;
  #pending: PendingStatements[] = [];
  #rows = 0;

  constructor(run: Run, table: TableSchema, fields: StatementFields) {
    this.#run = run;
    this.#table = table;
    this.#fields = fields;
  }

  /** Writes a response to disk and lands it later. */
  async take({
    requestId,
    source,
    entry,
    value,
  }: PendingResponse<{ readonly records: readonly Row[] }>): Promise<void> {
    const rows = value.records.map((record) => ({ ...record, source }));
    const note = { dataset: this.#table.name, columns: this.#fields.columns, rows, entry };
    await this.#run.responses.store(requestId, note);
    this.#pending.push({ requestId, note });
    this.#rows += rows.length;
    const isFull = this.#rows >= GROUP_ROWS || this.#pending.length >= groupResponses(this.#run.context.lake);
    if (isFull) await this.finish();
  }

  /** Lands the collected responses. */
  async finish(): Promise<void> {
    const group = this.#pending;
    this.#pending = [];
    this.#rows = 0;
    if (group.length === 0) return this.#run.exclusive(() => this.#run.ledger.land());
    await this.#run.exclusive(async () => {
      this.#run.progress.doing(`landing ${this.#table.name}`);
      await landStatementNotes(
        this.#run,
        this.#table,
        this.#fields.columns,
        group.map(({ note }) => note),
      );
      await this.#run.responses.forget(group.map(({ requestId }) => requestId));
    });
  }
}

/** Lands statements in one commit, and then their ledger entries. */
export async function landStatementNotes(
  run: Run,
  table: TableSchema,
  columns: readonly Column[],
  notes: readonly StatementsNote[],
): Promise<void> {
  const rows = notes.flatMap((note) => note.rows);
  if (rows.length > 0) {
    const { session, lake, rejects } = run.context;
    await using staged = new TempTable(session, "staged_statements");
    await stageObjects(session, staged.name, columns, rows);
    const options = { ...landOptions(run.context), rejects };
    run.log.landed(await landStatements(session, lake, table, staged.name, options));
  }
  for (const { entry } of notes) run.ledger.enter(entry);
  await run.ledger.land();
}
