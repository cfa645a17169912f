import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/client/system-clock.js";
import { buildDataset } from "../../src/dataset/build-dataset.js";
import { dataset } from "../../src/dataset/dataset.js";
import { type DatasetDefinition, defineDataset } from "../../src/dataset/spec.js";
import { runImport } from "../../src/jobs/import/run-import.js";
import type { Lake } from "../../src/lake/lake.js";
import { openReader } from "../../src/lake/open-reader.js";
import { addRename, DAYS, renamedLake } from "../lake/renamed-lake.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { once } from "../once.js";
import { pickFrom } from "../sweep.js";

const SPEC = {
  name: "d",
  universe: ["FB.US", "OTHER.US"],
  from: "2022-05-30",
  to: "2022-06-18",
  period: "1d",
  fields: ["close", "factor", "volume"],
  minHistory: 0,
} as const satisfies DatasetDefinition;

const FORMS = [
  ["1d", "backward"],
  ["1d", "none"],
  ["1d", "forward"],
  ["1w", "backward"],
] as const;

/** The columns of a dataset, its symbols and its warnings. */
async function columnsOf(lake: Lake, spec: DatasetDefinition) {
  using open = await dataset(lake, spec);
  const { symbols, fields, masks } = await open.columns();
  return { symbols, fields, masks, warnings: open.warnings };
}

describe("a renamed symbol of a dataset", () => {
  test("is one line under its last name, with the cells of a symbol that was never renamed", async () => {
    const lake = await renamedLake();
    const universes: DatasetDefinition["universe"][] = [
      ["FB.US", "OTHER.US"],
      ["META.US", "FB.US", "OTHER.US"],
      { region: "US" },
      {
        sql: `SELECT * FROM (VALUES ('FB.US', DATE '2022-05-01', DATE '2022-06-09'), ('META.US', DATE '2022-06-09', NULL),
          ('OTHER.US', DATE '2022-05-01', NULL)) AS m(symbol, from_date, to_date)`,
      },
    ];
    for (const universe of pickFrom(universes, { few: 1, more: 4, all: 4 }, [3]))
      for (const [period, adjustment] of pickFrom(FORMS, { few: 1, more: 4, all: 4 })) {
        const spec = { ...SPEC, universe, period, adjustment };
        const { symbols, fields, masks, warnings } = await columnsOf(lake, spec);
        expect(symbols).toEqual(["META.US", "OTHER.US"]);
        const width = period === "1d" ? DAYS.length : 3;
        for (const cells of [...Object.values(fields), ...Object.values(masks)]) {
          expect(cells.length).toBe(2 * width);
          expect([...cells.subarray(0, width)]).toEqual([...cells.subarray(width)]);
          expect(cells.includes(Number.NaN as never)).toBe(false);
        }
        expect(warnings.join("\n")).toContain(
          "the last name that they have in the dataset: FB.US as META.US",
        );
      }
  });

  once("has its old name in a dataset that ends before", async () => {
    const lake = await renamedLake();
    const { symbols, fields, warnings } = await columnsOf(lake, { ...SPEC, to: "2022-06-09" });
    expect(symbols).toEqual(["FB.US", "OTHER.US"]);
    expect(fields.close?.length).toBe(2 * DAYS.indexOf("2022-06-09"));
    expect(warnings.join("\n")).not.toContain("name");
  });

  once(
    "whose code another company has since is that company's, and without another name it is left out",
    async () => {
      const lake = await renamedLake("FB.US,2022-06-02,reuse,\n");
      const { symbols, fields } = await columnsOf(lake, { ...SPEC, adjustment: "none" });
      expect(symbols).toEqual(["FB.US", "OTHER.US"]);
      expect([...(fields.close ?? [])].slice(0, 5)).toEqual([Number.NaN, Number.NaN, Number.NaN, 103, 104]);
      const sql =
        "SELECT unnest(['FB.US', 'OTHER.US']) AS symbol, DATE '2022-05-01' AS from_date, DATE '2022-06-02' AS to_date";
      const dated = await columnsOf(lake, { ...SPEC, universe: { sql } });
      expect(dated.symbols).toEqual(["OTHER.US"]);
      expect(dated.warnings.join("\n")).toContain("no other name: they are left out: FB.US");
    },
  );

  once("has the bars, holes and events of the macro, whichever symbol has them", async () => {
    const odd = await renamedLake("FB.US,2022-06-09,rename,META.US\n");
    const folder = temporaryFolder();
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    // META.US also has bars from before its name, without a previous close, and the events are stated under either name.
    const bars = ["2022-05-25", "2022-05-26", "2022-05-27"].map(
      (day) => `META.US,${day},300,300,300,300,1000\n`,
    );
    const days = file("b.csv", `symbol,date,open,high,low,close,volume\n${bars.join("")}`);
    const factors = file(
      "f.csv",
      "symbol,ex_date,factor\nMETA.US,2022-05-26,3\nFB.US,2022-06-01,1.5\nFB.US,2022-06-09,1.25\nMETA.US,2022-06-02,7\n",
    );
    await runImport(odd, "bars_1d", [days], { runId: "test" }, systemClock);
    await runImport(odd, "ex_factors", [factors], { runId: "test" }, systemClock);
    const spec = { ...SPEC, from: "2022-05-20", universe: ["META.US"], fields: ["close"] };
    using reader = await openReader(odd, { threads: 1 });
    for (const adjustment of ["none", "backward", "forward"] as const) {
      const { fields } = await columnsOf(odd, { ...spec, adjustment });
      const rows = await reader.session.json<{ close: number }>(
        `SELECT close FROM history('META.US', '1d', '${adjustment}') ORDER BY trade_date`,
      );
      expect(rows).toHaveLength(DAYS.length + 3);
      for (const [i, { close }] of rows.entries()) expect(fields.close?.[i]).toBeCloseTo(close, 9);
    }
    const events = await reader.session.json(
      "SELECT ex_date::VARCHAR AS day, round(factor, 9) AS factor FROM name_events(['META.US']) ORDER BY ex_date",
    );
    expect(events).toMatchObject([
      { day: "2022-05-26", factor: 3 },
      // FB.US states the close before its first bar.
      { day: "2022-05-30", factor: 3 },
      { day: "2022-06-01", factor: 1.5 },
      { day: "2022-06-09", factor: 1.25 },
      { day: "2022-06-13", factor: 2 },
    ]);
  });

  once("is built again, not appended to, after the rename became known", async () => {
    const before = await renamedLake("");
    const output = join(temporaryFolder(), "d");
    const spec = (to: string) =>
      defineDataset({ ...SPEC, to, format: "wide-parquet", output, adjustment: "none" });
    await buildDataset(before, spec("2022-06-09"));
    await buildDataset(before, spec("2022-06-11"), { existing: "append" });
    const { symbols } = await buildDataset(await addRename(before), spec("2022-06-18"), {
      existing: "replace",
    });
    expect(symbols).toEqual(["META.US", "OTHER.US"]);
    await buildDataset(before, spec("2022-06-19"), { existing: "append" });
  });

  once("refuses an append that would rename a line", async () => {
    const lake = await renamedLake("");
    const output = join(temporaryFolder(), "d");
    const spec = (to: string) =>
      defineDataset({ ...SPEC, to, format: "wide-parquet", output, adjustment: "none" });
    await buildDataset(lake, spec("2022-06-09"));
    await addRename(lake);
    await expect(buildDataset(lake, spec("2022-06-18"), { existing: "append" })).rejects.toThrow(
      "the lake has changed its days since: symbol_changes",
    );
  });
});
