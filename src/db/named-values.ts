import {
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  VARCHAR,
} from "@duckdb/node-api";
import { UsageError } from "../core/errors.js";

/** A value as DuckDB has it, and its type. */
export interface TypedValue {
  readonly value: DuckDBValue;
  readonly type: DuckDBType;
}

/** Values by the names of the parameters that they are for. */
export type NamedValues = ReadonlyMap<string, TypedValue>;

/**
 * Gives a statement's parameters their values; values that it does not mention are left.
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
 * Computes an expression's first value. A text is cast to the expression's type and goes in its place; a decimal number
 * is a double, so that a default of 0.5 permits more than one digit.
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

/** The type, as SQL writes it, that takes whatever a parameter of this one may be given. */
function wideType(type: DuckDBType): string {
  return WIDE_TYPES.get(type.typeId) ?? type.toString();
}

const WIDE_TYPES: ReadonlyMap<DuckDBTypeId, string> = new Map([
  [DuckDBTypeId.DECIMAL, "DOUBLE"],
  [DuckDBTypeId.SQLNULL, "VARCHAR"],
]);
