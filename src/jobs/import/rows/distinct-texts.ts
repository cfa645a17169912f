import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import { DAY_MS } from "../../../core/time.js";
import { ident, literal } from "../../../db/quote.js";
import { jsonParameter } from "../../../db/session/named-values.js";
import { type Session, TempTable } from "../../../db/session/session.js";
import type { Rejects } from "../../../lake/land/rejects.js";
import { REGION_NAMES, REGIONS } from "../../../market/regions.js";
import { regionOf } from "../../../market/symbol.js";
import { readSymbol } from "../../../market/symbol-notation.js";
import { localDay } from "../../../market/zone.js";
import { type DateOrder, dateOrderOf, type ReadTime, readTime, timeFormat } from "../plan/read-time.js";
import type { ReadGroup } from "../table-import.js";
import { type MalformedLine, openGroup } from "./raw-rows.js";

/** Rows in one JSON text. */
const ROWS_A_STATEMENT = 5000;

export async function distinctTexts(session: Session, expression: string, from: string): Promise<string[]> {
  const rows = await session.json<{ text: string }>(
    `SELECT DISTINCT ${expression} AS text FROM ${from} WHERE ${expression} IS NOT NULL`,
  );
  return rows.map(({ text }) => text);
}

export interface TimeText {
  readonly form: number;
  readonly field: string;
  readonly text: string;
}

/**
 * Fills a table with the symbol of each text: `text`, `symbol`, `region`, and `reason` where it is none.
 *
 * @param exchange the exchange of codes that do not say it.
 */
export async function fillSymbols(
  session: Session,
  table: TempTable,
  texts: readonly string[],
  exchange: string | undefined,
): Promise<void> {
  await table.define("text VARCHAR, symbol VARCHAR, region VARCHAR, reason VARCHAR");
  const rows = texts.map((text) => {
    const read = readSymbol(text, exchange);
    if ("reason" in read) return { text, reason: read.reason };
    return { text, symbol: read.symbol, region: regionOf(read.symbol) };
  });
  await insertObjects(session, table.name, rows, {
    text: "VARCHAR",
    symbol: "VARCHAR",
    region: "VARCHAR",
    reason: "VARCHAR",
  });
}

interface TimeReading {
  readonly format: string | undefined;
  /** The zone of dates of instants. @default the zone of each region */
  readonly zone: string | undefined;
}

/**
 * Fills a table with what each text says about time: `form`, `field`, `text`, `kind`, `day` (of a date or a wall clock), `wall` (local time),
 * `instant` (epoch ms), `own_day` (of a midnight by its own clock), `day_CN` and so on (the dates of an instant), and `reason` where it has several readings.
 * The order of day and month in `01/02/2024` is that which other texts of the same column show.
 */
export async function fillTimes(
  session: Session,
  table: TempTable,
  texts: readonly TimeText[],
  { format, zone }: TimeReading,
): Promise<void> {
  const given = format === undefined ? undefined : timeFormat(format);
  const orders = new Map<string, DateOrder | undefined>();
  const columnOf = ({ form, field }: TimeText): string => `${form} ${field}`;
  for (const column of new Set(texts.map(columnOf))) {
    const own = texts.filter((one) => columnOf(one) === column);
    orders.set(column, dateOrderOf(own.map(({ text }) => text)));
  }
  const days = REGION_NAMES.map((region) => `day_${region}`);
  const columns: Record<string, string> = {
    form: "INTEGER",
    field: "VARCHAR",
    text: "VARCHAR",
    kind: "VARCHAR",
    day: "INTEGER",
    wall: "BIGINT",
    instant: "BIGINT",
    own_day: "INTEGER",
    ...Object.fromEntries(days.map((name) => [name, "INTEGER"])),
    reason: "VARCHAR",
  };
  await table.define(
    Object.entries(columns)
      .map(([name, type]) => `${ident(name)} ${type}`)
      .join(", "),
  );
  const rows = texts.map((one) => ({
    ...one,
    ...timeRow(given === undefined ? readTime(one.text, orders.get(columnOf(one))) : given(one.text), zone),
  }));
  await insertObjects(session, table.name, rows, columns);
}

function timeRow(read: ReadTime, zone: string | undefined): Record<string, unknown> {
  switch (read.kind) {
    case "date":
      return { kind: read.kind, day: read.day };
    case "wall":
      return { kind: read.kind, day: read.day, wall: read.day * DAY_MS + read.timeOfDay };
    case "instant": {
      if (!Number.isFinite(read.ms) || Math.abs(read.ms) > 8.64e15) return { kind: "none" };
      const days = REGION_NAMES.map((region) => [
        `day_${region}`,
        localDay(read.ms, zone ?? REGIONS[region].zone),
      ]);
      return {
        kind: read.kind,
        instant: read.ms,
        own_day: read.ownMidnight ?? (read.ms % DAY_MS === 0 ? read.ms / DAY_MS : undefined),
        ...Object.fromEntries(days),
      };
    }
    case "unclear":
      return { kind: read.kind, reason: read.reason };
    case "empty":
    case "none":
      return { kind: read.kind };
  }
}

/** Inserts objects into a table by name. @param columns the table's types. */
export async function insertObjects(
  session: Session,
  table: string,
  rows: readonly Readonly<Record<string, unknown>>[],
  columns: Readonly<Record<string, string>>,
): Promise<void> {
  const names = Object.keys(columns);
  const structure = literal(JSON.stringify([columns]));
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    const text = jsonParameter(rows.slice(start, start + ROWS_A_STATEMENT), names);
    await session.run(
      `INSERT INTO ${table} BY NAME SELECT unnest(r) FROM (SELECT unnest(from_json($1, ${structure})) AS r)`,
      [text],
    );
  }
}

/** A date with its year last, as a regular expression of RE2. */
const YEAR_LAST_FORM = "^\\s*\\d{1,2}[-/.]\\d{1,2}[-/.]\\d{4}";

/** Files of one form whose times show day and month in another order become forms of their own. */
export async function divideByOrder(session: Session, table: string): Promise<void> {
  await using orders = new TempTable(session, "file_orders");
  await orders.fill(`SELECT file, max(form) OVER () + form * 4 + first_over::INTEGER + 2 * second_over::INTEGER AS form FROM (
      SELECT file, form, bool_or(parts[1]::INTEGER > 12) AS first_over, bool_or(parts[2]::INTEGER > 12) AS second_over
      FROM (SELECT file, form, regexp_extract_all(time_text, '\\d+')[1:2] AS parts FROM ${table}
        WHERE time_text IS NOT NULL AND regexp_matches(time_text, ${literal(YEAR_LAST_FORM)}))
      GROUP BY file, form)`);
  const [found] = await session.json<{ forms: number }>(
    `SELECT count(DISTINCT form)::DOUBLE AS forms FROM ${orders.name}`,
  );
  if ((found?.forms ?? 0) < 2) return;
  await session.run(
    `UPDATE ${table} AS r SET form = o.form FROM ${orders.name} o WHERE o.file = r.file AND r.time_text IS NOT NULL`,
  );
}

const LONGEST_TEXT = 1000;
const MOST_ROWS = 100_000;

/**
 * Gives each row that was set aside its physical line and its texts as they are in the file. Until then its line counts rows
 * from the file's first one.
 */
export async function describeRejects(
  session: Session,
  rejects: Rejects,
  reads: readonly ReadGroup[],
  malformed: readonly MalformedLine[],
): Promise<void> {
  await rejects.amend(async (table) => {
    const found = await session.json<{ source: string }>(
      `SELECT DISTINCT source FROM ${table} WHERE line IS NOT NULL`,
    );
    const sources = new Set(found.map(({ source }) => source));
    for (const { group } of reads)
      for (const [i, file] of group.files.entries()) {
        if (!sources.has(file.path) || file.csv?.wide !== undefined) continue;
        const firstLine = file.csv?.dialect.firstLine ?? 1;
        const numbers = await session.json<{ line: number }>(
          `SELECT DISTINCT line::DOUBLE AS line FROM ${table} WHERE source = ${literal(file.path)} AND line IS NOT NULL ORDER BY line LIMIT ${MOST_ROWS}`,
        );
        const rows = numbers.map(({ line }) => line - firstLine);
        const own = malformed.filter(({ path }) => path === file.readPath).map(({ line }) => line);
        const lines =
          file.csv === undefined || /\.zst$/i.test(file.readPath)
            ? undefined
            : await rowLines(file.readPath, firstLine, new Set(own), rows);
        await using open = await openGroup(session, { files: [file], places: [group.places[i] as number] });
        const members = file.columns.map(
          (name, n) => `${literal(name)}, CAST(${open.columns[n]?.sql ?? "NULL"} AS VARCHAR)`,
        );
        await using wanted = new TempTable(session, "wanted_rows");
        await wanted.define("number BIGINT, line BIGINT");
        const wantedRows = rows.map((number) => ({ number, line: lines?.get(number) ?? number + firstLine }));
        await insertObjects(session, wanted.name, wantedRows, { number: "BIGINT", line: "BIGINT" });
        await using texts = new TempTable(session, "wanted_texts");
        const values = open.columns.map(({ sql }) => `CAST(${sql} AS VARCHAR)`).join(", ");
        await texts.fill(`SELECT w.number + ${firstLine} AS counted, w.line, t.text, t.is_empty
          FROM (SELECT row_number() OVER () - 1 AS number, json_object(${members.join(", ")}) AS text, coalesce(${values}) IS NULL AS is_empty FROM ${open.from}) t
          JOIN ${wanted.name} w USING (number)`);
        if (file.json === "newline_delimited") await describeLines(session, texts.name, file.readPath);
        await session.run(
          `UPDATE ${table} AS r SET line = t.line, ${ident("row")} = t.text,
             reason = CASE WHEN t.is_empty AND ${file.json === "newline_delimited"} THEN 'it is no record of JSON' ELSE r.reason END,
             rule = CASE WHEN t.is_empty AND ${file.json === "newline_delimited"} THEN 'unparsable' ELSE r.rule END
           FROM ${texts.name} t WHERE r.source = ${literal(file.path)} AND r.line = t.counted`,
        );
      }
  });
}

/** Gives rows without a value, which are lines that are no records, the text of their line. */
async function describeLines(session: Session, texts: string, path: string): Promise<void> {
  const empty = await session.json<{ line: number }>(
    `SELECT line::DOUBLE AS line FROM ${texts} WHERE is_empty ORDER BY line`,
  );
  if (empty.length === 0 || /\.zst$/i.test(path)) return;
  const found = await textsOfLines(path, new Set(empty.map(({ line }) => line)));
  const rows = [...found].map(([line, text]) => ({
    line,
    text: JSON.stringify(text.slice(0, LONGEST_TEXT)),
  }));
  await using lines = new TempTable(session, "line_texts");
  await lines.define("line BIGINT, text VARCHAR");
  await insertObjects(session, lines.name, rows, { line: "BIGINT", text: "VARCHAR" });
  await session.run(`UPDATE ${texts} AS t SET text = l.text FROM ${lines.name} l WHERE l.line = t.line`);
}

const [NEWLINE, RETURN, QUOTE] = [0x0a, 0x0d, 0x22];

/**
 * The physical lines of some rows of a CSV file: blank lines, malformed ones and those within quotes are no rows.
 *
 * @param path a file that is not compressed, or a .gz.
 * @param firstLine the line of the first row, from 1.
 * @param malformed lines that are no rows.
 * @param rows numbers of rows, from 0, ascending.
 */
export async function rowLines(
  path: string,
  firstLine: number,
  malformed: ReadonlySet<number>,
  rows: readonly number[],
): Promise<Map<number, number>> {
  const lines = new Map<number, number>();
  const raw = createReadStream(path, { highWaterMark: 1 << 20 });
  const input = /\.gz$/i.test(path) ? raw.pipe(createGunzip()) : raw;
  let [line, start, row, next] = [1, 1, 0, 0];
  let [isQuoted, isBlank, wasReturn] = [false, true, false];
  const end = (): void => {
    if (!isBlank && start >= firstLine && !malformed.has(start)) {
      if (row === rows[next]) {
        lines.set(row, start);
        next += 1;
      }
      row += 1;
    }
    isBlank = true;
  };
  for await (const piece of input as AsyncIterable<Buffer>) {
    for (const byte of piece) {
      const isAfterReturn = wasReturn;
      wasReturn = false;
      if (byte === NEWLINE || byte === RETURN) {
        if (byte === NEWLINE && isAfterReturn) {
          if (!isQuoted) start = line;
          continue;
        }
        wasReturn = byte === RETURN;
        line += 1;
        if (isQuoted) continue;
        end();
        start = line;
        continue;
      }
      if (byte === QUOTE) isQuoted = !isQuoted;
      isBlank = false;
    }
    if (next >= rows.length) break;
  }
  end();
  return lines;
}

/** The texts of some physical lines. @param path a file that is not compressed, or a .gz. */
async function textsOfLines(path: string, wanted: ReadonlySet<number>): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const raw = createReadStream(path);
  const input = /\.gz$/i.test(path) ? raw.pipe(createGunzip()) : raw;
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (wanted.has(number)) found.set(number, line);
    if (found.size === wanted.size) break;
  }
  return found;
}
