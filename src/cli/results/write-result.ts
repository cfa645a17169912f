import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { Option } from "commander";
import { BarlakeError, QueryError, UsageError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import { literal } from "../../db/quote.js";
import { COPY_OPTIONS } from "../../db/result/read-result.js";
import type { PlainValue, RowReader } from "../../db/result/row-reader.js";
import type { SqlPlace } from "../shell/sql-place.js";
import { cellText, isNumeric } from "./result-table.js";

export const RESULT_FORMATS = ["table", "csv", "json", "arrow", "parquet", "markdown", "xlsx"] as const;
export type ResultFormat = (typeof RESULT_FORMATS)[number];

const BY_ENDING: Readonly<Record<string, ResultFormat>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "json",
  ".ndjson": "json",
  ".parquet": "parquet",
  ".arrow": "arrow",
  ".arrows": "arrow",
  ".feather": "arrow",
  ".ipc": "arrow",
  ".md": "markdown",
  ".xlsx": "xlsx",
  ".txt": "table",
};

/** The format of a file name; undefined if its ending is not known. */
export function formatOfFile(file: string): ResultFormat | undefined {
  return BY_ENDING[extname(file).toLowerCase()];
}

/**
 * The format of a file that a result goes to: CSV where the name has no ending.
 *
 * @throws {UsageError} for an ending that promises another format.
 */
export function formatOfOutput(file: string): ResultFormat {
  const format = formatOfFile(file);
  if (format !== undefined || extname(file) === "" || file.startsWith("/dev/")) return format ?? "csv";
  throw new UsageError(`file ${file}: no result can be written as ${extname(file)}`, {
    hint: `the endings are ${Object.keys(BY_ENDING).join(" ")}; --format names another format`,
  });
}

export function formatOption(): Option {
  return new Option(
    "--format <format>",
    "of the result (default: by the output's name, else a table)",
  ).choices(RESULT_FORMATS);
}

/**
 * Writes a file completely or not at all: under a temporary name in the same folder, then renamed when `write` is done.
 * The old file remains until then, and also if `write` fails. A pipe or a device is written to directly.
 *
 * @throws {UsageError} if there can be no file at this path, or the disk is full.
 */
export async function replaceFile(file: string, write: (path: string) => Promise<void>): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) {
    throw new UsageError(`file ${file}: is a folder`, { hint: "give the name of a file in it" });
  }
  if (found !== undefined && !found.isFile()) return write(file);
  // For a link, its target is replaced, not the link.
  const place = found === undefined ? resolve(file) : await realpath(file);
  const folder = await stat(dirname(place)).catch(() => undefined);
  if (!folder?.isDirectory()) {
    throw new UsageError(`file ${file}: there is no folder ${dirname(place)}`, { hint: "make it first" });
  }
  const draft = join(dirname(place), `.${basename(place)}.${randomUUID()}`);
  try {
    await write(draft);
    if (found !== undefined) await chmod(draft, found.mode);
    await rename(draft, place);
  } catch (cause) {
    const fault = cause instanceof BarlakeError ? undefined : writeFaultOf(cause, file);
    if (fault === undefined) throw cause;
    throw new UsageError(fault.message, { hint: fault.hint, cause });
  } finally {
    await rm(draft, { force: true });
  }
}

const ROWS = 2048;

/** A result as a Markdown table, in pieces of some rows. */
async function* markdownOf(reader: RowReader): AsyncGenerator<string, void, undefined> {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  yield line(reader.columns.map(({ name }) => markdownCell(name)));
  yield line(reader.columns.map(({ type }) => (isNumeric(type) ? "---:" : "---")));
  for (;;) {
    const rows = await reader.take(ROWS);
    yield rows.map((row) => line(row.map(markdownCell))).join("");
    if (rows.length < ROWS) return;
  }
}

/** Characters with a meaning in Markdown; an underscore within a word has no meaning. */
const OBEYED = /[\\`*[\]<>|]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;

/** A line break in a cell becomes HTML; Markdown's special characters are escaped. */
function markdownCell(value: PlainValue): string {
  const lines = typeof value === "string" ? value.split(/\r?\n/) : [value];
  return lines.map((line) => (cellText(line) ?? "").replace(OBEYED, "\\$&")).join("<br>");
}

/** A query's result to be written completely: any size, in constant memory. */
interface WrittenResult {
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
