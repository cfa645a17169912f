import { expect } from "vitest";
import { BarReader } from "../../../src/lake/segments/bar-reader.js";
import type { SegmentPlace } from "../../../src/lake/segments/segment-folder.js";
import { SegmentReader } from "../../../src/lake/segments/segment-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { once } from "../../once.js";
import { addRename, renamedLake } from "../renamed-lake.js";
import { temporaryFolder } from "../temporary-lake.js";

once("what the views read after another commit is not used, and is read again", async () => {
  const lake = await renamedLake("OTHER.US,2022-06-09,rename,ELSE.US\n");
  await using segments = new SegmentReader(
    lake,
    lake.segmentPlace({ folder: temporaryFolder() }) as SegmentPlace,
  );
  await segments.buildAll(await lake.snapshot(BARS_1D));
  let reads = 0;
  const looks: string[] = [];
  const bars = new BarReader(segments, {
    rules: () => Promise.reject(new Error("not needed")),
    names: async () => {
      reads += 1;
      // The names of the version before, which a reader can see that was opened earlier.
      if (reads === 1) await addRename(lake);
      return new Map(reads === 1 ? [] : [["FB.US", ["FB.US", "META.US"]]]);
    },
  });
  const rowsOf = async (symbol: string): Promise<number | undefined> => {
    const range = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
    const columns = new Set(["close"]);
    const demand = {
      symbols: [symbol],
      by: "day",
      rangeOf: () => range,
      columns,
      adjustment: "none",
    } as const;
    const read = await bars.read(BARS_1D, demand, {
      state: undefined,
      known: undefined,
      snapshotOf: (one) => {
        looks.push(one.name);
        return lake.snapshot(one);
      },
    });
    return read.bars?.rows;
  };
  expect(await rowsOf("FB.US")).toBeUndefined();
  expect(await rowsOf("FB.US")).toBeUndefined();
  looks.length = 0;
  expect(await rowsOf("OTHER.US")).toBeGreaterThan(0);
  // Each table of a read is looked at once.
  expect(looks).toEqual(["bars_1d", "symbol_changes"]);
  expect(reads).toBe(2);
});
