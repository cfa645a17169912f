import { stat, writeFile } from "node:fs/promises";
import { stripVTControlCharacters } from "node:util";
import { QueryError } from "../../core/errors.js";
import type { QueryEngine } from "../../db/query-engine.js";
import { allStatements } from "../../db/sql-tokens.js";
import { StatementError } from "../error-text.js";
import { resultTable, type TableMode } from "../results/result-table.js";
import { type ResultFormat, replaceFile, writeResult } from "../results/write-result.js";
import { count, duration, paint, plural, size, terminalWidth } from "../text.js";
import { readFirstRows, type SqlPlace } from "./sql-place.js";

/** How the results of statements are shown or written. */
interface StatementsOptions {
  /** @default a table; in a file, CSV */
  readonly format?: ResultFormat | undefined;
  /** @default standard output */
  readonly output?: string | undefined;
  readonly mode: TableMode;
  /** Rows of a table. @default 40 */
  readonly limit?: number | undefined;
  /** No further statement begins once it aborts. */
  readonly signal?: AbortSignal | undefined;
}

const ROWS = 40;

/**
 * Runs statements one after another. As tables, all results are shown; in another format, only the last one is written.
 *
 * @throws {StatementError} for the first failure.
 */
export async function runStatements(place: SqlPlace, sql: string, options: StatementsOptions): Promise<void> {
  const { engine, progress } = place;
  const { output, format = output === undefined ? "table" : "csv" } = options;
  const statements = allStatements(sql);
  const startedAt = performance.now();
  for (const [index, statement] of statements.entries()) {
    options.signal?.throwIfAborted();
    const isLast = index === statements.length - 1;
    const work = (): Promise<unknown> => {
      if (format !== "table")
        return isLast
          ? writeResult(place, { sql: statement.sql, format, file: output })
          : progress.during(() => engine.run(statement.sql));
      if (output === undefined) return show(place, statement.sql, options);
      return progress.during(() =>
        isLast ? writeTable(engine, statement.sql, output, options) : engine.run(statement.sql),
      );
    };
    await work().catch((error: unknown) => {
      if (!(error instanceof QueryError)) throw error;
      throw new StatementError(error, statement.line);
    });
  }
  if (output !== undefined && process.stderr.isTTY) await reportWritten(output, startedAt);
}

/** Reports what was written, if it is a file. */
async function reportWritten(file: string, startedAt: number): Promise<void> {
  const written = await stat(file);
  if (!written.isFile()) return;
  const elapsed = duration(performance.now() - startedAt);
  process.stderr.write(`${paint("dim", `${size(written.size)} in ${file} · ${elapsed}`)}\n`);
}

/** Prints a result's first rows, and the number of its rows. */
async function show(
  { engine, progress }: SqlPlace,
  sql: string,
  { mode, limit = ROWS }: StatementsOptions,
): Promise<void> {
  const startedAt = performance.now();
  const { reader, rows, hasMore } = await progress.during(() => readFirstRows(engine, sql, () => limit));
  const elapsed = duration(performance.now() - startedAt);
  const width = terminalWidth();
  const advice = "--mode lines or --mode wide shows all";
  if (reader.kind === "rows")
    process.stdout.write(`${resultTable(reader.columns, rows, { mode, width, advice })}\n`);
  const summary =
    reader.kind === "nothing"
      ? "done"
      : reader.kind === "changes"
        ? `${plural(Number(rows[0]?.[0] ?? 0), "row")} changed`
        : hasMore
          ? `the first ${count(rows.length)} rows; --limit shows more`
          : plural(rows.length, "row");
  process.stdout.write(`${paint("dim", `${summary} · ${elapsed}`)}\n`);
}

/** Writes a result's first rows to a file, as a table of unlimited width. */
async function writeTable(
  engine: QueryEngine,
  sql: string,
  file: string,
  { mode, limit = ROWS }: StatementsOptions,
): Promise<void> {
  const { reader, rows, hasMore } = await readFirstRows(engine, sql, () => limit);
  const table = resultTable(reader.columns, rows, { mode, advice: "" });
  const more = hasMore ? `the first ${count(rows.length)} rows\n` : "";
  await replaceFile(file, (path) => writeFile(path, `${stripVTControlCharacters(table)}\n${more}`));
}
