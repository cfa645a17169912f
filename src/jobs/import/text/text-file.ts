import { createReadStream, createWriteStream } from "node:fs";
import { access, readFile, stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { BarlakeError, messageOf, UsageError } from "../../../core/errors.js";
import { literal } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import type { WorkFolder } from "../../../lake/local/work-folder.js";
import { fieldNames, plainName } from "../plan/field-names.js";
import { arePiecesUtf8, type CsvHeader, encodingOfStart, findHeader, isGb18030 } from "./csv-dialect.js";
import { recordsOf, type TextRecord } from "./json-records.js";
import { damagedFile, exactPath, expectWholeZstd, FORMATS, notArrow, unzip } from "./whole-file.js";

export interface TextFile {
  readonly path: string;
  /** The file that is read: the same one, or a copy in UTF-8 and in rows. */
  readonly readPath: string;
  readonly format: "csv" | "json" | "parquet" | "arrow";
  /** Names of the columns, in the order of the file; two may be equal in CSV. */
  readonly columns: readonly string[];
  /** DuckDB's types of the columns. @default all are text */
  readonly types?: readonly string[];
  readonly csv?: CsvHeader;
  /** The form of JSON rows. */
  readonly json?: "array" | "newline_delimited";
  /** The members of these rows that are the columns. @default their names */
  readonly members?: readonly string[];
  readonly found: readonly string[];
}

interface TextOptions {
  /** The table's fields that the user mapped: their columns are part of a header. */
  readonly map: Readonly<Record<string, string>>;
  readonly encoding?: string | undefined;
  /** Physical lines before the header. */
  readonly skip?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Bytes of a text in which its header and its first rows are. */
const HEAD_BYTES = 1 << 18;
/** Files up to this size are read at once. */
const SMALL_BYTES = 1 << 20;
/** The largest JSON document that is not rows already: it is in memory as a whole. */
const DOCUMENT_BYTES = 1 << 28;
/** Rows of a JSON file whose members are its columns: in larger files the first ones show them. */
const MEMBER_BYTES = 1 << 28;

/** Opens files. A temporary copy that it made is deleted by {@link close}. */
export class TextFiles {
  readonly #session: Session;
  readonly #work: Pick<WorkFolder, "newFile" | "discard">;
  readonly #known: ReadonlySet<string>;
  readonly #options: TextOptions;
  readonly #copies: string[] = [];

  constructor(
    session: Session,
    work: Pick<WorkFolder, "newFile" | "discard">,
    table: string,
    options: TextOptions,
  ) {
    this.#session = session;
    this.#work = work;
    this.#options = options;
    const names = Object.values(fieldNames(table)).flat();
    this.#known = new Set(
      [...names, ...Object.values(options.map).map(plainName)].filter((name) => name !== ""),
    );
  }

  /**
   * Opens a file: finds its encoding, its form and its columns.
   *
   * @throws {UsageError} where the ending is unknown, or where the encoding or the header cannot be told.
   * @throws {BarlakeError} where the file is truncated or damaged.
   */
  async open(path: string): Promise<TextFile> {
    if (!/\.zip$/i.test(path) && !FORMATS.test(path)) throw unknownEnding(path);
    await access(path).catch((cause: unknown) => {
      throw new UsageError(`file ${path}: cannot be read`, { hint: "check the path", cause });
    });
    // A pipe can be read once, and has no end to look for.
    if (!(await stat(path)).isFile())
      throw new UsageError(`file ${path}: is no file`, { hint: "write what a pipe gives to a file first" });
    let readPath = path;
    let name = path;
    if (/\.zip$/i.test(path)) {
      readPath = await this.#newCopy("unpacked");
      name = await unzip(path, readPath);
    }
    const [, format, packed] = FORMATS.exec(name) ?? [];
    if (format === undefined) throw unknownEnding(path);
    const kind = format.toLowerCase();
    if (/^(?:parquet|pq)$/.test(kind)) return this.#openParquet(path, readPath);
    if (/^(?:arrow|arrows|feather|ipc)$/.test(kind)) return this.#openArrow(path, readPath);
    const text = await this.#asUtf8(path, readPath, packed?.toLowerCase());
    return /json|ndjson|jsonl/.test(kind) ? this.#openJson(path, text) : this.#openCsv(path, text);
  }

  /** A copy of a CSV file in which all lines end with a newline alone. */
  async withUniformLines(file: TextFile): Promise<TextFile> {
    const copy = await this.#newCopy("lines");
    const raw = createReadStream(file.readPath, { signal: this.#options.signal });
    const input = /\.gz$/i.test(file.readPath) ? raw.pipe(createGunzip()) : raw;
    await pipeline(
      input,
      async function* (pieces: AsyncIterable<Buffer>) {
        let isAfterReturn = false;
        for await (const piece of pieces) {
          const text: string = `${isAfterReturn ? "\r" : ""}${piece.toString("latin1")}`;
          isAfterReturn = text.endsWith("\r");
          const whole = isAfterReturn ? text.slice(0, -1) : text;
          yield Buffer.from(whole.replaceAll(/\r\n?/g, "\n"), "latin1");
        }
        if (isAfterReturn) yield Buffer.from("\n");
      },
      createWriteStream(copy),
    );
    return { ...file, readPath: copy, found: [...file.found, "lines that end in different ways"] };
  }

  async close(): Promise<void> {
    for (const copy of this.#copies.splice(0)) await this.#work.discard(copy);
  }

  /** A path for a copy; it exists until {@link close}. */
  async #newCopy(extension: string): Promise<string> {
    const copy = await this.#work.newFile(extension);
    this.#copies.push(copy);
    return copy;
  }

  async #openParquet(path: string, readPath: string): Promise<TextFile> {
    const described = await this.#session.json<{ column_name: string; column_type: string }>(
      `DESCRIBE SELECT * FROM read_parquet(${literal(exactPath(readPath))})`,
    );
    return {
      path,
      readPath,
      format: "parquet",
      columns: described.map((row) => row.column_name),
      types: described.map((row) => row.column_type),
      found: [],
    };
  }

  async #openArrow(path: string, readPath: string): Promise<TextFile> {
    // Arrow is loaded only where it is needed.
    const { ipcColumnNames } = await import("../../../arrow/ipc-columns.js");
    const columns = await ipcColumnNames(createReadStream(readPath)).catch((cause: unknown) => {
      throw notArrow(path, cause);
    });
    return { path, readPath, format: "arrow", columns, found: [] };
  }

  /** The text in UTF-8: the file itself, or a copy. */
  async #asUtf8(path: string, readPath: string, packed: string | undefined): Promise<Text> {
    if (packed === ".zst") {
      await expectWholeZstd(readPath);
      return { path: readPath, packed, head: await this.#zstdHead(readPath), found: [] };
    }
    const { signal } = this.#options;
    const { size } = await stat(readPath);
    const small = packed === undefined && size <= SMALL_BYTES ? await readFile(readPath) : undefined;
    const pieces = (): Readable => {
      if (small !== undefined) return Readable.from([small]);
      const raw = createReadStream(readPath, { highWaterMark: 1 << 20, signal });
      return packed === ".gz" ? raw.pipe(createGunzip({ chunkSize: 1 << 20 })) : raw;
    };
    try {
      const start = small?.subarray(0, HEAD_BYTES) ?? (await startOf(pieces(), HEAD_BYTES));
      const encoding = await this.#encodingOf(path, start, pieces);
      const head = new TextDecoder(encoding).decode(start, { stream: true });
      if (encoding === "utf-8") return { path: readPath, packed, head, found: [] };
      return {
        path: await this.#decoded(path, encoding, pieces()),
        packed: undefined,
        head,
        found: [`encoding ${encoding}`],
      };
    } catch (cause) {
      // zlib's errors: the file is not a whole .gz.
      if ((cause as { code?: string }).code?.startsWith("Z_") === true) throw damagedFile(path, cause);
      throw cause;
    }
  }

  async #decoded(path: string, encoding: string, pieces: Readable): Promise<string> {
    const copy = await this.#newCopy("utf8");
    const decoder = new TextDecoder(encoding, { fatal: true });
    const decode = (piece?: Uint8Array): string => {
      try {
        return decoder.decode(piece, { stream: piece !== undefined });
      } catch (cause) {
        throw new UsageError(`file ${path}: is not ${encoding}`, {
          hint: 'say which encoding it has: `encoding: "gb18030"` for Chinese text',
          cause,
        });
      }
    };
    await pipeline(
      pieces,
      async function* (source: AsyncIterable<Uint8Array>) {
        for await (const piece of source) yield decode(piece);
        yield decode();
      },
      createWriteStream(copy),
    );
    return copy;
  }

  async #encodingOf(path: string, start: Uint8Array, pieces: () => Readable): Promise<string> {
    const given = this.#options.encoding;
    const shown = given ?? encodingOfStart(start);
    if (shown !== undefined && shown !== "utf-8") return shown;
    if (await arePiecesUtf8(pieces())) return "utf-8";
    if (given === undefined && isGb18030(start)) return "gb18030";
    throw new UsageError(
      `file ${path}: is not UTF-8${given === undefined ? ", and its text does not show its encoding" : ""}`,
      {
        hint: 'add `encoding: "gb18030"` for Chinese text, or `encoding: "windows-1252"` for western European',
      },
    );
  }

  /** The first lines of a compressed text, through DuckDB: Node reads zstd only since version 22. */
  async #zstdHead(path: string): Promise<string> {
    const rows = await this.#session.json<{ line: string | null }>(
      `SELECT line FROM read_csv(${literal(exactPath(path))}, auto_detect = false, header = false, delim = '\\x01', quote = '', escape = '',
         columns = {'line': 'VARCHAR'}, strict_mode = false) LIMIT 500`,
    );
    return rows.map(({ line }) => line ?? "").join("\n");
  }

  async #openCsv(path: string, text: Text): Promise<TextFile> {
    const { skip } = this.#options;
    const csv = findHeader(text.head.replace(/^\ufeff/, ""), this.#known, skip);
    if (csv === undefined) {
      throw new UsageError(
        `file ${path}: no line of it is a header with names of columns that are known here`,
        {
          hint: `its first line is "${(text.head.split(/\r?\n/)[0] ?? "")
            .slice(0, 80)
            .replace(/\p{Cc}/gu, " ")
            .trim()}"; name columns with \`map: { close: "COLUMN" }\`, or the lines before the header with \`skip: "3"\``,
        },
      );
    }
    const found = [...text.found];
    const before = csv.preamble.length;
    if (before > 0) found.push(`${before} ${before === 1 ? "line" : "lines"} before the header`);
    if (csv.dialect.delimiter !== ",")
      found.push(`columns separated by ${delimiterName(csv.dialect.delimiter)}`);
    if (csv.wide !== undefined) found.push("a header of two levels");
    return { path, readPath: text.path, format: "csv", columns: csv.names, csv, found };
  }

  async #openJson(path: string, text: Text): Promise<TextFile> {
    const form = jsonForm(text.head);
    const columnNames = form === undefined ? [] : await this.#jsonColumns(text.path, form);
    // DuckDB cannot tell columns apart whose names differ in case alone.
    const areApart = new Set(columnNames.map((name) => name.toLowerCase())).size === columnNames.length;
    if (form !== undefined && areApart) {
      return {
        path,
        readPath: text.path,
        format: "json",
        columns: columnNames,
        json: form,
        found: text.found,
      };
    }
    if (text.packed === ".zst") {
      throw new UsageError(
        `file ${path}: a JSON document in .zst can only be an array of flat records, or lines of them`,
        {
          hint: "decompress it first",
        },
      );
    }
    const copy = await this.#newCopy("ndjson");
    const columns = new Map<string, string>();
    const rows = (documents: Iterable<unknown>): Generator<TextRecord> => this.#records(documents, columns);
    const isLines = /^\s*\{.*\}\s*\n\s*\{/.test(text.head);
    await writeRows(copy, isLines ? rowsOfLines(text, rows) : rowsOfDocument(path, text, rows)).catch(
      (cause: unknown) => {
        if (cause instanceof BarlakeError) throw cause;
        throw new UsageError(`file ${path}: ${messageOf(cause)}`, {
          hint: "write it as an array of records, or one record a line",
          cause,
        });
      },
    );
    if (columns.size === 0) {
      throw new UsageError(`file ${path}: no table with known columns was found in it`, {
        hint: "write it as an array of records, one a row, or as one record a line",
      });
    }
    return {
      path,
      readPath: copy,
      format: "json",
      columns: [...columns.keys()],
      json: "newline_delimited",
      members: [...columns.values()],
      found: [...text.found, ...(form === undefined ? ["a nested document, read as rows"] : [])],
    };
  }

  /** The rows of documents under names that differ in more than case. @param columns gets the name of each column. */
  *#records(documents: Iterable<unknown>, columns: Map<string, string>): Generator<TextRecord> {
    for (const document of documents)
      for (const record of recordsOf(document, this.#known)) {
        for (const name of Object.keys(record)) if (!columns.has(name)) columns.set(name, `m${columns.size}`);
        yield Object.fromEntries(
          Object.entries(record).map(([name, value]) => [columns.get(name) as string, value]),
        );
      }
  }

  async #jsonColumns(path: string, form: "array" | "newline_delimited"): Promise<string[]> {
    const { size } = await stat(path);
    const objects = `read_json_objects(${literal(exactPath(path))}, format = ${literal(form)}${form === "newline_delimited" ? ", ignore_errors = true" : ""})`;
    const limit = size > MEMBER_BYTES ? " LIMIT 100000" : "";
    const rows = await this.#session.json<{ name: string; first: number }>(
      `SELECT name, min(n)::DOUBLE AS first FROM (
         SELECT unnest(keys) AS name, generate_subscripts(keys, 1) AS n
         FROM (SELECT DISTINCT json_keys(json) AS keys FROM (SELECT json FROM ${objects}${limit}))) GROUP BY name ORDER BY first, name`,
    );
    return rows.map(({ name }) => name);
  }
}

function unknownEnding(path: string): UsageError {
  const [, name] = /^(.+)\.(?:xls[xmb]?|ods)$/i.exec(path) ?? [];
  if (name !== undefined)
    return new UsageError(`file ${path}: is a workbook, and these are not read`, {
      hint: `save each sheet as "CSV UTF-8" (in Excel: File, Save As), then: barlake import TABLE ${name}.csv`,
    });
  return new UsageError(`file ${path}: its ending names no known format`, {
    hint: "name it .csv, .tsv, .txt, .json, .ndjson, .jsonl, .parquet or .arrow; text may be .gz, .zst or .zip",
  });
}

export function openBytes(path: string): AsyncIterable<Uint8Array> {
  return createReadStream(path);
}

interface Text {
  readonly path: string;
  readonly packed: string | undefined;
  readonly head: string;
  readonly found: readonly string[];
}

async function startOf(pieces: Readable, bytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces as AsyncIterable<Uint8Array>) {
    parts.push(piece);
    length += piece.length;
    if (length >= bytes) break;
  }
  return Buffer.concat(parts).subarray(0, bytes);
}

/** The form of a JSON text whose rows are flat records; undefined for any other document. */
function jsonForm(head: string): "array" | "newline_delimited" | undefined {
  const text = head.replace(/^\ufeff/, "").trimStart();
  const form = /^\[\s*\{/.test(text) ? "array" : text.startsWith("{") ? "newline_delimited" : undefined;
  if (form === undefined) return undefined;
  const records = [...firstRecords(text)];
  const areFlat = records.every((record) => Object.values(record).every((value) => isScalarOrTexts(value)));
  if (!areFlat || records.length === 0) return undefined;
  if (form === "array") return form;
  // A record that takes several lines, or contains a column, is a document.
  const first = text.split("\n", 1)[0] as string;
  const isTable = Object.values(records[0] as object).filter((value) => Array.isArray(value)).length > 1;
  return /\}\s*$/.test(first) && !isTable ? form : undefined;
}

const isScalarOrTexts = (value: unknown): boolean =>
  typeof value !== "object" ||
  value === null ||
  (Array.isArray(value) && value.every((item) => typeof item !== "object"));

/** The first whole objects at the top of a text, or of an array. */
function* firstRecords(text: string): Generator<object> {
  let [depth, start, isString] = [0, -1, false];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (isString) {
      if (c === "\\") i += 1;
      else if (c === '"') isString = false;
    } else if (c === '"') isString = true;
    else if (c === "{") {
      if (depth === 0) start = i;
      depth += 1;
    } else if (c === "}") {
      depth -= 1;
      if (depth > 0) continue;
      try {
        yield JSON.parse(text.slice(start, i + 1)) as object;
      } catch {
        return;
      }
    }
  }
}

async function* rowsOfLines(
  { path, packed }: Text,
  rows: (documents: Iterable<unknown>) => Iterable<TextRecord>,
): AsyncGenerator<TextRecord> {
  const raw = createReadStream(path);
  const input = packed === ".gz" ? raw.pipe(createGunzip()) : raw;
  for await (const line of createInterface({ input }))
    if (line.trim() !== "") yield* lineRows(line.replace(/^\ufeff/, ""), rows);
}

/** The rows of a line; one without a value where it is no JSON. */
function* lineRows(line: string, rows: (documents: Iterable<unknown>) => Iterable<TextRecord>) {
  let document: unknown;
  try {
    document = JSON.parse(line);
  } catch {
    yield {};
    return;
  }
  yield* rows([document]);
}

async function* rowsOfDocument(
  path: string,
  { path: readPath, packed }: Text,
  rows: (documents: Iterable<unknown>) => Iterable<TextRecord>,
): AsyncGenerator<TextRecord> {
  const raw = createReadStream(readPath);
  const bytes = await startOf(packed === ".gz" ? raw.pipe(createGunzip()) : raw, DOCUMENT_BYTES + 1);
  if (bytes.length > DOCUMENT_BYTES) {
    throw new UsageError(`file ${path}: a nested JSON document of more than 256 MB cannot be read`, {
      hint: "write it as one record a line (.ndjson), of any size, or as Parquet",
    });
  }
  yield* rows([
    JSON.parse(
      Buffer.from(bytes)
        .toString("utf8")
        .replace(/^\ufeff/, ""),
    ),
  ]);
}

async function writeRows(path: string, rows: AsyncIterable<TextRecord>): Promise<void> {
  await pipeline(async function* () {
    let lines: string[] = [];
    for await (const row of rows) {
      if (lines.push(JSON.stringify(row)) < 1000) continue;
      yield `${lines.join("\n")}\n`;
      lines = [];
    }
    if (lines.length > 0) yield `${lines.join("\n")}\n`;
  }, createWriteStream(path));
}

function delimiterName(delimiter: string): string {
  return { "\t": "tabs", ";": "semicolons", "|": "bars" }[delimiter] ?? delimiter;
}
