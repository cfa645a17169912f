import type {
  DuckDBConnection,
  DuckDBPreparedStatement,
  DuckDBResult,
  DuckDBType,
  DuckDBValue,
} from "@duckdb/node-api";
import {
  DuckDBTimestampTZValue,
  DuckDBTypeId,
  listValue,
  StatementType,
  VARCHAR,
} from "../../arrow/duckdb-api.js";
import { UsageError } from "../../core/errors.js";
import { isOneStatement } from "../sql-tokens.js";

/** An escape of JSON; its group is a surrogate. JSON.stringify escapes only those surrogates that are not in a pair. */
const ESCAPE = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/gs;

/**
 * A value as JSON that DuckDB can parse. A surrogate without its other half, which JSON and JavaScript permit, has no
 * UTF-8: it becomes U+FFFD.
 *
 * @param names of the members that are written. @default all
 */
export function jsonParameter(value: unknown, names?: string[]): string {
  const text = JSON.stringify(value, names);
  if (!text.includes("\\ud")) return text;
  return text.replace(ESCAPE, (escape, surrogate?: string) => (surrogate === undefined ? escape : "\ufffd"));
}

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

interface NamedStatement extends Disposable {
  /** Starts it, and gives its rows as they are computed. */
  readonly stream: () => Promise<DuckDBResult>;
  readonly run: () => Promise<DuckDBResult>;
}

/** Checks the statement that DuckDB has parsed, before it runs. @throws an error that refuses it */
export type StatementCheck = (statement: {
  readonly type: StatementType;
  readonly count: number;
  readonly sql: string;
}) => void;

/** Types of the statements that DuckDB adds at both ends where it makes several statements of one. */
const ADDED_TYPES: ReadonlySet<StatementType> = new Set([StatementType.TRANSACTION, StatementType.SET]);

/** A statement with values, which is started once. */
export function namedStatement(
  connection: DuckDBConnection,
  sql: string,
  values: NamedValues,
  check: StatementCheck = () => {},
): NamedStatement {
  let open: DuckDBPreparedStatement | undefined;
  /** DuckDB makes several statements of some, such as PIVOT: the ones before the last are run. */
  const prepared = async (): Promise<DuckDBPreparedStatement> => {
    const statements = await connection.extractStatements(sql);
    const { count } = statements;
    let last = count - 1;
    for (let index = 0; ; index++) {
      open = await statements.prepare(index);
      // Around the statements of an EXPLAIN or CREATE with a PIVOT, DuckDB adds a transaction or, within one, a setting
      // of it. They are left out: the result would be that of the one at the end, and a locked session refuses it.
      const isAdded = index === 0 && count > 2 && ADDED_TYPES.has(open.statementType) && isOneStatement(sql);
      if (isAdded) last -= 1;
      else {
        check({ type: open.statementType, count, sql });
        bindNamed(open, values);
        if (index === last) return open;
        await open.run();
      }
      open.destroySync();
      open = undefined;
    }
  };
  return {
    stream: async () => (await prepared()).stream(),
    run: async () => (await prepared()).run(),
    [Symbol.dispose]: () => open?.destroySync(),
  };
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
