import { chmodSync, chownSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../src/jobs/pipeline/definition.js";
import { Lake } from "../../src/lake/lake.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { runProcess } from "../cli/run-cli.js";
import { weekdays } from "../jobs/minute-market.js";
import { barsOn, scriptedMarket } from "../jobs/scripted-market.js";
import { temporaryFolder, temporaryLake } from "../lake/temporary-lake.js";
import { json, type Script } from "./service/scripted-service.js";

const DAYS = weekdays("2024-01-01", "2024-02-01");
const INSTRUMENT = { symbol: "600519.SH", code: "600519", exchange: "SH", region: "CN", type: "stock" };
const responses: Readonly<Record<string, unknown>> = {
  "/v1/exchanges": [{ exchange: "SH", region: "CN", count: 1 }],
  "/v1/exchanges/SH/instruments": [INSTRUMENT],
  "/v1/universes": [],
};
const script: Script = (seen, response) =>
  json(response, 200, { data: responses[seen.path] ?? barsOn(DAYS, seen) });
const DAILY: PipelineDefinition = {
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "2024-01-02",
  symbols: ["600519.SH", "000001.SH"],
  lookback: "6d",
};
const REFERENCE: PipelineDefinition = { name: "reference", kind: "reference" };
/** A Friday and the Friday after it in Shanghai, after the session. */
const [FIRST, LATER] = ["2024-01-12T12:00:00Z", "2024-01-19T12:00:00Z"];

/** A lake that two runs have filled: the older file has bars before those that lookback requests again. */
async function filledLake(): Promise<Lake> {
  const lake = temporaryLake();
  for (const [start, to] of [
    [FIRST, "2024-01-06"],
    [FIRST, "2024-01-13"],
  ] as const)
    expect(await (await scriptedMarket(script, start, lake)).run(DAILY, { to })).toMatchObject({
      status: "complete",
    });
  // A new object reads the logs again.
  return new Lake(lake.location, { hasDatabase: false });
}

/** The paths of the files of daily bars, that of the oldest bars first. */
async function filesOf(lake: Lake): Promise<string[]> {
  const files = [...(await new Lake(lake.location).snapshot(BARS_1D)).files.values()];
  const first = (file: (typeof files)[number]): string => file.stats?.minValues?.timestamp ?? "";
  return files
    .sort((a, b) => (first(a) < first(b) ? -1 : 1))
    .map(({ path }) => join(lake.location, "bars_1d", path));
}

const breakLog =
  (table: string) =>
  async ({ location }: Lake): Promise<void> => {
    const folder = join(location, table, "_delta_log");
    writeFileSync(join(folder, readdirSync(folder).sort()[0] as string), '{"add":');
  };

function flip(path: string): void {
  const bytes = readFileSync(path);
  bytes[100] = (bytes[100] as number) ^ 0x55;
  writeFileSync(path, bytes);
}

test.each<[string, (lake: Lake) => Promise<unknown>, RegExp]>([
  ["the log of its bars", breakLog("bars_1d"), /^table bars_1d/],
  ["the log of its runs", breakLog("runs"), /^table runs/],
  ["the log of its requests", breakLog("requests"), /^table requests/],
  [
    "a file that was lost",
    async (lake) => rmSync((await filesOf(lake)).at(-1) as string),
    /^table bars_1d: .* is missing/,
  ],
  [
    "a damaged file",
    async (lake) => flip((await filesOf(lake)).at(-1) as string),
    /^table bars_1d: .* is not what was written/,
  ],
])("a run on a lake with %s fails before it requests anything", async (_, damage, said) => {
  const lake = await filledLake();
  await damage(lake);
  const { run, service } = await scriptedMarket(script, LATER, lake);
  const report = await run(DAILY);
  expect([report.status, report.stopped, report.requests.sent]).toEqual([
    "failed",
    expect.stringMatching(said),
    0,
  ]);
  expect(service.seen).toEqual([]);
});

test("a run on a lake that has lost an old file lands the new bars, and fails with the name of the file", async () => {
  const lake = await filledLake();
  const [old = ""] = await filesOf(lake);
  rmSync(old);
  const { run } = await scriptedMarket(script, LATER, lake);
  const report = await run(DAILY);
  expect(report).toMatchObject({
    status: "failed",
    stopped: expect.stringMatching(/^table bars_1d: .* is missing/),
  });
  expect(report.landed.find(({ table }) => table === "bars_1d")?.inserted).toBeGreaterThan(0);
});

test("a run of reference data fails in the same way", async () => {
  const lake = await filledLake();
  await (await scriptedMarket(script, FIRST, lake)).run(REFERENCE);
  await breakLog("instruments")(lake);
  const { run, service } = await scriptedMarket(
    script,
    LATER,
    new Lake(lake.location, { hasDatabase: false }),
  );
  expect(await run(REFERENCE)).toMatchObject({
    status: "failed",
    stopped: expect.stringMatching(/^table instruments/),
  });
  expect(service.seen).toEqual([]);
});

/** The user `nobody`, as whom a process of root can run. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

test.skipIf(process.platform === "win32")(
  "the command says which folder it may not write, with exit code 1, before it requests anything",
  async () => {
    const lake = await filledLake();
    const log = join(lake.location, "bars_1d", "_delta_log");
    const state = temporaryFolder();
    if (isRoot) {
      for (const folder of [lake.location, state]) chownAll(folder);
      chownSync(log, 0, 0);
      for (let folder = dirname(lake.location); folder !== "/"; folder = dirname(folder)) {
        if (folder.startsWith(tmpdir())) chmodSync(folder, 0o711);
      }
    }
    chmodSync(log, 0o555);
    const { service } = await scriptedMarket(script, LATER, lake);
    const { code, stdout, stderr } = await runProcess(
      ["run", "daily", "--symbols", "600519.SH", "--from", "2024-01-02", "--lake", lake.location],
      {
        ...(isRoot && { uid: NOBODY }),
        cwd: state,
        env: { BARLAKE_URL: service.url, BARLAKE_API_KEY: "key", XDG_STATE_HOME: state },
      },
    );
    chmodSync(log, 0o755);
    expect(stdout + stderr).toMatch(
      /the lake could not be written: Permission denied \(.*\/bars_1d\/_delta_log\/\)/,
    );
    expect([code, service.seen]).toEqual([1, []]);
  },
);

/** Gives a folder and all in it to the user `nobody`. */
function chownAll(folder: string): void {
  chownSync(folder, NOBODY, NOBODY);
  for (const name of readdirSync(folder, { recursive: true }))
    chownSync(join(folder, String(name)), NOBODY, NOBODY);
}
