import { ident } from "../db/quote.js";
import type { TrinoColumn, TypeSignature } from "./parse-page.js";

/** How the values of a column come to DuckDB: in one of three kinds of buffers, then cast to the column's type. */
interface ColumnForm {
  readonly carrier: "double" | "int64" | "text";
  /** The type in DuckDB. */
  readonly type: string;
  /** Returns the SQL of the value in that type. @param carried SQL of the value in the carrier. */
  readonly cast: (carried: string) => string;
  /** Converts a value of the protocol, which is not null, to the carrier. */
  readonly carry: (value: unknown) => number | bigint | string;
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const castTo =
  (type: string) =>
  (carried: string): string =>
    `CAST(${carried} AS ${type})`;

/** Types that always have the same form. All others without type parameters are texts, as Trino writes them. */
const FORMS: Readonly<Record<string, ColumnForm>> = {
  boolean: textForm("BOOLEAN"),
  tinyint: int64Form("TINYINT"),
  smallint: int64Form("SMALLINT"),
  integer: int64Form("INTEGER"),
  bigint: int64Form("BIGINT"),
  real: doubleForm("FLOAT"),
  double: doubleForm("DOUBLE"),
  date: textForm("DATE"),
  uuid: textForm("UUID"),
  varbinary: { ...textForm("BLOB"), cast: (carried) => `from_base64(${carried})` },
};

function textForm(type: string): ColumnForm {
  return { carrier: "text", type, cast: castTo(type), carry: asText };
}

function int64Form(type: string): ColumnForm {
  return { carrier: "int64", type, cast: castTo(type), carry: (value) => BigInt(value as number | string) };
}

/** NaN, the infinities, and whole numbers with many digits are texts in the protocol. */
function doubleForm(type: string): ColumnForm {
  return { carrier: "double", type, cast: castTo(type), carry: Number };
}

export function columnForm(type: TypeSignature): ColumnForm {
  const simple = FORMS[type.rawType];
  if (simple !== undefined) return simple;
  if (!isNested(type)) return textForm(scalarType(type));
  const nested = nestedType(type);
  return {
    carrier: "text",
    type: nested,
    cast: (carried) => `CAST(CAST(${carried} AS JSON) AS ${nested})`,
    carry: (value) => JSON.stringify(plainJson(type, value)),
  };
}

function scalarType({ rawType, arguments: given = [] }: TypeSignature): string {
  const [first = 3, second = 0] = given.map(({ value }) => Number(value));
  switch (rawType) {
    case "decimal":
      return `DECIMAL(${first}, ${second})`;
    case "timestamp":
      return first <= 6 ? "TIMESTAMP" : first <= 9 ? "TIMESTAMP_NS" : "VARCHAR";
    case "timestamp with time zone":
      // DuckDB's timestamps have microseconds.
      return first <= 6 ? "TIMESTAMPTZ" : "VARCHAR";
    case "time":
      return first <= 6 ? "TIME" : "VARCHAR";
    default:
      return FORMS[rawType]?.type ?? "VARCHAR";
  }
}

const isNested = ({ rawType }: TypeSignature): boolean => ["array", "map", "row"].includes(rawType);

function nestedType(type: TypeSignature): string {
  if (!isNested(type)) return type.rawType === "varbinary" ? "VARCHAR" : scalarType(type);
  const [first, second] = partsOf(type);
  if (type.rawType === "array") return `${nestedType((first as Part).type)}[]`;
  if (type.rawType === "map")
    return `MAP(${nestedType((first as Part).type)}, ${nestedType((second as Part).type)})`;
  return `STRUCT(${partsOf(type)
    .map((part) => `${ident(part.name)} ${nestedType(part.type)}`)
    .join(", ")})`;
}

interface Part {
  readonly name: string;
  readonly type: TypeSignature;
}

function partsOf({ arguments: given = [] }: TypeSignature): Part[] {
  return given.flatMap((argument, index) => {
    if (argument.kind === "LONG") return [];
    if (argument.kind === "TYPE") return [{ name: "", type: argument.value }];
    const { fieldName, typeSignature } = argument.value;
    return [{ name: fieldName?.name ?? `_${index + 1}`, type: typeSignature }];
  });
}

/** A value of a nested type as JSON that DuckDB can cast. A row becomes an object, and not a list. */
function plainJson(type: TypeSignature, value: unknown): unknown {
  if (value === null || !isNested(type)) return value;
  const parts = partsOf(type);
  if (type.rawType === "array")
    return (value as unknown[]).map((item) => plainJson((parts[0] as Part).type, item));
  if (type.rawType === "map") {
    const entries = Object.entries(value as Record<string, unknown>);
    return Object.fromEntries(entries.map(([key, item]) => [key, plainJson((parts[1] as Part).type, item)]));
  }
  return Object.fromEntries(
    parts.map(({ name, type: of }, index) => [name, plainJson(of, (value as unknown[])[index])]),
  );
}

/** Casts the columns of carriers, which have the names of {@link carrierName}, to a result's columns. */
export function selectList(columns: readonly TrinoColumn[]): string {
  return columns
    .map(({ name, typeSignature }, index) => {
      const { cast } = columnForm(typeSignature);
      return `${cast(carrierName(index))} AS ${ident(name)}`;
    })
    .join(", ");
}

export function carrierName(index: number): string {
  return `c${index}`;
}
