import fc from "fast-check";
import { expect, test } from "vitest";
import { Session } from "../../src/db/session/session.js";
import { selectList } from "../../src/trino/column-type.js";
import { parsePage, type TrinoColumn, type TypeSignature } from "../../src/trino/parse-page.js";
import { pageBatch } from "../../src/trino/trino-engine.js";

test("int64 and doubles are exact, texts are untouched", () => {
  const digits = fc.stringMatching(/^[-0-9.eE",:[\]\\ ]{0,40}$/);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.double(), digits)),
      (rows) => {
        const number = (x: number): string => (Number.isFinite(x) ? String(x).replace("e", "E") : `"${x}"`);
        const data = rows.map(
          ([whole, double, text]) => `[${whole},${number(double)},${JSON.stringify(text)}]`,
        );
        const page = parsePage(`{"id":"q","data":[${data.join(", ")}]}`);
        expect(
          page.data?.map(([whole, double, text]) => [BigInt(whole as number), Number(double), text]),
        ).toEqual(rows.map(([whole, double, text]) => [whole, Object.is(double, -0) ? 0 : double, text]));
      },
    ),
  );
});

const type = (rawType: string, ...numbers: number[]): TypeSignature => ({
  rawType,
  arguments: numbers.map((value) => ({ kind: "LONG", value })),
});
const arrayOf = (value: TypeSignature): TypeSignature => ({
  rawType: "array",
  arguments: [{ kind: "TYPE", value }],
});

test("values come with DuckDB's types", async () => {
  const row: TypeSignature = {
    rawType: "row",
    arguments: [
      { kind: "NAMED_TYPE", value: { fieldName: { name: 'a "b"' }, typeSignature: type("bigint") } },
      { kind: "NAMED_TYPE", value: { typeSignature: arrayOf(type("date")) } },
    ],
  };
  const map: TypeSignature = {
    rawType: "map",
    arguments: [
      { kind: "TYPE", value: type("varchar", 10) },
      { kind: "TYPE", value: row },
    ],
  };
  const cells: [signature: TypeSignature, value: unknown, type: string, text: string][] = [
    [type("bigint"), "9223372036854775807", "BIGINT", "9223372036854775807"],
    [type("tinyint"), -7, "TINYINT", "-7"],
    [type("double"), "NaN", "DOUBLE", "nan"],
    [type("double"), 5e-324, "DOUBLE", "5e-324"],
    [type("real"), 0.1, "FLOAT", "0.1"],
    [
      type("decimal", 38, 4),
      "1234567890123456789012345678901234.5678",
      "DECIMAL(38,4)",
      "1234567890123456789012345678901234.5678",
    ],
    [type("boolean"), true, "BOOLEAN", "true"],
    [type("varchar", 3), "价\u0000格", "VARCHAR", "价\u0000格"],
    [type("date"), "0001-01-01", "DATE", "0001-01-01"],
    [type("timestamp", 6), "2020-01-02 03:04:05.000001", "TIMESTAMP", "2020-01-02 03:04:05.000001"],
    [type("timestamp", 9), "2020-01-02 03:04:05.000000001", "TIMESTAMP_NS", "2020-01-02 03:04:05.000000001"],
    [
      type("timestamp with time zone", 3),
      "2020-01-02 03:04:05.123 Asia/Shanghai",
      "TIMESTAMP WITH TIME ZONE",
      "2020-01-01 19:04:05.123+00",
    ],
    [
      type("timestamp with time zone", 12),
      "2020-01-02 03:04:05.123456789012 UTC",
      "VARCHAR",
      "2020-01-02 03:04:05.123456789012 UTC",
    ],
    [type("varbinary"), "AP8=", "BLOB", "\\x00\\xFF"],
    [type("uuid"), "12151fd2-7586-11e9-8f9e-2a86e4085a59", "UUID", "12151fd2-7586-11e9-8f9e-2a86e4085a59"],
    [arrayOf(type("double")), [1.5, null], "DOUBLE[]", "[1.5, NULL]"],
    [
      map,
      { k: ["9007199254740993", ["2020-01-02"]] },
      'MAP(VARCHAR, STRUCT("a ""b""" BIGINT, _2 DATE[]))',
      "{k={'a \"b\"': 9007199254740993, '_2': [2020-01-02]}}",
    ],
    [type("ipaddress"), "10.0.0.1", "VARCHAR", "10.0.0.1"],
  ];
  const columns = cells.map(
    ([typeSignature], index): TrinoColumn => ({ name: `x${index}`, type: "", typeSignature }),
  );
  const rows = [cells.map(([, value]) => value), cells.map(() => null)];
  using session = await Session.open({ threads: 1 });
  const page = { columns, rows, updateType: undefined, updateCount: undefined };
  await session.withBatch(pageBatch(page), async (batch) => {
    const query = `SELECT ${selectList(columns)} FROM ${batch}`;
    const described = await session.json<{ column_type: string }>(`DESCRIBE ${query}`);
    expect(described.map((one) => one.column_type)).toEqual(cells.map(([, , of]) => of));
    const texts = await session.json(
      `SELECT ${cells.map((_, i) => `CAST(x${i} AS VARCHAR) AS x${i}`).join(", ")} FROM (${query})`,
    );
    expect(Object.values(texts[0] ?? {})).toEqual(cells.map(([, , , text]) => text));
    expect(Object.values(texts[1] ?? {})).toEqual(cells.map(() => null));
  });
});
