import { expect, test } from "vitest";
import { dataset } from "../../../src/dataset/dataset.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, type TestBar, temporaryLake } from "../../lake/temporary-lake.js";

const FIELDS = ["volume", "shares", "adjusted_volume", "vwap", "amount", "factor", "close"] as const;

const bar = (symbol: string, day: number, more: Partial<TestBar> = {}): TestBar => ({
  symbol,
  at: `2026-03-0${day}T00:00:00+08:00`,
  open: 10,
  high: 12,
  low: 8,
  close: 10,
  volume: 7 * day,
  // An ex-date on the third day.
  prevClose: day === 3 ? 9 : 10,
  ...more,
});
const PLAIN = [2, 3, 4].map((day) => bar("600000.SH", day));

test.each<[string, [bars: readonly TestBar[], lot: number][]]>([
  ["in the unit of the region", [[PLAIN, 100]]],
  ["without an amount", [[[...PLAIN, bar("600000.SH", 5, { amount: 0 })], 100]]],
  [
    "of other lots",
    [
      [PLAIN, 100],
      [[bar("600000.SH", 5), bar("600519.SH", 2)], 1],
    ],
  ],
  ["of more than 32 bits", [[[...PLAIN, bar("600519.SH", 4, { volume: 2 ** 40 })], 100]]],
  ["of more shares than 64 bits can count", [[[...PLAIN, bar("600000.SH", 5, { volume: 2 ** 62 })], 100]]],
])("volumes %s are those of the SQL of the columns", async (_, landings) => {
  const lake = temporaryLake();
  const session = await openSession({ threads: 1 });
  for (const [bars, lot] of landings) {
    const rows = bars.map((one) => ({ amount: (one.volume as number) * lot * 10.003, ...one }));
    await land(session, lake, BARS_1D, rows, { lot });
  }
  const columns = async (more: { name: string; sql: string }[]) => {
    using data = await dataset(lake, {
      name: "volumes",
      universe: { region: "CN" },
      from: "2026-03-01",
      fields: [...FIELDS, ...more],
    });
    return (await data.columns()).fields;
  };
  const expected = await columns([{ name: "expression", sql: "close + 1" }]);
  const found = await columns([]);
  for (const name of FIELDS) expect(found[name], name).toEqual(expected[name]);
  const traded = found.close?.filter((value) => !Number.isNaN(value));
  expect(traded).toHaveLength(landings.flatMap(([bars]) => bars).length);
});
