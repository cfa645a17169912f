import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { batchesToIpc } from "../../arrow/batches-ipc.js";
import { QueryError, UsageError } from "../../core/errors.js";
import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { spillOptions } from "../../lake/local/work-folder.js";
import { markdownOf } from "./markdown.js";
import type { ResultFormat } from "./result-format.js";
import { writeBeside } from "./write-beside.js";

/** A query's result to be written completely: any size, in constant memory. */
export interface WrittenResult {
  readonly sql: string;
  readonly format: Exclude<ResultFormat, "table">;
  /** @default standard output */
  readonly file?: string | undefined;
}

/** DuckDB's options for the formats that it can write. */
const COPY_OPTIONS = {
  csv: "FORMAT csv, HEADER true",
  json: "FORMAT json",
  parquet: "FORMAT parquet, COMPRESSION zstd",
} as const;

/**
 * Writes a result to its file, which is replaced when the result is complete, or to standard output.
 *
 * @throws {QueryError} with the query's own text. @throws {UsageError} for an impossible path or column.
 */
export async function writeResult(session: Session, lake: Lake, result: WrittenResult): Promise<void> {
  const { file } = result;
  if (file !== undefined) return writeBeside(file, (path) => writeTo(session, result, path));
  switch (result.format) {
    case "parquet":
      throw new UsageError("a Parquet file cannot be printed", { hint: "give it a name with -o FILE" });
    case "arrow":
    case "markdown":
      return print(await piecesOf(session, result));
    case "csv":
    case "json":
      return copyToOutput(session, lake, result);
  }
}

async function writeTo(session: Session, result: WrittenResult, path: string): Promise<void> {
  const { format } = result;
  if (format !== "arrow" && format !== "markdown") return copy(session, result, path);
  await pipeline(await piecesOf(session, result), createWriteStream(path, { flush: true }));
}

/** A result in pieces, produced on demand. */
async function piecesOf(
  session: Session,
  { sql, format, file }: WrittenResult,
): Promise<AsyncIterable<Uint8Array | string>> {
  if (format === "markdown") return markdownOf(await session.read(sql));
  if (file === undefined && process.stdout.isTTY) {
    throw new UsageError("Arrow cannot be shown in a terminal", {
      hint: "give it a name with -o FILE, or pipe it into a program",
    });
  }
  const isStream = file === undefined || extname(file).toLowerCase() === ".arrows";
  return batchesToIpc(await session.batches(sql), isStream ? "stream" : "file");
}

/**
 * Writes pieces to standard output, as fast as it takes them. `pipeline` would leave listeners on it after each result,
 * of which a shell shows many.
 */
async function print(pieces: AsyncIterable<Uint8Array | string>): Promise<void> {
  for await (const piece of pieces) if (!process.stdout.write(piece)) await once(process.stdout, "drain");
}

/** Uses a file: DuckDB writes it with all its threads, faster than rows can be read from it. */
async function copyToOutput(session: Session, lake: Lake, result: WrittenResult): Promise<void> {
  const isWritable = spillOptions(lake.work).spillUnder !== undefined;
  const staged = isWritable
    ? await lake.work.newFile(result.format)
    : join(tmpdir(), `barlake-${randomUUID()}.${result.format}`);
  try {
    await copy(session, result, staged);
    await print(createReadStream(staged));
  } finally {
    await lake.work.discard(staged);
  }
}

async function copy(session: Session, { sql, format }: WrittenResult, path: string): Promise<void> {
  const options = COPY_OPTIONS[format as keyof typeof COPY_OPTIONS];
  try {
    // On separate lines: the query may end with a comment.
    await session.run(`COPY (\n${sql}\n) TO ${literal(path)} (${options}, USE_TMP_FILE false)`);
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    const message = error.message.replace(/^LINE (\d+):/m, (_, line: string) => `LINE ${Number(line) - 1}:`);
    throw new QueryError(message, sql, { hint: error.hint, cause: error });
  }
}
