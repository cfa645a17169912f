import { writeFile } from "node:fs/promises";
import { QueryError } from "../../core/errors.js";
import { literal } from "../../db/quote.js";
import { COPY_OPTIONS } from "../../db/result/copy-options.js";
import { Session } from "../../db/session/session.js";
import { formatValues } from "../../notebook/page/format-values.js";
import type { ExportJob, ProcessSetting, RowsJob } from "../process/jobs.js";
import { MOST_TEXT } from "../process/most-text.js";
import type { RowsReport } from "../result-reports.js";
import { RESULT_TABLE, resultFile } from "./result-file.js";

/** Memory of the database through which results are read: 500 rows of 2,000 columns fit into it. */
const MEMORY = "256MB";
/** Name of the file of a result while it is read. */
const READ = "read_result";
const TABLE = `${READ}.${RESULT_TABLE}`;

/**
 * Reads stored results: as texts for the page, or into files. It is a class because it owns the database by which they
 * are read.
 */
export class ResultReader {
  readonly #setting: Pick<ProcessSetting, "results" | "spill">;
  #database: Promise<Session> | undefined;

  constructor(setting: Pick<ProcessSetting, "results" | "spill">) {
    this.#setting = setting;
  }

  /** Rows of a result as the JSON of a {@link RowsReport}. @throws {QueryError} where they are too large for a page. */
  rows({ id, rows, from, count }: RowsJob): Promise<string> {
    return this.#attached(id, async (session) => {
      const [first, end] = [from, from + count].map((row) => literal(String(row)));
      const range = `rowid >= ${first}::BIGINT AND rowid < ${end}::BIGINT`;
      const sql = `SELECT * FROM ${TABLE} WHERE ${range} ORDER BY rowid`;
      const { columns } = await session.result(sql, new Map(), count);
      const report: RowsReport = { from, rows, columns: columns.map((column) => formatValues(column)) };
      const text = JSON.stringify(report);
      if (text.length <= MOST_TEXT) return text;
      throw new QueryError("these rows are too large to be shown", sql, { hint: "export the result" });
    });
  }

  /** Writes a result into a new file, in the same form as results of the command line. */
  write({ id, format, file }: ExportJob): Promise<void> {
    return this.#attached(id, async (session) => {
      if (format === "arrow") await writeFile(file, await arrowOf(session), { flag: "wx" });
      else
        await session.run(
          `COPY (FROM ${TABLE}) TO ${literal(file)} (${COPY_OPTIONS[format]}, USE_TMP_FILE false)`,
        );
    });
  }

  async #attached<T>(id: string, work: (session: Session) => Promise<T>): Promise<T> {
    this.#database ??= Session.open({ memoryLimit: MEMORY, threads: 2, spillUnder: this.#setting.spill });
    const session = await this.#database;
    await session.run(`ATTACH ${literal(resultFile(this.#setting.results, id))} AS ${READ} (READ_ONLY)`);
    try {
      return await work(session);
    } finally {
      await session.run(`DETACH ${READ}`);
    }
  }
}

async function arrowOf(session: Session): Promise<AsyncGenerator<Uint8Array>> {
  const { batchesToIpc } = await import("../../arrow/batches-ipc.js");
  return batchesToIpc(await session.batches(`FROM ${TABLE}`), "file");
}
