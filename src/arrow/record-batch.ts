import type { RecordBatch } from "apache-arrow";
import { epochDay, type TradingDate } from "../core/time.js";
import type { Column } from "../schema/column.js";
import { type NullableColumn, nullableBatch } from "./nullable-batch.js";

/**
 * Makes one record batch of objects with declared columns. A value that is absent is null; a timestamp is epoch
 * milliseconds. A text that is no date is null in a column of dates.
 */
export function recordBatch(
  columns: readonly Column[],
  rows: readonly Readonly<Record<string, unknown>>[],
): RecordBatch {
  return nullableBatch(
    columns.map((column) => columnOf(column, rows)),
    rows.length,
  );
}

function columnOf(
  { name, type, unit, nullable }: Column,
  rows: readonly Readonly<Record<string, unknown>>[],
): NullableColumn {
  const described = { name, isRequired: nullable !== true, unit };
  const values = rows.map((row) => row[name] ?? null);
  const integers = (): (bigint | null)[] =>
    values.map((value) => (value === null ? null : BigInt(value as number)));
  switch (type) {
    case "double":
      return { ...described, kind: "double", values: values as (number | null)[] };
    case "int32":
    case "int64":
      return { ...described, kind: "int64", values: integers() };
    case "timestamp":
      return { ...described, kind: "timestamp", values: integers() };
    case "date":
      return { ...described, kind: "date", values: values.map(dateOf) };
    case "string":
      return { ...described, kind: "text", values: values as (string | null)[] };
    case "boolean":
    case "string[]":
      return {
        ...described,
        kind: "text",
        values: values.map((value) => (value === null ? null : JSON.stringify(value))),
      };
  }
}

function dateOf(value: unknown): TradingDate | null {
  const isDate = typeof value === "string" && Number.isInteger(epochDay(value as TradingDate));
  return isDate ? (value as TradingDate) : null;
}
