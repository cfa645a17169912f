import { UsageError } from "../../../core/errors.js";
import { DAY_MS } from "../../../core/time.js";
import { ident, literal, literalList } from "../../../db/quote.js";
import { countRows } from "../../../db/session/count-rows.js";
import { type Session, TempTable } from "../../../db/session/session.js";
import type { DecimalMark } from "../import-options.js";
import { NULL_WORDS } from "../plan/read-time.js";
import { type FileGroup, type OpenGroup, openGroup, type SourceColumn } from "./raw-rows.js";

const NUMBER_TYPE = /^(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|U[A-Z]+INT|FLOAT|DOUBLE|DECIMAL.*)$/;

export function isReadDirectly({ type }: SourceColumn): boolean {
  return NUMBER_TYPE.test(type);
}

/** SQL of a number; null where it is NaN or infinite. */
function finiteSql(number: string): string {
  return `CASE WHEN isfinite(${number}) THEN ${number} END`;
}

/** SQL of the text of a column; null where it is empty. */
export function textExpression({ sql, type }: SourceColumn): string {
  return type === "VARCHAR" ? `nullif(trim(${sql}), '')` : `CAST(${sql} AS VARCHAR)`;
}

/** SQL of a time: as a date, a wall clock, an instant in epoch milliseconds, or else as a text to be read. */
interface TimeExpressions {
  readonly day: string;
  readonly wall: string;
  readonly at: string;
  readonly text: string;
}

/** The form of the texts of a column of times; `given`: the user named it. */
export type TextForm = "date" | "wall" | "milliseconds" | "given" | "other";

export function formOf(text: string): TextForm {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return "date";
  if (/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return "wall";
  return /^1\d{12}$/.test(text) ? "milliseconds" : "other";
}

/** SQL of times that are not read directly. */
export const NO_TIME = { day: "NULL::DATE", wall: "NULL::TIMESTAMP", at: "NULL::BIGINT" } as const;

/**
 * SQL of the times of a column. Texts in the two forms of ISO 8601 without an offset are read by DuckDB, millions a second;
 * all others are read once for each different text.
 *
 * @param clock a column with the time of day.
 * @param isMinute whether most instants differ, so that epoch milliseconds are not read as texts.
 * @param form the form in which the first texts are: only this one is read directly. It decides on no value.
 * @param clockDigits the most digits of a time of day that is a number, of which shorter ones have lost leading zeros.
 */
export function timeExpressions(
  column: SourceColumn,
  clock: SourceColumn | undefined,
  isMinute: boolean,
  form: TextForm,
  clockDigits = 0,
): TimeExpressions {
  const { sql, type } = column;
  const none = NO_TIME;
  const text = textExpression(column);
  if (clock !== undefined) {
    const given = textExpression(clock);
    const padded =
      clockDigits > 2
        ? `CASE WHEN regexp_full_match(${given}, '\\d+') THEN lpad(${given}, ${clockDigits > 4 ? 6 : 4}, '0') ELSE ${given} END`
        : given;
    return { ...none, text: `${text} || coalesce(' ' || ${padded}, '')` };
  }
  if (form === "given" && (type === "VARCHAR" || isReadDirectly(column))) return { ...none, text };
  if (type === "DATE") return { ...none, day: sql, text };
  if (type === "TIMESTAMP WITH TIME ZONE") {
    const ms = `epoch_ms(${sql})`;
    return isMinute ? { ...none, at: ms, text } : { ...none, text: epochText(ms) };
  }
  if (type.startsWith("TIMESTAMP")) {
    const wall = `CAST(${sql} AS TIMESTAMP)`;
    return { ...none, wall, text };
  }
  if (type === "VARCHAR") {
    switch (form) {
      case "date":
        return { ...none, day: `CASE WHEN ${sql} LIKE '____-__-__' THEN TRY_CAST(${sql} AS DATE) END`, text };
      case "wall": {
        // DuckDB reads 24:00:00 as the next day.
        const wall = `CASE WHEN ${sql} LIKE '____-__-__ __:__:__' AND ${sql}[12:13] < '24' THEN TRY_CAST(${sql} AS TIMESTAMP) END`;
        return { ...none, wall, text };
      }
      case "milliseconds": {
        const at = `CASE WHEN ${sql} LIKE '1____________' THEN TRY_CAST(${sql} AS BIGINT) END`;
        return { ...none, at: isMinute ? at : NO_TIME.at, text };
      }
      case "given":
      case "other":
        return { ...none, text };
    }
  }
  if (type === "BIGINT" && isMinute)
    return {
      ...none,
      at: `CASE WHEN ${sql} BETWEEN ${DAY_MS * 3650} AND ${DAY_MS * 84_000} THEN ${sql} END`,
      text,
    };
  return { ...none, text };
}

/** An instant as a text that is read as epoch milliseconds, whatever its number of digits. */
function epochText(ms: string): string {
  return `strftime(make_timestamp(${ms} * 1000), '%Y-%m-%dT%H:%M:%S.%gZ')`;
}

/** Words for a number that is missing, and for infinity, which is no number of a market. */
const NO_NUMBERS = [...NULL_WORDS, "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "∞"];

/** Names and factors of large units. */
const SCALES: readonly (readonly [suffix: string, factor: number])[] = [
  ["亿", 1e8],
  ["万", 1e4],
  ["K", 1e3],
  ["M", 1e6],
  ["B", 1e9],
  ["T", 1e12],
];

/** A text that has one reading as a number: digits in groups of three, brackets for below 0, a sign of a currency, a large unit. */
const PARTS = String.raw`([-+]|\()?\s*(?:[$¥￥€£]|HK\$|US\$)?\s*((?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(亿|万|[KMBT])?\)?`;
/** The same with a decimal comma; points are between groups of three digits. */
const COMMA_PARTS = String.raw`[-+]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)(?:,\d+)?`;

export function isMissingSql(text: string): string {
  const words = literalList(NO_NUMBERS).replace(/^\[/, "(").replace(/\]$/, ")");
  return `(${text} IS NULL OR lower(trim(${text})) IN ${words})`;
}

export function isNumberSql(text: string, mark: DecimalMark): string {
  const form = `regexp_full_match(${unquotedSql(text)}, ${literal(mark === "," ? COMMA_PARTS : PARTS)})`;
  return mark === "," ? form : `(isfinite(TRY_CAST(${text} AS DOUBLE)) OR ${form})`;
}

/** SQL of whether a text is a number that says a large unit itself, such as 1.2亿. */
export function hasScaleSql(text: string): string {
  return `regexp_full_match(${unquotedSql(text)}, ${literal(String.raw`[^A-Za-z]*\d\s*(?:亿|万|[KMBT])\)?`)})`;
}

/**
 * SQL of a number times a power of ten, exactly: the digits of a number are those of its text, and 2935208.04 times 10^4
 * is 29352080400, which a product of doubles may miss.
 */
export function scaledSql(number: string, exponent: number): string {
  const text = `CAST(${number} AS VARCHAR)`;
  return `CASE WHEN contains(${text}, 'e') THEN ${number} * 1e${exponent} ELSE CAST(${text} || 'e${exponent}' AS DOUBLE) END`;
}

/** SQL of a text without the marks of a spreadsheet around it. */
function unquotedSql(text: string): string {
  const plain = `trim(regexp_replace(trim(${text}), '^=?"(.*)"$|^''', '\\1'))`;
  return `CASE WHEN regexp_full_match(${plain}, ${literal(BLANK_GROUPS)}) THEN regexp_replace(${plain}, ${literal(BLANKS)}, '', 'g') ELSE ${plain} END`;
}

/** Blanks between groups of three digits, as in French. */
const BLANKS = String.raw`[ \x{a0}\x{2009}\x{202f}]`;
const BLANK_GROUPS = String.raw`[-+]?\d{1,3}(?:${BLANKS}\d{3})+(?:[.,]\d+)?`;

/** How columns of numbers are read with the rows: plain numbers at once, the texts of all others in a second step. */
interface PlainNumbers {
  readonly inner: readonly string[];
  /** SQL over {@link inner} of the texts of a row in which one is no plain number; NULL in all other rows. */
  readonly odd: string;
}

/** SQL that reads columns of numbers. @param columns the columns by the names that their numbers get. */
export function plainNumbers(columns: ReadonlyMap<string, SourceColumn>, mark: DecimalMark): PlainNumbers {
  const inner: string[] = [];
  const tests: string[] = [];
  const members: string[] = [];
  for (const [name, column] of columns) {
    const number = ident(name);
    if (isReadDirectly(column)) {
      inner.push(`${finiteSql(`CAST(${column.sql} AS DOUBLE)`)} AS ${number}`);
      continue;
    }
    const text = ident(`${name} text`);
    const value = `CAST(${column.sql} AS VARCHAR)`;
    inner.push(
      `${mark === "," ? "NULL::DOUBLE" : `TRY_CAST(${value} AS DOUBLE)`} AS ${number}`,
      `${value} AS ${text}`,
    );
    tests.push(`(${number} IS NULL AND ${text} IS NOT NULL) OR NOT isfinite(${number})`);
    members.push(`${number} := ${text}`);
  }
  const odd =
    tests.length === 0
      ? "NULL"
      : `CASE WHEN ${tests.join(" OR ")} THEN CAST(to_json(struct_pack(${members.join(", ")})) AS VARCHAR) END`;
  return { inner, odd };
}

/**
 * Reads the numbers of rows with a text that is no plain number, each different text once. Afterwards `odd` has the name and
 * the text of the first one that is no number, and is null in all other rows.
 *
 * @param table a table with `odd`, `form` and the numbers.
 * @param form the rows that are read.
 * @param names of the numbers that were texts.
 * @returns the number of different texts that cannot be read, or have a comma.
 */
export async function readOddNumbers(
  session: Session,
  table: string,
  form: number,
  names: readonly string[],
  mark: DecimalMark,
): Promise<number> {
  const own = `odd IS NOT NULL AND form = ${form}`;
  if ((await countRows(session, `${table} WHERE ${own}`)) === 0) return 0;
  const textOf = (name: string): string => `json_extract_string(odd, ${literal(`$."${name}"`)})`;
  await using texts = new TempTable(session, "odd_texts");
  const all = names.map((name) => `SELECT ${textOf(name)} AS text FROM ${table} WHERE ${own}`);
  await texts.fill(
    numbersSql(`SELECT DISTINCT text FROM (${all.join(" UNION ALL ")}) WHERE text IS NOT NULL`, mark),
  );
  const numberOf = (name: string): string =>
    `(SELECT number FROM ${texts.name} WHERE text = ${textOf(name)})`;
  const isBad = (name: string): string =>
    `CASE WHEN ${textOf(name)} IN (SELECT text FROM ${texts.name} WHERE number IS NULL AND NOT is_missing)
      THEN ${literal(`${shownName(name)} "`)} || left(${textOf(name)}, 40) || '"' END`;
  const numbers = names.map((name) => `${ident(name)} = ${numberOf(name)}`);
  await session.run(
    `UPDATE ${table} SET ${numbers.join(", ")}, odd = coalesce(${names.map(isBad).join(", ")}, NULL) WHERE ${own}`,
  );
  const isDoubtful = "contains(text, ',') OR (number IS NULL AND NOT is_missing)";
  return await countRows(session, `${texts.name} WHERE ${isDoubtful}`);
}

/** The name of a column as users know it. */
const shownName = (name: string): string => name.replace(/^n_/, "");

/** SQL of each text with its number; null where it has none. */
function numbersSql(texts: string, mark: DecimalMark): string {
  if (mark === ",") {
    const plain = "TRY_CAST(replace(replace(clean, '.', ''), ',', '.') AS DOUBLE)";
    return `SELECT text, ${isMissingSql("text")} AS is_missing,
        CASE WHEN regexp_full_match(clean, ${literal(COMMA_PARTS)}) THEN ${plain} END AS number
      FROM (SELECT text, ${unquotedSql("text")} AS clean FROM (${texts}))`;
  }
  const scale = SCALES.map(([suffix, factor]) => `WHEN '${suffix}' THEN ${factor}`).join(" ");
  // Decimals keep 1.2 x 10^8 exact.
  const long = `CASE WHEN sign IN ('-', '(') THEN -1 ELSE 1 END * CASE WHEN scale = '' THEN TRY_CAST(digits AS DOUBLE)
    ELSE CAST(TRY_CAST(digits AS DECIMAL(28, 8)) * CASE scale ${scale} END AS DOUBLE) END`;
  return `SELECT text, is_missing, ${finiteSql("number")} AS number FROM (
      SELECT text, is_missing, CASE WHEN isfinite(plain) THEN plain WHEN NOT is_missing AND digits <> '' THEN ${long} END AS number
      FROM (SELECT text, plain, is_missing, regexp_extract(clean, part, 1) AS sign, replace(regexp_extract(clean, part, 2), ',', '') AS digits,
          regexp_extract(clean, part, 3) AS scale
        FROM (SELECT text, TRY_CAST(text AS DOUBLE) AS plain, ${isMissingSql("text")} AS is_missing, ${unquotedSql("text")} AS clean,
          ${literal(`^${PARTS}$`)} AS part FROM (${texts}))))`;
}

/** Numbers with a mark among some texts, by what the mark may be. */
interface MarkedNumbers {
  /** `12,5`: the comma can only be the decimal mark. */
  readonly commas: number;
  /** `1.234.567`: the point can be no decimal mark. */
  readonly groups: number;
  /** `1,234`: the comma may be either. */
  readonly open: number;
  /** With a point; and those of which it can only be the decimal mark, as three digits do not follow it. */
  readonly points: number;
  readonly decimals: number;
}

/** The forms that {@link MarkedNumbers} counts, as regular expressions of JavaScript and of RE2. */
const MARKED_FORMS: Readonly<Record<keyof MarkedNumbers, string>> = {
  commas: String.raw`[-+]?(?:(?:\d+|\d{1,3}(?:\.\d{3})+),(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3})+,\d+)`,
  groups: String.raw`[-+]?[1-9]\d{0,2}(?:\.\d{3}){2,}`,
  open: String.raw`[-+]?\d{1,3},\d{3}`,
  points: String.raw`[-+]?\d*\.\d+`,
  decimals: String.raw`[-+]?(?:0*\.\d+|\d*\.(?:\d{1,2}|\d{4,})|\d{4,}\.\d+|\d{1,3}(?:,\d{3})+\.\d+)`,
};

function markedNumbers(texts: readonly string[]): MarkedNumbers {
  const counted = (form: string): number => {
    const whole = new RegExp(`^(?:${form})$`);
    const plain = texts.map((text) => text.trim().replaceAll(/(?<=\d)[ \u00a0\u2009\u202f](?=\d{3})/g, ""));
    return plain.filter((text) => whole.test(text)).length;
  };
  return {
    commas: counted(MARKED_FORMS.commas),
    groups: counted(MARKED_FORMS.groups),
    open: counted(MARKED_FORMS.open),
    points: counted(MARKED_FORMS.points),
    decimals: counted(MARKED_FORMS.decimals),
  };
}

/**
 * The decimal mark that numbers show: a comma where no number contradicts it, and most of those with a mark show it.
 * Undefined where they have two readings, such as `1,234` alone.
 */
function decimalMarkOf(marked: MarkedNumbers): DecimalMark | undefined {
  const { commas, groups, open, points, decimals } = marked;
  if (decimals > 0) return ".";
  if (groups > 0) return ",";
  if (commas > 0) return commas >= points ? "," : undefined;
  return open > 0 && points === 0 ? undefined : ".";
}

/** The decimal mark that the first rows of files show. @throws {UsageError} where it has two readings, or files differ. */
export function headMark({ files }: FileGroup): DecimalMark {
  const marks = files.map(({ path, csv }): DecimalMark => {
    // In JSON and Parquet, numbers have a type. Between commas, only quoted numbers could have a decimal comma: all of the
    // file is looked at then.
    if (csv === undefined || csv.dialect.delimiter === ",") return ".";
    const texts = csv.rows.flat();
    const marked = markedNumbers(texts);
    // Semicolons are of places with a decimal comma, where 1.234 is a whole number.
    const isEither =
      csv.dialect.delimiter === ";" &&
      marked.points > 0 &&
      marked.decimals + marked.commas + marked.groups === 0;
    const mark = isEither ? undefined : decimalMarkOf(marked);
    if (mark === undefined)
      throw twoMarks(
        path,
        texts.find((text) => /\d[.,]\d{3}$/.test(text.trim())),
      );
    return mark;
  });
  return oneMark(marks);
}

/** Fields that count something: `1,000` of them is a thousand. */
const COUNTS = ["volume", "lot", "lot_size", "total_shares", "float_shares", "open_interest"];

/** The mark of all files of a group. @throws where they differ: each of them is then read alone. */
function oneMark(marks: readonly DecimalMark[]): DecimalMark {
  const [first = ".", ...others] = new Set(marks);
  if (others.length > 0) throw new UsageError("files of one form have different decimal marks");
  return first;
}

function twoMarks(path: string, example: string | undefined): UsageError {
  const such = example === undefined ? "" : ` such as ${example.trim()}`;
  return new UsageError(`file ${path}: numbers${such} have two readings`, {
    hint: 'add `decimal: ","` or `decimal: "."`',
  });
}

/** Whether a text of a table of objects has a comma. Bars know it of their numbers. */
export async function hasCommas(session: Session, table: string, open: OpenGroup): Promise<boolean> {
  if (table.startsWith("bars_")) return false;
  const texts = open.columns.filter(({ type }) => type === "VARCHAR");
  if (texts.length === 0) return false;
  const any = texts.map(({ sql }) => `coalesce(bool_or(contains(${sql}, ',')), false)`);
  const [found] = await session.json<{ has: boolean }>(`SELECT ${any.join(" OR ")} AS has FROM ${open.from}`);
  return found?.has === true;
}

/** The decimal mark that all texts of files show. @throws {UsageError} as {@link headMark}. */
export async function markShown(
  session: Session,
  group: FileGroup,
  fields: ReadonlyMap<string, { readonly index: number }>,
): Promise<DecimalMark> {
  await using open = await openGroup(session, group, "none");
  const counts = new Set(COUNTS.flatMap((field) => fields.get(field)?.index ?? []));
  const texts = open.columns.filter(({ type }, i) => type === "VARCHAR" && !counts.has(i));
  if (texts.length === 0) return ".";
  const list = texts.map(({ sql }) => sql).join(", ");
  const forms = Object.entries(MARKED_FORMS).map(
    ([name, form]) => `count(*) FILTER (regexp_full_match(text, ${literal(form)}))::DOUBLE AS ${name}`,
  );
  const rows = await session.json<MarkedNumbers & { file: number; example: string | null }>(
    `SELECT file, ${forms.join(", ")}, first(text) FILTER (regexp_matches(text, '^[-+]?\\d+,\\d+$')) AS example
     FROM (SELECT file, trim(unnest([${list}])) AS text FROM ${open.from}) GROUP BY file ORDER BY file`,
  );
  const marks = rows.map((row): DecimalMark => {
    const mark = decimalMarkOf(row);
    if (mark !== undefined) return mark;
    throw twoMarks(group.files[group.places.indexOf(row.file)]?.path ?? "", row.example ?? undefined);
  });
  return oneMark(marks);
}
