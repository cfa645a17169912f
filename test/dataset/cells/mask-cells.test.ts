import { expect, test } from "vitest";
import { openPanel } from "../../../src/dataset/panel/lake-panel.js";
import { defineDataset } from "../../../src/dataset/spec.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { addFile } from "../../lake/bar-files.js";
import { land, openSession, type TestBar, temporaryLake } from "../../lake/temporary-lake.js";
import { landReference } from "../../serve/served-lake.js";

const at = (day: string): string => `${day}T00:00:00+08:00`;
const MASKS = ["tradable", "limit_up", "limit_down"] as const;

test.each([
  ["bars", ["close"]],
  ["SQL", [{ name: "half", sql: "close / 2" }]],
] as const)(
  "days far from a rule's limit have the masks of daily_status, with cells of %s: at a stated limit, not final, without volume or lot",
  async (_, fields) => {
    const [lake, writer] = [temporaryLake(), await openSession()];
    const bar = (day: string, price: number, more: Partial<TestBar> = {}): TestBar => ({
      at: at(day),
      open: price,
      high: price,
      low: price,
      close: price,
      prevClose: 10,
      ...more,
    });
    await land(writer, lake, BARS_1D, [
      { ...bar("2024-01-02", 10.1), symbol: "600520.SH" },
      bar("2024-01-03", 11),
      bar("2024-01-04", 10, { volume: 0 }),
      bar("2024-01-05", 10.2),
      bar("2024-01-08", 9.8),
      { ...bar("2024-01-04", 10.1), symbol: "600520.SH" },
    ]);
    const end = Date.parse(at("2024-01-01"));
    await land(writer, lake, BARS_1D, [bar("2024-01-02", 10.1)], { finalEnd: { CN: end, HK: end, US: end } });
    const stated = (day: string, limit_up: number, limit_down: number) =>
      landReference(
        lake,
        INSTRUMENTS,
        [
          {
            symbol: "600519.SH",
            code: "600519",
            exchange: "SH",
            name: "Maotai",
            type: "stock",
            region: "CN",
            limit_up,
            limit_down,
          },
        ],
        { now: Date.parse(at(day)) },
      );
    await stated("2024-01-05", 10.2, 9);
    await stated("2024-01-08", 11, 9.8);
    // Bars of another program: without a volume, without a lot, and of which is not known whether they are final.
    const others = [
      "NULL, 100, true",
      "5, 0, true",
      "5, -1, true",
      "5, NULL, true",
      "5, 100, NULL",
      "5, 100, true",
    ];
    const rowsOf = (symbol: string): string[] =>
      others.map(
        (cells, n) =>
          `('${symbol}', DATE '2023-05-0${n + 4}', ${symbol === "600519.SH" ? cells : others[5]})`,
      );
    await addFile(
      writer,
      lake,
      BARS_1D,
      `SELECT symbol, CAST(day AS TIMESTAMP) AT TIME ZONE 'Asia/Shanghai' AS "timestamp", day AS trade_date, 10::DOUBLE AS open,
       10::DOUBLE AS high, 10::DOUBLE AS low, 10::DOUBLE AS close, volume::BIGINT AS volume, 5::DOUBLE AS amount,
       NULL::DOUBLE AS open_interest, 10::DOUBLE AS prev_close, NULL::DOUBLE AS settlement_price, lot::INTEGER AS lot,
       is_final
     FROM (VALUES ${["600519.SH", "600520.SH"].flatMap(rowsOf).join(", ")}) bars(symbol, day, volume, lot, is_final)`,
      { region: "CN", year: "2023" },
    );
    const { session } = await openReader(lake, { threads: 1 });
    const spec = defineDataset({
      name: "masks",
      universe: ["600519.SH"],
      from: "2023-01-01",
      fields: [...fields],
      masks: [...MASKS],
    });
    const panel = await openPanel(session, spec);
    const rows: unknown[] = [];
    for await (const { masks } of panel.blocks())
      for (let label = 0; label < panel.labels.count; label++)
        rows.push({
          day: panel.labels.days[label],
          ...Object.fromEntries(MASKS.map((mask, i) => [mask, masks[i]?.[label]])),
        });
    const columns = MASKS.map((mask) => `coalesce(${mask}, false)::INTEGER AS ${mask}`).join(", ");
    const expected = await session.json(
      `SELECT CAST(trade_date - DATE '1970-01-01' AS INTEGER) AS day, ${columns} FROM daily_status WHERE has_bar AND symbol = '600519.SH' ORDER BY day`,
    );
    expect(rows).toEqual(expected);
    expect(rows).toContainEqual(expect.objectContaining({ tradable: 0, limit_up: 1, day: 19_727 }));
    expect(rows).toContainEqual(expect.objectContaining({ tradable: 0, limit_down: 1, day: 19_730 }));
    expect(rows.slice(0, 6)).toMatchObject([0, 1, 1, 1, 1, 1].map((tradable) => ({ tradable })));
    // The bar that is not final.
    expect(rows[6]).toMatchObject({ tradable: 1, day: 19_724 });
    session.close();
    writer.close();
  },
);
