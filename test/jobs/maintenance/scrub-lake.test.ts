import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TransportError } from "../../../src/core/errors.js";
import { DAY_MS } from "../../../src/core/time.js";
import { checkLake } from "../../../src/jobs/maintenance/check-lake.js";
import { dailyScrub, scrubLake } from "../../../src/jobs/maintenance/scrub-lake.js";
import { definePipeline } from "../../../src/jobs/pipeline/definition.js";
import { runDue, runSchedule, type ScheduleEvent } from "../../../src/jobs/schedule/run-schedule.js";
import { verifiedFiles, verifiedSince } from "../../../src/lake/files/verify-content.js";
import { Lake } from "../../../src/lake/lake.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { TABLES } from "../../../src/schema/tables.js";
import { runCli } from "../../cli/run-cli.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { land, openSession, T0, temporaryLake } from "../../lake/temporary-lake.js";
import { bars } from "../schedule/scheduled-market.js";

/** A lake with daily bars of three years, one file each, written at {@link T0}. */
async function threeFiles(): Promise<Lake> {
  const lake = temporaryLake();
  const session = await openSession();
  const years = ["2021", "2022", "2023"];
  await land(
    session,
    lake,
    BARS_1D,
    years.map((year) => ({ at: `${year}-03-07T16:00:00Z` })),
  );
  return lake;
}

function damage(lake: Lake, year: number): string {
  const folder = join(lake.location, "bars_1d", "region=CN", `year=${year}`);
  const name = readdirSync(folder)[0] as string;
  const bytes = readFileSync(join(folder, name));
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
  writeFileSync(join(folder, name), bytes);
  return `region=CN/year=${year}/${name}`;
}

const since = async (lake: Lake): Promise<number | undefined> =>
  verifiedSince(lake.storage, await lake.snapshot(BARS_1D));

test("a part of the lake is read each day, and the record says since when all is verified", async () => {
  const lake = await threeFiles();
  const clock = virtualClock(T0 + DAY_MS);
  expect(await since(lake)).toBe(T0);
  expect(await scrubLake(lake, {}, clock)).toMatchObject({ files: 0, damaged: [], verifiedSince: T0 });
  const days: number[] = [];
  for (let day = 0; day < 30; day++) {
    clock.advance(DAY_MS);
    const { files, damaged, verifiedSince: oldest } = await scrubLake(lake, {}, clock);
    expect([damaged, await since(lake)]).toEqual([[], oldest]);
    days.push(files);
  }
  expect(days.reduce((sum, files) => sum + files)).toBeGreaterThanOrEqual(6);
  expect(Math.max(...days)).toBe(1);
  expect(clock.now() - ((await since(lake)) as number)).toBeLessThanOrEqual(28 * DAY_MS);
});

/** A lake whose store does not give some of its files. */
class FaultyLake extends Lake {
  readonly missed: string[] = [];
  isWell = false;

  override async read(...[snapshot, file]: Parameters<Lake["read"]>): ReturnType<Lake["read"]> {
    if (this.isWell || !file.path.includes("year=2021")) return super.read(snapshot, file);
    this.missed.push(file.path);
    throw new TransportError("the store could not be reached");
  }
}

test("a file that the store does not give hides no damage of others, and the scrub is due again", async () => {
  const { location } = await threeFiles();
  const lake = new FaultyLake(location);
  const path = damage(lake, 2022);
  const clock = virtualClock(T0 + 60 * DAY_MS);
  const due = dailyScrub(lake, clock);
  expect((await scrubLake(lake, {}, clock)).damaged).toEqual([
    expect.stringContaining(`table bars_1d: ${path} is not what was written`),
  ]);
  expect(lake.missed).toHaveLength(1);
  expect(await due.dueAt()).toBe(0);
  // The third file has been verified, and is not read again.
  expect(await since(lake)).toBe(T0);
  lake.isWell = true;
  expect(await scrubLake(lake, {}, clock)).toMatchObject({ files: 1, damaged: [] });
  expect(await due.dueAt()).toBe(clock.now() + DAY_MS);
});

test("a scrub without damage, of which the store does not give a file, fails", async () => {
  const lake = new FaultyLake((await threeFiles()).location);
  await expect(scrubLake(lake, {}, virtualClock(T0 + 60 * DAY_MS))).rejects.toThrow("could not be reached");
});

test("damaged and missing files are named, are not recorded as verified, and are found again the next day", async () => {
  const lake = await threeFiles();
  const path = damage(lake, 2022);
  const clock = virtualClock(T0 + 60 * DAY_MS);
  const found: string[] = [];
  for (let day = 0; day < 8; day++) {
    found.push(...(await scrubLake(new Lake(lake.location), {}, clock)).damaged);
    clock.advance(DAY_MS);
  }
  expect(found.length).toBeGreaterThan(1);
  expect(new Set(found).size).toBe(1);
  expect(found[0]).toContain(`table bars_1d: ${path} is not what was written: its hash is `);
  expect(await since(lake)).toBe(T0);
  rmSync(join(lake.location, "bars_1d", path));
  expect((await scrubLake(new Lake(lake.location), {}, clock)).damaged).toEqual([
    `table bars_1d: ${path} is missing`,
  ]);
});

test("a damaged file does not prevent the others from being verified", async () => {
  const lake = await threeFiles();
  damage(lake, 2021);
  const clock = virtualClock(T0 + 60 * DAY_MS);
  const intact = new Set<number>();
  for (let night = 0; night < 25; night++) {
    await scrubLake(new Lake(lake.location), {}, clock);
    clock.advance(DAY_MS);
  }
  const snapshot = await lake.snapshot(BARS_1D);
  for (const [file, at] of await verifiedFiles(lake.storage, snapshot))
    if (at > T0) intact.add(Number(file.partitionValues.year));
  expect([...intact].sort((a, b) => a - b)).toEqual([2022, 2023]);
});

test("a night with the clock years ahead does not stop the verification", async () => {
  const lake = await threeFiles();
  const clock = virtualClock(T0 + 3000 * DAY_MS);
  const daily = dailyScrub(lake, clock);
  await checkLake(lake, TABLES, { deep: true, now: clock.now() });
  await daily.run(new AbortController().signal);
  clock.advance(-2940 * DAY_MS);
  for (let night = 0; night < 7; night++) {
    expect(await daily.dueAt()).toBeLessThanOrEqual(clock.now());
    const { files } = await daily.run(new AbortController().signal);
    expect(files).toBe(night < 3 ? 1 : 0);
    clock.advance(DAY_MS);
  }
});

test("a deep check records what it has read, and a damaged record only means that all is read again", async () => {
  const lake = await threeFiles();
  const now = T0 + 9 * DAY_MS;
  await checkLake(lake, TABLES, { deep: true, now });
  expect(await since(lake)).toBe(now);
  writeFileSync(join(lake.location, "verified", "bars_1d.json"), "{");
  expect(await since(lake)).toBe(T0);
});

test("a schedule verifies once a day, when nothing is due, and goes on after a failure", async () => {
  const lake = await threeFiles();
  damage(lake, 2021);
  const clock = virtualClock(T0 + 60 * DAY_MS);
  const controller = new AbortController();
  const events: ScheduleEvent[] = [];
  const daily = dailyScrub(lake, clock);
  let failures = 1;
  const environment = {
    clock,
    signal: controller.signal,
    // The only pipeline is never due.
    isTradingDay: () => false,
    run: () => Promise.reject(new Error("nothing is to be run")),
    scrub: {
      ...daily,
      run: async (signal: AbortSignal) => {
        const report = daily.run(signal);
        if (failures-- > 0) throw new Error("disk");
        return report;
      },
    },
    onEvent: (event: ScheduleEvent) => {
      events.push(event);
      if (events.filter(({ kind }) => kind === "scrubbed").length === 3) controller.abort();
    },
  };
  const pipeline = definePipeline(bars("daily", { at: "18:30", region: "CN" }));
  const states = [{ pipeline, servedUntil: clock.now(), running: false, last: undefined }];
  await runSchedule(states, environment);
  const kinds = events.map(({ kind }) => kind).filter((kind) => kind !== "waiting");
  expect(kinds).toEqual(["scrub failed", "scrubbed", "scrubbed", "scrubbed"]);
  expect(clock.now() - (T0 + 60 * DAY_MS)).toBeGreaterThanOrEqual(2 * DAY_MS);
  const once = { ...environment, signal: new AbortController().signal };
  await runDue(states, once);
  expect(events.filter(({ kind }) => kind === "scrubbed")).toHaveLength(3);
  clock.advance(DAY_MS);
  await runDue(states, once);
  expect(events.at(-1)).toMatchObject({ kind: "scrubbed" });
});

test("barlake check --scrub and barlake status say what was verified", async () => {
  const lake = await threeFiles();
  const cli = (...parameters: string[]) =>
    runCli(parameters, { cwd: lake.location, env: { BARLAKE_LAKE: lake.location } });
  const status = await cli("status");
  expect(status.stdout).toMatch(/verified since/);
  expect(status.stdout).toMatch(/bars_1d\s.*2026-11-21\s*$/m);
  const checked = await cli("check", "--scrub", "--json");
  expect(checked).toMatchObject({ code: 0 });
  expect(JSON.parse(checked.stdout).scrub).toMatchObject({ damaged: [] });
});
