import { expect, test } from "vitest";
import { parseTradingDate } from "../../../src/core/time.js";
import { fileRange, overlappingFiles, selectFiles, statedTimes } from "../../../src/lake/files/prune.js";
import type { DataFile } from "../../../src/lake/log/snapshot.js";
import { instantOf } from "../../../src/market/zone.js";

interface Facts {
  readonly region?: string;
  readonly month?: string;
  readonly year?: string;
  readonly symbols?: readonly [string, string];
  readonly times?: readonly [string, string];
}

function file(path: string, { region = "CN", month, year, symbols, times }: Facts): DataFile {
  const stats = {
    numRecords: 1,
    minValues: { ...(symbols && { symbol: symbols[0] }), ...(times && { timestamp: times[0] }) },
    maxValues: { ...(symbols && { symbol: symbols[1] }), ...(times && { timestamp: times[1] }) },
    nullCount: {},
  };
  const partitionValues = { region, ...(month && { month }), ...(year && { year }) };
  return { path, partitionValues, size: 1, writtenAt: 0, stats: symbols || times ? stats : undefined };
}

const at = (text: string): number => Date.parse(text);
const paths = (files: readonly DataFile[]): string[] => files.map((one) => one.path);

test("skips files of other regions, symbols and times", () => {
  const files = [
    file("hit", {
      symbols: ["000001.SZ", "600519.SH"],
      times: ["2024-01-01T00:00:00.000Z", "2024-01-31T00:00:00.000Z"],
    }),
    file("region", { region: "HK", symbols: ["000001.SZ", "600519.SH"] }),
    file("symbol", { symbols: ["600000.SH", "600010.SH"] }),
    file("time", {
      symbols: ["000001.SZ", "600519.SH"],
      times: ["2023-01-01T00:00:00.000Z", "2023-01-31T00:00:00.000Z"],
    }),
    file("silent", {}),
  ];
  const range = { start: at("2024-01-31T00:00:00Z"), end: at("2024-02-01T00:00:00Z") };
  const demand = { region: "CN", symbols: ["000002.SZ", "600519.SH"], range } as const;
  expect(paths(selectFiles(files, [demand]))).toEqual(["hit", "silent"]);
  expect(paths(selectFiles(files, [{ ...demand, range: { ...range, start: range.start + 1 } }]))).toEqual([
    "silent",
  ]);
  expect(paths(selectFiles(files, [{ region: "CN", symbols: ["000002.SZ"] }]))).toEqual([
    "hit",
    "time",
    "silent",
  ]);
  expect(paths(selectFiles(files, []))).toEqual([]);
});

test("takes a file that one of several demands needs, once", () => {
  const files = [
    file("a", { symbols: ["A.SH", "C.SH"] }),
    file("b", { region: "US", symbols: ["A.US", "B.US"] }),
  ];
  const demands = [
    { region: "CN", symbols: ["B.SH"] },
    { region: "CN", symbols: ["C.SH"] },
    { region: "US", symbols: ["C.US"] },
  ] as const;
  expect(paths(selectFiles(files, demands))).toEqual(["a"]);
});

test("knows a partition's range in the exchange's own zone where there are no statistics", () => {
  const date = (text: string, zone: string): number => instantOf(parseTradingDate(text), zone);
  const own = (letter: string): string => `${letter}-0123456789abcdef-00000000.parquet`;
  expect(fileRange(file(own("p"), { month: "2024-12-01" }))).toEqual({
    start: date("2024-12-01", "Asia/Shanghai"),
    end: date("2025-01-01", "Asia/Shanghai"),
  });
  expect(fileRange(file(own("c"), { region: "US", year: "2021" }))).toEqual({
    start: date("2021-01-01", "America/New_York"),
    end: date("2022-01-01", "America/New_York"),
  });
  const anyTime = { start: -Infinity, end: Infinity };
  expect(fileRange(file("x", { region: "MARS" }))).toEqual(anyTime);
  // Another program may have written rows of other months.
  expect(fileRange(file("part-0.parquet", { month: "2024-12-01" }))).toEqual(anyTime);
  // Month values in another writer's format give no range.
  for (const month of ["2024-12", "2024-12-02", "2024-13-01", "December", "9999-12-01"])
    expect(fileRange(file(own("p"), { month })), month).toEqual(anyTime);
  for (const year of ["24", "2024-01-01", "9999"])
    expect(fileRange(file(own("p"), { year })), year).toEqual(anyTime);
});

test("includes the last instant that the statistics name", () => {
  const times = ["2024-01-02T01:30:00.000Z", "2024-01-02T07:00:00.000Z"] as const;
  expect(fileRange(file("t", { times }))).toEqual({ start: at(times[0]), end: at(times[1]) + 1 });
});

test("statistics that are no instants say nothing", () => {
  expect(
    statedTimes(file("t", { times: ["soon", "2024-01-02T07:00:00.000Z"] }), "timestamp"),
  ).toBeUndefined();
  expect(statedTimes(file("t", {}), "timestamp")).toBeUndefined();
});

test("rows may have keys of the files of their partition whose bounds overlap theirs in every column", () => {
  const [early, late] = ["2024-01-01T00:00:00.000Z", "2024-01-31T00:00:00.000Z"];
  const symbols = ["B.SH", "D.SH"] as const;
  const files = [
    file("hit", { symbols, times: [early, late] }),
    file("touches", { symbols: ["A.SH", "B.SH"], times: [late, late] }),
    file("below", { symbols: ["A.SH", "AA.SH"], times: [early, late] }),
    file("above", { symbols: ["E.SH", "F.SH"], times: [early, late] }),
    file("earlier", { symbols, times: ["2023-01-01T00:00:00.000Z", "2023-12-31T00:00:00.000Z"] }),
    file("elsewhere", { region: "HK", symbols, times: [early, late] }),
    file("without times", { symbols }),
    file("without statistics", {}),
  ];
  const part = {
    values: { region: "CN" },
    rows: 2,
    min: { symbol: "B.SH", timestamp: early },
    max: { symbol: "D.SH", timestamp: late },
    from: "rows",
    inOrder: false,
  };
  const other = { ...part, values: { region: "HK" }, min: { symbol: "C.SH", timestamp: early } };
  const staged = (...partitions: readonly (typeof part)[]) => ({
    columns: new Map(),
    from: "rows",
    bounds: "rows",
    partitions,
  });
  const own = ["hit", "touches", "without times", "without statistics"];
  expect(paths(overlappingFiles(files, staged(part)))).toEqual(own);
  expect(paths(overlappingFiles(files, staged(part, other))).sort()).toEqual([...own, "elsewhere"].sort());
  expect(overlappingFiles(files, staged())).toEqual([]);
});
