import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { UsageError } from "../../src/core/errors.js";
import { BAR_COLUMNS } from "../../src/dataset/cells/bar-columns.js";
import { checkExpression } from "../../src/dataset/expression/resolve-fields.js";
import { DATASET_FORMATS, type DatasetDefinition, defineDataset, MASKS } from "../../src/dataset/spec.js";
import { Session } from "../../src/db/session/session.js";

const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const GUIDE = textOf("docs/datasets.md");

/** The first cells of a table's rows, and the rest of each, by the table's header. */
function tableOf(header: string): Map<string, string[]> {
  const [, body = ""] =
    new RegExp(`^\\| ${header} \\|.*\\n\\|[-|]+\\n((?:\\|.*\\n)+)`, "m").exec(GUIDE) ?? [];
  const rows = body
    .trim()
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()));
  return new Map(rows.map(([, first = "", ...rest]) => [first, rest]));
}

/** The names in backticks of a table's first cells. */
const namesOf = (header: string): string[] =>
  [...tableOf(header).keys()].flatMap((cell) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string),
  );

test("the table of a spec's fields has each of them, with its default", () => {
  const [, shape = ""] =
    /const specRule = z\.strictObject\(\{\n(.*?)^\}\);/ms.exec(textOf("src/dataset/spec.ts")) ?? [];
  const fields = [...shape.matchAll(/^ {2}(\w+)[:,]/gm)].map(([, name]) => name as string);
  expect(fields).toContain("universe");
  expect(namesOf("field")).toEqual(fields);
  const required = { name: "x", universe: "Y", from: "2024-07-01" };
  const defaults = defineDataset(required);
  for (const [cell, [stated]] of tableOf("field")) {
    const name = cell.slice(1, -1) as keyof typeof defaults;
    if (name in required) expect(stated, name).toBe("required");
    else if (name in defaults) expect(stated, name).toBe(`\`${JSON.stringify(defaults[name])}\``);
    else expect(stated, name).not.toMatch(/^required$|^$/);
  }
});

test("the tables of columns, masks and formats have each of them", () => {
  expect(namesOf("column of the bars").sort()).toEqual(Object.keys(BAR_COLUMNS).sort());
  expect(namesOf("mask")).toEqual([...MASKS]);
  expect(namesOf("format").sort()).toEqual([...DATASET_FORMATS].sort());
});

test("every spec of the guide is one", async () => {
  const json = [...GUIDE.matchAll(/^```json\n(.*?)^```$/gms)]
    .map(([, text]) => JSON.parse(text as string) as DatasetDefinition & { layout?: number })
    .filter(({ layout }) => layout === undefined);
  const literals = [
    ...GUIDE.matchAll(/defineDataset\((\{\n.*?^\})\);$/gms),
    ...GUIDE.matchAll(/lake\.dataset\((\{.*?\})\)\.open\(\);$/gm),
  ].map(([, literal]) => literal as string);
  expect([json.length, literals.length]).toEqual([1, 2]);
  for (const definition of json) expect(defineDataset(definition).name).toBe(definition.name);
  for (const literal of literals) {
    const source = `data:text/javascript,${encodeURIComponent(`export default ${literal}`)}`;
    const { default: definition } = (await import(/* @vite-ignore */ source)) as {
      default: DatasetDefinition;
    };
    expect(defineDataset(definition).name).toBe(definition.name);
  }
});

test("every window that the guide shows is permitted", async () => {
  using session = await Session.open({ threads: 1 });
  const [, windows = ""] = /^```sql\n(.*?)^```$/ms.exec(GUIDE) ?? [];
  const lines = windows.trim().split("\n");
  expect(lines.length).toBeGreaterThan(4);
  for (const sql of lines) {
    const expression = { name: "f", sql, looksAhead: false };
    await expect(checkExpression(session, expression, { isIntraday: false })).resolves.toContain("OVER");
  }
  const wrong = {
    name: "next",
    sql: "lead(close) OVER (PARTITION BY symbol ORDER BY trade_date)",
    looksAhead: false,
  };
  const refusal = await checkExpression(session, wrong, { isIntraday: false }).catch(
    (error: UsageError) => error,
  );
  expect(GUIDE).toContain(
    `error: ${(refusal as UsageError).message}\nhint:  ${(refusal as UsageError).hint}\n`,
  );
});
