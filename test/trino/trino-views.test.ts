import { existsSync, readdirSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { OWN_VIEWS, readViewTree } from "../../src/db/views/view-files.js";
import { TRINO_RULES } from "../../src/trino/market-rules.js";
import { trinoViews } from "../../src/trino/trino-views.js";

const views = trinoViews("market_raw");

test("every file is a view, after those that it reads, with the expressions of the rules that it calls", () => {
  const files = readdirSync(new URL("../../sql/trino", import.meta.url), {
    recursive: true,
    encoding: "utf8",
  })
    .filter((path) => path.endsWith(".sql"))
    .sort();
  expect(views.map(({ name }) => `${name}.sql`).sort()).toEqual(files.map((path) => basename(path)).sort());
  // The view of the same name for DuckDB is in the folder of the same name.
  for (const path of files)
    expect(existsSync(new URL(`../../sql/views/${path}`, import.meta.url)), path).toBe(true);
  const seen = new Set<string>();
  for (const { name, sql, views: needed, tables } of views) {
    for (const other of needed) expect(seen, `${name} reads ${other}`).toContain(other);
    seen.add(name);
    expect([...needed, ...tables].length, name).toBeGreaterThan(0);
    expect(sql).not.toMatch(/\braw\./);
    expect(sql.match(new RegExp(`\\b(${Object.keys(TRINO_RULES).join("|")})\\(`)), name).toBeNull();
    for (const table of tables) expect(sql).toContain(`"market_raw".${table}`);
  }
});

test("every rule is called", () => {
  const all = views.map(({ sql }) => sql).join("\n");
  // A part of each rule's expression that nothing else has.
  for (const part of [
    "34200000",
    "0.0005",
    "1e-9",
    "THEN 240",
    "'^S?\\*?ST'",
    "'Asia/Hong_Kong'",
    "WHEN 'CN' THEN 100",
  ])
    expect(all).toContain(part);
});

test("adjusted prices need no trading days: where none have landed, all days are unknown", () => {
  const without = new Map(
    trinoViews("market_raw", new Set(["trading_days"])).map((view) => [view.name, view]),
  );
  const spans = without.get("unknown_spans");
  expect(spans?.tables).toEqual([]);
  expect(spans?.sql).not.toContain("trading_days");
  // Once they have landed, these views are out of date.
  for (const name of ["unknown_spans", "ex_events", "adjusted"])
    expect(without.get(name)?.comment, name).not.toBe(views.find((view) => view.name === name)?.comment);
  expect(without.get("daily_status")?.tables).toContain("trading_days");
});

test("adjusted prices need no corporate actions and no factors", () => {
  const absent = new Set(["corporate_actions", "ex_factors"]);
  const without = new Map(trinoViews("market_raw", absent).map((view) => [view.name, view]));
  const needed = (name: string): string[] => {
    const { tables = [], views: others = [] } = without.get(name) ?? {};
    return [...tables, ...others.flatMap(needed)];
  };
  for (const name of [
    "adjusted",
    "adjustment_steps",
    "ex_events",
    "ex_factors",
    "corporate_actions",
    "returns",
  ])
    expect(
      needed(name).filter((table) => absent.has(table)),
      name,
    ).toEqual([]);
});

test("the mark of a view changes with its text, its schema and the views that it reads", () => {
  const markOf = (name: string, schema: string): string | undefined =>
    /\[barlake (\w{12})\]$/.exec(trinoViews(schema).find((view) => view.name === name)?.comment ?? "")?.[1];
  for (const name of ["bars_1d", "bars", "daily_valuation"]) {
    expect(markOf(name, "a_raw")).toMatch(/^[0-9a-f]{12}$/);
    expect(markOf(name, "a_raw")).toBe(markOf(name, "a_raw"));
    expect(markOf(name, "a_raw")).not.toBe(markOf(name, "b_raw"));
  }
});

test("a view of several statements exists without those that never landed: their columns are null", () => {
  const viewOf = (name: string, ...absent: string[]) =>
    trinoViews("market_raw", new Set(absent)).find((view) => view.name === name);
  const without = viewOf("daily_fundamentals", "income");
  expect(without?.tables.filter((table) => table === "income")).toEqual([]);
  expect(without?.tables).toContain("balance_sheet");
  expect(without?.sql).toContain("CAST(NULL AS DOUBLE) AS net_income_attributable");
  // Once they have landed, the view is out of date.
  expect(without?.comment).not.toBe(viewOf("daily_fundamentals")?.comment);
  expect(viewOf("daily_metrics", "metrics", "shares")?.tables).toEqual(["bars_1d"]);
});

test("the files that headers name are there", () => {
  const root = new URL("../../", import.meta.url);
  const texts = [...readViewTree(fileURLToPath(new URL("sql/trino", root))), ...readViewTree(OWN_VIEWS)];
  const named = texts.flatMap(({ sql }) => [...sql.matchAll(/\bsql\/[\w/]+\.sql\b/g)].map(([path]) => path));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
});
