import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ResultColumn, readColumns, visitRows } from "../../../src/arrow/scan/result-columns.js";
import { Session } from "../../../src/db/session/session.js";

let session: Session;
beforeAll(async () => {
  session = await Session.open();
});
afterAll(() => session.close());

function isPresent({ validity }: Pick<ResultColumn<"double">, "validity">, row: number): boolean {
  return validity === undefined || ((validity[row >> 3] as number) & (1 << (row & 7))) !== 0;
}

test("reads every width, over several vectors, with nulls where they are", async () => {
  const rows = 2048 * 3 + 17;
  const result = await session.run(
    `SELECT CAST(i AS INTEGER) AS i, CASE WHEN i % 7 = 3 THEN NULL ELSE -i * 4294967297 END AS l,
       CASE WHEN i BETWEEN 2000 AND 2100 THEN NULL ELSE i / 3 END AS d
     FROM range(${rows}) t(i) ORDER BY i`,
  );
  const read = await readColumns(result, { i: "int32", l: "int64", d: "double" });
  expect(read.rows).toBe(rows);
  const { i, l, d } = read.columns;
  expect(i.validity).toBeUndefined();
  const differ: number[] = [];
  for (let row = 0; row < rows; row++) {
    const [hasL, hasD] = [row % 7 !== 3, row < 2000 || row > 2100];
    const isSame =
      i.values[row] === row &&
      isPresent(l, row) === hasL &&
      (!hasL || l.values[row] === BigInt(-row) * 4294967297n) &&
      isPresent(d, row) === hasD &&
      (!hasD || d.values[row] === row / 3);
    if (!isSame) differ.push(row);
  }
  expect(differ).toEqual([]);
});

test("gives doubles and 64-bit integers bit for bit", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ d: fc.double(), l: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) }), {
        minLength: 1,
        maxLength: 20,
      }),
      async (rows) => {
        const values = rows.map((_, i) => `($d${i}::VARCHAR::DOUBLE, $l${i}::BIGINT)`).join(", ");
        const bound = Object.fromEntries(
          rows.flatMap(({ d, l }, i) => [
            [`d${i}`, Object.is(d, -0) ? "-0.0" : String(d)],
            [`l${i}`, l],
          ]),
        );
        const result = await session.run(`SELECT * FROM (VALUES ${values}) t(d, l)`, bound);
        const { columns } = await readColumns(result, { d: "double", l: "int64" });
        for (const [i, { d, l }] of rows.entries()) {
          expect(columns.d.values[i]).toBe(d);
          expect(columns.l.values[i]).toBe(l);
        }
      },
    ),
    { numRuns: 30 },
  );
});

test("reads chunks of any size, one behind the other", async () => {
  const parts = [1, 5, 2048, 3, 700].map(
    (rows, part) =>
      `SELECT ${part} AS part, CASE WHEN i % 2 = 0 THEN i::DOUBLE END AS d FROM range(${rows}) t(i)`,
  );
  const result = await session.run(`SELECT part, d FROM (${parts.join(" UNION ALL ")}) ORDER BY part, d`);
  const { rows, columns } = await readColumns(result, { part: "int32", d: "double" });
  expect(rows).toBe(1 + 5 + 2048 + 3 + 700);
  const present = Array.from({ length: rows }, (_, row) => isPresent(columns.d, row)).filter(Boolean);
  expect(present).toHaveLength(1 + 3 + 1024 + 2 + 350);
});

test("a column without a value takes no memory for values", async () => {
  const result = await session.run("SELECT i::INTEGER AS i, NULL::DOUBLE AS d FROM range(5000) t(i)");
  const { rows, columns } = await readColumns(result, { i: "int32", d: "double" });
  expect(rows).toBe(5000);
  expect(columns.i.values).toHaveLength(5000);
  expect(columns.d.values).toHaveLength(0);
  expect(Array.from({ length: rows }, (_, row) => isPresent(columns.d, row))).not.toContain(true);
});

test("a column's first value may come late", async () => {
  const result = await session.run(
    "SELECT CASE WHEN i >= 4500 THEN i::DOUBLE END AS d FROM range(5000) t(i) ORDER BY i",
  );
  const { columns } = await readColumns(result, { d: "double" });
  expect(isPresent(columns.d, 4499)).toBe(false);
  expect(isPresent(columns.d, 4500)).toBe(true);
  expect(columns.d.values[4999]).toBe(4999);
});

test("gives empty columns of an empty result", async () => {
  const read = await readColumns(await session.run("SELECT 1 AS a WHERE false"), { a: "int32" });
  expect(read.rows).toBe(0);
  expect(read.columns.a).toEqual({ values: new Int32Array(0), validity: undefined });
});

test("refuses a result of other columns or types", async () => {
  const query = () => session.run("SELECT 1 AS a, 2.5::DOUBLE AS b");
  await expect(query().then((result) => readColumns(result, { a: "int32" }))).rejects.toThrow(
    "result has the columns a, b; expected a",
  );
  await expect(query().then((result) => readColumns(result, { b: "double", a: "int32" }))).rejects.toThrow(
    TypeError,
  );
  await expect(query().then((result) => readColumns(result, { a: "int64", b: "double" }))).rejects.toThrow(
    "column a: is INTEGER; expected int64",
  );
});

describe("rows of a streaming result", () => {
  const SHAPE = { n: "int32", a: "double", b: "double", c: "double", d: "double" } as const;
  const SQL = `SELECT range::INTEGER AS n, random() AS a, random() AS b, random() AS c, random() AS d FROM range(1_000_000)`;

  test("a visitor sees all rows in order, one vector at a time", async () => {
    let seen = 0;
    let isInOrder = true;
    let most = 0;
    await visitRows(await session.stream(SQL), SHAPE, (rows) => {
      const n = rows.values(0, "int32");
      for (let row = 0; row < rows.rows; row++) isInOrder &&= n[row] === seen + row;
      seen += rows.rows;
      most = Math.max(most, rows.rows);
    });
    expect({ seen, isInOrder, most }).toEqual({ seen: 1_000_000, isInOrder: true, most: 2048 });
  });

  test("a complete result is refused", async () => {
    const complete = await session.run("SELECT 1 AS n");
    await expect(visitRows(complete, { n: "int32" }, () => {})).rejects.toThrow(/is complete/);
  });

  test("a query that fails on the way throws", async () => {
    const sql = `SELECT CASE WHEN range = 900_000 THEN error('broken') ELSE range END::INTEGER AS n FROM range(1_000_000)`;
    const visit = async (): Promise<void> => visitRows(await session.stream(sql), { n: "int32" }, () => {});
    await expect(visit()).rejects.toThrow(/broken/);
  });
});
