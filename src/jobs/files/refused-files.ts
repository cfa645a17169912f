import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { RequestRecord } from "../ledger/ledger.js";

/** The endpoint that the ledger names for a file: nothing was asked of a service. */
const ENDPOINT = "FILE";

/** A file that the last run which has met it has refused. */
export interface RefusedFile {
  readonly pipeline: string;
  /** Table that it is meant for. */
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

/** What a run found about a file. */
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
