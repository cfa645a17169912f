import { DAY_MS } from "../../../core/time.js";
import { ident, literal } from "../../../db/quote.js";
import { jsonParameter } from "../../../db/session/json-parameter.js";
import type { Session } from "../../../db/session/session.js";
import { TempTable } from "../../../db/session/temp-table.js";
import { REGION_NAMES, REGIONS } from "../../../market/regions.js";
import { regionOf } from "../../../market/symbol.js";
import { readSymbol } from "../../../market/symbol-notation.js";
import { localDay } from "../../../market/zone.js";
import { type DateOrder, dateOrderOf, type ReadTime, readTime, timeFormat } from "../plan/read-time.js";

/** Rows in one JSON text. */
const ROWS_A_STATEMENT = 5000;

/** The different texts of an expression. */
export async function distinctTexts(session: Session, expression: string, from: string): Promise<string[]> {
  const rows = await session.json<{ text: string }>(
    `SELECT DISTINCT ${expression} AS text FROM ${from} WHERE ${expression} IS NOT NULL`,
  );
  return rows.map(({ text }) => text);
}

/** A text of a column of times, in files of one form. */
export interface TimeText {
  /** The number of the form. */
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

/** How texts of times are read. */
export interface TimeReading {
  /** The format that the user named. */
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
