import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
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

const CASES = new URL("cases/", import.meta.url);

/** Each notebook of the folder, as a terminal of 60 columns shows it; `vitest -u` writes the texts. */
test.each(readdirSync(CASES).filter((name) => name.endsWith(".sql")))("%s", async (name) => {
  const text = await shown(readFileSync(new URL(name, CASES), "utf8"));
  await expect(text).toMatchFileSnapshot(fileURLToPath(new URL(name.replace(".sql", ".txt"), CASES)));
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
