import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { loadPipeline, pipelineFiles } from "../../../src/jobs/pipeline/load-pipeline.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

const BARS = { name: "mine", kind: "bars", period: "1d", from: "2024-01-01" } as const;
const FILES = { name: "mine", kind: "files", table: "bars_1d", from: "/in", pattern: "*.csv" } as const;
const REFERENCE = { name: "mine", kind: "reference" } as const;

test("four lines are a pipeline; the rest has defaults", () => {
  expect(definePipeline(BARS)).toEqual({
    ...BARS,
    doc: "",
    exFactors: false,
    schedule: [],
    regions: ["CN", "HK", "US"],
    types: ["stock", "etf"],
  });
});

test("one rule of a schedule is a list of one; trading days unless it is a cron expression", () => {
  const schedule = (given: PipelineDefinition["schedule"]): unknown =>
    definePipeline({ ...REFERENCE, schedule: given }).schedule;
  expect(schedule({ at: "17:30", region: "CN" })).toEqual([{ at: ["17:30"], region: "CN", days: "trading" }]);
  expect(schedule({ cron: "0 9 * * *" })).toEqual([{ cron: "0 9 * * *", days: "daily" }]);
  expect(schedule([{ at: ["09:00", "17:30"], region: "US", days: "daily" }])).toEqual([
    { at: ["09:00", "17:30"], region: "US", days: "daily" },
  ]);
});

test("a pipeline of files needs a table, a folder and a pattern", () => {
  expect(definePipeline(FILES)).toEqual({ ...FILES, doc: "", schedule: [] });
  const full = definePipeline({
    ...FILES,
    from: "s3://drop/in",
    options: { volumeUnit: "lots", exchange: "SH" },
  });
  expect(full).toMatchObject({ options: { map: {}, volumeUnit: "lots", exchange: "SH" } });
  expect(definePipeline(full)).toEqual(full);
});

test("what comes of a definition is a definition, and the same comes of it", () => {
  const full = definePipeline({
    ...BARS,
    symbols: ["600519.SH"],
    to: "2025-01-01",
    lookback: "3d",
    schedule: [
      { at: "17:30", region: "CN" },
      { cron: "*/5 * * * *", region: "US", days: "trading" },
    ],
    quota: { requestsPerMinute: 30, share: 0.5 },
    notify: { webhook: "env:HOOK" },
  });
  expect(definePipeline(full)).toEqual(full);
});

test.each<[string, unknown, RegExp]>([
  ["a wrong value", { ...BARS, period: "2d" }, /^pipeline mine: period: must be 1d or 1m, is "2d"$/],
  ["a missing field", { ...BARS, from: undefined }, /^pipeline mine: from: must be a string, is missing$/],
  ["an unknown field", { ...BARS, symbol: [] }, /^pipeline mine: symbol: is not a field here$/],
  ["a date that is none", { ...BARS, from: "2024-02-30" }, /from: must be YYYY-MM-DD or like -365d, is "20/],
  ["a window that ends first", { ...BARS, to: "2023-01-01" }, /to: must come after from, is "2023-01-01"$/],
  ["symbols that are none", { ...BARS, symbols: ["x"] }, /symbols\.0: must be of the form CODE.EXCHANGE/],
  [
    "symbols and exchanges that are left out",
    { ...BARS, symbols: ["600519.SH"], withoutExchanges: ["SZ"] },
    /withoutExchanges: cannot be combined with/,
  ],
  [
    "symbols and universes",
    { ...BARS, symbols: ["600519.SH"], universes: ["U"] },
    /universes: cannot be combined with/,
  ],
  ["a lookback without unit", { ...BARS, lookback: "3" }, /lookback: must be a number of days such as 3d/],
  ["factors of minutes", { ...BARS, period: "1m", exFactors: true }, /exFactors: is for daily bars/],
  ["a lookback of a snapshot", { ...REFERENCE, lookback: "3d" }, /lookback: is not a field here/],
  [
    "an unknown kind",
    { ...BARS, kind: "bar" },
    /kind: must be reference, bars, intraday, statements or files/,
  ],
  [
    "an unknown table",
    { ...FILES, table: "trading_days" },
    /table: must be bars_1d, bars_1m.* or symbol_changes, is "tr/,
  ],
  ["files without a folder", { ...FILES, from: undefined }, /from: must be a string, is missing$/],
  [
    "files of another place",
    { ...FILES, from: "ftp://x/y" },
    /from: must be a folder, or s3:\/\/bucket\/prefix, is/,
  ],
  [
    "a key in an address",
    { ...FILES, from: "s3://a:b@c/d" },
    /from: address s3:\/\/\.{3}@\.{3} must not contain a key or password$/,
  ],
  ["an absolute pattern", { ...FILES, pattern: "/in/*" }, /pattern: must be relative to the folder/],
  ["a plan and options", { ...FILES, plan: "a.json", options: {} }, /options: cannot be combined with plan/],
  ["an unknown option", { ...FILES, options: { volumes: "lots" } }, /options\.volumes: is not a field here/],
  [
    "a symbol for many files",
    { ...FILES, options: { symbol: "AAPL.US" } },
    /options\.symbol: is not a field here/,
  ],
  ["a wrong unit", { ...FILES, options: { volumeUnit: "kg" } }, /options\.volumeUnit: must be shares, lots/],
  ["a zone that is none", { ...FILES, options: { zone: "Mars" } }, /options: .*zone: "Mars".*is no zone/],
  ["a quota of files", { ...FILES, quota: { share: 0.5 } }, /quota: is not a field here/],
  ["a name with spaces", { ...REFERENCE, name: "My job" }, /^pipeline My job: name: must be lower-case/],
  ["no name", { kind: "reference" }, /^pipeline without a name: name: must be a string, is missing$/],
  ["no definition", 5, /^pipeline without a name: definition: must be an object, is 5$/],
  ["a wrong time", { ...REFERENCE, schedule: { at: "25:00", region: "CN" } }, /schedule\.at: must be a time/],
  ["a schedule without region", { ...REFERENCE, schedule: { at: "17:30" } }, /schedule\.region: must be CN/],
  ["a text as schedule", { ...REFERENCE, schedule: "17:30" }, /schedule: must be an object, is "17:30"/],
  [
    "two wrong fields of one rule",
    { ...REFERENCE, schedule: [{ at: ["17:30", "x"], region: "MARS" }] },
    /schedule\.0\.at\.1: must be a time.*; schedule\.0\.region: must be CN, HK or US, is "MARS"/,
  ],
  ["a wrong cron expression", { ...REFERENCE, schedule: { cron: "61 * * * *" } }, /schedule\.cron: .*61/],
  [
    "trading days of nowhere",
    { ...REFERENCE, schedule: { cron: "0 9 * * *", days: "trading" } },
    /schedule\.region: is needed to know the trading days/,
  ],
  ["a share above 1", { ...REFERENCE, quota: { share: 2 } }, /quota\.share: must be above 0 and at most 1/],
  ["an unknown part of a quota", { ...REFERENCE, quota: { rpm: 2 } }, /quota\.rpm: is not a field here/],
  [
    "an end that is none",
    { ...REFERENCE, notify: { webhook: "env:X", on: ["late"] } },
    /notify\.on\.0: must be complete/,
  ],
])("%s: the error names pipeline, field and rule", (_, definition, message) => {
  expect(() => definePipeline(definition as PipelineDefinition)).toThrow(
    expect.objectContaining({ name: "UsageError", message: expect.stringMatching(message) }),
  );
});

test("a webhook that is no address is refused without showing it", () => {
  const definition = { ...REFERENCE, notify: { webhook: "ftp://host/secret" } };
  expect(() => definePipeline(definition)).toThrow(/^(?!.*secret).*notify\.webhook: must be env:NAME/);
});

test("each pipeline that comes with barlake has a schedule, and says what it does", async () => {
  const names = [...(await pipelineFiles()).keys()];
  expect(names).toEqual(["daily", "financials", "intraday", "minute", "reference"]);
  for (const name of names) {
    const pipeline = await loadPipeline(name);
    expect(pipeline).toMatchObject({ name, doc: expect.stringMatching(/^[A-Z].*\.$/) });
    expect(pipeline.schedule.length).toBeGreaterThan(0);
  }
});

test("a user's file is loaded by its path, as a module or not", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "modules"));
  writeFileSync(join(folder, "modules", "package.json"), '{ "type": "module" }');
  const text =
    'const from: string = "2024-01-01";\nexport default { name: "mine", kind: "bars", period: "1d", from };\n';
  for (const file of [join(folder, "mine.ts"), join(folder, "modules", "mine.ts")]) {
    writeFileSync(file, text);
    expect(await loadPipeline(file)).toMatchObject(BARS);
  }
});

test.each([
  ["empty.ts", "export const a = 1;\n", /has no default export$/],
  ["broken.ts", "export default {\n", /cannot be loaded/],
  ["missing.ts", undefined, /does not exist$/],
])("%s: the error names the file", async (name, text, message) => {
  const file = join(temporaryFolder(), name);
  if (text !== undefined) writeFileSync(file, text);
  await expect(loadPipeline(file)).rejects.toThrow(message);
});
