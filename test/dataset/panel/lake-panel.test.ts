import { expect, test } from "vitest";
import { longParquetWriter } from "../../../src/dataset/formats/long.js";
import type { Block, BlockOptions } from "../../../src/dataset/panel/block.js";
import { BLOCKS, openPanel } from "../../../src/dataset/panel/lake-panel.js";
import { defineDataset } from "../../../src/dataset/spec.js";
import { DatasetFiles } from "../../../src/dataset/store/dataset-files.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";

const SYMBOLS = [0, 1, 2, 3, 4, 5, 6].map((n) => `60000${n}.SH`);
/** Bytes of the cells of a symbol: two days of two fields, and whether it traded. */
const SYMBOL_BYTES = 2 * (2 * 8 + 1);

test("blocks that are read together have separate cells, and are written before the next ones are read", async () => {
  const lake = temporaryLake();
  const writer = await openSession({ threads: 1 });
  const bars = SYMBOLS.flatMap((symbol, n) =>
    [2, 3].map((day) => ({ symbol, at: `2026-03-0${day}T00:00:00+08:00`, close: 10 + n / 10 })),
  );
  await land(writer, lake, BARS_1D, bars);
  const spec = defineDataset({
    name: "together",
    universe: { region: "CN" },
    from: "2026-03-01",
    fields: ["close", "factor"],
    masks: [],
  });
  const options: BlockOptions = { ...BLOCKS, bytes: 2 * SYMBOL_BYTES, readBytes: 4 * SYMBOL_BYTES };
  const { session } = await openReader(lake, { threads: 1, verify: false }, {});
  using reader = session;
  const panel = await openPanel(reader, spec, options);
  const folder = temporaryFolder();
  const files = new DatasetFiles(folder);
  const place = { spec, shape: panel, files, lake, session: reader, scratch: folder, memoryLimit: "100MB" };
  const output = longParquetWriter({ ...place, zone: "UTC", signal: undefined, warn: () => {} });
  const seen: { block: Block; closes: readonly number[]; read: number }[] = [];
  let read = 0;
  for await (const block of panel.blocks()) {
    seen.push({ block, closes: [...(block.fields[0] ?? [])], read });
    // The cells of an earlier block of the same read are still what they were.
    for (const one of seen.filter((other) => other.read === read))
      expect([...(one.block.fields[0] ?? [])]).toEqual(one.closes);
    await output.write(block);
    if (block.hasNext) continue;
    // Its cells are about to be overwritten.
    expect(files.list().files).toBe(seen.length);
    read += 1;
  }
  await output.close?.();
  expect(seen.map(({ block }) => block.index)).toEqual([0, 1, 2, 3]);
  expect(seen.map((one) => one.read)).toEqual([0, 0, 1, 1]);
  expect(seen.flatMap(({ closes }) => closes)).toEqual(bars.map(({ close }) => close));
});

test("rows that are in no order, or of other lots, are read again by the connection of their block", async () => {
  const lake = temporaryLake();
  const writer = await openSession({ threads: 1 });
  const barsOf = (days: readonly number[]) =>
    SYMBOLS.flatMap((symbol, n) =>
      days.map((day) => ({ symbol, at: `2026-03-0${day}T00:00:00+08:00`, close: day + n / 10, volume: 500 })),
    );
  // In both orders of the files, the days of a symbol do not ascend.
  await land(writer, lake, BARS_1D, barsOf([2, 4]), { lot: 1 });
  await land(writer, lake, BARS_1D, barsOf([3]), { lot: 1 });
  const spec = defineDataset({
    name: "apart",
    universe: SYMBOLS.slice(0, 6),
    from: "2026-03-01",
    fields: ["close", "volume"],
    masks: [],
  });
  const { session } = await openReader(lake, { threads: 1, verify: false }, {});
  using reader = session;
  const panel = await openPanel(reader, spec, { ...BLOCKS, bytes: 2 * 3 * (2 * 8 + 1) });
  const cells: number[][] = [];
  for await (const { fields, symbols } of panel.blocks()) {
    // Statements of the session do not end the rows of the blocks.
    expect(await reader.json("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    expect(symbols).toHaveLength(2);
    cells.push(...fields.map((values) => [...values]));
  }
  const closes = (n: number): number[] => [2, 3, 4].map((day) => day + n / 10);
  const volumes = Array.from({ length: 6 }, () => 5);
  expect(cells).toEqual([0, 2, 4].flatMap((n) => [[...closes(n), ...closes(n + 1)], volumes]));
});

test.each([
  ["volume", "backward"],
  ["is_final", "backward"],
  ["is_final", "forward"],
] as const)(
  "a bar of another program without %s is no bar with trades, adjusted %s",
  async (column, adjustment) => {
    const lake = temporaryLake();
    const writer = await openSession({ threads: 1 });
    const symbols = SYMBOLS.slice(0, 2);
    const barsOf = (symbol: string) =>
      [2, 3].map((day) => ({ symbol, at: `2026-03-0${day}T00:00:00+08:00` }));
    await land(writer, lake, BARS_1D, symbols.flatMap(barsOf));
    const { session } = await openReader(lake, { threads: 1, verify: false }, {});
    using reader = session;
    const [view] = await reader.json<{ sql: string }>(
      "SELECT sql FROM duckdb_views() WHERE schema_name = 'raw' AND view_name = 'bars_1d'",
    );
    await reader.run(view?.sql.replace("raw.bars_1d", "raw.whole") ?? "");
    await reader.run(`CREATE OR REPLACE VIEW raw.bars_1d AS SELECT * REPLACE (
      CASE WHEN symbol > '${symbols[0]}' AND trade_date = DATE '2026-03-03' THEN NULL ELSE ${column} END AS ${column}) FROM raw.whole`);
    const spec = defineDataset({
      name: "unknown",
      universe: symbols,
      from: "2026-03-01",
      fields: ["volume"],
      adjustment,
      masks: [],
    });
    const panel = await openPanel(reader, spec, BLOCKS);
    const cells: number[][] = [];
    for await (const { fields } of panel.blocks()) cells.push(...fields.map((values) => [...values]));
    expect(cells).toEqual([[1, 1, 1, Number.NaN]]);
  },
);
