import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TransportError } from "../../../../src/core/errors.js";
import { type BuildReport, buildDataset } from "../../../../src/dataset/build-dataset.js";
import { defineDataset } from "../../../../src/dataset/spec.js";
import { verifyDataset } from "../../../../src/dataset/store/verify-dataset.js";
import { Lake } from "../../../../src/lake/lake.js";
import { landAbsentDays } from "../../../../src/lake/land/absent-days.js";
import { stageObjects } from "../../../../src/lake/land/clear-values.js";
import { landActions } from "../../../../src/lake/land/land-versions.js";
import { landTradingDays } from "../../../../src/lake/land/trading-days.js";
import { writeCheckpoint } from "../../../../src/lake/log/checkpoint.js";
import { checkpointFile, commitFile } from "../../../../src/lake/log/log-files.js";
import { folderStorage } from "../../../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../../../src/lake/storage/storage.js";
import { CORPORATE_ACTIONS } from "../../../../src/schema/actions.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { land, openSession, T0, temporaryFolder, temporaryLake } from "../../../lake/temporary-lake.js";

const FIRST_COMMIT = commitFile(BARS_1D.name, 0);
const CHECKPOINT = checkpointFile(BARS_1D.name, 1);

/** A dataset of the second version of the daily bars, and a third version. Each version has a checkpoint. */
async function grownLake() {
  const [{ location }, session, out] = [temporaryLake(), await openSession(), join(temporaryFolder(), "out")];
  const lake = new Lake(location, { hasDatabase: false });
  const spec = defineDataset({
    name: "days",
    universe: { region: "CN" },
    from: "2024-11-01",
    format: "long-parquet",
    fields: ["close"],
    masks: [],
    output: out,
  });
  const add = async (day: string): Promise<void> => {
    await land(session, lake, BARS_1D, [{ at: `${day}T00:00:00+08:00` }]);
    await writeCheckpoint(lake, await lake.snapshot(BARS_1D), T0);
  };
  await add("2024-11-01");
  await add("2024-11-04");
  await buildDataset(lake, spec);
  await add("2024-11-05");
  /** The lake as another process opens it. */
  const opened = (faults: Partial<Storage> = {}): Lake =>
    new Lake(location, { storage: { ...folderStorage(location), ...faults }, hasDatabase: false });
  const build = (existing: "append" | "replace", faults: Partial<Storage> = {}): Promise<BuildReport> =>
    buildDataset(opened(faults), spec, { existing });
  return { location, out, opened, build };
}

/** Removes files of the log, as another program's cleanup does, and damages another one. */
function damage(location: string, file: string, without: readonly string[]): void {
  for (const path of without) rmSync(join(location, path));
  writeFileSync(join(location, file), "damaged");
}

test.each([
  [CHECKPOINT, [FIRST_COMMIT, commitFile(BARS_1D.name, 1), checkpointFile(BARS_1D.name, 0)]],
  [FIRST_COMMIT, [checkpointFile(BARS_1D.name, 0), CHECKPOINT]],
])(
  "where %s of an earlier version is damaged, an append says how to go on, and that helps",
  async (file, without) => {
    const { location, build } = await grownLake();
    damage(location, file, without);
    await expect(build("append")).rejects.toMatchObject({
      message: expect.stringMatching(
        `^dataset days: cannot be appended to: bars_1d went from version 1 to 2; .*: table bars_1d: ${file} is not readable`,
      ),
      hint: '`existing: "replace"` builds it again',
    });
    expect(await build("replace")).toMatchObject({ rows: 3 });
    expect(await build("append")).toMatchObject({ rows: 3, newRows: 0 });
  },
);

test("a store that is not well while an earlier version is read is an error, and not a reason to build again", async () => {
  const { location, out, opened, build } = await grownLake();
  damage(location, CHECKPOINT, [checkpointFile(BARS_1D.name, 0)]);
  const broken = new TransportError("the connection to the store broke");
  const own = folderStorage(location);
  const faults: Partial<Storage> = {
    readText: (path) => (path === FIRST_COMMIT ? Promise.reject(broken) : own.readText(path)),
  };
  await expect(build("append", faults)).rejects.toBe(broken);
  await expect(verifyDataset(opened(faults), out)).rejects.toBe(broken);
  expect(await build("append")).toMatchObject({ rows: 3, newRows: 1 });
});

test("days without a bar are of the past where they are sessions between two bars: holidays and the time after the last bar are not", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const [INDEX, STOCK] = ["000001.SH", "600519.SH"];
  const options = { operation: "TEST", runId: "test", now: T0 };
  const add = async (symbol: string, ...days: string[]): Promise<void> => {
    const bars = days.map((day) => ({ symbol, at: `${day}T00:00:00+08:00` }));
    await land(session, lake, BARS_1D, bars);
    await landTradingDays(session, lake, options);
  };
  const lacks = async (first: string, last: string): Promise<void> => {
    const day = (date: string): number => Date.parse(date) / 86_400_000;
    const days = { symbol: STOCK, first: day(first), end: day(last) + 1, hasNone: true };
    await landAbsentDays(session, lake, [days], options);
  };
  const spec = defineDataset({
    name: "days",
    universe: { region: "CN" },
    from: "2024-11-04",
    format: "long-parquet",
    fields: ["close"],
    masks: [],
    adjustment: "backward",
    output: join(temporaryFolder(), "out"),
  });
  // The 6th is a holiday, and so is the 13th; the stock has no bar on the 7th and 8th, and none from the 12th on.
  await add(INDEX, "2024-11-04", "2024-11-05", "2024-11-07", "2024-11-08", "2024-11-11", "2024-11-12");
  await add(STOCK, "2024-11-04", "2024-11-05", "2024-11-11");
  await lacks("2024-11-07", "2024-11-07");
  await buildDataset(lake, spec);
  await lacks("2024-11-06", "2024-11-06");
  await lacks("2024-11-12", "2024-11-13");
  await add(INDEX, "2024-11-14");
  expect(await buildDataset(lake, spec, { existing: "append" })).toMatchObject({ newRows: 1 });
  await add(STOCK, "2024-11-14");
  await buildDataset(lake, spec, { existing: "replace" });
  await lacks("2024-11-08", "2024-11-08");
  await expect(buildDataset(lake, spec, { existing: "append" })).rejects.toThrow(
    /absences_1d .*: 0 rows .*, 1 are new or otherwise \(600519\.SH 2024-11-08\)$/,
  );
});

test("an action changes the past where a bar follows it, unless another source counts before it", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const STOCK = "600519.SH";
  const add = (day: string, close: number) =>
    land(session, lake, BARS_1D, [
      { symbol: STOCK, at: `${day}T00:00:00+08:00`, close, high: close, low: close, open: close },
    ]);
  let told = 0;
  const tell = async (ex_date: string, cash: number, source = "a"): Promise<void> => {
    const columns = CORPORATE_ACTIONS.columns.filter(({ name }) => name !== "first_seen_at");
    const row = { symbol: STOCK, ex_date, kind: "cash_dividend", source, region: "CN", cash };
    await stageObjects(session, "staged", columns, [row]);
    await landActions(session, lake, CORPORATE_ACTIONS, "staged", {
      operation: "TEST",
      runId: "test",
      now: T0 + ++told,
    });
  };
  const spec = defineDataset({
    name: "days",
    universe: { region: "CN" },
    from: "2024-11-04",
    format: "long-parquet",
    fields: ["close"],
    masks: [],
    adjustment: "backward",
    output: join(temporaryFolder(), "out"),
  });
  const append = () => buildDataset(lake, spec, { existing: "append" });
  await add("2024-11-04", 10);
  await add("2024-11-05", 10);
  await tell("2024-11-05", 1);
  await buildDataset(lake, spec);
  // Another source says something else, and a dividend is announced.
  await tell("2024-11-05", 5, "b");
  await tell("2024-11-06", 2);
  await add("2024-11-06", 8);
  expect(await append()).toMatchObject({ newRows: 1 });
  const closes = await session.json<{ close: number }>(
    `SELECT round(close, 9) AS close FROM read_parquet('${spec.output}/**/*.parquet') ORDER BY ALL`,
  );
  expect(closes.map(({ close }) => close)).toEqual([10, 11.111111111, 11.111111111]);
  await tell("2024-11-05", 2);
  await add("2024-11-07", 8);
  await expect(append()).rejects.toThrow(
    /corporate_actions .*: 1 rows .*, 1 are new or otherwise \(600519\.SH 2024-11-05\)$/,
  );
});
