import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { QueryError } from "../../../src/core/errors.js";
import type { QueryEngine } from "../../../src/db/query-engine.js";
import type { Lake } from "../../../src/lake/lake.js";
import { PieceQueue } from "../../../src/ui/http/notebook-routes.js";
import { LakeStates } from "../../../src/ui/session/lake-states.js";
import { forbiddenBy, openLocked, sandboxedEngine } from "../../../src/ui/session/open-locked.js";
import { sessionLimits } from "../../../src/ui/session/session-limits.js";
import { SessionReaders } from "../../../src/ui/session/session-readers.js";
import { apiLake } from "../../api/api-lake.js";

const LIMITS = { memoryLimit: "64MB", threads: 1 };
const signal = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), "barlake-sandbox-"));
let lake: Lake;
let readers: SessionReaders;

beforeAll(async () => {
  lake = await apiLake(folder);
  readers = new SessionReaders(lake, lake.clock, LIMITS);
});
afterAll(async () => {
  await readers[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Runs statements as a notebook does. */
async function run(...statements: readonly string[]): Promise<number> {
  const state = await new LakeStates(lake).newest();
  using reader = await openLocked(lake, sessionLimits(LIMITS), state.pointInTime);
  const engine: QueryEngine = sandboxedEngine(reader.session);
  let rows = 0;
  for (const sql of statements) rows = (await engine.result(sql, new Map(), 10)).rows;
  return rows;
}

describe("runs", () => {
  test("what reads, and what changes the session alone", async () => {
    for (const [name, statements, rows] of PERMITTED) {
      const found = await run(...statements);
      if (rows === undefined) expect(found, name).toBeGreaterThan(1000);
      else expect(found, name).toBe(rows);
    }
  });
});

test("reads what was set aside", async () => {
  const row = {
    run_id: "r",
    dataset: "bars_1d",
    source: "a.csv",
    line: 3,
    symbol: "<img>",
    rule: "bad_symbol",
  };
  mkdirSync(join(folder, "rejects"));
  writeFileSync(join(folder, "rejects", "r.ndjson"), `${JSON.stringify(row)}\n`);
  expect(await run("FROM rejects WHERE symbol = '<img>'")).toBe(1);
  rmSync(join(folder, "rejects"), { recursive: true });
});

const PERMITTED: readonly (readonly [string, readonly string[], number | undefined])[] = [
  ["a view", ["FROM bars_1d"], undefined],
  ["a macro", ["SELECT * FROM adjusted('1w', 'forward') WHERE symbol = 'no.SH'"], 0],
  [
    "tables that it creates",
    ["CREATE TEMP TABLE t AS SELECT 1 AS a", "INSERT INTO t VALUES (2)", "FROM t"],
    2,
  ],
  ["a variable", ["SET VARIABLE v = 3", "SELECT getvariable('v')"], 1],
  ["a pivot", ["PIVOT (SELECT 'a' AS k, 1 AS v) ON k USING sum(v)"], 1],
  ["an explanation", ["EXPLAIN ANALYZE (SELECT 1)"], 1],
  ["the explanation of a pivot", ["EXPLAIN PIVOT (SELECT 'a' AS k, 1 AS v) ON k USING sum(v)"], 1],
  [
    "the explanation of a query with a pivot",
    ["EXPLAIN ANALYZE SELECT * FROM (PIVOT (SELECT 'a' AS k, 1 AS v) ON k USING sum(v))"],
    1,
  ],
  [
    "a table of a pivot",
    ["CREATE TABLE p AS PIVOT (SELECT 'a' AS k, 1 AS v) ON k USING sum(v)", "FROM p WHERE a = 1"],
    1,
  ],
  ["a query in parentheses", ["((SELECT 1))"], 1],
];

const inLake = (name: string): string => join(folder, "bars_1d", name);
const attacks = (): Readonly<Record<string, string>> => ({
  "a file of the machine": "FROM read_text('/etc/passwd')",
  "a file of the machine as a table": "FROM '/etc/passwd'",
  "a list of files": "FROM glob('/etc/*')",
  "a path out of the lake": `FROM read_text('${folder}/bars_1d/../../../../etc/passwd')`,
  "the views file of the lake": `FROM read_blob('${join(folder, "lake.duckdb")}')`,
  "an address of the network": "FROM 'http://127.0.0.1:1/x.parquet'",
  "a file that is written": "COPY (SELECT 1) TO '/tmp/barlake-ui-attack.csv'",
  "a file that is written in the lake": `COPY (SELECT 1) TO '${inLake("x.csv")}'`,
  "a written file that is explained": `EXPLAIN ANALYZE COPY (SELECT 1) TO '${inLake("x.csv")}'`,
  "a written file, with options": `EXPLAIN (FORMAT json) COPY (SELECT 1) TO '${inLake("x.csv")}'`,
  "a database in the lake": `ATTACH '${inLake("x.db")}'`,
  "an export": `EXPORT DATABASE '${inLake("x")}'`,
  "a prepared copy": `PREPARE p AS COPY (SELECT 1) TO '${inLake("x.csv")}'`,
  "a log in the lake": `SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_config = {'path': '${inLake("log")}'})`,
  "a log under a quoted name": `SELECT * FROM "Enable_Logging" ('QueryLog', storage = 'file', storage_config = {'path': '${inLake("log")}'})`,
  "a log within a text": `FROM query('SELECT * FROM enable_' || 'logging()')`,
  "a log in a macro": `CREATE MACRO m() AS TABLE SELECT * FROM enable_logging()`,
  "a log behind a comment": `SELECT * FROM enable_logging /* here */ -- there\n()`,
  "a second statement": `SELECT 1; COPY (SELECT 1) TO '${inLake("x.csv")}'`,
  "a second statement behind empty ones": `; ;SELECT 1;; COPY (SELECT 1) TO '${inLake("x.csv")}'`,
  "a statement behind a comment that a carriage return ends": `SELECT 1 -- note\r; COPY (SELECT 1) TO '${inLake("x.csv")}'`,
  "a function behind such a comment": `SELECT * FROM -- note\renable_logging()`,
  "a log within a serialized query": `FROM json_execute_serialized_sql(json_serialize_sql('FROM enable_logging(storage = ''file'', storage_path = ''${inLake("log")}'')'))`,
  "the end of the log of reads": "SELECT * FROM truncate_duckdb_logs()",
  "a call": "CALL truncate_duckdb_logs()",
  "a setting": "SET memory_limit = '100GB'",
  "a setting back": "RESET enable_external_access",
  "a setting as a pragma": "PRAGMA threads = 64",
  "an extension that is installed": "INSTALL httpfs",
  "an extension that is loaded": "LOAD '/tmp/x.duckdb_extension'",
  "a secret": "CREATE OR REPLACE TEMPORARY SECRET s (TYPE s3)",
  "a secret that is deleted from the disk": "DROP PERSISTENT SECRET IF EXISTS s",
  "new extensions": "UPDATE EXTENSIONS",
  "a log behind a blank without width": `SELECT * FROM enable_logging\u200b('QueryLog', storage = 'file', storage_config = {'path': '${inLake("log")}'})`,
  "a log behind a blank that does not break": `SELECT * FROM enable_logging\u00a0('QueryLog', storage = 'file', storage_config = {'path': '${inLake("log")}'})`,
  "another parser": "SELECT * FROM enable_peg_parser()",
  "memory by its address": "FROM arrow_scan(1, 2, 3)",
  "a second statement behind a string in two pieces": `SELECT e'a'\n'\\' ' ; COPY (SELECT 1) TO '${inLake("x.csv")}' -- '`,
  "a second statement behind a name after a number": `SELECT 1a$$;COPY (SELECT 1) TO '${inLake("x.csv")}' -- '`,
  "a second statement behind a parameter": `SELECT $1a$a$;COPY (SELECT 1) TO '${inLake("x.csv")}' -- '`,
  "a second statement with the word pivot": `SELECT 1 AS pivot; COPY (SELECT 1) TO '${inLake("x.csv")}'`,
  "a written file that is explained with a pivot": `EXPLAIN COPY (PIVOT (SELECT 1 AS a) ON a USING sum(a)) TO '${inLake("x.csv")}'`,
  "a written file in a query": `WITH a AS (COPY (SELECT 1) TO '${inLake("x.csv")}') FROM a`,
  "a file as a table": "SELECT * FROM read_csv('/etc/passwd')",
  "the kind of a file": "FROM sniff_csv('/etc/passwd')",
  "the columns of a file": "FROM parquet_schema('/etc/passwd')",
  "a database by a function": "FROM read_duckdb('/etc/passwd')",
  "a file by the name of a table": "FROM query_table('/etc/passwd')",
  "a variable from a file": "SET VARIABLE v = (SELECT content FROM read_text('/etc/passwd'))",
  "the environment": "SELECT getenv('HOME')",
  "the environment as a file": "FROM read_text('/proc/self/environ')",
  "a database in a prepared statement": "PREPARE p AS ATTACH '/tmp/x.db'",
  "what was prepared": "EXECUTE p",
  "another catalog": "USE memory",
});

/** Functions of tables that were looked at: they give what is in memory, or read files, which the lock limits to the lake. */
const HARMLESS =
  `duckdb_approx_database_count duckdb_columns duckdb_connection_count duckdb_constraints duckdb_coordinate_systems
  duckdb_databases duckdb_dependencies duckdb_extensions duckdb_external_file_cache duckdb_functions duckdb_indexes duckdb_keywords
  duckdb_log_contexts duckdb_logs duckdb_memory duckdb_optimizers duckdb_prepared_statements duckdb_schemas duckdb_secret_types
  duckdb_sequences duckdb_settings duckdb_table_sample duckdb_tables duckdb_temporary_files duckdb_types duckdb_variables duckdb_views
  generate_series glob icu_calendar_names json_each json_tree parquet_bloom_probe parquet_file_metadata parquet_full_metadata
  parquet_kv_metadata parquet_metadata parquet_scan parquet_schema pg_timezone_names pragma_collations pragma_database_size
  pragma_metadata_info pragma_platform pragma_show pragma_storage_info pragma_table_info pragma_user_agent pragma_version query_table
  range read_blob read_csv read_csv_auto read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson
  read_ndjson_auto read_ndjson_objects read_parquet read_text repeat repeat_row seq_scan sniff_csv sql_auto_complete summary
  test_all_types test_vector_types unnest`.split(/\s+/);

describe("refuses", () => {
  test("every statement that does more than read the lake", async () => {
    const before = readdirSync(join(folder, "bars_1d")).sort();
    const state = await new LakeStates(lake).newest();
    using reader = await openLocked(lake, sessionLimits(LIMITS), state.pointInTime);
    const engine = sandboxedEngine(reader.session);
    const passed: string[] = [];
    for (const [name, sql] of Object.entries(attacks()))
      for (const attack of [() => engine.result(sql, new Map(), 10), () => engine.read(sql)])
        await attack().then(
          () => passed.push(name),
          (error: unknown) => expect(error, name).toBeInstanceOf(QueryError),
        );
    expect(passed).toEqual([]);
    expect(readdirSync(join(folder, "bars_1d")).sort()).toEqual(before);
    expect(existsSync("/tmp/barlake-ui-attack.csv")).toBe(false);
  });

  test("what the rule lets pass by mistake, the locked session refuses where it leads out of the lake", async () => {
    const state = await new LakeStates(lake).newest();
    for (const sql of [
      "COPY (SELECT 1) TO '/tmp/barlake-ui-attack.csv'",
      "ATTACH '/tmp/barlake-ui-attack.db'",
      "SET lock_configuration = false",
      "LOAD httpfs",
    ])
      await expect(
        readers.use(state, { signal }, ({ session }) => session.run(sql)),
        sql,
      ).rejects.toBeInstanceOf(QueryError);
  });

  test("what a text hides from the rule, by what DuckDB has found in it", async () => {
    const state = await new LakeStates(lake).newest();
    for (const sql of [
      "SELECT 1; SELECT 2",
      `COPY (SELECT 1) TO '${inLake("x.csv")}'`,
      "CALL pragma_version()",
    ])
      await expect(
        readers.use(state, { signal }, ({ session }) => session.result(sql, new Map(), 1)),
        sql,
      ).rejects.toThrow("not permitted: the workspace only reads the lake");
  });

  test("every function of tables is known to be harmless, or refused", async () => {
    const state = await new LakeStates(lake).newest();
    // A new release of DuckDB may have others: each needs a look before it is in either list.
    const names = await readers.use(state, { signal }, ({ session }) =>
      session.rows<{ name: string }>(
        "SELECT DISTINCT function_name AS name FROM duckdb_functions() WHERE function_type = 'table' AND database_name = 'system'",
      ),
    );
    const passed = names.filter(({ name }) => forbiddenBy(`SELECT * FROM ${name}()`) === undefined);
    expect(passed.map(({ name }) => name).filter((name) => !HARMLESS.includes(name))).toEqual([]);
  });

  test("a file through a macro or a view that hides its path", async () => {
    await expect(
      run("CREATE MACRO hidden(x) AS TABLE SELECT * FROM read_text(x)", "FROM hidden('/etc/passwd')"),
    ).rejects.toThrow("Permission Error");
    await expect(run("CREATE VIEW hidden AS FROM read_text('/etc/passwd')", "FROM hidden")).rejects.toThrow(
      "Permission Error",
    );
  });

  test("no statement whose end is missing is judged: the engine says where it is wrong", () => {
    expect(forbiddenBy("SELECT 'open")).toBeUndefined();
    expect(forbiddenBy("COPY t TO 'x'")).toContain("COPY is not permitted");
  });
});

describe("ends", () => {
  test("an endless query, when its page goes", async () => {
    const state = await new LakeStates(lake).newest();
    const page = new AbortController();
    const running = readers.use(state, { signal: page.signal }, async ({ session }) => {
      const rows = session.run("SELECT count(*) FROM range(1000000000000) t(i) WHERE hash(i) = 1");
      page.abort(new Error("the page has gone"));
      return rows;
    });
    await expect(running).rejects.toThrow("the page has gone");
  });

  test("an endless query, when its time is up, and says so", async () => {
    let wake = (): void => {};
    const sleep = (): Promise<void> =>
      new Promise((resolve) => {
        wake = resolve;
      });
    const clock = { ...lake.clock, sleep };
    await using limited = new SessionReaders(lake, clock, { ...LIMITS, timeLimitMs: 30_000 });
    const state = await new LakeStates(lake).newest();
    const running = limited.use(state, { signal }, async ({ session }) => {
      const rows = session.run("SELECT count(*) FROM range(1000000000000) t(i) WHERE hash(i) = 1");
      wake();
      return rows;
    });
    await expect(running).rejects.toThrow("it took longer than 30 s, and was stopped");
  });

  test("work that waits for something else, when its time is up, and gives its session back", async () => {
    const clock = { ...lake.clock, sleep: () => Promise.resolve() };
    await using limited = new SessionReaders(lake, clock, { ...LIMITS, timeLimitMs: 30_000 });
    const state = await new LakeStates(lake).newest();
    // Nobody takes the line: the page is there, and does not read.
    const lines = new PieceQueue(signal);
    for (let use = 0; use < 4; use++)
      await expect(limited.use(state, { signal }, (_, ended) => lines.push("a line", ended))).rejects.toThrow(
        "it took longer than 30 s, and was stopped",
      );
  });

  test("work that takes the interrupt for a result, when its time is up", async () => {
    const clock = { ...lake.clock, sleep: () => Promise.resolve() };
    await using limited = new SessionReaders(lake, clock, { ...LIMITS, timeLimitMs: 30_000 });
    const state = await new LakeStates(lake).newest();
    const running = limited.use(state, { signal }, ({ session }) =>
      session.run("SELECT count(*) FROM range(1000000000000) t(i) WHERE hash(i) = 1").then(
        () => "counted",
        () => "interrupted",
      ),
    );
    await expect(running).rejects.toThrow("it took longer than 30 s, and was stopped");
  });

  test("a query that needs more memory than there is", async () => {
    await expect(run("SELECT list(repeat('x', 1000) || i) FROM range(10000000) t(i)")).rejects.toThrow(
      /Out of Memory/i,
    );
  });
});
