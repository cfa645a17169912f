import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { type DatasetDefinition, defineDataset } from "../../../src/dataset/spec.js";
import { runImport } from "../../../src/jobs/import/run-import.js";
import { unzip } from "../../../src/jobs/import/text/whole-file.js";
import { Lake } from "../../../src/lake/lake.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { queryLake, temporaryFolder } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";
import { anySymbol, closesOf, EVENTFUL, type ExDay, engineLake, SESSIONS } from "./engine-lake.js";

const DEFINITION: DatasetDefinition = {
  name: "lean",
  universe: { region: "US" },
  from: SESSIONS[0] as string,
  adjustment: "none",
  format: "lean",
};

async function build(
  lake: Lake,
  changes: Partial<DatasetDefinition> = {},
): Promise<{ readonly folder: string; readonly warnings: readonly string[] }> {
  const output = join(temporaryFolder(), "out");
  return buildDataset(lake, defineDataset({ ...DEFINITION, ...changes, output }));
}

const compact = (at: number): string => (SESSIONS[at] as string).replaceAll("-", "");

function linesOf(folder: string, path: string): string[] {
  return readFileSync(join(folder, "equity/usa", path), "utf8")
    .trimEnd()
    .split("\n");
}

/** What LEAN's CorporateFactorProvider multiplies a price of a day with: the first row that is not before it. */
function factorOn(rows: readonly string[], day: string): number {
  const row = rows.map((line) => line.split(",")).find(([date = ""]) => date >= day);
  return Number(row?.[1]) * Number(row?.[2]);
}

describe("files of LEAN", () => {
  once(
    "bars are in ten-thousandths; factors tell a dividend from a split, and hold up to the session before",
    async () => {
      const lake = await engineLake(EVENTFUL);
      const { folder, warnings } = await build(lake);
      expect(readdirSync(join(folder, "equity/usa/daily"))).toEqual(["aaa.zip", "bbb.zip", "spy.zip"]);
      const unpacked = join(temporaryFolder(), "bbb.csv");
      expect(await unzip(join(folder, "equity/usa/daily/bbb.zip"), unpacked)).toBe("bbb.csv");
      const bars = readFileSync(unpacked, "utf8").trimEnd().split("\n");
      // Two days without trades are left out.
      expect(bars).toHaveLength(SESSIONS.length - 2 - 2);
      const closes = (await closesOf(lake)).filter(({ symbol }) => symbol === "BBB.US");
      for (const [i, { day, traded }] of closes.entries()) {
        const [date, open, high, low, close, volume] = bars[i]?.split(/,/) ?? [];
        expect(date).toBe(`${day} 00:00`);
        expect(new Set([open, high, low, close]).size).toBe(1);
        expect(Number(close) / 10_000).toBeCloseTo(traded, 7);
        expect(volume).toBe(String(1000 + SESSIONS.findIndex((one) => one.replaceAll("-", "") === day)));
      }
      const rows = linesOf(folder, "factor_files/aaa.csv").map((row) => row.split(","));
      expect(rows.map(([date, , split]) => [date, split])).toEqual([
        [compact(0), "1.25"],
        [compact(4), "1.25"],
        [compact(11), "1.25"],
        [compact(19), "5"],
        [compact(29), "10"],
        ["20501231", "1"],
      ]);
      // The dividends that LEAN makes of them: the reference price times 1 minus the quotient of price factors.
      const dividends = rows.slice(0, -1).map(([, price, , reference], i) => {
        return Number(reference) * (1 - Number(price) / Number(rows[i + 1]?.[1]));
      });
      expect(dividends.map((cash) => Math.round(cash * 1e9) / 1e9)).toEqual([0, 0.5, 0, 0.3, 0]);
      expect(linesOf(folder, "map_files/aaa.csv")).toEqual([`${compact(0)},aaa`, "20501231,aaa"]);
      expect(warnings).toContainEqual(
        expect.stringContaining(`2 ex-events (BBB.US ${SESSIONS[10]}, BBB.US ${SESSIONS[33]}) without`),
      );
    },
  );

  once(
    "a renamed symbol has the files of its last name, and what has its code since has files of its own",
    async () => {
      const dividends = (...at: number[]): ExDay[] => at.map((one) => ({ at: one, cash: 1 }));
      const lake = await engineLake(
        [
          // OLD until session 19, NEW since; OLD is another company's from session 30 on.
          {
            symbol: "OLD.US",
            price: 50,
            first: 3,
            exDays: dividends(10, 40),
            halts: [20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
          },
          { symbol: "NEW.US", price: 60, first: 20, exDays: dividends(25) },
          { symbol: "GONE.US", price: 10, last: 35 },
          { symbol: "MUTE.US", price: 10 },
        ],
        [
          { symbol: "OLD.US", from_date: SESSIONS[20], kind: "rename", new_symbol: "NEW.US" },
          { symbol: "OLD.US", from_date: SESSIONS[30], kind: "reuse" },
          { symbol: "GONE.US", from_date: SESSIONS[36], kind: "delisting" },
          // Its bars of then are not there: the file has all under one name.
          { symbol: "EARLY.US", from_date: SESSIONS[20], kind: "rename", new_symbol: "MUTE.US" },
        ],
      );
      const { folder } = await build(lake);
      expect(linesOf(folder, "map_files/new.csv")).toEqual([`${compact(3)},new`, "20501231,new"]);
      const datesOf = (ticker: string): (string | undefined)[] =>
        linesOf(folder, `factor_files/${ticker}.csv`).map((row) => row.split(",")[0]);
      // Its first bar under the new name states another previous close than the last one under the old name.
      expect(datesOf("new")).toEqual([compact(3), compact(9), compact(19), compact(24), "20501231"]);
      expect(linesOf(folder, "map_files/old.csv")).toEqual([`${compact(30)},old`, "20501231,old"]);
      expect(datesOf("old")).toEqual([compact(30), compact(39), "20501231"]);
      expect(linesOf(folder, "map_files/gone.csv")).toEqual([`${compact(0)},gone`, `${compact(35)},gone`]);
      expect(linesOf(folder, "map_files/mute.csv")).toEqual([`${compact(0)},mute`, "20501231,mute"]);
    },
  );

  once("adjusted prices come without factors", async () => {
    const { folder } = await build(await engineLake(EVENTFUL), { adjustment: "backward" });
    expect(linesOf(folder, "factor_files/aaa.csv")).toEqual([`${compact(0)},1,1,0`, "20501231,1,1,0"]);
  });

  once("symbols of other regions, and minutes, are refused", async () => {
    const lake = await engineLake([{ symbol: "0700.HK", price: 500 }]);
    await expect(build(lake, { universe: ["0700.HK"] })).rejects.toThrow(
      "dataset lean: 0700.HK is not of the United States, whose equities LEAN's data folder has",
    );
    expect(() => defineDataset({ ...DEFINITION, period: "1m" })).toThrow("LEAN's layout is for 1d");
  });

  test("prices times factors are the lake's, also by the events that an import reads of the files", async () => {
    const numRuns = cases({ few: 2, more: 20, all: 100 });
    await fc.assert(
      fc.asyncProperty(fc.tuple(anySymbol("AAA.US"), anySymbol("BBB.US")), async (symbols) => {
        const lake = await engineLake(symbols);
        const { folder } = await build(lake);
        const closes = await closesOf(lake);
        expect(closes.length).toBeGreaterThan(100);
        const copy = new Lake(join(temporaryFolder(), "lake"), { hasDatabase: false });
        const files = ["aaa", "bbb"].map((name) => join(folder, `equity/usa/factor_files/${name}.csv`));
        const options = { exchange: "US", runId: "read", reference: copy };
        await runImport(copy, "ex_factors", files, options, virtualClock("2026-11-21T00:00:00Z"));
        const events = await queryLake<{ symbol: string; day: string; factor: number }>(
          copy,
          "SELECT symbol, strftime(ex_date, '%Y%m%d') AS day, factor FROM ex_factors",
        );
        const rowsOf = new Map(
          ["AAA", "BBB", "SPY"].map((code) => [
            `${code}.US`,
            linesOf(folder, `factor_files/${code.toLowerCase()}.csv`),
          ]),
        );
        for (const { symbol: its, day, traded, adjusted } of closes) {
          const rows = rowsOf.get(its) as string[];
          expect(traded * factorOn(rows, day)).toBeCloseTo(adjusted, 9);
          const later = events.filter((event) => event.symbol === its && event.day > day);
          const factor = later.reduce((product, event) => product * event.factor, 1);
          expect(traded / factor).toBeCloseTo(adjusted, 9);
        }
      }),
      { numRuns },
    );
  });
});
