import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { literal } from "../../db/quote.js";
import { COPY_OPTIONS } from "../../db/result/copy-options.js";
import type { Session } from "../../db/session/session.js";

/** Formats in which a result can be exported. */
export const EXPORT_FORMATS = ["csv", "parquet", "arrow"] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/**
 * The content of a file into which DuckDB writes a table, in the same form as results of the command line. The file is
 * in a new folder that only this user can read, and is deleted after it was read.
 *
 * @param table the quoted name of the table.
 */
export async function* exportedFile(
  session: Session,
  table: string,
  format: Exclude<ExportFormat, "arrow">,
): AsyncGenerator<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "barlake-export-"));
  const file = join(folder, `result.${format}`);
  try {
    await session.run(
      `COPY (FROM ${table}) TO ${literal(file)} (${COPY_OPTIONS[format]}, USE_TMP_FILE false)`,
    );
    yield* createReadStream(file) as AsyncIterable<Uint8Array>;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
