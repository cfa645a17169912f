import { join } from "node:path";
import { expect, test } from "vitest";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { planDataset } from "../../../src/dataset/plan-dataset.js";
import { type DatasetDefinition, defineDataset } from "../../../src/dataset/spec.js";
import { readManifest } from "../../../src/dataset/store/manifest.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";

const UNKNOWN = /no ex-event of its symbols is known: prices are as traded/;

test("a dataset of symbols without a known ex-event is not called adjusted: plan, report and manifest say so", async () => {
  const lake = temporaryLake();
  // More symbols than are looked at first.
  const others = Array.from({ length: 55 }, (_, n) => `${String(n + 1).padStart(6, "0")}.SZ`);
  const at = (day: number): string => `2024-01-${String(day).padStart(2, "0")}T00:00:00+08:00`;
  await land(
    await openSession(),
    lake,
    BARS_1D,
    [8, 9, 10, 11].flatMap((day) => [
      ...others.map((symbol) => ({ symbol, at: at(day), close: 10, prevClose: 10 })),
      { symbol: "600519.SH", at: at(day), close: 10, prevClose: day === 11 ? 8 : 10 },
    ]),
  );
  const of = (definition: Partial<DatasetDefinition>) =>
    defineDataset({ name: "x", universe: ["000001.SZ"], from: "2024-01-08", ...definition });
  const all = [...others, "600519.SH"];
  const warned = async (definition: Partial<DatasetDefinition>): Promise<boolean> =>
    UNKNOWN.test((await planDataset(lake, of(definition))).warnings.join("\n"));
  expect(await warned({})).toBe(true);
  expect(await warned({ adjustment: "forward_additive" })).toBe(true);
  expect(await warned({ adjustment: "none" })).toBe(false);
  expect(await warned({ universe: all })).toBe(false);
  // The ex-date is the day after the last one.
  expect(await warned({ universe: all, to: "2024-01-11" })).toBe(true);
  const output = join(temporaryFolder(), "out");
  const { folder, warnings } = await buildDataset(lake, of({ output }));
  expect(warnings.join("\n")).toMatch(UNKNOWN);
  expect((await readManifest(lake.storageAt(folder))).warnings).toEqual(warnings);
});
