import { describe, expect } from "vitest";
import { type LakeConnection, openLake, type ReadOptions } from "../../../src/api/lake/open-lake.js";
import { CLOSES, DAYS, renamedLake } from "../../lake/renamed-lake.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { once } from "../../once.js";

/** The rows of a read: symbol and close, by date. */
async function closesOf(lake: LakeConnection, options: ReadOptions, table = "bars_1d"): Promise<string[]> {
  const read = await lake.read<{ symbol: string; trade_date: Date; close: number }>(table, options);
  return [...read].map(
    ({ symbol, trade_date, close }) =>
      `${symbol} ${new Date(trade_date).toISOString().slice(0, 10)} ${close}`,
  );
}

const rowsOf = (name: string, closes = CLOSES): string[] =>
  DAYS.map((day, i) => `${name} ${day} ${closes[i]}`);
const HALVED = CLOSES.map((_, i) => (100 + i) / 2);

describe("a renamed symbol", () => {
  once("is one history under the name that is asked for, others come from segments", async () => {
    const { location } = await renamedLake();
    await using lake = openLake(location, { segments: { folder: temporaryFolder() }, threads: 1 });
    await lake.buildSegments();
    for (const name of ["FB.US", "META.US"]) {
      expect(await closesOf(lake, { symbols: [name] })).toEqual(rowsOf(name));
      expect(await closesOf(lake, { symbols: [name], adjust: "none" })).toEqual(rowsOf(name));
      expect(await closesOf(lake, { symbols: [name], adjust: "forward" })).toEqual(rowsOf(name, HALVED));
      expect(await closesOf(lake, { symbols: [name] }, "returns")).toEqual(rowsOf(name));
      expect(await closesOf(lake, { symbols: [name], from: "2022-06-08", to: "2022-06-10" })).toEqual(
        rowsOf(name).slice(7, 9),
      );
    }
    expect(await closesOf(lake, { symbols: ["META.US", "OTHER.US", "FB.US"], adjust: "forward" })).toEqual(
      ["FB.US", "META.US", "OTHER.US"].flatMap((name) => rowsOf(name, HALVED)),
    );
    const { columns } = { columns: ["close", "symbol"] };
    const some = await lake.read("bars_1d", { symbols: ["FB.US"], columns });
    expect(some.schema.fields.map(({ name }) => name)).toEqual(columns);
    const [whole, stored] = await Promise.all(
      [["FB.US"], undefined].map((symbols) => lake.read("bars_1d", { ...(symbols && { symbols }) })),
    );
    expect(whole?.schema.fields.map(({ name }) => name)).toEqual(
      stored?.schema.fields.map(({ name }) => name),
    );
    // Without symbols, rows are as stored.
    expect(stored?.rows().length).toBe(2 * DAYS.length);
  });

  once("is not followed in a state of the lake before its change came", async () => {
    const { location } = await renamedLake();
    await using lake = openLake(location, { threads: 1 });
    const [{ at } = { at: 0 }] = await lake.query<{ at: number }>(
      "SELECT epoch_ms(min(first_seen_at)) - 1 AS at FROM symbol_changes",
    );
    const [before] = [Number(at)];
    expect(await closesOf(lake, { symbols: ["META.US"], asOf: before })).toEqual(rowsOf("META.US").slice(8));
    expect(await closesOf(lake, { symbols: ["META.US"] })).toEqual(rowsOf("META.US"));
  });
});
