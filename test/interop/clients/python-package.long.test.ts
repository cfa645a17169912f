import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { type DatasetFormat, defineDataset } from "../../../src/dataset/spec.js";
import { Lake } from "../../../src/lake/lake.js";
import { publish } from "../../../src/lake/publish.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { KEY, serve } from "../../serve/served-lake.js";
import { fillSimulated } from "../../sql/simulated-lake.js";
import { pythonHas, runModule, runPythonAsync } from "../python.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const LAKE = { symbols: 24, days: 120, end: "2026-03-31", minuteDays: 2 };

test.skipIf(!pythonHas("duckdb", "polars", "pandas", "pyarrow"))(
  "the Python package gives the same of a lake and of its service, in pages too",
  async () => {
    const folder = join(temporaryFolder(), "lake");
    const { market } = await fillSimulated(folder, LAKE);
    const lake = new Lake(folder);
    await publish(lake);
    const stocks = market.instruments.filter(({ type }) => type === "stock");
    const symbols = ["SH", "SZ", "HK", "US"].flatMap((exchange) =>
      stocks
        .filter(({ symbol }) => symbol.endsWith(`.${exchange}`))
        .slice(0, 2)
        .map(({ symbol }) => symbol),
    );
    for (const [name, format] of [
      ["long", "long-parquet"],
      ["long-arrow", "long-arrow"],
      ["wide", "wide-parquet"],
    ] satisfies [string, DatasetFormat][])
      await buildDataset(lake, defineDataset({ name, format, universe: symbols, from: "2025-12-01" }));
    const { service } = await serve(lake);
    onTestFinished(() => service.close());
    const found = (await runPythonAsync(
      "clients/use_package.py",
      lake.location,
      service.url,
      KEY,
      symbols.join(","),
      join(ROOT, "docs/python.md"),
    )) as {
      same: [page: number, period: string, rows: number, equal: boolean][];
      frames: boolean[];
      dataset: number[];
      matrix: number[];
      refused: [string, string | null, string][];
    };
    expect(found.same.filter(([, , , equal]) => !equal)).toEqual([]);
    expect(found.same.filter(([, , rows]) => rows > 100)).toHaveLength(8);
    expect(found.frames).not.toContain(false);
    expect(found.dataset[0]).toBeGreaterThan(100);
    expect(found.dataset[1]).toBeGreaterThan(found.dataset[0] ?? 0);
    expect(found.matrix[0]).toBeCloseTo(found.matrix[1] ?? 0, 6);
    expect(found.refused).toEqual([
      ["UnknownSymbols", null, "1 unknown: 999999.SH"],
      ["UnknownSymbols", null, "1 unknown: 999999.SH"],
      ["BarlakeError", "UNAUTHORIZED", expect.stringContaining("x-api-key")],
      ["BarlakeError", null, expect.stringContaining("dataset none: there is no rows")],
      ["BarlakeError", null, expect.stringContaining("needs its offset")],
      ["BarlakeError", null, expect.stringContaining(`was made for ${lake.location}, whose files it reads`)],
    ]);
  },
);

test.skipIf(!pythonHas("mypy"))("the Python package has the types that it states", async () => {
  const { code, output } = await runModule(
    join(ROOT, "python"),
    "mypy",
    "--cache-dir",
    temporaryFolder(),
    "barlake",
  );
  expect(code, output).toBe(0);
});
