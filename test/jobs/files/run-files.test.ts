import { chmodSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { planFiles } from "../../../src/jobs/files/plan-files.js";
import { savePlan } from "../../../src/jobs/import/plan/import-plan.js";
import { runImport } from "../../../src/jobs/import/run-import.js";
import { Lake } from "../../../src/lake/lake.js";
import { writeCheckpoint } from "../../../src/lake/log/checkpoint.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { UNIVERSES } from "../../../src/schema/reference.js";
import { barsCsv, filesPlace } from "./files-place.js";

const MONDAY = "2026-03-02";
const TUESDAY = "2026-03-03";
const SHARES = { options: { volumeUnit: "shares" } } as const;
const closes = (place: ReturnType<typeof filesPlace>): Promise<unknown[]> =>
  place.query("SELECT trade_date::VARCHAR AS date, close FROM raw.bars_1d ORDER BY symbol, date");

test("files land once, in the order of their names; nothing is asked of a service", async () => {
  const place = filesPlace(SHARES);
  place.write("b.csv", barsCsv({ [MONDAY]: 12 }));
  place.write("a.csv", barsCsv({ [MONDAY]: 11, [TUESDAY]: 13 }));
  const first = await place.run();
  expect(first).toMatchObject({
    status: "complete",
    requests: { planned: 2, sent: 2, answered: 2, refused: 0 },
    rows: 2,
    files: { listed: 2, unchanged: 0, landed: [{ file: "a.csv", state: "new" }, { file: "b.csv" }] },
  });
  expect(await closes(place)).toEqual([
    { date: MONDAY, close: 12 },
    { date: TUESDAY, close: 13 },
  ]);
  const { version } = await place.lake.snapshot(BARS_1D);
  expect(await place.run()).toMatchObject({
    status: "complete",
    requests: { sent: 0 },
    files: { unchanged: 2, landed: [] },
  });
  expect((await place.lake.snapshot(BARS_1D)).version).toBe(version);
  expect(await place.query("SELECT pipeline, status FROM runs ORDER BY run_id")).toEqual([
    { pipeline: "drop", status: "complete" },
    { pipeline: "drop", status: "complete" },
  ]);
});

test("the same content under the names of two symbols is two files", async () => {
  const place = filesPlace(SHARES);
  const content = barsCsv({ [MONDAY]: 11 })
    .replaceAll("600519.SH,", "")
    .replace("symbol,", "");
  place.write("600519.SH.csv", content);
  expect((await place.run()).files.landed).toHaveLength(1);
  place.write("000001.SZ.csv", content);
  expect((await place.run()).files.landed).toEqual([{ file: "000001.SZ.csv", state: "new" }]);
  expect(await place.query("SELECT symbol FROM raw.bars_1d ORDER BY 1")).toEqual([
    { symbol: "000001.SZ" },
    { symbol: "600519.SH" },
  ]);
});

test("a refused file is named until it is mended or gone, and the others land", async () => {
  const place = filesPlace(SHARES);
  place.write("a.csv", "no header\n");
  place.write("b.csv", barsCsv({ [MONDAY]: 11 }));
  place.write("c.csv", "");
  const names = async (): Promise<unknown> => (await place.refused()).map(({ file }) => file);
  const first = await place.run();
  expect(first.status).toBe("partial");
  expect(first.failures.map(({ request, dataset }) => [request, dataset])).toEqual([
    ["a.csv", "bars_1d"],
    ["c.csv", "bars_1d"],
  ]);
  expect(first.files.refused).toMatchObject([
    { file: "a.csv", isKnown: false, reason: expect.stringMatching(/header/) },
    { file: "c.csv", isKnown: false },
  ]);
  expect(await names()).toEqual(["a.csv", "c.csv"]);
  // Only refused files are read: that is no fault of a service.
  const second = await place.run();
  expect(second).toMatchObject({ status: "partial", files: { unchanged: 1 } });
  expect(second.files.refused.map(({ isKnown }) => isKnown)).toEqual([true, true]);
  place.remove("c.csv");
  await place.run();
  expect(await names()).toEqual(["a.csv"]);
  expect((await planFiles(place.pipeline, place)).files).toMatchObject([{ file: "a.csv", state: "refused" }]);
  place.write("a.csv", barsCsv({ [TUESDAY]: 12 }));
  expect(await place.run()).toMatchObject({ status: "complete", files: { refused: [] } });
  expect(await names()).toEqual([]);
  expect(await closes(place)).toHaveLength(2);
});

test("rows that are set aside are in the rejects, once, and make their run partial", async () => {
  const place = filesPlace(SHARES);
  const path = place.write("a.csv", `${barsCsv({ [MONDAY]: 11, [TUESDAY]: 12 })}600519.SH,x,1,1,1,1,100\n`);
  expect(await place.run()).toMatchObject({
    status: "partial",
    rejected: [{ rule: "unparsable", rows: 1 }],
    files: { landed: [{ file: "a.csv" }], refused: [] },
  });
  expect(await place.query("SELECT source, line::INT AS line FROM rejects")).toEqual([
    { source: path, line: 4 },
  ]);
  expect(await place.run()).toMatchObject({ status: "complete", rejected: [] });
});

test("a file that is changed while it is read is left to the next run", async () => {
  const place = filesPlace(SHARES);
  place.write("a.csv", barsCsv({ [MONDAY]: 11 }));
  place.write("b.csv", barsCsv({ [TUESDAY]: 12 }));
  let isChanged = false;
  const onProgress = ({ doing }: { readonly doing: string }): void => {
    if (doing !== "reading" || isChanged) return;
    isChanged = true;
    place.write("b.csv", barsCsv({ [TUESDAY]: 13 }));
  };
  const first = await place.run({ onProgress });
  expect(first).toMatchObject({
    status: "complete",
    files: { landed: [{ file: "a.csv" }], leftToNextRun: ["b.csv"] },
  });
  expect(await closes(place)).toHaveLength(1);
  expect((await place.run()).files).toMatchObject({ landed: [{ file: "b.csv" }], leftToNextRun: [] });
  expect(await closes(place)).toEqual([
    { date: MONDAY, close: 11 },
    { date: TUESDAY, close: 13 },
  ]);
});

test("a change that leaves size and time of a file is found", async () => {
  const place = filesPlace(SHARES);
  const path = place.write("a.csv", barsCsv({ [MONDAY]: 11 }));
  utimesSync(path, 1_700_000_000, 1_700_000_000);
  await place.run();
  writeFileSync(path, barsCsv({ [MONDAY]: 12 }));
  utimesSync(path, 1_700_000_000, 1_700_000_000);
  expect((await place.run()).files.landed).toEqual([{ file: "a.csv", state: "changed" }]);
  expect(await closes(place)).toEqual([{ date: MONDAY, close: 12 }]);
});

test("files whose rows the lake has already are not read again, after checkpoints, either", async () => {
  const place = filesPlace(SHARES);
  const path = place.write("a.csv", barsCsv({ [MONDAY]: 11 }));
  const options = { runId: "by-hand", map: {}, volumeUnit: "shares" } as const;
  await runImport(place.lake, "bars_1d", [path], options, place.clock);
  expect(await place.run()).toMatchObject({
    files: { landed: [{ file: "a.csv" }] },
    landed: [{ unchanged: 1 }],
  });
  const snapshot = await place.lake.snapshot(BARS_1D);
  await writeCheckpoint(place.lake, snapshot, place.clock.now() + 30 * 86_400_000);
  const fresh = { ...place, lake: new Lake(place.lake.location, { hasDatabase: false }) };
  expect(await planFiles(place.pipeline, fresh)).toEqual({ files: [], unchanged: 1 });
});

test("a file of universes has landed only where both its tables have it", async () => {
  const place = filesPlace({ table: "universes", pattern: "*.json" });
  place.write("u.json", JSON.stringify([{ id: "U", name: "U", symbols: ["600519.SH", "000001.SZ"] }]));
  // The first write of a run lands the universe, the next its members.
  for (let write = 0; (await place.query("SELECT 1 FROM raw.universes")).length === 0; write++)
    await place.runKilled(write);
  expect((await place.lake.snapshot(UNIVERSES)).version).toBeGreaterThanOrEqual(0);
  expect(await place.query("SELECT 1 FROM raw.universe_members")).toHaveLength(0);
  expect((await place.run()).files.landed).toHaveLength(1);
  expect(await place.query("SELECT 1 FROM raw.universe_members")).toHaveLength(2);
  expect((await place.run()).files).toMatchObject({ landed: [], unchanged: 1 });
});

test("by a saved plan, a file of another form is refused", async () => {
  const at = filesPlace();
  const sample = at.write("sample.csv", barsCsv({ [MONDAY]: 11 }));
  const options = { runId: "plan", map: {}, volumeUnit: "shares" } as const;
  const { plan } = await runImport(at.lake, "bars_1d", [sample], options, at.clock);
  const file = join(at.root, "daily.plan.json");
  await savePlan(file, "bars_1d", plan);
  const place = filesPlace({ plan: file });
  place.write("a.csv", barsCsv({ [MONDAY]: 11 }));
  place.write("b.csv", barsCsv({ [TUESDAY]: 11 }).replace("volume", "volume,more"));
  expect((await place.run()).files).toMatchObject({
    landed: [{ file: "a.csv" }],
    refused: [{ file: "b.csv", reason: expect.stringMatching(/^does not fit its plan: it has also more/) }],
  });
  await expect(filesPlace({ plan: join(at.root, "none.json") }).run()).rejects.toThrow(
    /none\.json: cannot be read/,
  );
});

test("a folder that is not there is an error, and refused files are not taken for gone", async () => {
  const place = filesPlace(SHARES);
  place.write("a.csv", "broken");
  await place.run();
  renameSync(place.folder, `${place.folder}-away`);
  await expect(place.run()).rejects.toThrow(/folder .* cannot be listed: ENOENT/);
  expect(await place.refused()).toHaveLength(1);
});

test("an interrupted run says so, and the next one goes on", async () => {
  const place = filesPlace(SHARES);
  place.write("a.csv", barsCsv({ [MONDAY]: 11 }));
  const stop = new AbortController();
  const onProgress = ({ doing }: { readonly doing: string }): void => {
    if (doing === "reading") stop.abort();
  };
  expect(await place.run({ onProgress, signal: stop.signal })).toMatchObject({
    status: "interrupted",
    landed: [],
  });
  expect((await place.run()).files.landed).toHaveLength(1);
});

test("two runs into a table take turns", async () => {
  const place = filesPlace(SHARES);
  place.write("a.csv", barsCsv({ [MONDAY]: 11 }));
  let second: ReturnType<typeof place.run> | undefined;
  const said: string[] = [];
  const onProgress = ({ doing }: { readonly doing: string }): void => {
    if (doing === "reading")
      second ??= place.run({
        lake: new Lake(place.lake.location, { hasDatabase: false }),
        onProgress: (progress) => void said.push(progress.doing),
      });
  };
  expect((await place.run({ onProgress })).files.landed).toHaveLength(1);
  expect((await second)?.files).toMatchObject({ landed: [], unchanged: 1 });
  expect(said[0]).toMatch(/^waiting for "run drop" \(process \d+ on /);
});

test.skipIf(process.getuid?.() === 0)("a file that this user may not read is refused", async () => {
  const place = filesPlace(SHARES);
  chmodSync(place.write("a.csv", barsCsv({ [MONDAY]: 11 })), 0);
  expect((await place.run()).files.refused).toMatchObject([{ reason: expect.stringMatching(/EACCES/) }]);
});
