import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { Lake } from "../../src/lake/lake.js";
import { publish } from "../../src/lake/publish.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { land, openSession, temporaryFolder, temporaryLake } from "../lake/temporary-lake.js";
import { fillSimulated } from "../sql/simulated-lake.js";
import { pythonHas, runModule } from "./python.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const DOCUMENT = readFileSync(new URL("../../docs/notebooks.md", import.meta.url), "utf8");

const ENGINES = readFileSync(new URL("../../docs/interop.md", import.meta.url), "utf8");
const LINES = [
  ...(/^## Reading the lake$.*?^## /ms.exec(ENGINES)?.[0] ?? "").matchAll(/^```py$(.*?)^```$/gms),
]
  .map(([, lines = ""]) => lines)
  .filter((lines) => !lines.includes("spark"))
  .join("");

/** The document's Python, by the heading above it. */
function exampleOf(heading: string): string {
  return new RegExp(`^## ${heading}$.*?^\`\`\`py$(.*?)^\`\`\`$`, "ms").exec(DOCUMENT)?.[1] ?? "";
}

describe.skipIf(!pythonHas("duckdb", "pandas", "polars", "pyarrow"))("Python reads lake.duckdb", () => {
  test("while bars are landed, each time as one commit left it", async () => {
    const [lake, session] = [temporaryLake({ hasDatabase: true }), await openSession()];
    const stopFile = join(temporaryFolder(), "stop");
    const states = new Map<number, number>();
    let closes = 0;
    const landDay = async (day: number): Promise<void> => {
      const at = `2026-01-${String(day).padStart(2, "0")}T00:00:00+08:00`;
      await land(session, lake, BARS_1D, [{ at, open: day, high: day, low: day, close: day }]);
      await publish(lake);
      closes += day;
      states.set(day, closes);
    };
    await landDay(1);
    const reading = runModule(HERE, "read_views", lake.databaseFile, stopFile);
    for (let day = 2; day <= 12; day++) await landDay(day);
    writeFileSync(stopFile, "");
    const { code, output } = await reading;
    expect(code, output).toBe(0);
    const { readings } = JSON.parse(output) as {
      readings: { pandas: [number, number]; polars: [number, number]; adjusted: number }[];
    };
    for (const { pandas, polars, adjusted } of readings) {
      expect(states.get(pandas[0])).toBe(pandas[1]);
      expect({ polars, adjusted }).toEqual({ polars: pandas, adjusted: pandas[0] });
    }
    expect(readings.at(-1)?.pandas).toEqual([12, 78]);
  });

  test.each([
    ["Jupyter", "price_to_book", []],
    ["marimo", "price_to_book", ["marimo"]],
  ])("as the document's example for %s does", async (heading, shown, packages) => {
    if (packages.length > 0 && !pythonHas(...packages)) return;
    const folder = temporaryFolder();
    const { market } = await fillSimulated(join(folder, "lake"), {
      symbols: 12,
      days: 60,
      end: "2026-03-31",
      minuteDays: 0,
    });
    const lake = new Lake(join(folder, "lake"));
    await publish(lake);
    const symbol = market.instruments.find(({ region }) => region === "CN")?.symbol ?? "";
    const example = exampleOf(heading)
      .replaceAll("data/lake.duckdb", lake.databaseFile)
      .replaceAll("600519.SH", symbol);
    expect(example).toContain(symbol);
    writeFileSync(join(folder, "example.py"), example);
    const { code, output } = await runModule(folder, "example");
    expect(code, output).toBe(0);
    expect(output).toContain(shown);
    expect(output).toContain("2026-03-31");
  });

  test.skipIf(!pythonHas("deltalake", "datafusion", "daft"))(
    "as the lines for each engine do; files by a glob have replaced bars, too",
    async () => {
      const [lake, session, folder] = [
        temporaryLake({ hasDatabase: true }),
        await openSession(),
        temporaryFolder(),
      ];
      const at = "2026-01-05T00:00:00+08:00";
      for (const price of [10, 11])
        await land(session, lake, BARS_1D, [
          { symbol: "600519.SH", at, open: price, high: price, low: price, close: price },
        ]);
      await publish(lake);
      const counts = `
with duckdb.connect(${JSON.stringify(lake.databaseFile)}, read_only=True) as lake:
    files = lake.sql("SELECT count(*) FROM read_parquet('${lake.location}/bars_1d/**/*.parquet')").fetchall()[0]
    live = lake.sql("SELECT count(*) FROM raw.bars_1d").fetchall()[0]
print("found", len(weekly), highest["high"].to_list(), days, *live, *files)
`;
      expect(LINES.match(/import/g)).toHaveLength(6);
      const lines = LINES.replaceAll("version=12", "version=0").replaceAll('"data/', `"${lake.location}/`);
      writeFileSync(join(folder, "example.py"), lines + counts);
      const { code, output } = await runModule(folder, "example");
      expect(code, output).toBe(0);
      expect(output).toContain("found 1 [11.0] 1 1 2");
    },
  );
});
