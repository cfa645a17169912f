import { expect, test } from "vitest";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { queryBars } from "../../../src/ui/instrument/bars-query.js";
import { land, openSession, temporaryLake } from "../../lake/temporary-lake.js";

test.each(["none", "forward", "backward"] as const)(
  "a bar without trades whose open, high and low are 0 is drawn at its close: %s",
  async (adjustment) => {
    const lake = temporaryLake();
    await land(await openSession(), lake, BARS_1D, [
      { at: "2024-01-08T00:00:00+08:00", open: 10, high: 11, low: 9, close: 10.5 },
      { at: "2024-01-09T00:00:00+08:00", open: 0, high: 0, low: 0, close: 10.5, volume: 0, amount: 0 },
    ]);
    const reader = await openReader(lake, { threads: 1 });
    try {
      const batches = await queryBars(reader, { symbol: "600519.SH", period: "1d", adjustment }, undefined);
      const rows = batches.flatMap((batch) => batch.toArray());
      expect(rows.map(({ open, high, low, close }) => [open, high, low, close])).toEqual([
        [10, 11, 9, 10.5],
        [10.5, 10.5, 10.5, 10.5],
      ]);
    } finally {
      reader[Symbol.dispose]();
    }
  },
);
