import { DAY_MS } from "../../../core/time.js";
import type { SourceColumn } from "./raw-rows.js";

const NUMBER_TYPE = /^(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|U[A-Z]+INT|FLOAT|DOUBLE|DECIMAL.*)$/;

/** Whether a column has numbers already, and no texts. */
export function isReadDirectly({ type }: SourceColumn): boolean {
  return NUMBER_TYPE.test(type);
}

/** SQL of a number; null where it is NaN or infinite. */
export function finiteSql(number: string): string {
  return `CASE WHEN isfinite(${number}) THEN ${number} END`;
}

/** SQL of the text of a column; null where it is empty. */
export function textExpression({ sql, type }: SourceColumn): string {
  return type === "VARCHAR" ? `nullif(trim(${sql}), '')` : `CAST(${sql} AS VARCHAR)`;
}

/** SQL of a time: as a date, a wall clock, an instant in epoch milliseconds, or else as a text to be read. */
export interface TimeExpressions {
  readonly day: string;
  readonly wall: string;
  readonly at: string;
  readonly text: string;
}

/** The form of the texts of a column of times; `given`: the user named it. */
export type TextForm = "date" | "wall" | "milliseconds" | "given" | "other";

/** The form of a text of a time. */
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
