import { type CellValue, type ColumnDef, writeXlsxStream } from "hucre/xlsx";
import { UsageError } from "../../core/errors.js";
import { DAY_MS } from "../../core/time.js";
import type { PlainValue, ResultColumn, RowReader } from "../../db/result/row-reader.js";
import { isNumeric } from "./result-table.js";

const ROWS = 2048;
/** Excel counts days; this is 1970-01-01, as of March 1900, before which its calendar is wrong. */
const EPOCH_DAY = 25_569;
const FIRST_RIGHT_DAY = 61;
/** Excel's limit for the text of a cell. */
const MOST_CHARACTERS = 32_767;

interface CellKind {
  readonly numFmt?: string;
  readonly width: number;
  readonly valueOf: (value: string | number) => CellValue;
}

/**
 * A result as an Excel workbook, in pieces, in constant memory. Numbers, dates and times are Excel's own; times are UTC.
 * What Excel cannot represent exactly is text: an integer beyond 2^53, a date before March 1900. A sheet that is
 * full is continued on the next one, under the same header.
 *
 * @throws {UsageError} for a text that is longer than Excel's cells.
 */
export function xlsxOf(reader: RowReader): AsyncIterable<Uint8Array> {
  const kinds = reader.columns.map(kindOf);
  const columns = reader.columns.map(({ name }, index): ColumnDef => {
    const { numFmt, width } = kinds[index] as CellKind;
    return {
      header: name,
      width: Math.max(width, name.length + 2),
      ...(numFmt !== undefined && { numFmt }),
    };
  });
  return writeXlsxStream(rowsOf(reader, kinds), { name: "result", columns, freezePane: { rows: 1 } });
}

async function* rowsOf(
  reader: RowReader,
  kinds: readonly CellKind[],
): AsyncGenerator<CellValue[], void, undefined> {
  for (let first = 0; ; first += ROWS) {
    const rows = await reader.take(ROWS);
    for (const [index, row] of rows.entries())
      yield row.map((value, column) => {
        const { name } = reader.columns[column] as ResultColumn;
        return cellOf(value, kinds[column] as CellKind, () => `row ${first + index + 1}, column ${name}`);
      });
    if (rows.length < ROWS) return;
  }
}

function cellOf(value: PlainValue, { valueOf }: CellKind, where: () => string): CellValue {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string" && value.length > MOST_CHARACTERS) {
    throw new UsageError(
      `${where()}: a text of ${value.length} characters, and a cell of Excel holds ${MOST_CHARACTERS}`,
      {
        hint: "leave the column out, shorten it with left(…), or write another format",
      },
    );
  }
  return valueOf(value);
}

function kindOf({ type }: ResultColumn): CellKind {
  if (type === "DATE") return { numFmt: "yyyy-mm-dd", width: 12, valueOf: (value) => dayOf(value) };
  if (type.startsWith("TIMESTAMP"))
    return { numFmt: "yyyy-mm-dd hh:mm:ss", width: 20, valueOf: (value) => dayOf(value) };
  if (/^(DOUBLE|FLOAT|DECIMAL)/.test(type))
    return { numFmt: "#,##0.00####", width: 14, valueOf: (value) => numberOf(value) };
  if (isNumeric(type)) return { numFmt: "#,##0", width: 14, valueOf: (value) => numberOf(value) };
  return { width: 16, valueOf: (value) => value };
}

/** A number, or the text where a double would be another number. */
function numberOf(value: string | number): CellValue {
  const number = Number(value);
  return Number.isFinite(number) && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : value;
}

/** The day that Excel counts, with the time as its fraction; the text where Excel's calendar does not have it. */
function dayOf(value: string | number): CellValue {
  const [, date = "", time = "00:00:00"] =
    /^(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d(?:\.\d+)?)(?:\+00)?)?$/.exec(String(value)) ?? [];
  const day = Date.parse(`${date}T${time}Z`) / DAY_MS + EPOCH_DAY;
  return day >= FIRST_RIGHT_DAY ? day : value;
}
