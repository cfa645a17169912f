import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ShellSession } from "../../../../src/cli/shell/shell-session.js";
import { lakePlace } from "../../../../src/cli/shell/sql-place.js";
import { LakeError } from "../../../../src/core/errors.js";
import { RowReader } from "../../../../src/db/result/row-reader.js";
import type { Session } from "../../../../src/db/session/session.js";
import { Lake } from "../../../../src/lake/lake.js";
import { openReader, queryArrow } from "../../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { runCli } from "../../../cli/run-cli.js";
import { once } from "../../../once.js";
import { pickFrom } from "../../../sweep.js";
import { land, openSession, temporaryLake } from "../../temporary-lake.js";

/** A lake with daily bars of 2023 and 2024; the file of 2024 has a changed byte that does not change its rows. */
async function damagedLake(where: "rows" | "footer" = "rows"): Promise<Lake> {
  const lake = temporaryLake();
  const session = await openSession();
  await land(session, lake, BARS_1D, [{ at: "2023-03-06T16:00:00Z" }, { at: "2024-03-06T16:00:00Z" }]);
  const folder = join(lake.location, "bars_1d", "region=CN", "year=2024");
  const path = join(folder, readdirSync(folder)[0] as string);
  const bytes = readFileSync(path);
  bytes[where === "rows" ? 0 : bytes.indexOf("DuckDB")] = "X".charCodeAt(0);
  writeFileSync(path, bytes);
  return new Lake(lake.location);
}

const DAMAGED = /^table bars_1d: region=CN\/year=2024\/p-\S+\.parquet is not what was written: its hash is /;
const SOUND_QUERY = "SELECT symbol, close FROM bars_1d WHERE trade_date < '2024-01-01'";
const DAMAGED_QUERY = "SELECT symbol, close FROM bars_1d WHERE year = 2024";

/** Each way in which rows leave a session. */
const WAYS: Readonly<Record<string, (session: Session, sql: string) => Promise<unknown>>> = {
  run: (session, sql) => session.run(`CREATE OR REPLACE TEMP TABLE found AS ${sql}`),
  rows: (session, sql) => session.rows(sql),
  json: (session, sql) => session.json(sql),
  preview: (session, sql) => session.preview(sql, 1),
  result: (session, sql) => session.result(sql, new Map(), 1),
  read: async (session, sql) => (await session.read(sql)).take(10),
  value: (session, sql) => session.value(`(SELECT any_value(close) FROM (${sql}))`, new Map()),
  batches: async (session, sql) => {
    for await (const batch of await session.batches(sql)) expect(batch.numRows).toBeLessThan(2);
  },
};

once("a result of a damaged file is an error, on every way that its rows leave", async () => {
  const { session } = await openReader(await damagedLake(), { threads: 1, statement: DAMAGED_QUERY });
  using reader = session;
  for (const [name, way] of Object.entries(WAYS)) {
    const error: unknown = await way(reader, DAMAGED_QUERY).catch((reason: unknown) => reason);
    expect(error, name).toBeInstanceOf(LakeError);
    const hint = expect.stringContaining("barlake repair");
    expect(error, name).toMatchObject({ message: expect.stringMatching(DAMAGED), hint });
    // The file is still damaged for the next statement; a query of other files, and only this file's footer, succeeds.
    await expect(reader.json(DAMAGED_QUERY), name).rejects.toThrow(DAMAGED);
    await expect(reader.json(SOUND_QUERY), name).resolves.toHaveLength(1);
  }
  // A pivot is two statements for DuckDB.
  const pivot = (sql: string): string => `PIVOT (${sql}) ON symbol USING max(close)`;
  for (const name of ["json", "read", "batches"]) {
    await expect(WAYS[name]?.(reader, pivot(DAMAGED_QUERY)), name).rejects.toThrow(DAMAGED);
    await expect(WAYS[name]?.(reader, pivot(SOUND_QUERY)), name).resolves.not.toThrow();
  }
});

test("what a statement stored of a damaged file is rolled back", async () => {
  const lake = await damagedLake();
  const { session } = await openReader(lake, { threads: 1 });
  using reader = session;
  await reader.run("CREATE TEMP TABLE sound AS SELECT 1.5::DOUBLE AS close");
  const file = join(lake.location, "found.csv");
  const statements = [
    "CREATE TEMP TABLE found AS SELECT close FROM bars_1d",
    "INSERT INTO sound SELECT close FROM bars_1d",
    "INSERT INTO sound SELECT close FROM bars_1d RETURNING close",
    "UPDATE sound SET close = (SELECT max(close) FROM bars_1d)",
    "DELETE FROM sound WHERE close < (SELECT max(close) FROM bars_1d)",
    "CREATE TABLE found AS PIVOT (SELECT region, close, year FROM bars_1d) ON year USING max(close)",
    "EXECUTE storing",
    "EXPLAIN ANALYZE INSERT INTO sound SELECT close FROM bars_1d",
    `COPY (FROM bars_1d) TO '${file}'`,
    `COPY (FROM bars_1d) TO '${file}.d' (FORMAT parquet, PARTITION_BY (region))`,
    "EXECUTE copying",
    "SET VARIABLE max_close = (SELECT max(close) FROM bars_1d)",
    "SET VARIABLE other = (SELECT max(close) FROM bars_1d)",
  ];
  await reader.run("PREPARE storing AS INSERT INTO sound SELECT close FROM bars_1d");
  await reader.run(`PREPARE copying AS COPY (FROM bars_1d) TO '${file}'`);
  await reader.run("SET VARIABLE max_close = [1.5, 2.25]");
  const shell = new ShellSession(lakePlace(reader, lake), {
    settings: { mode: "lines", limit: 1, timing: false },
    isInteractive: false,
  });
  shell.print = () => {};
  const ways: Readonly<Record<string, (sql: string) => Promise<unknown>>> = {
    run: (sql) => reader.run(sql),
    "run with values": (sql) => reader.run(sql, []),
    read: (sql) => reader.read(sql),
    json: (sql) => reader.json(sql),
    batches: async (sql) => {
      for await (const batch of await reader.batches(sql)) expect(batch.numRows).toBeLessThan(2);
    },
    result: (sql) => reader.result(sql, new Map(), 1),
    shell: (sql) => shell.runStatement(sql),
  };
  for (const [n, [name, way]] of Object.entries(ways).entries()) {
    // Each way runs some of the statements, and each statement is run in some of the ways.
    for (const sql of pickFrom(statements, { few: 2, more: 13, all: 13 }, [n, n + 6])) {
      const read = `${name}: ${sql}`;
      await expect(way(sql).then(take), read).rejects.toThrow(DAMAGED);
      await expect(reader.json("FROM found"), read).rejects.toThrow("found does not exist");
      expect(await reader.json("FROM sound"), read).toEqual([{ close: 1.5 }]);
      expect(filesUnder(lake.location), read).not.toContainEqual(expect.stringContaining("found.csv"));
      const variables = await reader.json("SELECT name, value FROM duckdb_variables()");
      expect(variables, read).toEqual([{ name: "max_close", value: "[1.50, 2.25]" }]);
    }
    // A transaction of the user ends with its statement.
    await way("BEGIN");
    await way("INSERT INTO sound VALUES (2.5)");
    await expect(way(statements[1] as string).then(take), name).rejects.toThrow(DAMAGED);
    expect(await reader.json("FROM sound"), name).toEqual([{ close: 1.5 }]);
  }
  // Statements on sound files, and their own errors, are as without a check.
  await expect(reader.run("INSERT INTO sound VALUES ('x')")).rejects.toThrow("Conversion Error");
  expect(await reader.json("INSERT INTO sound SELECT 3 RETURNING close")).toEqual([{ close: 3 }]);
  await shell.runStatement(
    "CREATE TEMP TABLE found AS SELECT close FROM bars_1d WHERE trade_date < '2024-01-01'",
  );
  expect(await reader.json("FROM found")).toEqual([{ close: 10.5 }]);
});

once(
  "a failed statement, and a database that is detached, lose no files of the user to the check of the next one",
  async () => {
    const lake = await damagedLake();
    const { session } = await openReader(lake, { threads: 1 });
    using reader = session;
    const file = join(lake.location, "mine.parquet");
    await reader.run(`COPY (SELECT 1 AS one) TO '${file}'`);
    const failing = `SELECT close, CASE WHEN close > 0 THEN error('own') END FROM bars_1d`;
    const late = "SELECT CASE WHEN i > 500000 THEN error('own') ELSE i END AS i FROM range(1000000) t(i)";
    for (const next of ["FROM bars_1d", "CREATE TEMP TABLE found AS FROM bars_1d"]) {
      for (const query of [failing, late])
        await expect(reader.run(`COPY (${query}) TO '${file}' (ROW_GROUP_SIZE 2048)`)).rejects.toThrow("own");
      await expect(reader.json(next)).rejects.toThrow(DAMAGED);
      expect(await reader.json(`FROM '${file}'`)).toEqual([{ one: 1 }]);
    }
    // What failed is checked before the next statement replaces a file.
    await expect(reader.json(failing)).rejects.toThrow("own");
    await reader.run(`COPY (SELECT 2 AS one) TO '${file}'`).catch(() => {});
    expect(existsSync(file)).toBe(true);
    const database = join(lake.location, "mine.duckdb");
    await reader.run(`ATTACH '${database}' AS mine`);
    await reader.run("CREATE TABLE mine.one AS SELECT 1 AS one");
    await reader.run("DETACH mine");
    await expect(reader.json("CREATE TEMP TABLE found AS FROM bars_1d")).rejects.toThrow(DAMAGED);
    expect(existsSync(database)).toBe(true);
    const all = `ATTACH '${database}' AS mine; CREATE TABLE mine.two AS FROM bars_1d; DETACH mine`;
    await reader.run(all).catch(() => {});
    expect(existsSync(database)).toBe(true);
  },
);

/** The files under a folder, with those of its folders. */
function filesUnder(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Reads a result to its end. */
async function take(result: unknown): Promise<void> {
  if (result instanceof RowReader) await result.take(10);
}

once("a result is an error where a damaged footer said that a file has no rows for it", async () => {
  const lake = await damagedLake("footer");
  const { session } = await openReader(lake, { threads: 1 });
  using reader = session;
  const damaged =
    /^table bars_1d: region=CN\/year=2024\/p-\S+ is not what was written: its footer is damaged$/;
  const pruned = "SELECT close FROM bars_1d WHERE close > 1000";
  for (const name of ["json", "json", "read", "preview"])
    await expect(WAYS[name]?.(reader, pruned), name).rejects.toThrow(damaged);
  await expect(reader.json("SELECT count(*) FROM bars_1d")).rejects.toThrow(damaged);
  expect(await reader.json("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  const { session: blind } = await openReader(lake, { threads: 1, verify: false });
  using other = blind;
  expect(await other.json(pruned)).toEqual([]);
});

once("batches end in the error, and are whole where nobody verifies", async () => {
  const lake = await damagedLake();
  const rows = async (verify: boolean): Promise<number> => {
    let count = 0;
    for await (const batch of queryArrow(lake, "FROM bars_1d", { verify })) count += batch.numRows;
    return count;
  };
  await expect(rows(true)).rejects.toThrow(DAMAGED);
  expect(await rows(false)).toBe(2);
});

once("barlake sql shows and writes nothing of a damaged file, unless --no-verify is set", async () => {
  const lake = await damagedLake();
  const sql = (...parameters: string[]) =>
    runCli(["sql", ...parameters], { cwd: lake.location, env: { BARLAKE_LAKE: lake.location } });
  for (const output of [
    ["--limit", "1"],
    ["--format", "csv"],
  ]) {
    const ended = await sql("FROM bars_1d", ...output);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain("is not what was written");
    expect(ended.stderr).toContain("barlake repair");
  }
  for (const file of ["x.parquet", "x.arrow", "x.txt"])
    expect(await sql("FROM bars_1d", "-o", file)).toMatchObject({ code: 1 });
  expect(readdirSync(lake.location).filter((name) => name.startsWith("x."))).toEqual([]);
  expect(await sql(SOUND_QUERY, "--format", "csv")).toMatchObject({
    code: 0,
    stdout: "symbol,close\n600519.SH,10.5\n",
  });
  const blind = await sql(DAMAGED_QUERY, "--format", "csv", "--no-verify");
  expect(blind).toMatchObject({ code: 0, stdout: "symbol,close\n600519.SH,10.5\n", stderr: "" });
});
