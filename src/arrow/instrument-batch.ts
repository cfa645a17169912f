import type { RecordBatch } from "apache-arrow";
import type { TradingDate } from "../core/time.js";
import { INSTRUMENT_EXT } from "../schema/reference.js";
import type { Instrument } from "../wire/resources.js";
import { type NullableColumn, nullableBatch } from "./nullable-batch.js";

const REQUIRED = ["symbol", "code", "exchange", "region", "type"] as const;
const EXT_NAMES: ReadonlySet<string> = new Set(["type", ...INSTRUMENT_EXT.map(({ name }) => name)]);

/**
 * Instruments as one record batch: the members of an instrument, and those of its `ext` that the schema declares, each
 * as a column; `ext_type`; and `ext_other` with the other members as JSON text.
 */
export function instrumentBatch(
  instruments: readonly Instrument[],
  metadata: ReadonlyMap<string, string>,
): RecordBatch {
  const exts = instruments.map(({ ext }) => (ext ?? {}) as Readonly<Record<string, unknown>>);
  const extColumns = INSTRUMENT_EXT.map(({ name, type, unit }): NullableColumn => {
    const values = exts.map((ext) => ext[name] ?? null);
    if (type === "double") return { name, unit, kind: "double", values: values as (number | null)[] };
    if (type === "date") return { name, kind: "date", values: values as (TradingDate | null)[] };
    return { name, kind: "text", values: values as (string | null)[] };
  });
  const columns: NullableColumn[] = [
    ...REQUIRED.map(
      (name): NullableColumn => ({
        name,
        kind: "text",
        isRequired: true,
        values: instruments.map((one) => one[name]),
      }),
    ),
    { name: "name", kind: "text", values: instruments.map(({ name }) => name ?? null) },
    { name: "ext_type", kind: "text", values: instruments.map(({ ext }) => ext?.type ?? null) },
    ...extColumns,
    { name: "ext_other", kind: "text", values: exts.map(otherMembers) },
  ];
  return nullableBatch(columns, instruments.length, metadata);
}

function otherMembers(ext: Readonly<Record<string, unknown>>): string | null {
  const others = Object.entries(ext).filter(([name]) => !EXT_NAMES.has(name));
  return others.length === 0 ? null : JSON.stringify(Object.fromEntries(others));
}
