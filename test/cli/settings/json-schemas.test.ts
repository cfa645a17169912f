import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { starterFiles } from "../../../src/cli/commands/project/init.js";
import { readConfig } from "../../../src/cli/config-file.js";
import { type DatasetDefinition, defineDataset } from "../../../src/dataset/spec.js";

const BUILT = fileURLToPath(new URL("../../../dist/json-schema/", import.meta.url));
const SPECS = fileURLToPath(new URL("../../../pipelines/datasets/", import.meta.url));

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const ajv = new Ajv2020({ strict: true, formats: { date: DATE, uri: /^[a-z]+:/ } });
const read = (file: string): Record<string, unknown> => JSON.parse(readFileSync(file, "utf8")) as never;
const isConfig = ajv.compile(read(join(BUILT, "config.json")));
const isSpec = ajv.compile(read(join(BUILT, "dataset.json")));

/** Whether a function takes a value. */
function takes(use: () => unknown): boolean {
  try {
    use();
    return true;
  } catch {
    return false;
  }
}

test("both name the draft, and describe every field", () => {
  for (const file of ["config.json", "dataset.json"]) {
    const { $schema, properties, title } = read(join(BUILT, file));
    expect($schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(title).toMatch(/barlake/);
    const undescribed = Object.entries(properties as Record<string, { description?: string }>)
      .filter(([, one]) => one.description === undefined)
      .map(([name]) => name);
    expect(undescribed).toEqual([]);
  }
});

test("the specs that come with barlake, and what init writes, are valid", () => {
  for (const file of readdirSync(SPECS)) expect(isSpec(read(join(SPECS, file))), file).toBe(true);
  const files = starterFiles({ lake: "data", url: "https://service.example", from: "2025-01-01" });
  expect(isConfig(JSON.parse(files.get("barlake.config.json") as string))).toBe(true);
  expect(isSpec(JSON.parse(files.get("datasets/my-dataset.json") as string))).toBe(true);
});

const SPEC = { name: "mine", universe: ["600519.SH"], from: "2024-01-01" };

test.each<[string, object, boolean]>([
  ["the least", {}, true],
  ["a universe's id", { universe: "CN_ETF" }, true],
  ["a region", { universe: { region: "CN", types: ["stock"] } }, true],
  ["a query", { universe: { sql: "SELECT symbol FROM instruments" } }, true],
  ["an expression", { fields: ["close", { name: "x", sql: "close", fill: "last", looksAhead: true }] }, true],
  ["a fill", { fill: { method: "forward", limit: 5 } }, true],
  ["statements", { format: "qlib", statements: ["income.net_profit"] }, true],
  ["no symbol", { universe: ["600519"] }, false],
  ["a symbol that is too long", { universe: [`${"A".repeat(40)}.SH`] }, false],
  ["no name", { name: undefined }, false],
  ["a name with a blank", { name: "my own" }, false],
  ["no date", { from: "yesterday" }, false],
  ["an unknown field", { universes: "CN_ETF" }, false],
  ["an unknown region", { universe: { region: "MARS" } }, false],
  ["an unknown format", { format: "xlsx" }, false],
  ["an unknown period", { period: "2d" }, false],
  ["a column with a blank", { fields: ["my close"] }, false],
  ["no columns", { fields: [] }, false],
  ["a limit of 0", { fill: { method: "forward", limit: 0 } }, false],
  ["half a bar", { minHistory: 0.5 }, false],
  ["an item of no statement", { format: "qlib", statements: ["close"] }, false],
])("schema and validation agree about a spec with %s", (_, change, isValid) => {
  const spec = JSON.parse(JSON.stringify({ ...SPEC, ...change })) as DatasetDefinition;
  expect(takes(() => defineDataset(spec))).toBe(isValid);
  expect(isSpec(spec)).toBe(isValid);
});

test.each<[string, unknown, boolean]>([
  ["nothing", {}, true],
  [
    "all",
    { $schema: "x", lake: "s3://b/p", url: "https://x.example/v1", share: 1, port: 0, pipelines: "p" },
    true,
  ],
  ["folders", { notebooks: "n", views: "v", trino: "http://t:8080/lake/barlake" }, true],
  ["a list", [], false],
  ["an unknown field", { lakes: "x" }, false],
  ["an empty lake", { lake: "" }, false],
  ["no address", { url: "service.example" }, false],
  ["a password", { url: "https://me:pw@service.example" }, false],
  ["a query", { url: "https://service.example/?key=1" }, false],
  ["a share of 0", { share: 0 }, false],
  ["a share above 1", { share: 1.5 }, false],
  ["a port that is none", { port: 65_536 }, false],
  ["a port as text", { port: "80" }, false],
])("schema and validation agree about a config with %s", (_, config, isValid) => {
  expect(takes(() => readConfig(JSON.stringify(config)))).toBe(isValid);
  expect(isConfig(config)).toBe(isValid);
});
