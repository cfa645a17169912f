import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { extname } from "node:path";
import { pipeline } from "node:stream/promises";
import { QueryError, UsageError } from "../../core/errors.js";
import { literal } from "../../db/quote.js";
import { COPY_OPTIONS } from "../../db/result/copy-options.js";
import type { SqlPlace } from "../shell/sql-place.js";
import { markdownOf } from "./markdown.js";
import { replaceFile } from "./replace-file.js";
import type { ResultFormat } from "./result-format.js";

/** A query's result to be written completely: any size, in constant memory. */
export interface WrittenResult {
  readonly sql: string;
  readonly format: Exclude<ResultFormat, "table">;
  /** @default standard output */
  readonly file?: string | undefined;
}

/**
 * Writes a result to its file, which is replaced when the result is complete, or to standard output.
 *
 * @throws {QueryError} with the query's own text. @throws {UsageError} for an impossible path or column.
 */
export async function writeResult(place: SqlPlace, result: WrittenResult): Promise<void> {
  const { file } = result;
  if (file !== undefined) return replaceFile(file, (path) => writeTo(place, result, path));
  switch (result.format) {
    case "parquet":
      throw new UsageError("a Parquet file cannot be printed", { hint: "give it a name with -o FILE" });
    case "arrow":
    case "markdown":
    case "xlsx":
      return print(await piecesOf(place, result));
    case "csv":
    case "json":
      return copyToOutput(place, result);
  }
}

async function writeTo(place: SqlPlace, result: WrittenResult, path: string): Promise<void> {
  const { format } = result;
  if (Object.hasOwn(COPY_OPTIONS, format)) return copy(place, result, path);
  await place.progress.during(async () =>
    pipeline(await piecesOf(place, result), createWriteStream(path, { flush: true })),
  );
}

/** A result in pieces, produced on demand. */
async function piecesOf(
  { engine }: SqlPlace,
  { sql, format, file }: WrittenResult,
): Promise<AsyncIterable<Uint8Array | string>> {
  if (format === "markdown") return markdownOf(await engine.read(sql));
  if (file === undefined && process.stdout.isTTY) {
    throw new UsageError(`${format === "arrow" ? "Arrow" : "a workbook"} cannot be shown in a terminal`, {
      hint: "give it a name with -o FILE, or pipe it into a program",
    });
  }
  if (format === "xlsx") return (await import("./xlsx.js")).xlsxOf(await engine.read(sql));
  const { batchesToIpc } = await import("../../arrow/batches-ipc.js");
  const isStream = file === undefined || extname(file).toLowerCase() === ".arrows";
  return batchesToIpc(await engine.batches(sql), isStream ? "stream" : "file");
}

/**
 * Writes pieces to standard output, as fast as it takes them. `pipeline` would leave listeners on it after each result,
 * of which a shell shows many.
 */
async function print(pieces: AsyncIterable<Uint8Array | string>): Promise<void> {
  for await (const piece of pieces) if (!process.stdout.write(piece)) await once(process.stdout, "drain");
}

/** Uses a file: DuckDB writes it with all its threads, faster than rows can be read from it. */
async function copyToOutput(place: SqlPlace, result: WrittenResult): Promise<void> {
  const staged = await place.work.newFile(result.format);
  try {
    await copy(place, result, staged);
    await print(createReadStream(staged));
  } finally {
    await place.work.discard(staged);
  }
}

async function copy(place: SqlPlace, { sql, format }: WrittenResult, path: string): Promise<void> {
  const options = COPY_OPTIONS[format as keyof typeof COPY_OPTIONS];
  try {
    // On separate lines: the query may end with a comment.
    await place.progress.during(() =>
      place.withRows(sql, (session, query) =>
        session.run(`COPY (\n${query}\n) TO ${literal(path)} (${options}, USE_TMP_FILE false)`),
      ),
    );
  } catch (error) {
    if (!(error instanceof QueryError) || error.sql === sql) throw error;
    const message = error.message.replace(/^LINE (\d+):/m, (_, line: string) => `LINE ${Number(line) - 1}:`);
    throw new QueryError(message, sql, { hint: error.hint, cause: error });
  }
}
