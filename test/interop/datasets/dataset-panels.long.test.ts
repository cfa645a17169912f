import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { loadingLine } from "../../../src/cli/commands/dataset.js";
import { type DatasetFormat, defineDataset } from "../../../src/dataset/spec.js";
import { marketLake } from "../../dataset/market-lake.js";
import { pythonHas, runModule, runPython } from "../python.js";

const FROM = "2025-06-02";
/** One that is suspended, lacks days, ends, begins, splits; and a fund. */
const SYMBOLS = ["600339.SH", "000469.SZ", "600725.SH", "300740.SZ", "600217.SH", "510459.SH"];
const MINUTE_SYMBOLS = ["000469.SZ", "000913.SZ"];
const WIDE = ["wide-parquet", "wide-arrow"] as const satisfies DatasetFormat[];
const LONG = [
  "long-parquet",
  "long-arrow",
  "symbol-csv",
  "symbol-parquet",
] as const satisfies DatasetFormat[];
const MINUTES = [
  "wide-parquet",
  "wide-arrow",
  "long-parquet",
  "long-arrow",
] as const satisfies DatasetFormat[];

type Row = readonly [
  symbol: string,
  label: string,
  close: number | null,
  volume: number | null,
  tradable: number,
];

describe.skipIf(!pythonHas("pandas", "polars", "pyarrow"))("pandas and polars read", () => {
  const its = marketLake();
  let found: Readonly<Record<string, Readonly<Record<"pandas" | "polars", readonly Row[]>>>>;
  beforeAll(async () => {
    const folders: Record<string, string> = {};
    for (const format of [...WIDE, ...LONG])
      folders[format] = await its.build({ name: format, format, universe: SYMBOLS, from: FROM });
    for (const format of MINUTES)
      folders[`${format}/1m`] = await its.build({
        name: `${format}-minutes`,
        format,
        universe: MINUTE_SYMBOLS,
        from: "2026-11-19",
        period: "1m",
      });
    found = runPython("datasets/read_panels.py", JSON.stringify(folders)) as typeof found;
  });

  /** What SQL has on every label; `isWithin` where a symbol's first and last bar lie around it. */
  async function rowsOf(
    labels: string,
    bars: string,
    symbols: readonly string[],
  ): Promise<{ row: Row; isWithin: boolean }[]> {
    const rows = await its.session.json<{
      symbol: string;
      label: string;
      close: number | null;
      volume: number | null;
      tradable: number;
      within: boolean;
    }>(`WITH labels AS (${labels}), bars AS (${bars})
      SELECT s.symbol, text AS label, close, CAST(volume AS DOUBLE) AS volume, coalesce(tradable, false)::INTEGER AS tradable,
        label BETWEEN first AND last AS within
      FROM (SELECT symbol, min(label) AS first, max(label) AS last FROM bars WHERE shares > 0 GROUP BY symbol) AS s
      CROSS JOIN labels
      LEFT JOIN (FROM bars WHERE shares > 0) AS b USING (symbol, label)
      WHERE symbol IN (${symbols.map((symbol) => `'${symbol}'`).join()}) ORDER BY symbol, label`);
    return rows.map(({ symbol, label, close, volume, tradable, within }) => ({
      row: [symbol, label, close, volume, tradable],
      isWithin: within,
    }));
  }

  const days = () =>
    rowsOf(
      `SELECT trade_date AS label, trade_date::VARCHAR AS text FROM raw.trading_days WHERE region = 'CN' AND trade_date >= DATE '${FROM}'`,
      `SELECT a.symbol, a.trade_date AS label, close, volume, shares, tradable FROM adjusted('1d', 'backward') AS a
       LEFT JOIN (SELECT symbol, trade_date, tradable FROM daily_status) USING (symbol, trade_date) WHERE trade_date >= DATE '${FROM}'`,
      SYMBOLS,
    );

  test.each(WIDE)("%s: NaN on every session without a bar", async (format) => {
    const expected = await days();
    expect(expected.some(({ row, isWithin }) => isWithin && row[2] === null)).toBe(true);
    expect(expected.some(({ isWithin }) => !isWithin)).toBe(true);
    expect(found[format]?.pandas).toEqual(expected.map(({ row }) => row));
    expect(found[format]?.polars).toEqual(expected.map(({ row }) => row));
  });

  test.each(LONG)("%s: a row on every session from the first bar to the last", async (format) => {
    const expected = (await days()).filter(({ isWithin }) => isWithin).map(({ row }) => row);
    expect(found[format]?.pandas).toEqual(expected);
    expect(found[format]?.polars).toEqual(expected);
  });

  test.each(MINUTES)("%s of minutes, in UTC", async (format) => {
    const expected = await rowsOf(
      `SELECT DISTINCT "timestamp" AS label, strftime("timestamp", '%Y-%m-%d %H:%M') AS text FROM bars_1m`,
      `SELECT symbol, "timestamp" AS label, close, volume, shares, true AS tradable FROM adjusted('1m', 'backward')`,
      MINUTE_SYMBOLS,
    );
    const isWide = format.startsWith("wide");
    // What is at a limit within the day is for the masks' own tests.
    const withoutMasks = (rows: readonly Row[] | undefined) => rows?.map((row) => row.slice(0, 4));
    const rows = withoutMasks(expected.filter(({ isWithin }) => isWide || isWithin).map(({ row }) => row));
    expect(withoutMasks(found[`${format}/1m`]?.pandas)).toEqual(rows);
    expect(withoutMasks(found[`${format}/1m`]?.polars)).toEqual(rows);
  });

  test.skipIf(!pythonHas("backtrader"))("each format by the line that a build prints", async () => {
    const [symbol = ""] = MINUTE_SYMBOLS;
    const lines: Record<string, string> = {};
    for (const period of ["1d", "1m"] as const)
      for (const format of [...WIDE, ...LONG, "backtrader"] as const) {
        const from = period === "1d" ? FROM : "2026-11-19";
        const definition = { name: `line-${period}`, format, period, universe: [symbol], from };
        const folder = await its.build(definition);
        const dataset = { folder, spec: defineDataset(definition), symbols: [symbol] };
        lines[`${format}/${period}`] = loadingLine(dataset).replace("SYMBOL", symbol);
      }
    const rows = runPython("datasets/load_lines.py", JSON.stringify(lines)) as Record<string, number>;
    const [counts] = await its.session.json<{ days: bigint; minutes: bigint }>(
      `SELECT (SELECT count(*) FROM raw.trading_days WHERE region = 'CN' AND year(trade_date) = 2026) AS days,
         (SELECT count(*) FROM bars_1m WHERE symbol = '${symbol}') AS minutes`,
    );
    for (const [name, count] of Object.entries(rows))
      expect(count, name).toBe(Number(counts?.[name.endsWith("1d") ? "days" : "minutes"]));
  });

  test.skipIf(!pythonHas("backtrader", "qlib"))("each format by the guide's lines", async () => {
    const guide = readFileSync(new URL("../../../docs/datasets.md", import.meta.url), "utf8");
    const lines = [...guide.matchAll(/^```py$(.*?)^```$/gms)].map(([, block = ""]) => block);
    const momentum = {
      name: "momentum",
      sql: "close / lag(close, 20) OVER (PARTITION BY symbol ORDER BY trade_date) - 1",
    };
    const mine = { name: "mine", universe: "SIM_CN_50", from: FROM };
    for (const format of ["long-parquet", "long-arrow", "wide-parquet"] as const)
      await its.build({ ...mine, format });
    await its.build({ ...mine, format: "qlib", fields: ["close", "factor", momentum] });
    await its.build({ name: "cn-daily", universe: SYMBOLS, from: FROM, format: "backtrader" });
    const file = join(its.folder, "lines.py");
    const run = lines
      .filter((block) => !block.includes("zipline"))
      .join("")
      .replaceAll("data/sim/", `${its.lake.location}/`)
      .replaceAll("sim_cn_300", "sim_cn_50")
      .replaceAll("600003.SH", SYMBOLS[0] ?? "")
      .replaceAll(
        /^((?:pl|D|bt)\..*)$/gm,
        "shown = $1\nassert shown is not None and getattr(shown, 'shape', [1])[0] > 0",
      );
    writeFileSync(
      file,
      `${run}assert len(returns) > 100 and str(returns.index[0]).startswith("2025-06-02")\n`,
    );
    expect(run.match(/^shown = /gm)).toHaveLength(4);
    const { code, output } = await runModule(its.folder, "lines");
    expect(code, output).toBe(0);
  });
});
