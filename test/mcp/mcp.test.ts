import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiLake } from "../api/api-lake.js";
import { type McpProcess, startMcp } from "./mcp-client.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-mcp-"));
let server: McpProcess;

beforeAll(async () => {
  await apiLake(folder);
  server = await startMcp(folder, "--as-of", "2026-11-21T00:00:00Z");
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

test("has six tools at most, each with a schema of its result and an example", async () => {
  const { tools } = await server.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    "search",
    "describe",
    "query",
    "bars",
    "statements",
    "dataset_plan",
  ]);
  for (const { name, description, outputSchema, annotations } of tools) {
    expect(description, name).toContain("Example: {");
    expect(outputSchema?.properties, name).toHaveProperty("lake");
    expect(annotations?.readOnlyHint, name).toBe(true);
  }
});

test("a search leads to a view, a description to its columns, and a query to rows with their clock", async () => {
  const { result: search } = await server.call("search", { text: "price to book" });
  expect(search.found[0]).toMatchObject({ kind: "view", name: "daily_valuation" });
  const sql =
    "SELECT symbol, count(*) AS bars FROM bars_1d WHERE region = $region GROUP BY ALL ORDER BY ALL LIMIT 2";
  const { result } = await server.call("query", { sql, values: { region: "CN" } });
  expect(result.columns).toEqual([
    { name: "symbol", type: "VARCHAR" },
    { name: "bars", type: "BIGINT" },
  ]);
  expect(result.rows).toHaveLength(2);
  expect(result.rows[0]?.[1]).toBeGreaterThan(10);
  expect(result.truncated).toBeNull();
  expect(result.lake).toMatchObject({ asOf: "2026-11-21T00:00:00.000Z", versions: { bars_1d: 0 } });
});

test("an error says what to write instead", async () => {
  expect((await server.call("query", { sql: "SELECT 1; SELECT 2" })).text).toBe(
    "there are 2 statements where one is permitted\nInstead: write one SELECT over the views of the lake; describe shows their columns",
  );
  expect((await server.call("describe", { name: "bars" })).isError).toBe(false);
  expect((await server.call("describe", { name: "prices" })).text).toContain("Instead: search finds");
});

test("resources are the catalog, and pages of the documentation", async () => {
  const { resources } = await server.client.listResources();
  expect(resources.map(({ uri }) => uri)).toContain("barlake://catalog");
  const { contents } = await server.client.readResource({ uri: "barlake://catalog" });
  const catalog = JSON.parse((contents[0] as { readonly text: string }).text);
  const bars = catalog.relations.find(({ name }: { readonly name: string }) => name === "bars_1d");
  expect(bars.columns.find(({ name }: { readonly name: string }) => name === "close")).toMatchObject({
    type: "DOUBLE",
    unit: "currency",
  });
  expect(server.log()).toBe("");
});
