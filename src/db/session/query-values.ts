import type { DuckDBValue } from "@duckdb/node-api";
import { DuckDBTimestampTZValue, listValue } from "../../arrow/duckdb-api.js";
import { UsageError } from "../../core/errors.js";

/** A value of a query's parameter. A list is for `IN (SELECT unnest($name))`; a date is written as a text. */
export type QueryValue = string | number | bigint | boolean | null | Date | readonly QueryValue[];

/** Values of a query's parameters `$name`, by name. */
export type QueryValues = Readonly<Record<string, QueryValue>>;

/**
 * The values as DuckDB takes them: a Date is a timestamp in UTC.
 *
 * @throws {UsageError} for a value that no parameter can have, naming the parameter.
 */
export function boundValues(values: QueryValues): Record<string, DuckDBValue> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, boundValue(name, value)]));
}

function boundValue(name: string, value: QueryValue): DuckDBValue {
  if (value === null || ["string", "bigint", "boolean"].includes(typeof value)) return value as DuckDBValue;
  if (typeof value === "number") return value;
  if (value instanceof Date && Number.isFinite(value.getTime()))
    return new DuckDBTimestampTZValue(BigInt(value.getTime()) * 1000n);
  if (Array.isArray(value)) return listValue(value.map((one: QueryValue) => boundValue(name, one)));
  const given = value instanceof Date ? "an invalid Date" : `of type ${typeof value}`;
  throw new UsageError(`parameter $${name} is ${given}`, {
    hint: "give a text, a number, a bigint, a boolean, null, a Date, or a list of these",
  });
}
