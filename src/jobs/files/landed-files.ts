import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { commitWithRetries } from "../../lake/log/commit.js";
import { commitInfoAction, schemaActions } from "../../lake/log/commit-actions.js";
import type { Txn } from "../../lake/log/delta-actions.js";
import type { Fence } from "../../lake/log/fence.js";
import { readSymbol } from "../../market/symbol-notation.js";
import type { TableSchema } from "../../schema/column.js";
import { UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { tableNamed } from "../../schema/tables.js";
import type { ImportTable } from "../import/import-options.js";
import { stemOf } from "../import/text/whole-file.js";
import type { RequestRecord } from "../ledger/ledger.js";

type FileState =
  | "new"
  /** Another content of the same name has landed. */
  | "changed"
  /** The same content has landed from a file of another name. */
  | "copy"
  | "landed";

/** The beginning of the names of the records in a table's log, one for each file: `file/<SHA-256>/<pipeline>/<name>`. */
const RECORD = /^file\/([0-9a-f]{64})\/([^/]+)\/(.+)$/;

/** The tables that have rows of a pipeline's files. A file has landed where all of them have its record. */
function tablesOf(table: ImportTable): readonly TableSchema[] {
  return table === "universes" ? [UNIVERSES, UNIVERSE_MEMBERS] : [tableNamed(table) as TableSchema];
}

/**
 * The files that have landed in a table, by the records in its log. A record is committed with the rows of its file, so
 * that of the two there is never only one; a restore that undoes the rows undoes the record. It remains as long as the
 * table, and there is one for each name: the record of a content that a later one has replaced is taken back.
 */
export class LandedFiles {
  readonly #pipeline: string;
  readonly #exchange: string | undefined;
  readonly #contents = new Map<string, string>();
  /** Names of the files of all pipelines, by their content and meaning. */
  readonly #names = new Map<string, Set<string>>();

  /** @param exchange what completes a code in a file's name to a symbol. */
  constructor(pipeline: string, exchange: string | undefined) {
    this.#pipeline = pipeline;
    this.#exchange = exchange;
  }

  static async read(
    lake: Lake,
    { name, table }: { readonly name: string; readonly table: ImportTable },
    exchange: string | undefined,
  ): Promise<LandedFiles> {
    const files = new LandedFiles(name, exchange);
    const [first, ...others] = await Promise.all(tablesOf(table).map((one) => lake.snapshot(one)));
    for (const appId of first?.txns.keys() ?? [])
      if (others.every(({ txns }) => txns.has(appId))) files.#add(appId);
    return files;
  }

  stateOf(name: string, sha256: string): FileState {
    const known = this.#contents.get(name);
    if (known === sha256) return "landed";
    if (known !== undefined) return "changed";
    return this.twinOf(name, sha256) === undefined ? "new" : "copy";
  }

  /** The hash of the content of this name that has landed; undefined where none has. */
  contentOf(name: string): string | undefined {
    return this.#contents.get(name);
  }

  /** The name of a landed file with the same content and meaning. */
  twinOf(name: string, sha256: string): string | undefined {
    const [first] = this.#names.get(this.meaningOf(name, sha256)) ?? [];
    return first;
  }

  /** What a content means: where the name of a file says a symbol, the content is of that symbol. */
  meaningOf(name: string, sha256: string): string {
    const read = readSymbol(stemOf(name), this.#exchange);
    return "symbol" in read ? `${sha256} ${read.symbol}` : sha256;
  }

  /** The records of a file that lands: of its content, and that it replaces the one that landed before. */
  recordsOf(name: string, sha256: string): readonly Txn[] {
    const before = this.#contents.get(name);
    // Without a time of its last change, a record remains in all checkpoints.
    const record: Txn = { appId: this.#recordOf(name, sha256), version: 0 };
    if (before === undefined || before === sha256) return [record];
    return [record, { appId: this.#recordOf(name, before), version: -1 }];
  }

  landed(name: string, sha256: string): void {
    const before = this.#contents.get(name);
    if (before !== undefined) this.#names.get(this.meaningOf(name, before))?.delete(name);
    this.#add(this.#recordOf(name, sha256));
  }

  #recordOf(name: string, sha256: string): string {
    return `file/${sha256}/${this.#pipeline}/${name}`;
  }

  #add(appId: string): void {
    const [, sha256, pipeline, name] = RECORD.exec(appId) ?? [];
    if (sha256 === undefined || name === undefined) return;
    if (pipeline === this.#pipeline) this.#contents.set(name, sha256);
    const meaning = this.meaningOf(name, sha256);
    const names = this.#names.get(meaning);
    if (names === undefined) this.#names.set(meaning, new Set([name]));
    else names.add(name);
  }
}

/**
 * Commits the records that a landing did not, because none of the rows was new: without them the files would be read
 * again by each run.
 */
export async function recordLanded(
  lake: Lake,
  table: ImportTable,
  records: readonly Txn[],
  options: { readonly runId: string; readonly now: number; readonly fence?: Fence | undefined },
): Promise<void> {
  const { now, fence } = options;
  for (const one of tablesOf(table)) {
    for (;;) {
      const base = await lake.snapshot(one);
      const left = records.filter(({ appId, version }) => base.txns.has(appId) !== version >= 0);
      if (left.length === 0) break;
      const actions = [
        commitInfoAction({ operation: "IMPORT", ...options }, {}),
        ...(base.version < 0 ? schemaActions(base, base.columns, now) : []),
        ...left.map((txn) => ({ txn })),
      ];
      if (
        (await commitWithRetries(lake, base, { actions, stillHolds: () => true, now, fence })) !== undefined
      )
        break;
    }
  }
}

/** The endpoint that the ledger names for a file: nothing was asked of a service. */
const ENDPOINT = "FILE";

/** A file that the last run which has met it has refused. */
export interface RefusedFile {
  readonly pipeline: string;
  readonly dataset: string;
  /** Relative to the pipeline's folder. */
  readonly file: string;
  readonly reason: string;
  /** The run that has met it last. */
  readonly runId: string;
}

/**
 * The files that are refused until they are changed or gone, by the ledger.
 *
 * @param ledger SQL of a relation with the rows of the ledger.
 * @param of a pipeline. @default all
 */
export async function refusedFiles(
  session: Session,
  ledger: string,
  of?: { readonly pipeline: string; readonly dataset: string },
): Promise<RefusedFile[]> {
  const own =
    of === undefined ? "" : `AND pipeline = ${literal(of.pipeline)} AND dataset = ${literal(of.dataset)}`;
  const rows = await session.json<RefusedFile>(
    `SELECT pipeline, dataset, file, reason, "runId" FROM (
       SELECT pipeline, dataset, request_id AS file, reason, run_id AS "runId", status
       FROM ${ledger} WHERE endpoint = '${ENDPOINT}' ${own}
       QUALIFY row_number() OVER (PARTITION BY pipeline, dataset, request_id ORDER BY asked_at DESC, run_id DESC) = 1)
     WHERE status = 'refused' ORDER BY pipeline, dataset, file`,
  );
  return rows.map((row) => ({ ...row, reason: row.reason.replace(`${row.file}: `, "") }));
}

export type FileOutcome =
  | { readonly kind: "landed"; readonly size: number; readonly rows: number; readonly durationMs: number }
  | { readonly kind: "refused"; readonly size: number; readonly reason: string }
  /** A file that was refused is gone, or had landed by a run that was killed before it could say so. */
  | { readonly kind: "settled"; readonly why: "gone" | "landed" };

/** The row of the ledger about a file. Its name is in the reason, too: runs list failures by their reasons. */
export function fileRecord(
  of: {
    readonly runId: string;
    readonly pipeline: string;
    readonly dataset: string;
    readonly askedAt: number;
  },
  file: string,
  outcome: FileOutcome,
): RequestRecord {
  const base = {
    ...of,
    requestId: file,
    endpoint: ENDPOINT,
    symbols: [],
    absent: [],
    rejected: 0,
    rows: 0,
    bytes: 0,
    durationMs: 0,
  };
  switch (outcome.kind) {
    case "landed": {
      const { rows, size, durationMs } = outcome;
      return { ...base, status: "answered", attempts: 1, rows, bytes: size, durationMs };
    }
    case "refused": {
      const { reason, size } = outcome;
      return { ...base, status: "refused", attempts: 1, bytes: size, reason: `${file}: ${reason}` };
    }
    case "settled":
      return { ...base, status: "empty", attempts: 0, reason: `${file}: ${outcome.why}` };
  }
}
