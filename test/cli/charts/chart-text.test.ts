import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BrailleCanvas } from "../../../src/cli/charts/chart-text.js";
import { notebookCellText } from "../../../src/cli/notebook/show-notebook.js";
import { runText } from "../../notebook/run-cells.js";

async function shown(text: string, width = 60): Promise<string> {
  const { runs } = await runText(text);
  expect(runs.map(({ fault }) => fault)).toEqual(runs.map(() => undefined));
  return runs.map((run) => notebookCellText(run, width)).join("");
}

test("dots are where they are set, lines join them", () => {
  const canvas = new BrailleCanvas(3, 2);
  canvas.dot(0, 1);
  canvas.dot(1, 0, 2);
  expect(canvas.text((layer, character) => `${layer}${character}`)).toEqual(["0⠁", "  2⢀"]);
  canvas.line([0, 0], [1, 0]);
  expect(canvas.text((_, character) => character)[1]).toBe("⣀⣀⣀");
});

describe("for a terminal", () => {
  test("prose, tables, and what there is none of", async () => {
    expect(
      await shown(
        "-- # Head\n-- Words.\n-- %% table rows=2 percent=r title=Rows\nSELECT i, i / 4 AS r FROM range(9) t(i)\n-- %%\nCREATE TEMP TABLE x AS SELECT 1\n-- %% table empty=Nothing.\nSELECT 1 WHERE false",
      ),
    ).toBe(
      "Head\nWords.\n\nRows\ni  r\n0   0.00%\n1  25.00%\nthe first 2 of 9 rows\n\nNothing.\n\n".replace(
        "i  r\n",
        "i       r\n",
      ),
    );
  });

  test("figures, one a line", async () => {
    expect(await shown("-- %% figures percent=b\nSELECT 1 AS a_name, 0.5 AS b")).toBe(
      "a name  1\nb       50.00%\n\n",
    );
  });

  test("a line from corner to corner, with its ends", async () => {
    const lines = (
      await shown(
        "-- %% chart line x=d y=v\nSELECT DATE '2026-01-01' + i::INTEGER AS d, i AS v FROM range(11) t(i)",
      )
    ).split("\n");
    expect(lines[0]).toMatch(/^10 .*[⠁-⣿]$/);
    expect(lines[7]).toMatch(/^ 5 /);
    expect(lines[13]).toMatch(/^ 0 [⠁-⣿]/);
    expect(lines[14]).toMatch(/^ {3}2026-01-01 +2026-01-11$/);
  });

  test("bars by length, those below zero in another hatch", async () => {
    const text = await shown(
      "-- %% chart bar x=n y=v\nSELECT * FROM (VALUES ('a', 10), ('b', -5), ('c', 0)) t(n, v)",
    );
    const [, a = "", b = "", c = ""] = text.split("\n");
    expect(a).toMatch(/^a +10 +▇+$/);
    expect(b).toMatch(/^b +-5 +▒+$/);
    expect(c).toMatch(/^c +0$/);
    expect(a.split("▇").length - 1).toBe(2 * (b.split("▒").length - 1));
  });

  test("a histogram counts all values", async () => {
    const text = await shown("-- %% chart histogram x=v bins=4\nSELECT i AS v FROM range(100) t(i)");
    expect(text.split("\n").filter((line) => / 25 +▇+$/.test(line))).toHaveLength(4);
  });

  test("a heatmap as a table, its newest columns where not all fit", async () => {
    const text = await shown(
      "-- %% chart heatmap x=m y=y color=v\nSELECT 'm' || lpad(i::VARCHAR, 2, '0') AS m, 2026 AS y, i AS v FROM range(20) t(i)",
    );
    expect(text).toMatch(/m19\n2026 .*19\nthe last \d+ of 20 columns/);
  });

  test("series over texts share the places of the texts", async () => {
    const drawn = await shown(
      "-- %% chart line x=m y=v color=g\nSELECT * FROM (VALUES ('a', 'b1', 1), ('b', 'b1', 2), ('a', 'b2', 1), ('b', 'b2', 2)) t(m, g, v)",
    );
    const alone = await shown("-- %% chart line x=m y=v\nSELECT * FROM (VALUES ('a', 1), ('b', 2)) t(m, v)");
    expect(drawn.split("\n").slice(1)).toEqual(alone.split("\n"));
  });

  test("series have a legend; candles and a scatter are drawn", async () => {
    const text = await shown(`-- %% chart line x=i y=v color=g
SELECT i, i % 3 AS v, 'g' || i % 2 AS g FROM range(10) t(i)
-- %% chart scatter x=i y=v log=y
SELECT i, i + 1 AS v FROM range(10) t(i)
-- %% chart candlestick x=d
SELECT DATE '2026-01-01' + i::INTEGER AS d, 10 + i AS open, 12 + i AS high, 9 + i AS low, 11 + i AS close, 5 AS volume FROM range(10) t(i)`);
    expect(text).toContain("● g0  ● g1");
    expect(text).toMatch(/vol +█+/);
    expect(text).toContain("2026-01-01");
  });

  test.each([
    ["", "", "32"],
    ["", "'AAPL.US' AS symbol, ", "32"],
    ["", "'600519.SH' AS symbol, ", "31"],
    ["", "'CN' AS region, ", "31"],
    ["rising=green", "'600519.SH' AS symbol, ", "32"],
    ["rising=red", "", "31"],
  ])(
    "candles rise in the colour of their region, if no setting says another: '%s' %s",
    async (rising, column, colour) => {
      const { stdout, stderr } = process;
      // The machine's own wish for colours, or for none, is not what is tested.
      for (const name of ["NO_COLOR", "FORCE_COLOR"]) vi.stubEnv(name, undefined);
      onTestFinished(() => void vi.unstubAllEnvs());
      const before = [stdout.isTTY, stderr.isTTY] as const;
      [stdout.isTTY, stderr.isTTY] = [true, true];
      try {
        const text = await shown(`-- %% chart candlestick x=d ${rising}
SELECT ${column}DATE '2026-01-01' + i::INTEGER AS d, 10 AS open, 12 AS high, 9 AS low, 11 AS close FROM range(5) t(i)`);
        const colours = [...text.matchAll(/\[(\d+)m[╷╻╵│╽╹╿┃]/g)].map(([, code]) => code);
        expect(new Set(colours)).toEqual(new Set([colour]));
      } finally {
        [stdout.isTTY, stderr.isTTY] = before;
      }
    },
  );
});
