import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { repairLake } from "../../../../src/jobs/maintenance/repair-lake.js";
import { Lake } from "../../../../src/lake/lake.js";
import { upsert } from "../../../../src/lake/land/upsert.js";
import { checkTable } from "../../../../src/lake/maintenance/check/check-table.js";
import { isDataFile } from "../../../../src/lake/maintenance/vacuum.js";
import { UNIVERSES } from "../../../../src/schema/reference.js";
import { virtualClock } from "../../../faults/clock/virtual-clock.js";
import { interruptedLake } from "../../interrupted-lake.js";
import { liveRows, openSession, T0, temporaryLake } from "../../temporary-lake.js";

/** A version: id, name, and the seconds after T0 in which it is valid. */
type Version = readonly [id: string, name: string, from: number, to: number | null];

/** As earlier releases left them: an older snapshot landed after a newer one, then a newest one. */
const OVERLAPPING: readonly Version[] = [
  ["U0", "first", 0, 2],
  ["U0", "older", 1, 3],
  ["U0", "newer", 2, 3],
  ["U0", "newest", 3, null],
  ["U0", "newest", 3, null],
  ["U1", "older", 1, null],
  ["U1", "newer", 2, null],
  ["U2", "gone", 1, null],
  ["U2", "gone", 1, 3],
  ["U3", "sound", 0, 2],
  ["U3", "sound, too", 2, null],
  ["U4", "left", 0, 2],
  ["U4", "left", 1, 3],
  ["U5", "stays", 0, 2],
  ["U5", "stays", 1, null],
];
const MENDED: readonly Version[] = [
  ["U0", "first", 0, 1],
  ["U0", "older", 1, 2],
  ["U0", "newer", 2, 3],
  ["U0", "newest", 3, null],
  ["U1", "older", 1, 2],
  ["U1", "newer", 2, null],
  ["U2", "gone", 1, 3],
  ["U3", "sound", 0, 2],
  ["U3", "sound, too", 2, null],
  ["U4", "left", 0, 2],
  ["U5", "stays", 0, null],
];

async function landVersions(lake: Lake, versions: readonly Version[], now: number): Promise<void> {
  const session = await openSession();
  const at = (seconds: number | null): string =>
    seconds === null ? "NULL::TIMESTAMPTZ" : `make_timestamptz(${(T0 + seconds * 1000) * 1000}::BIGINT)`;
  const rows = versions.map(([id, name, from, to]) => `('${id}', '${name}', ${at(from)}, ${at(to)})`);
  await session.run(`CREATE OR REPLACE TEMP TABLE staged AS SELECT *, 'c' AS category, 1::BIGINT AS symbol_count,
    CASE id WHEN 'U2' THEN 'US' ELSE 'CN' END AS region
    FROM (VALUES ${rows.join(", ")}) AS t (id, name, valid_from, valid_to)`);
  const report = await upsert(session, lake, UNIVERSES, "staged", { operation: "TEST", runId: "test", now });
  expect(report.inserted).toBe(versions.length);
}

async function landed(batches: readonly (readonly Version[])[]) {
  const [session, { location }] = [await openSession(), temporaryLake()];
  const lake = new Lake(location, { hasDatabase: false });
  for (const [n, versions] of batches.entries()) await landVersions(lake, versions, T0 + n);
  const versions = async (): Promise<unknown[]> => {
    const rows = await liveRows(
      session,
      lake,
      UNIVERSES,
      `SELECT id, name, (epoch_ms(valid_from) - ${T0}) / 1000 AS start, (epoch_ms(valid_to) - ${T0}) / 1000 AS "end"
       FROM live ORDER BY id, valid_from, valid_to`,
    );
    return rows.map((row) => Object.values(row as object));
  };
  const check = async (): Promise<string[]> =>
    (await checkTable(lake, UNIVERSES, { deep: true })).findings
      .filter(({ severity }) => severity === "error")
      .map(({ rule, message }) => `${rule}: ${message.replace(/^.*parquet: /, "")}`);
  const repair = async (dryRun = false, signal?: AbortSignal, by = lake) => {
    const options = { runId: "repair-1", dryRun, ...(signal && { signal }) };
    const { reports, errors } = await repairLake(by, [UNIVERSES], options, virtualClock(T0 + 9000));
    expect(errors).toEqual([]);
    return reports[0];
  };
  return { lake, versions, check, repair };
}

test("of versions that are valid at the same time each ends where the next one begins, and none is lost", async () => {
  // The second landing is another file, in which a version of the first one's subject is.
  const { versions, check, repair } = await landed([
    OVERLAPPING.filter(([, name]) => name !== "newer"),
    OVERLAPPING.filter(([, name]) => name === "newer"),
  ]);
  expect(await versions()).toEqual(OVERLAPPING.map((row) => [...row]).sort(byText));
  expect(await check()).toEqual([
    "duplicate_key: a key (id, valid_from) more than once: U0 2026-11-21 00:00:03+00",
    "duplicate_key: a key (id, valid_from) more than once: U2 2026-11-21 00:00:01+00",
    "versions_overlap: universes: 5 subjects (id) with two versions at the same time, or a version twice: U0",
  ]);
  expect(await repair(true)).toMatchObject({ overlapping: 5, version: 1 });
  expect(await repair()).toMatchObject({ overlapping: 5, version: 2, files: [] });
  expect(await versions()).toEqual(MENDED);
  expect(await check()).toEqual([]);
  expect(await repair()).toMatchObject({ overlapping: 0, version: 2 });
});

test("a repair leaves sound versions alone", async () => {
  const { versions, check, repair } = await landed([MENDED]);
  expect(await check()).toEqual([]);
  expect(await repair()).toMatchObject({ overlapping: 0, version: 0 });
  expect(await versions()).toEqual(MENDED);
});

/** Calls a function as the file that has CN's versions is read for the second time: as the versions are mended. */
function whileMended(lake: Lake, happens: () => void): void {
  const read = lake.read.bind(lake);
  let count = 0;
  vi.spyOn(lake, "read").mockImplementation(async (snapshot, file) => {
    if (file.path.includes("region=CN") && ++count === 2) happens();
    return read(snapshot, file);
  });
}

function abortedWhileMended(lake: Lake): AbortSignal {
  const stop = new AbortController();
  whileMended(lake, () => stop.abort());
  return stop.signal;
}

test("an interrupt while versions are mended does not hide that a lost file was removed", async () => {
  const { lake, versions, check, repair } = await landed([OVERLAPPING]);
  const { files } = await lake.snapshot(UNIVERSES);
  const lost = [...files.keys()].find((path) => path.includes("region=US")) as string;
  rmSync(join(lake.location, "universes", lost));
  const signal = abortedWhileMended(lake);
  expect(await repair(false, signal)).toMatchObject({
    checked: 2,
    files: [{ outcome: "removed", file: { path: lost } }],
    overlapping: 4,
    version: 2,
  });
  expect(signal.aborted).toBe(true);
  expect(await versions()).toEqual(MENDED.filter(([id]) => id !== "U2"));
  expect(await check()).toEqual([]);
});

test("an error while versions are mended does not hide that a lost file was removed", async () => {
  const { lake } = await landed([OVERLAPPING]);
  const { files } = await lake.snapshot(UNIVERSES);
  const lost = [...files.keys()].find((path) => path.includes("region=US")) as string;
  rmSync(join(lake.location, "universes", lost));
  whileMended(lake, () => {
    throw new Error("the disk is broken");
  });
  const { reports, errors } = await repairLake(
    lake,
    [UNIVERSES],
    { runId: "repair-1" },
    virtualClock(T0 + 9000),
  );
  expect(errors).toEqual([expect.objectContaining({ message: expect.stringMatching("the disk is broken") })]);
  expect(reports).toMatchObject([
    { checked: 2, files: [{ outcome: "removed", file: { path: lost } }], overlapping: 0, version: 1 },
  ]);
});

test("an interrupt while versions are mended changes nothing where no file was lost", async () => {
  const { lake, versions, repair } = await landed([OVERLAPPING]);
  const before = await versions();
  expect(await repair(false, abortedWhileMended(lake))).toBeUndefined();
  expect((await lake.snapshot(UNIVERSES)).version).toBe(0);
  expect(await versions()).toEqual(before);
});

test("a version that another writer adds during a repair is mended with the others", async () => {
  const { lake, versions, check, repair } = await landed([OVERLAPPING]);
  const other = new Lake(lake.location, { hasDatabase: false });
  const added: readonly Version[] = [
    ["U1", "between", 1.5, null],
    ["U3", "late", 1, null],
    ["U9", "new", 1, null],
  ];
  const meeting = interruptedLake(lake.location, 1, () => landVersions(other, added, T0 + 5000));
  expect(await repair(false, undefined, meeting)).toMatchObject({ overlapping: 6, version: 2 });
  const cut: Readonly<Record<string, number>> = { older: 1.5, sound: 1 };
  const ofOthers = MENDED.map((row) => {
    const [id, name, from, to] = row;
    return id === "U1" || id === "U3" ? [id, name, from, cut[name] ?? to] : [...row];
  });
  const ofAdded = [
    ["U1", "between", 1.5, 2],
    ["U3", "late", 1, 2],
    ["U9", "new", 1, null],
  ];
  expect(await versions()).toEqual([...ofOthers, ...ofAdded].sort(byText));
  expect(await check()).toEqual([]);
  // The files of the first attempt are deleted.
  const { files, removed } = await other.wholeSnapshot(UNIVERSES);
  const stored = (await other.storage.walk(UNIVERSES.name)).map(({ path }) => path).filter(isDataFile);
  expect(stored.sort()).toEqual([...files.keys(), ...removed.keys()].sort());
});

test("two repairs at the same time mend each subject once", async () => {
  const { lake, versions, check, repair } = await landed([OVERLAPPING]);
  const meeting = interruptedLake(lake.location, 1, () => repair(false, undefined, new Lake(lake.location)));
  expect(await repair(false, undefined, meeting)).toMatchObject({ overlapping: 0, version: 1 });
  expect(await versions()).toEqual(MENDED);
  expect(await check()).toEqual([]);
});

/** By id, beginning and end, a current one last. */
function byText([a, , aFrom, aTo]: readonly unknown[], [b, , bFrom, bTo]: readonly unknown[]): number {
  return (
    String(a).localeCompare(String(b)) || Number(aFrom) - Number(bFrom) || Number(aTo ?? 9) - Number(bTo ?? 9)
  );
}
