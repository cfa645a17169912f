import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Lake } from "../../src/lake/lake.js";
import { openReader, type Reader } from "../../src/lake/open-reader.js";
import { LakeQuestions } from "../../src/mcp/lake-questions.js";
import { startHttp } from "../../src/mcp/serve-mcp.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { apiLake } from "../api/api-lake.js";
import { MAIN } from "../cli/run-cli.js";
import { pythonHas, runPython } from "../interop/python.js";
import { hostileStatements } from "./hostile-statements.js";
import { callerOf, type McpProcess, startMcp } from "./mcp-client.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-mcp-"));
let truth: Reader;
let server: McpProcess;

beforeAll(async () => {
  const lake = await apiLake(folder);
  truth = await openReader(lake, { threads: 1 });
  server = await startMcp(folder);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  truth[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

test("no hostile statement is answered, and the server goes on", async () => {
  const names = readdirSync(join(folder, "bars_1d"), { recursive: true, encoding: "utf8" });
  const file = join(folder, "bars_1d", names.find((name) => name.endsWith(".parquet")) ?? "");
  const statements = hostileStatements(file);
  expect(statements.length).toBeGreaterThan(100);
  const passed: string[] = [];
  for (const sql of statements) {
    // One of them is empty, which the schema of the tool refuses.
    const { isError, text } = await server.call("query", { sql, values: { file } });
    if (!isError || !/Instead: |Input validation/.test(text)) passed.push(`${sql} => ${text.slice(0, 200)}`);
  }
  expect(passed).toEqual([]);
  const { result } = await server.call("query", { sql: "SELECT 1 AS one" });
  expect(result.rows).toEqual([[1]]);
});

const HUGE = "SELECT repeat('x', 50000000) AS text FROM range(3)";

test.each([
  ["rows", "SELECT range AS n FROM range(1000000)", 1000],
  ["bytes", "SELECT repeat('x', 1000) AS text FROM range(100)", 57],
  ["one value that is too large", HUGE, 0],
])("a result is cut at its %s, and says how to narrow it", async (_, sql, rows) => {
  const { result } = await server.call("query", { sql });
  expect(result.rows.length).toBeLessThanOrEqual(rows);
  expect(result.rows.length).toBeGreaterThanOrEqual(rows - 1);
  expect(result.truncated).toContain(`the first ${result.rows.length} rows: add a condition`);
});

test("a request that is cancelled stops its statement", async () => {
  const cancel = new AbortController();
  const sql = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = 3";
  const asked = [1, 2].map(() => server.call("query", { sql }, cancel.signal));
  setTimeout(() => cancel.abort(), 500);
  for (const one of await Promise.allSettled(asked)) expect(one.status).toBe("rejected");
  // Both places for statements are free again, long before the limit of 30 s.
  const started = performance.now();
  expect((await server.call("query", { sql: "SELECT 1" })).isError).toBe(false);
  expect(performance.now() - started).toBeLessThan(15_000);
});

test("what takes too much memory or time is stopped, and says so", async () => {
  const memory = "SELECT len(list(range)) FROM range(1000000000)";
  expect((await server.call("query", { sql: memory })).text).toMatch(/memory|Memory/);
  const time = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = 3";
  expect((await server.call("query", { sql: time })).text).toContain("it took longer than 30 s");
});

/** Questions of an analyst: the tool and its parameters, and the same rows from the tables, found in another way. */
const QUESTIONS: readonly (readonly [question: string, tool: string, parameters: object, truth: string])[] = [
  [
    "which shares have the lowest price to book?",
    "query",
    {
      sql: `SELECT symbol, price_to_book FROM daily_valuation WHERE price_to_book > 0
        QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY trade_date DESC) = 1 ORDER BY price_to_book, symbol LIMIT 5`,
    },
    `SELECT symbol, max_by(price_to_book, trade_date) AS pb FROM daily_valuation WHERE price_to_book > 0 GROUP BY symbol ORDER BY pb, symbol LIMIT 5`,
  ],
  [
    "and among those with growing revenue?",
    "query",
    {
      sql: `SELECT symbol, price_to_book FROM daily_valuation WHERE price_to_book > 0 AND revenue_yoy > 0
        QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY trade_date DESC) = 1 ORDER BY price_to_book, symbol LIMIT 5`,
    },
    `SELECT symbol, max_by(price_to_book, trade_date) AS pb FROM daily_valuation WHERE price_to_book > 0 AND revenue_yoy > 0 GROUP BY symbol ORDER BY pb, symbol LIMIT 5`,
  ],
  [
    "how many shares are there in each region?",
    "query",
    {
      sql: "SELECT region, count(*) AS n FROM instruments WHERE type = $type GROUP BY region ORDER BY region",
      values: { type: "stock" },
    },
    "SELECT region, len(list(symbol)) FROM instruments_asof(DATE '2026-11-21') WHERE type = 'stock' GROUP BY region ORDER BY region",
  ],
  [
    "what were the last three closes of a share?",
    "query",
    {
      sql: "SELECT trade_date, close FROM bars_1d WHERE symbol = (SELECT min(symbol) FROM bars_1d) ORDER BY trade_date DESC LIMIT 3",
    },
    "SELECT trade_date, close FROM raw.bars_1d WHERE symbol = (SELECT min(symbol) FROM raw.bars_1d) ORDER BY trade_date DESC LIMIT 3",
  ],
  [
    "which share traded most on the last day?",
    "query",
    {
      sql: "SELECT symbol, amount FROM bars_1d WHERE region = 'CN' AND trade_date = (SELECT max(trade_date) FROM bars_1d WHERE region = 'CN') ORDER BY amount DESC LIMIT 1",
    },
    "SELECT max_by(symbol, amount), max(amount) FROM raw.bars_1d WHERE region = 'CN' AND trade_date = DATE '2026-11-20'",
  ],
  [
    "on how many days did each region trade?",
    "query",
    { sql: "SELECT region, count(DISTINCT trade_date) AS days FROM bars_1d GROUP BY ALL ORDER BY ALL" },
    "SELECT region, count(*) FROM (SELECT DISTINCT region, trade_date FROM raw.bars_1d) GROUP BY ALL ORDER BY ALL",
  ],
  [
    "how many universes are there?",
    "query",
    { sql: "SELECT count(*) AS n FROM universes" },
    "SELECT count(DISTINCT id) FROM raw.universes",
  ],
  [
    "what was the greatest loss of a day?",
    "query",
    {
      sql: "SELECT symbol, trade_date FROM bars_1d WHERE prev_close > 0 ORDER BY close / prev_close, symbol LIMIT 1",
    },
    "SELECT min_by(symbol, close / prev_close), min_by(trade_date, close / prev_close) FROM raw.bars_1d WHERE prev_close > 0",
  ],
  [
    "how much was traded in the minutes?",
    "query",
    { sql: "SELECT count(*) AS n, sum(volume) AS volume FROM bars_1m WHERE region = 'CN'" },
    "SELECT count(*), sum(volume) FROM raw.bars_1m WHERE region = 'CN'",
  ],
  [
    "which companies lost money in their last period?",
    "query",
    {
      sql: "SELECT symbol FROM income WHERE net_income < 0 AND (symbol, period_end) IN (SELECT (symbol, max(period_end)) FROM income GROUP BY symbol) ORDER BY symbol",
    },
    "SELECT symbol FROM income GROUP BY symbol HAVING max_by(net_income, period_end) < 0 ORDER BY symbol",
  ],
  [
    "how many dividends and splits are known?",
    "query",
    { sql: "SELECT count(*) AS n FROM ex_events" },
    "SELECT len(list(symbol)) FROM ex_events",
  ],
  [
    "how many shares were suspended on the last day?",
    "query",
    {
      sql: "SELECT count(*) AS n FROM daily_status WHERE NOT tradable AND trade_date = $day::DATE",
      values: { day: "2026-11-20" },
    },
    "SELECT count(*) FROM (FROM daily_status WHERE trade_date = DATE '2026-11-20' AND tradable IS FALSE)",
  ],
  [
    "weekly bars of a share",
    "query",
    {
      sql: "SELECT symbol, trade_date, close FROM adjusted('1w', 'none') WHERE region = 'HK' ORDER BY ALL LIMIT 20",
    },
    `SELECT symbol, max(trade_date), arg_max(close, trade_date) FROM raw.bars_1d WHERE region = 'HK'
     GROUP BY symbol, date_trunc('week', trade_date) ORDER BY ALL LIMIT 20`,
  ],
  [
    "which data is missing?",
    "query",
    { sql: "SELECT count(*) AS n FROM quality_gaps" },
    "SELECT coalesce(len(list(symbol)), 0) FROM quality_gaps",
  ],
];

test("questions of an analyst are answered by the tools alone", async () => {
  for (const [question, tool, parameters, sql] of QUESTIONS) {
    const { text, isError, result } = await server.call(tool, parameters);
    expect(isError, `${question}: ${text}`).toBe(false);
    const { rows } = await truth.session.preview(sql, 1000);
    expect(
      result.rows.map((row) => row.map(String)),
      question,
    ).toEqual(rows.map((row) => row.map(String)));
  }
});

test("an instrument is found by its name, and its bars, statements and dataset follow from its symbol", async () => {
  const [known] = await truth.session.json<{ symbol: string; name: string }>(
    "SELECT symbol, name FROM instruments JOIN (SELECT DISTINCT symbol FROM income) USING (symbol) ORDER BY symbol LIMIT 1",
  );
  const { symbol = "", name = "" } = known ?? {};
  const { result: search } = await server.call("search", { text: name });
  expect(search.found.map((one) => one.name)).toContain(symbol);
  const { result: bars } = await server.call("bars", { symbols: [symbol, "999999.SH"], count: 3 });
  expect(bars.rows).toHaveLength(3);
  expect(bars.missing).toEqual(["999999.SH"]);
  const asked = { table: "income", symbols: [symbol], items: ["revenue"], count: 2 };
  const { result: statements } = await server.call("statements", asked);
  const [first] = await truth.session.json<{ revenue: number }>(
    `SELECT revenue FROM income WHERE symbol = '${symbol}' ORDER BY period_end DESC LIMIT 1`,
  );
  expect(statements.rows[0]?.[3]).toBe(first?.revenue);
  // Before anything was announced, there are no statements.
  expect((await server.call("statements", { ...asked, as_of: "1990-01-01" })).result.rows).toEqual([]);
  const { result: view } = await server.call("describe", { name: "bars_1d" });
  const [count] = await truth.session.json<{ n: bigint }>("SELECT count(*) AS n FROM bars_1d");
  expect(view.rows).toBe(Number(count?.n));
  expect(view.sample).toHaveLength(3);
  const definition = { name: "one", universe: [symbol], from: "2026-10-01", fields: ["close"] };
  const { result: plan } = await server.call("dataset_plan", { definition });
  expect(plan).toMatchObject({ symbols: 1, period: "1d" });
  expect(JSON.stringify(plan)).not.toContain(folder);
});

test("the SQL of a dataset reads the views alone, too", async () => {
  const definition = {
    name: "one",
    universe: { sql: "SELECT symbol FROM read_csv('/etc/passwd')" },
    from: "2026-10-01",
  };
  expect((await server.call("dataset_plan", { definition })).text).toContain("read_csv is not permitted");
  const fields = [{ name: "x", sql: "(SELECT count(*) FROM glob('/etc/*'))" }];
  const hidden = { ...definition, universe: { region: "CN" }, fields };
  expect((await server.call("dataset_plan", { definition: hidden })).text).toContain("glob is not permitted");
});

test("over HTTP, a client of this machine needs a key, and a page of another site is refused", async () => {
  const views = mkdtempSync(join(tmpdir(), "barlake-views-"));
  writeFileSync(
    join(views, "broken.sql"),
    "CREATE OR REPLACE VIEW broken AS SELECT error('not today') AS x;",
  );
  const withViews = new Lake(folder, { hasDatabase: false, userViews: { folder: views, onFault: () => {} } });
  await using questions = new LakeQuestions(withViews, {});
  const ring = { ...plainKeys(["secret"]) };
  const limited = { name: "bob", allow: new Set(["klines"] as const) };
  const keys = { callerOf: (key: string) => (key === "limited" ? limited : ring.callerOf(key)) };
  await using service = await startHttp(questions, { port: 0, keys }, () => {});
  const status = async (headers: Record<string, string>) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const accept = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    return (await fetch(service.url, { method: "POST", headers: { ...accept, ...headers }, body })).status;
  };
  expect(await status({})).toBe(401);
  expect(await status({ authorization: "Bearer wrong" })).toBe(401);
  expect(await status({ "x-api-key": "limited" })).toBe(403);
  expect(await status({ "x-api-key": "secret" })).toBe(200);
  expect(await status({ "x-api-key": "secret", origin: "https://example.com" })).toBe(403);
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: "Bearer secret" } };
  await client.connect(new StreamableHTTPClientTransport(new URL(service.url), { requestInit }));
  const { result } = await callerOf(client)("query", { sql: "SELECT count(*) AS n FROM universes" });
  expect(result.rows[0]?.[0]).toBeGreaterThan(0);
  // A view of the user's that cannot be counted is described all the same.
  const { result: broken } = await callerOf(client)("describe", { name: "broken" });
  expect(broken).toMatchObject({ rows: null, uncounted: expect.stringContaining("not today"), sample: [] });
  await client.close();
  rmSync(views, { recursive: true });
});

test("the client in Python calls every tool", () => {
  if (!pythonHas("mcp")) return;
  const answers = runPython("../mcp/ask_mcp.py", process.execPath, MAIN, folder) as Record<string, unknown>;
  expect(answers).toEqual({
    search: true,
    describe: true,
    query: [[1]],
    bars: true,
    statements: true,
    dataset_plan: true,
    refused: true,
  });
});
