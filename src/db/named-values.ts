import {
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  VARCHAR,
} from "@duckdb/node-api";
import { UsageError } from "../core/errors.js";

/** A DuckDB value and its type. */
export interface TypedValue {
  readonly value: DuckDBValue;
  readonly type: DuckDBType;
}

/** Values by parameter name. */
export type NamedValues = ReadonlyMap<string, TypedValue>;

/**
 * Binds the values of a statement's parameters; other values are ignored.
 *
 * @throws {UsageError} for a parameter without value.
 */
export function bindNamed(statement: DuckDBPreparedStatement, values: NamedValues): void {
  for (let index = 1; index <= statement.parameterCount; index++) {
    const name = statement.parameterName(index);
    const found = values.get(name);
    if (found === undefined) {
      throw new UsageError(`parameter $${name} has no value`, {
        hint: values.size > 0 ? `known: ${[...values.keys()].join(", ")}` : "none is declared",
      });
    }
    statement.bindValue(index, found.value, found.type);
  }
}

/**
 * Computes an expression's value. Where `text` is given, the text is cast to the expression's type instead. A decimal
 * number becomes a double, so that a default of 0.5 permits values with more digits.
 */
export async function computeValue(
  connection: DuckDBConnection,
  expression: string,
  values: NamedValues,
  text: string | undefined,
): Promise<TypedValue> {
  const computed = await firstValue(connection, `SELECT (${expression}\n)`, values);
  const type = wideType(computed.type);
  const given = text === undefined ? computed : { value: text, type: VARCHAR };
  return firstValue(connection, `SELECT CAST($value AS ${type})`, new Map([["value", given]]));
}

async function firstValue(
  connection: DuckDBConnection,
  sql: string,
  values: NamedValues,
): Promise<TypedValue> {
  const statement = await connection.prepare(sql);
  try {
    bindNamed(statement, values);
    const result = await statement.runAndReadAll();
    return { value: result.getRows()[0]?.[0] ?? null, type: result.columnType(0) };
  } finally {
    statement.destroySync();
  }
}

/** The SQL type of a parameter whose default has the given type: wide enough for other values. */
function wideType(type: DuckDBType): string {
  return WIDE_TYPES.get(type.typeId) ?? type.toString();
}

const WIDE_TYPES: ReadonlyMap<DuckDBTypeId, string> = new Map([
  [DuckDBTypeId.DECIMAL, "DOUBLE"],
  [DuckDBTypeId.SQLNULL, "VARCHAR"],
]);
