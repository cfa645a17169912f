import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { GENERATED } from "../../docs/sql-reference.js";
import { Session } from "../../src/db/session/session.js";
import { OWN_VIEWS, readViewTree } from "../../src/db/views/view-files.js";
import { openReader } from "../../src/lake/open-reader.js";
import { publish } from "../../src/lake/publish.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { TABLES } from "../../src/schema/tables.js";
import { land, openSession, temporaryLake } from "../lake/temporary-lake.js";
import { once } from "../once.js";
import { type Counts, pickFrom } from "../sweep.js";

const TEXTS = new Map(readViewTree(OWN_VIEWS).map(({ path, sql }) => [basename(path, ".sql"), sql]));
const names = [...TEXTS.keys()];

const textOf = (name: string): string => TEXTS.get(name) ?? "";
const kindOf = (name: string): string => {
  const [, kind = "", table = ""] =
    /^CREATE OR REPLACE (VIEW|MACRO) (?:raw\.)?\w+(?:\([^)]*\))? AS( TABLE)?/m.exec(textOf(name)) ?? [];
  return `${kind}${table}`;
};

once("each view or macro is in a file of its name, with purpose, grain and inputs in its header", () => {
  for (const name of names) {
    const sql = textOf(name);
    const kind = kindOf(name);
    expect(sql).toMatch(/^-- [A-Z]/);
    expect(sql).toMatch(/^-- Grain: [\s\S]*?Inputs: /m);
    expect(sql).toMatch(new RegExp(`^CREATE OR REPLACE ${kind.split(" ")[0]} (raw\\.)?${name}\\b`, "m"));
    expect(sql).toMatch(new RegExp(`^COMMENT ON ${kind} (raw\\.)?${name} IS`, "m"));
  }
});

once("what npm run docs writes is what the comments in the database say", async () => {
  for (const [path, generated] of Object.entries(GENERATED))
    expect(readFileSync(new URL(path, new URL("../../docs/", import.meta.url)), "utf8"), path).toBe(
      await generated(),
    );
});

test("a reader for one statement has what the statement mentions, as a whole reader has it", async () => {
  const lake = temporaryLake();
  const whole = await openReader(lake, { threads: 1 });
  using all = whole.session;
  const views = await all.json<{ name: string; sql: string }>(
    `SELECT if(schema_name = 'raw', 'raw.', '') || view_name AS name, sql FROM duckdb_views()
     WHERE NOT internal ORDER BY ALL`,
  );
  const macros = await all.json<{ name: string }>(
    "SELECT DISTINCT function_name AS name FROM duckdb_functions() WHERE schema_name = 'main' AND NOT internal",
  );
  expect(views.length).toBeGreaterThan(30);
  const share = ({ length }: readonly unknown[]): Counts => ({
    few: Math.ceil(length / 4),
    more: length,
    all: length,
  });
  for (const { name, sql } of pickFrom(views, share(views))) {
    const { session } = await openReader(lake, { threads: 1, statement: `SELECT count(*) FROM ${name}` });
    using reader = session;
    expect(await reader.json(`SELECT count(*)::INTEGER AS n FROM ${name}`), name).toHaveLength(1);
    const found = "SELECT sql FROM duckdb_views() WHERE view_name = $1";
    expect(
      (await reader.json(found, [name.replace("raw.", "")])).map((row) => (row as { sql: string }).sql),
      name,
    ).toContain(sql);
  }
  for (const { name } of pickFrom(macros, share(macros))) {
    const { session } = await openReader(lake, { threads: 1, statement: `FROM ${name}()` });
    using reader = session;
    const found = "SELECT DISTINCT function_name AS name FROM duckdb_functions() WHERE function_name = $1";
    expect(await reader.json(found, [name])).toEqual([{ name }]);
  }
});

once(
  "every view says its grain, every column what it is; every macro its parameters and, of its own, its columns",
  async () => {
    const lake = temporaryLake({ hasDatabase: true });
    await publish(lake);
    using client = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
    const unsaid = await client.json(
      `SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal AND comment IS NULL`,
    );
    expect(unsaid).toEqual([]);
    const grainless = await client.json(
      `SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal AND NOT regexp_matches(comment, '[Oo]ne row for each ')`,
    );
    expect(grainless).toEqual([]);
    const macros = await client.json<{ name: string; comment: string; parameters: string[]; kind: string }>(
      `SELECT function_name AS name, comment, parameters, function_type AS kind FROM duckdb_functions()
     WHERE schema_name = 'main' AND NOT internal`,
    );
    expect(macros.length).toBeGreaterThan(10);
    const calls: Record<string, string> = {
      adjusted: "adjusted('1d', 'none')",
      adjustment_steps: "adjustment_steps('forward')",
      statements_asof: "statements_asof()",
      members: "members('X')",
    };
    for (const { name, comment, parameters } of macros) {
      for (const parameter of parameters) expect(comment, name).toContain(`\n${parameter}: `);
      const call = calls[name];
      if (call === undefined) continue;
      const columns = await client.json<{ column_name: string }>(`DESCRIBE FROM ${call}`);
      const said = [...comment.matchAll(/^-> (\w+): ./gm)].map(([, column]) => column);
      expect(said, name).toEqual(columns.map(({ column_name }) => column_name));
    }
  },
);

once("a client that attaches the file has its views, and after USE its macros", async () => {
  const [lake, session] = [temporaryLake({ hasDatabase: true }), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z", close: 10.25 }]);
  await publish(lake);
  using client = await Session.open({ threads: 1 });
  await client.run(`ATTACH '${lake.databaseFile}' AS market (READ_ONLY)`);
  expect(await client.json("SELECT close FROM market.bars_1d")).toEqual([{ close: 10.25 }]);
  expect(await client.json("SELECT count(*) AS n FROM market.daily_status")).toEqual([{ n: 1n }]);
  await client.run("USE market");
  expect(await client.json("SELECT close FROM adjusted('1w', 'forward')")).toEqual([{ close: 10.25 }]);
});

once(
  "lake.duckdb opens in a client of its own, read-only, and shows tables, views and comments",
  async () => {
    const [lake, session] = [temporaryLake({ hasDatabase: true }), await openSession()];
    await land(session, lake, BARS_1D, [
      { at: "2024-01-01T16:00:00Z", volume: 300, close: 10.25, amount: 3075 },
    ]);
    await publish(lake);
    using client = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
    const bars = await client.json("SELECT symbol, trade_date::VARCHAR AS d, shares, vwap FROM bars_1d");
    expect(bars).toEqual([{ symbol: "600519.SH", d: "2024-01-02", shares: 300n, vwap: 10.25 }]);
    const views = await client.json<{ schema_name: string; view_name: string; comment: string | null }>(
      "SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal",
    );
    const main = views.filter((view) => view.schema_name === "main");
    expect(main.map((view) => view.view_name).sort()).toEqual(
      names.filter((name) => kindOf(name) === "VIEW" && !textOf(name).includes(`VIEW raw.${name} `)).sort(),
    );
    expect(main.filter((view) => !view.comment)).toEqual([]);
    const [volume] = await client.json(
      "SELECT comment FROM duckdb_columns() WHERE schema_name = 'raw' AND table_name = 'bars_1d' AND column_name = 'volume'",
    );
    expect(volume).toEqual({ comment: expect.stringContaining("[lot shares]") });
    for (const table of TABLES) await client.json(`SELECT count(*) FROM raw.${table.name}`);
  },
);

once("a reader of the old views still has them while they are replaced", async () => {
  const [lake, session] = [temporaryLake({ hasDatabase: true }), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z" }]);
  await publish(lake);
  using old = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
  await land(session, lake, BARS_1D, [
    { at: "2024-01-01T16:00:00Z", close: 9.5 },
    { at: "2024-01-02T16:00:00Z" },
  ]);
  await publish(lake);
  expect(await old.json("SELECT close FROM bars_1d")).toEqual([{ close: 10.5 }]);
  using fresh = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
  expect(await fresh.json("SELECT close FROM bars_1d ORDER BY trade_date")).toEqual([
    { close: 9.5 },
    { close: 10.5 },
  ]);
});
