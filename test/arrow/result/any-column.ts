import fc from "fast-check";

/** A column of a type, as SQL: what its value in row `i` is. */
export interface AnyColumn {
  readonly type: string;
  /** @param i an integer expression. */
  readonly valueOf: (i: string) => string;
}

const bits = (i: string, seed: number): string => `hash((${i}) * 31 + ${seed})`;
const whole = (type: string, span: string, least: string): AnyColumn => ({
  type,
  valueOf: (i) => `((${bits(i, 1)} % ${span})::HUGEINT + ${least})::${type}`,
});
const cast = (type: string, valueOf: (i: string) => string): AnyColumn => ({
  type,
  valueOf: (i) => `(${valueOf(i)})::${type}`,
});

/** Texts up to and beyond the 12 bytes that DuckDB keeps in its vectors, of one to four bytes a character. */
const text = (i: string): string =>
  `left(repeat(['a', 'é', '券', '🐟', '''', chr(0)][(${bits(i, 2)} % 6)::INT + 1], 9) || (${i})::VARCHAR, (${bits(i, 3)} % 14)::INT)`;

const SCALARS: readonly AnyColumn[] = [
  cast("BOOLEAN", (i) => `${bits(i, 4)} % 2 = 0`),
  whole("TINYINT", "256", "-128"),
  whole("SMALLINT", "65536", "-32768"),
  whole("INTEGER", "4294967296", "-2147483648"),
  whole("BIGINT", "18446744073709551615", "-9223372036854775808"),
  whole("UTINYINT", "256", "0"),
  whole("USMALLINT", "65536", "0"),
  whole("UINTEGER", "4294967296", "0"),
  whole("UBIGINT", "18446744073709551615", "1"),
  cast(
    "HUGEINT",
    (i) =>
      `(${bits(i, 5)}::HUGEINT - 9223372036854775808) * 9000000000000000000 + (${bits(i, 6)} % 1000)::HUGEINT`,
  ),
  cast("UHUGEINT", (i) => `${bits(i, 7)}::UHUGEINT * 5000000000000000000::UHUGEINT`),
  cast("FLOAT", (i) => `(${bits(i, 8)}::DOUBLE - 9e18) / 7e12`),
  cast(
    "DOUBLE",
    (i) => `CASE ${bits(i, 9)} % 5 WHEN 0 THEN 'nan' WHEN 1 THEN '-inf' WHEN 2 THEN '-0' ELSE '1e-310' END`,
  ),
  cast("DOUBLE", (i) => `(${bits(i, 9)}::DOUBLE - 9e18) / 3e9`),
  ...(["4,2", "9,0", "18,7", "38,10"] as const).map((size) =>
    cast(`DECIMAL(${size})`, (i) => `((${bits(i, 10)} % 9999)::HUGEINT - 5000)::DECIMAL(38,2) / 100`),
  ),
  cast("DECIMAL(38,3)", (i) => `(${bits(i, 11)}::HUGEINT - 9223372036854775808) * 10000000000000000`),
  cast("VARCHAR", text),
  cast("BLOB", (i) => `encode(${text(i)})`),
  cast("UUID", (i) => `md5((${i})::VARCHAR)`),
  cast(
    "ENUM('low', 'high', 'a word of more than twelve bytes')",
    (i) => `['high', 'low', 'a word of more than twelve bytes'][(${bits(i, 12)} % 3)::INT + 1]`,
  ),
  cast("DATE", (i) => `DATE '1970-01-01' + (${bits(i, 13)} % 100000)::INT - 50000`),
  cast("TIME", (i) => `TIME '00:00' + to_microseconds((${bits(i, 14)} % 86400000000)::BIGINT)`),
  cast("TIMESTAMP", (i) => `make_timestamp((${bits(i, 15)} % 4000000000000001)::BIGINT - 2000000000000001)`),
  cast(
    "TIMESTAMPTZ",
    (i) => `make_timestamptz((${bits(i, 15)} % 4000000000000001)::BIGINT - 2000000000000001)`,
  ),
  cast("TIMESTAMP_S", (i) => `make_timestamp((${bits(i, 16)} % 4000000)::BIGINT * 1000000 - 999000000)`),
  cast("TIMESTAMP_MS", (i) => `make_timestamp((${bits(i, 16)} % 4000000)::BIGINT * 1000 - 999000)`),
  cast(
    "TIMESTAMP_NS",
    (i) => `make_timestamp_ns((${bits(i, 17)} % 4000000000000001)::BIGINT - 2000000000000001)`,
  ),
  cast(
    "INTERVAL",
    (i) =>
      `to_months((${bits(i, 18)} % 99)::INT - 50) + to_days((${bits(i, 19)} % 99)::INT) + to_microseconds((${bits(i, 20)} % 999999999)::BIGINT)`,
  ),
];

const orNull = ({ type, valueOf }: AnyColumn, seed: number, each: number): AnyColumn => ({
  type,
  valueOf: (i) => (each === 0 ? valueOf(i) : `[${valueOf(i)}][(${bits(i, seed)} % ${each} = 0)::INT + 1]`),
});

const anyNullable = (column: fc.Arbitrary<AnyColumn>): fc.Arbitrary<AnyColumn> =>
  fc
    .tuple(column, fc.nat({ max: 999 }), fc.constantFrom(0, 0, 1, 2, 7, 5000))
    .map(([found, seed, each]) => orNull(found, seed, each));

const anyScalar = anyNullable(fc.constantFrom(...SCALARS));

let depth = 0;
const anyNested = (inner: fc.Arbitrary<AnyColumn>): fc.Arbitrary<AnyColumn> =>
  anyNullable(
    fc.oneof(
      inner.map((item) => ({
        type: `${item.type}[]`,
        valueOf: (i: string) => {
          const x = `x${depth++}`;
          return `list_transform(range((${bits(i, 21)} % 4)::BIGINT), lambda ${x}: ${item.valueOf(`${x} + ${i}`)})`;
        },
      })),
      inner.map((item) => ({
        type: `${item.type}[3]`,
        valueOf: (i: string) =>
          `[${[0, 1, 2].map((n) => item.valueOf(`${i} + ${n}`)).join(", ")}]::${item.type}[3]`,
      })),
      fc.tuple(inner, inner).map(([a, b]) => ({
        type: `STRUCT(a ${a.type}, "b c" ${b.type})`,
        valueOf: (i: string) => `{'a': ${a.valueOf(i)}, 'b c': ${b.valueOf(i)}}`,
      })),
      inner.map((item) => ({
        type: `MAP(BIGINT, ${item.type})`,
        valueOf: (i: string) => {
          const [x, n] = [`x${depth++}`, `range((${bits(i, 22)} % 3)::BIGINT)`];
          return `map(${n}, list_transform(${n}, lambda ${x}: ${item.valueOf(`${x} + ${i}`)}))`;
        },
      })),
    ),
  );

/** A column of any type that Arrow has, two levels deep at most, with no nulls, some, or nothing else. */
export const anyColumn: fc.Arbitrary<AnyColumn> = fc.oneof(
  { weight: 3, arbitrary: anyScalar },
  { weight: 2, arbitrary: anyNested(anyScalar) },
  { weight: 1, arbitrary: anyNested(anyNested(anyScalar)) },
);

/** Each scalar type once, with and without nulls. */
export const EVERY_SCALAR: readonly AnyColumn[] = SCALARS.flatMap((column, seed) => [
  column,
  orNull(column, seed, 3),
]);

/** A query of columns over so many rows. */
export function queryOf(columns: readonly AnyColumn[], rows: number): string {
  const selected = columns.map((column, index) => `${column.valueOf("i")} AS c${index}`);
  return `SELECT ${selected.join(", ")} FROM range(${rows}) t(i)`;
}
