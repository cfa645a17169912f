import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "@uwdata/flechette";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { epochDay, type TradingDate } from "../../../src/core/time.js";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { type DatasetColumns, dataset } from "../../../src/dataset/dataset.js";
import { type DatasetDefinition, type DatasetFormat, defineDataset } from "../../../src/dataset/spec.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { newLake } from "../../serve/served-lake.js";
import { DAYS, lakeUntil } from "../growing-lake.js";

const LAST = DAYS[160] as TradingDate;
const DEFINITION: DatasetDefinition = {
  name: "tables",
  universe: { region: "CN" },
  from: DAYS[40] as string,
  fields: ["open", "high", "low", "close", { name: "volume", sql: "shares" }],
};

type Row = Record<string, unknown>;

async function readParquet(file: string): Promise<Row[]> {
  return parquetReadObjects({
    file: await asyncBufferFromFile(file),
    compressors,
    parsers: {
      dateFromDays: (days: number): number => days,
      timestampFromMicroseconds: (us: bigint): number => Number(us) / 1000,
    },
  });
}

/** Rows of an Arrow file as an independent reader has them: dates as days, instants as milliseconds. */
function readArrow(file: string): { columns: Record<string, ArrayLike<unknown>>; rows: number } {
  const table = tableFromIPC(readFileSync(file));
  return { columns: table.toColumns(), rows: table.numRows };
}

/** A value as it is, with null for NaN. */
const orNull = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : value;

describe("files of a dataset, read by others", () => {
  const { lake, remove } = newLake();
  let columns: DatasetColumns;
  let days: number[];

  beforeAll(async () => {
    await lakeUntil(lake.location, LAST, { minuteDays: 2 });
    using data = await dataset(lake, DEFINITION);
    columns = await data.columns();
    days = columns.dates.map((date) => epochDay(date));
  });
  afterAll(remove);

  async function build(format: DatasetFormat, changes: Partial<DatasetDefinition> = {}): Promise<string> {
    const output = join(temporaryFolder(), "out");
    await buildDataset(lake, defineDataset({ ...DEFINITION, ...changes, format, output }));
    return output;
  }
  const cell = (name: string, s: number, label: number): number | undefined =>
    (columns.fields[name] ?? columns.masks[name])?.[s * days.length + label];

  test.each(["wide-parquet", "wide-arrow"] as const)(
    "%s: a file a column, a row a date, a column a symbol",
    async (format) => {
      const output = await build(format);
      const ending = format.slice(5);
      const names = [
        ...Object.keys(columns.fields).map((name) => `fields/${name}`),
        ...Object.keys(columns.masks).map((name) => `masks/${name}`),
      ];
      let gaps = 0;
      const differ: unknown[] = [];
      for (const path of names) {
        const name = path.split("/")[1] as string;
        const file = join(output, `${path}.${ending}`);
        const isMask = path.startsWith("masks");
        const seen: (label: number, symbol: string) => unknown =
          format === "wide-arrow"
            ? (() => {
                const read = readArrow(file);
                expect(read.rows).toBe(days.length);
                expect(Object.keys(read.columns)).toEqual(["trade_date", ...columns.symbols]);
                expect(
                  Array.from(read.columns.trade_date as ArrayLike<number>, (ms) => ms / 86_400_000),
                ).toEqual(days);
                return (label, symbol) => read.columns[symbol]?.[label];
              })()
            : await (async () => {
                const rows = await readParquet(file);
                expect(rows.map(({ trade_date }) => trade_date)).toEqual(days);
                expect(Object.keys(rows[0] as Row)).toEqual(["trade_date", ...columns.symbols]);
                return (label: number, symbol: string) => rows[label]?.[symbol];
              })();
        for (const [s, symbol] of columns.symbols.entries()) {
          for (const label of days.keys()) {
            const ours = cell(name, s, label);
            if (Number.isNaN(ours)) gaps++;
            const [found, expected] = [seen(label, symbol), isMask ? ours === 1 : ours];
            if (!Object.is(found, expected)) differ.push([name, symbol, label, found, expected]);
          }
        }
      }
      expect(differ).toEqual([]);
      expect(gaps).toBeGreaterThan(100);
    },
  );

  /** Rows that a long table has: each symbol's from its first label with trades to its last. */
  function expectedRows(): { symbol: string; label: number; s: number }[] {
    return columns.symbols.flatMap((symbol, s) => {
      const labels = [...days.keys()].filter((label) => !Number.isNaN(cell("close", s, label)));
      const [first, last] = [labels[0] ?? 0, labels.at(-1) ?? -1];
      return Array.from({ length: last - first + 1 }, (_, n) => ({ symbol, s, label: first + n }));
    });
  }
  const asRow = ({ symbol, s, label }: { symbol: string; label: number; s: number }): Row => ({
    symbol,
    trade_date: days[label],
    timestamp: (days[label] as number) * 86_400_000 - 8 * 3_600_000,
    ...Object.fromEntries(Object.keys(columns.fields).map((name) => [name, orNull(cell(name, s, label))])),
    ...Object.fromEntries(Object.keys(columns.masks).map((name) => [name, cell(name, s, label) === 1])),
  });

  test("long-parquet: partitions by year, each file by symbol and date", async () => {
    const output = await build("long-parquet");
    const files = readdirSync(output, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".parquet"))
      .sort();
    expect(files.every((file) => /year=\d{4}\/part-0000\.parquet$/.test(file))).toBe(true);
    for (const file of files) {
      const { row_groups } = await parquetMetadataAsync(await asyncBufferFromFile(join(output, file)));
      const [group] = row_groups;
      const metaOf = (name: string) =>
        group?.columns.find(({ meta_data }) => meta_data?.path_in_schema[0] === name)?.meta_data;
      // Not every reader knows the encodings of the second version.
      for (const { meta_data } of group?.columns ?? [])
        expect(["PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY"]).toEqual(
          expect.arrayContaining(meta_data?.encodings ?? ["none"]),
        );
      // The statistics of a row group are those of its own symbols.
      const symbols = (await readParquet(join(output, file))).map(({ symbol }) => symbol as string).sort();
      const { min_value, max_value } = metaOf("symbol")?.statistics ?? {};
      expect([min_value, max_value]).toEqual([symbols[0], symbols.at(-1)]);
    }
    const rows = (await Promise.all(files.map((file) => readParquet(join(output, file))))).flat();
    const expected = expectedRows();
    const byYear = [...new Set(columns.dates.map((date) => date.slice(0, 4)))].flatMap((year) =>
      expected.filter(({ label }) => columns.dates[label]?.startsWith(year)),
    );
    expect(rows).toEqual(byYear.map(asRow));
  });

  test("long-arrow, and the batches of the library: in order of time, then symbol", async () => {
    const output = await build("long-arrow");
    const expected = expectedRows().sort((a, b) => a.label - b.label || a.s - b.s);
    const read = readArrow(join(output, "rows.arrow"));
    const rows = Array.from({ length: read.rows }, (_, row) => {
      const values = Object.fromEntries(
        Object.entries(read.columns).map(([name, column]) => [name, column[row]]),
      );
      return { ...values, trade_date: Number(values.trade_date) / 86_400_000 };
    });
    expect(rows).toEqual(expected.map(asRow));

    using data = await dataset(lake, DEFINITION);
    let at = 0;
    for await (const batch of data.batches()) {
      for (let row = 0; row < batch.numRows; row++, at++) {
        const { symbol, close } = (batch.get(row) as { symbol: string; close: number | null } | null) ?? {};
        expect(symbol).toBe(expected[at]?.symbol);
        expect(close).toBe(orNull(cell("close", expected[at]?.s ?? 0, expected[at]?.label ?? 0)));
      }
    }
    expect(at).toBe(expected.length);
  });

  test("symbol-parquet and symbol-csv: a file a symbol", async () => {
    const expected = groupBySymbol(expectedRows());
    const parquet = await build("symbol-parquet");
    const csv = await build("symbol-csv");
    for (const [symbol, rows] of expected) {
      expect(await readParquet(join(parquet, `${symbol}.parquet`))).toEqual(rows.map(asRow));
      const [head, ...lines] = readFileSync(join(csv, `${symbol}.csv`), "utf8")
        .trimEnd()
        .split("\n");
      expect(head).toBe(
        ["trade_date", ...Object.keys(columns.fields), ...Object.keys(columns.masks)].join(","),
      );
      const texts = rows.map(({ s, label }) => {
        const values = Object.keys(columns.fields).map((name) => orNull(cell(name, s, label)) ?? "");
        const marks = Object.keys(columns.masks).map((name) => cell(name, s, label));
        return [columns.dates[label], ...values, ...marks].join(",");
      });
      expect(lines).toEqual(texts);
    }
    expect(expected.size).toBeGreaterThan(5);
  });

  function groupBySymbol<T extends { readonly symbol: string }>(rows: readonly T[]): Map<string, T[]> {
    const groups = new Map<string, T[]>();
    for (const row of rows) groups.set(row.symbol, [...(groups.get(row.symbol) ?? []), row]);
    return groups;
  }

  test("backtrader: its columns in its order, whole volumes, empty where nothing traded", async () => {
    const output = await build("backtrader", { fields: [...(DEFINITION.fields ?? []), "factor"] });
    let empty = 0;
    for (const file of readdirSync(output).filter((name) => name.endsWith(".csv"))) {
      const [head, ...lines] = readFileSync(join(output, file), "utf8").trimEnd().split("\n");
      expect(head).toBe("datetime,open,high,low,close,volume,openinterest,factor,adjclose");
      for (const line of lines) {
        expect(line).toMatch(/^\d{4}-\d\d-\d\d,(?:(?:\d+(?:\.\d+)?,){4}\d+,0,\d|,,,,0,0,,$)/);
        const [, , , , close, , , , adjclose] = line.split(",");
        expect(adjclose).toBe(close);
        if (line.includes(",,,,")) empty++;
      }
    }
    expect(empty).toBeGreaterThan(10);
  });

  test("backtrader: adjclose of prices as traded is the close of the adjustment backward", async () => {
    const output = await build("backtrader", { adjustment: "none" });
    using traded = await dataset(lake, { ...DEFINITION, adjustment: "none" });
    const { fields } = await traded.columns();
    const labels = new Map(columns.dates.map((date, label) => [date, label]));
    let adjusted = 0;
    for (const [s, symbol] of columns.symbols.entries()) {
      const lines = readFileSync(join(output, `${symbol}.csv`), "utf8")
        .trimEnd()
        .split("\n")
        .slice(1);
      for (const line of lines) {
        const [date, , , , close, , , adjclose] = line.split(",");
        const index = s * labels.size + (labels.get(date as TradingDate) as number);
        if (close === "") continue;
        expect(Number(close)).toBe(fields.close?.[index]);
        const ours = columns.fields.close?.[index] as number;
        expect(Math.abs(Number(adjclose) / ours - 1), line).toBeLessThan(1e-12);
        adjusted += Number(close !== adjclose);
      }
    }
    expect(adjusted).toBeGreaterThan(100);
  });

  test("minutes: times in UTC as columns, in the exchange's zone as text", async () => {
    const minutes = { period: "1m", fields: ["close"] } as const;
    const changes = { ...minutes, fields: [...minutes.fields] };
    const wide = readArrow(join(await build("wide-arrow", changes), "fields/close.arrow"));
    const times = Array.from(wide.columns.timestamp as ArrayLike<number>, Number);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(new Date(times[0] as number).toISOString()).toMatch(/T01:(30|31):00\.000Z$/);
    const csv = await build("symbol-csv", changes);
    const [first = ""] = readdirSync(csv).filter((name) => name.endsWith(".csv"));
    expect(readFileSync(join(csv, first), "utf8")).toMatch(
      /^timestamp,close,.*\n\d{4}-\d\d-\d\d 09:3[01]:00,/,
    );
    const long = await build("long-parquet", changes);
    expect(
      readdirSync(long, { recursive: true, encoding: "utf8" }).some((file) =>
        /month=\d{4}-\d\d-01\/part-0000\.parquet$/.test(file),
      ),
    ).toBe(true);
  });
});
