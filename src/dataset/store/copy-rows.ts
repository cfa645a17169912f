import { BIGINT } from "../../arrow/duckdb-api.js";
import type { ScanSource } from "../../arrow/scan/table-scan.js";
import { literal } from "../../db/quote.js";
import { interruptOn, Session } from "../../db/session/session.js";
import { declareDoubles } from "../../lake/files/parquet/add-run-columns.js";
import { ROW_GROUP_ROWS } from "../../lake/files/parquet/write-rows.js";
import { spillOptions } from "../../lake/local/work-folder.js";
import type { WriterPlace } from "../formats/dataset-writer.js";

/**
 * DuckDB's options for the Parquet files of a dataset. Larger dictionaries are mostly built and then left out, as
 * values of a field differ; higher levels of compression save 2 %. The second version of the format would encode
 * integers otherwise than doubles. @param dictionary most distinct values of a column that has one.
 */
export function parquetOptions(dictionary: number): string {
  return `FORMAT parquet, PARQUET_VERSION v1, COMPRESSION zstd, COMPRESSION_LEVEL 1, DICTIONARY_SIZE_LIMIT ${dictionary}, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}`;
}

/** Enough for the symbols of a part, and the dates of a year. */
const ROWS_DICTIONARY = 2000;

/**
 * Writes rows of this process as Parquet. DuckDB gets doubles with ordered bits as the integers that have these bits,
 * as `add-run-columns.ts` explains.
 */
export async function copyRows(session: Session, rows: ScanSource, target: string): Promise<void> {
  const asBits = new Set(
    rows.columns.filter(({ hasOrderedBits }) => hasOrderedBits?.()).map(({ name }) => name),
  );
  const columns = rows.columns.map((one) => (asBits.has(one.name) ? { ...one, type: BIGINT } : one));
  const scan = session.scan({ ...rows, columns });
  try {
    await session.run(`COPY (FROM ${scan.sql}) TO ${literal(target)} (${parquetOptions(ROWS_DICTIONARY)})`);
  } finally {
    scan.release();
  }
  await declareDoubles(target, asBits);
}

interface ParquetSessions {
  /** Opens a session for a file, and closes it after use. The build's signal interrupts its statements. */
  use<T>(work: (session: Session) => Promise<T>): Promise<T>;
  close(): void;
}

/**
 * Opens sessions of a separate database with one thread; several files are written at the same time, each in a session.
 * Of more threads, a statement that waits for one asks for work all the time.
 */
export function parquetSessions({
  lake,
  memoryLimit,
  signal,
}: Pick<WriterPlace, "lake" | "memoryLimit" | "signal">): ParquetSessions {
  let database: Promise<Session> | undefined;
  let isClosed = false;
  return {
    async use(work) {
      database ??= Session.open({ ...spillOptions(lake.work), threads: 1, memoryLimit });
      using session = await (await database).sibling();
      using _ = interruptOn(session, signal);
      return await work(session);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      database?.then((session) => session.close()).catch(() => {});
    },
  };
}
