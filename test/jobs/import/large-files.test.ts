import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { runImport } from "../../../src/jobs/import/run-import.js";
import { Lake } from "../../../src/lake/lake.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { queryLake, temporaryFolder } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { pickFrom } from "../../sweep.js";
import { parseImport, runCommand } from "./case-commands.js";
import { lakeText } from "./case-rows.js";

const CASES = join(dirname(fileURLToPath(import.meta.url)), "cases");
const ownThreads = os.availableParallelism;
const useThreads = (threads: number): void => {
  os.availableParallelism = () => threads;
  syncBuiltinESMExports();
};
afterEach(() => {
  os.availableParallelism = ownThreads;
  syncBuiltinESMExports();
});

const dayOf = (n: number): string => new Date(Date.UTC(1990, 0, 1 + n)).toISOString().slice(0, 10);
/** Symbols of five thousand days each. */
const SYMBOLS = ["AAPL.US", "MSFT.US", "600000.SH", "00700.HK", "IBM.US"];
const newPlace = () => {
  const folder = temporaryFolder();
  return { folder, lake: new Lake(join(folder, "lake"), { hasDatabase: false }) };
};
const importFile = (lake: Lake, path: string) =>
  runImport(lake, "bars_1d", [path], { runId: "run" }, virtualClock("2026-11-21T00:00:00Z"));

once(
  "a JSON array of 25,000 bars keeps prices with fractions that come after 22,000 whole ones",
  async () => {
    const { folder, lake } = newPlace();
    const bars = Array.from({ length: 25_000 }, (_, n) => ({
      symbol: SYMBOLS[Math.floor(n / 5000)],
      date: dayOf(n % 5000),
      open: n < 22_000 ? 10 : 10.75,
      high: 11,
      low: 9,
      close: n < 22_000 ? 10 : 10.75,
      volume: n === 24_999 ? 1000.5 : 1000,
    }));
    const path = join(folder, "all.json");
    writeFileSync(path, JSON.stringify(bars));
    const report = await importFile(lake, path);
    expect(report.landed[0]).toMatchObject({ inserted: 24_999 });
    expect(report.rejected).toMatchObject([{ rule: "fraction_in_integer", rows: 1, line: 25_000 }]);
    expect(
      await queryLake(lake, 'SELECT "close", count(*)::INT AS n FROM bars_1d GROUP BY ALL ORDER BY ALL'),
    ).toEqual([
      { close: 10, n: 22_000 },
      { close: 10.75, n: 2999 },
    ]);
  },
);

once(
  "quote marks that first appear after row 20,480, and rows after them, are read with their lines",
  async () => {
    const { folder, lake } = newPlace();
    const rows = Array.from({ length: 25_000 }, (_, n) => {
      const note = n === 21_000 ? '"two\nlines, ""quoted"""' : n > 21_000 ? '"a, b"' : "plain";
      const close = n === 24_000 ? "x" : "10.5";
      return `${SYMBOLS[Math.floor(n / 5000)]},${dayOf(n % 5000)},${note},10,11,9,${close},1000\n`;
    });
    const path = join(folder, "all.csv.gz");
    writeFileSync(path, gzipSync(`symbol,date,note,open,high,low,close,volume\n${rows.join("")}`));
    const report = await importFile(lake, path);
    expect(report.landed[0]).toMatchObject({ inserted: 24_999 });
    // Its row is the 24,001st, after the header and a cell of two lines.
    expect(report.rejected).toMatchObject([{ rule: "unparsable", rows: 1, line: 24_003 }]);
  },
);

/** Files that read in parts: bad rows, repeats in one file and over files, two forms, and a file that is refused. */
function writeFiles(folder: string): string[] {
  const row = (n: number, close: string): string =>
    `${SYMBOLS[n % 5]},${dayOf(Math.floor(n / 5))},10,11,9,${close},${1000 + n}\n`;
  const rows = Array.from({ length: 20_000 }, (_, n) =>
    row(n, n % 9973 === 9972 ? "x" : (9 + (n % 200) / 100).toFixed(2)),
  );
  const again = Array.from({ length: 2000 }, (_, n) => row(n * 7, "10.25"));
  const header = "symbol,date,open,high,low,close,volume\n";
  writeFileSync(join(folder, "1.csv"), header + rows.join("") + rows.slice(100, 200).join(""));
  writeFileSync(join(folder, "2.csv"), header + again.join(""));
  const json = Array.from({ length: 2000 }, (_, n) => ({
    symbol: SYMBOLS[n % 5],
    date: dayOf(n),
    open: 10,
    high: 11,
    low: 9,
    close: 10.125,
    volume: 7,
  }));
  writeFileSync(join(folder, "3.json"), JSON.stringify(json));
  writeFileSync(join(folder, "4.csv"), "date,open\n2024-01-02,1\n");
  return ["1.csv", "2.csv", "3.json", "4.csv"];
}

const PICKED = [
  "bars-same-key-two-forms",
  "text-blank-lines",
  "text-quoted-newlines",
  "source-yfinance-multi",
  "statements-discrete-us",
  "instruments-repeated",
];

test("an import gives the same rows, rejects and report with any number of threads", async () => {
  const outcomes: string[] = [];
  for (const threads of pickFrom([1, 2, 4], { few: 2, more: 3, all: 3 }, [0])) {
    useThreads(threads);
    const { folder, lake } = newPlace();
    const files = writeFiles(folder);
    const clock = virtualClock("2026-11-21T00:00:00Z");
    const { text } = await runCommand({ folder, lake, clock }, parseImport("bars_1d", files), "run");
    const [sums] = await queryLake<{ text: string }>(
      lake,
      `SELECT string_agg(b::VARCHAR, '\n' ORDER BY b.symbol, b.trade_date) AS text
       FROM (SELECT symbol, trade_date, close, volume, lot FROM bars_1d) b`,
    );
    const own: string[] = [text, sums?.text ?? "", await lakeText(lake, ["bars_1d"], folder)];
    for (const name of pickFrom(PICKED, { few: 1, more: 6, all: 6 })) own.push(await caseText(name));
    outcomes.push(own.join("\n"));
  }
  expect(outcomes[0]?.split("\n").length).toBeGreaterThan(20_000);
  // The first line that differs says more than two texts of 20,000 lines.
  for (const outcome of outcomes.slice(1)) {
    const expected = (outcomes[0] ?? "").split("\n");
    expect(outcome.split("\n").filter((line, i) => line !== expected[i])).toEqual([]);
  }
});

async function caseText(name: string): Promise<string> {
  const { folder, lake } = newPlace();
  cpSync(join(CASES, name), folder, { recursive: true });
  const clock = virtualClock("2026-11-21T00:00:00Z");
  const { imports } = JSON.parse(readFileSync(join(folder, "command.json"), "utf8")) as {
    imports: { table: string; args: string[] }[];
  };
  const texts: string[] = [];
  for (const [i, { table, args }] of imports.entries())
    texts.push((await runCommand({ folder, lake, clock }, parseImport(table, args), `run-${i}`)).text);
  texts.push(await lakeText(lake, [...new Set(imports.map(({ table }) => table))], folder));
  return texts.join("\n");
}
