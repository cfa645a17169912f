import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { literal } from "../../../src/db/quote.js";
import { Session } from "../../../src/db/session/session.js";
import { NO_ROWS, parquetRelation } from "../../../src/db/views/parquet-relation.js";
import type { Column, TableSchema } from "../../../src/schema/column.js";
import { openSession, temporaryFolder } from "../../lake/temporary-lake.js";

const COLUMNS: readonly Column[] = [
  { name: "id", type: "int64", doc: "" },
  { name: "it's", type: "double", nullable: true, doc: "" },
  { name: "region", type: "string", nullable: true, doc: "" },
];
const TABLE: TableSchema = {
  name: "things",
  doc: "",
  columns: COLUMNS,
  key: ["id"],
  sort: ["id"],
  partition: ["region"],
  stats: [],
  known: { by: "minutes" },
};
const OPEN: TableSchema = { ...TABLE, open: true };

async function write(session: Session, path: string, rows: string): Promise<string> {
  mkdirSync(dirname(path), { recursive: true });
  await session.run(`COPY (${rows}) TO ${literal(path)} (FORMAT parquet)`);
  return path;
}

test.each([["a table", TABLE] as const, ["a table of mixed files", OPEN] as const])(
  "%s has the rows of its files, with the values of their folders and, where asked, their names",
  async (_, table) => {
    const [session, folder] = [await openSession(), temporaryFolder()];
    const urls = [
      await write(session, join(folder, "region=CN/a'b.parquet"), `SELECT 1::BIGINT AS id, 0.5 AS "it's"`),
      await write(session, join(folder, "region=H%20K/b.parquet"), `SELECT 2::BIGINT AS id, 1.5 AS "it's"`),
      await write(
        session,
        join(folder, "region=__HIVE_DEFAULT_PARTITION__/c.parquet"),
        `SELECT 3::BIGINT AS id, 2.5 AS "it's"`,
      ),
    ];
    const relation = await parquetRelation(
      session,
      { table, columns: COLUMNS, urls, isMixed: table === OPEN },
      { withFile: true },
    );
    expect(await session.json(`SELECT * FROM (${relation}) ORDER BY id`)).toEqual([
      { id: 1n, "it's": 0.5, region: "CN", live_file: urls[0] },
      { id: 2n, "it's": 1.5, region: "H K", live_file: urls[1] },
      { id: 3n, "it's": 2.5, region: null, live_file: urls[2] },
    ]);
  },
);

test("a column of mixed files is null where a file has none, and has its declared type where all have another", async () => {
  const [session, folder] = [await openSession(), temporaryFolder()];
  const urls = [
    await write(session, join(folder, "region=CN/a.parquet"), "SELECT 1::INTEGER AS id, 9 AS unknown"),
    await write(
      session,
      join(folder, "region=CN/b.parquet"),
      `SELECT 2::INTEGER AS id, 3::INTEGER AS "it's"`,
    ),
  ];
  const relation = await parquetRelation(session, { table: OPEN, columns: COLUMNS, urls, isMixed: true });
  expect(await session.json(`SELECT *, typeof("it's") AS type FROM (${relation}) ORDER BY id`)).toEqual([
    { id: 1n, "it's": null, region: "CN", type: "DOUBLE" },
    { id: 2n, "it's": 3, region: "CN", type: "DOUBLE" },
  ]);
});

test("to bind mixed files opens none of them", async () => {
  const [session, folder] = [await openSession(), temporaryFolder()];
  const broken = join(folder, "region=CN/broken.parquet");
  mkdirSync(dirname(broken), { recursive: true });
  writeFileSync(broken, "not a Parquet file");
  const files = { columns: COLUMNS, urls: [broken], isMixed: true };
  const relation = await parquetRelation(session, { ...files, table: OPEN });
  await session.run(`CREATE VIEW things AS ${relation}`);
  expect(await session.json("SELECT column_name, column_type FROM (DESCRIBE things)")).toEqual([
    { column_name: "id", column_type: "BIGINT" },
    { column_name: "it's", column_type: "DOUBLE" },
    { column_name: "region", column_type: "VARCHAR" },
  ]);
  await expect(session.json("FROM things")).rejects.toThrow(/broken\.parquet/);
});

test("a single remote file is read with all threads, except by a database that other clients open", async () => {
  const [session, folder] = [await openSession(), temporaryFolder()];
  const url = await write(
    session,
    join(folder, "region=CN/a.parquet"),
    `SELECT 1::BIGINT AS id, 2.0 AS "it's"`,
  );
  const files = { table: TABLE, columns: COLUMNS, urls: [url], isMixed: false, isRemote: true };
  const relation = await parquetRelation(session, files, { withFile: true });
  expect(relation).toContain(NO_ROWS);
  expect(await session.json(relation)).toEqual([{ id: 1n, "it's": 2, region: "CN", live_file: url }]);
  using published = await Session.open({ path: join(folder, "lake.duckdb") });
  const alone = await parquetRelation(published, files, { withFile: true });
  expect(alone).not.toContain(NO_ROWS);
  expect(await published.json(alone)).toEqual([{ id: 1n, "it's": 2, region: "CN", live_file: url }]);
});

test.each([TABLE, OPEN])("without files, a table has its columns and no rows", async (table) => {
  const session = await openSession();
  const relation = await parquetRelation(
    session,
    { table, columns: COLUMNS, urls: [], isMixed: table === OPEN },
    { withFile: true },
  );
  expect(await session.json(relation)).toEqual([]);
  expect(await session.json(`SELECT column_type FROM (DESCRIBE ${relation})`)).toEqual(
    ["BIGINT", "DOUBLE", "VARCHAR", "VARCHAR"].map((column_type) => ({ column_type })),
  );
});

test.each([TABLE, OPEN])("the work of listing files is linear in their number", async (table) => {
  const session = await openSession();
  const work = async (count: number): Promise<number> => {
    const urls = Array.from({ length: count }, (_, n) => `/lake/region=CN/p-${n}.parquet`);
    const viewed = { table, columns: COLUMNS, urls, isMixed: table === OPEN };
    return visitsOf(async () => void (await parquetRelation(session, viewed)));
  };
  expect(await work(4000)).toBeLessThan(5 * (await work(1000)));
});

/** The number of elements of arrays that some work copies or iterates over. */
async function visitsOf(work: () => Promise<void>): Promise<number> {
  const iterate = Array.prototype[Symbol.iterator];
  let visits = 0;
  const counted = function (this: unknown[]): ArrayIterator<unknown> {
    visits += this.length;
    return iterate.call(this);
  };
  const setIterator = (value: unknown): boolean => Reflect.set(Array.prototype, Symbol.iterator, value);
  setIterator(counted);
  try {
    await work();
  } finally {
    setIterator(iterate);
  }
  return visits;
}
