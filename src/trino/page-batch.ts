import type { RecordBatch } from "apache-arrow";
import { type NullableColumn, nullableBatch } from "../arrow/nullable-batch.js";
import { carrierName, columnForm } from "./column-type.js";
import type { TrinoRows } from "./trino-client.js";

/** The rows of a page as a record batch of carriers, which `selectList` casts to the columns' types. */
export function pageBatch({ columns, rows }: TrinoRows): RecordBatch {
  const carried = columns.map(({ typeSignature }, index): NullableColumn => {
    const { carrier, carry } = columnForm(typeSignature);
    const values = rows.map((row) => {
      const value = row[index] ?? null;
      return value === null ? null : carry(value);
    });
    return { name: carrierName(index), kind: carrier, values } as NullableColumn;
  });
  return nullableBatch(carried, rows.length);
}
