import { LakeError } from "../../core/errors.js";
import type { Column, ColumnType } from "../../schema/column.js";

const DELTA_TYPE: Readonly<Record<ColumnType, unknown>> = {
  string: "string",
  double: "double",
  int64: "long",
  int32: "integer",
  boolean: "boolean",
  date: "date",
  timestamp: "timestamp",
  "string[]": { type: "array", elementType: "string", containsNull: false },
};

interface DeltaField {
  readonly name: string;
  readonly type: unknown;
  readonly nullable: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The `schemaString` of a table with these columns. */
export function schemaString(columns: readonly Column[]): string {
  const fields = columns.map((column): DeltaField => {
    const metadata = { comment: column.unit ? `${column.doc} [${column.unit}]` : column.doc };
    return { name: column.name, type: DELTA_TYPE[column.type], nullable: column.nullable === true, metadata };
  });
  return JSON.stringify({ type: "struct", fields });
}

/**
 * The columns that a `schemaString` declares.
 *
 * @throws {LakeError} for a type that the lake does not use.
 */
export function columnsOfSchema(table: string, text: string): Column[] {
  const { fields } = JSON.parse(text) as { fields: DeltaField[] };
  return fields.map((field): Column => {
    const type = (Object.keys(DELTA_TYPE) as ColumnType[]).find(
      (candidate) => JSON.stringify(DELTA_TYPE[candidate]) === JSON.stringify(normalised(field.type)),
    );
    if (type === undefined) {
      throw new LakeError(
        `table ${table}, column ${field.name}: type ${JSON.stringify(field.type)} is not supported`,
      );
    }
    return { name: field.name, type, nullable: field.nullable, doc: field.metadata.comment ?? "" };
  });
}

/**
 * A type as the lake writes it. Other writers may declare that a list can contain nulls; this makes no difference to
 * readers.
 */
function normalised(type: unknown): unknown {
  if (typeof type !== "object" || type === null) return type;
  const { elementType } = type as { elementType?: unknown };
  return { type: "array", elementType, containsNull: false };
}
