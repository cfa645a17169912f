import { expect } from "vitest";
import { openReader } from "../../../src/lake/open-reader.js";
import { queryBars } from "../../../src/ui/instrument/bars-query.js";
import { instrumentReport } from "../../../src/ui/instrument/instrument-report.js";
import { CLOSES, renamedLake } from "../../lake/renamed-lake.js";
import { once } from "../../once.js";

once("a renamed instrument is one chart, with its names and the events of all of them", async () => {
  const lake = await renamedLake();
  using reader = await openReader(lake, { threads: 1 });
  const closes = async (symbol: string, adjustment: "none" | "forward"): Promise<number[]> => {
    const batches = await queryBars(reader, { symbol, period: "1d", adjustment }, undefined);
    return batches.flatMap((batch) => batch.toArray().map(({ close }) => close));
  };
  for (const symbol of ["FB.US", "META.US"]) {
    expect(await closes(symbol, "none")).toEqual(CLOSES);
    expect(await closes(symbol, "forward")).toEqual(CLOSES.map((_, i) => (100 + i) / 2));
    const { names, exEvents, statesPrevClose } = await instrumentReport(reader, [], symbol, []);
    expect(names).toEqual([
      { symbol: "FB.US", from: null },
      { symbol: "META.US", from: "2022-06-09" },
    ]);
    expect(exEvents.map(({ day }) => day)).toEqual(["2022-06-13"]);
    expect(statesPrevClose).toBe(true);
  }
  expect((await instrumentReport(reader, [], "OTHER.US", [])).names).toEqual([]);
});
