import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { describeName, listTables } from "../../../../src/cli/shell/dot-commands.js";
import { type Catalog, readMacroComment, splitUnit } from "../../../../src/db/catalog.js";
import { readCatalog } from "../../../../src/db/read-catalog.js";
import { Lake } from "../../../../src/lake/lake.js";
import { openReader } from "../../../../src/lake/open-reader.js";

let catalog: Catalog;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "barlake-"));
  try {
    const { session } = await openReader(new Lake(join(folder, "no-such-lake")));
    using reader = session;
    await reader.run("CREATE TABLE mine (a INTEGER)");
    catalog = await readCatalog(reader);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe("of a lake's names", () => {
  test("all are listed with what they are, or those that contain a text", () => {
    const all = listTables(catalog, 100);
    for (const line of all.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
    expect(all).toMatch(/^mine +table/m);
    expect(all).toMatch(/^raw\.bars_1d +view +\S/m);
    expect(all).toMatch(/^limit_percent +macro +\S/m);
    const some = listTables(catalog, undefined, "adjust").split("\n").slice(1);
    expect(some.length).toBeGreaterThan(1);
    for (const line of some) expect(line).toMatch(/^\w*adjust/);
    expect(() => listTables(catalog, 80, "nope")).toThrow("nothing is called nope");
  });

  test("a view is described with the types, units and comments of its columns", () => {
    const text = describeName(catalog, "BARS_1D", undefined);
    expect(text).toMatch(/^bars_1d, view\nDaily bars/);
    expect(text).toMatch(/^close +DOUBLE +currency +\S/m);
    expect(text).toMatch(/^trade_date +DATE +\S/m);
    expect(describeName(catalog, "main.bars_1d", undefined)).toBe(text);
  });

  test("a macro is described with its parameters, and the columns of one that it is made of", () => {
    const text = describeName(catalog, "bars", undefined);
    expect(text).toMatch(/^bars\(period, as_of\), table macro\n/);
    expect(text).toMatch(/^as_of +date +Nothing after this date/m);
    expect(text).toMatch(/^close +currency +Last price/m);
    expect(text).toMatch(/^vwap +currency +\S/m);
  });

  test("a name that nothing has is refused, with names like it", () => {
    const refused = (): string => {
      try {
        return describeName(catalog, "bars_1x", 80);
      } catch (error) {
        return (error as { hint: string }).hint;
      }
    };
    expect(refused()).toMatch(/^did you mean .*bars_1d.*\.tables lists them$/);
  });
});

test("a macro's comment is read part by part", () => {
  expect(readMacroComment("Sum. The columns of other, too.\na: First. [ms]\n-> b: Sum.", ["a", "c"])).toEqual(
    {
      summary: "Sum. The columns of other, too.",
      parameters: [
        { name: "a", comment: "First. [ms]" },
        { name: "c", comment: undefined },
      ],
      columns: [{ name: "b", comment: "Sum." }],
      columnsOf: "other",
    },
  );
  expect(splitUnit("Price [EUR] of it. [currency]")).toEqual({
    text: "Price [EUR] of it.",
    unit: "currency",
  });
  expect(splitUnit("No unit")).toEqual({ text: "No unit", unit: "" });
});
