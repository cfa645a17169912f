import { cpSync, readdirSync, renameSync, rmSync, utimesSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { Lake, type ReplacedTable } from "../../../src/lake/lake.js";
import { commit } from "../../../src/lake/log/commit.js";
import { commitFile } from "../../../src/lake/log/log-files.js";
import { readLog } from "../../../src/lake/log/read-log.js";
import { emptySnapshot, type Snapshot } from "../../../src/lake/log/snapshot.js";
import { copyLake } from "../../../src/lake/maintenance/copy-lake.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { HAS_STORE, storeLakes } from "../../object-store/store-lakes.js";
import { land, liveRows, openSession, T0, temporaryFolder } from "../temporary-lake.js";

const stores = storeLakes();

/** A form of lakes, and what puts a copy of one in the place of another. */
interface Form {
  readonly newLocation: () => string;
  readonly open: (location: string, storage?: Storage) => Lake;
  readonly replace: (location: string, backup: string) => Promise<void>;
  /** The numbers of versions of the copies. */
  readonly copies: readonly (readonly [what: string, version: number])[];
}

const AS_MANY = ["as many", 3] as const;

const optionsOf = (storage: Storage | undefined) => ({
  hasDatabase: false,
  ...(storage && { storage }),
});
const inFolder = {
  copies: [AS_MANY],
  newLocation: () => `${temporaryFolder()}/lake`,
  open: (location: string, storage?: Storage) => new Lake(location, optionsOf(storage)),
};

const FORMS: Readonly<Record<string, Form>> = {
  "a folder that is renamed away": {
    ...inFolder,
    copies: [["fewer", 1], AS_MANY, ["more", 5]],
    async replace(location, backup) {
      renameSync(location, `${location}.old`);
      cpSync(backup, location, { recursive: true });
    },
  },
  "a folder, file by file": {
    ...inFolder,
    async replace(location, backup) {
      for (const { path } of await new Lake(location).storage.walk("")) rmSync(`${location}/${path}`);
      cpSync(backup, location, { recursive: true, preserveTimestamps: true });
    },
  },
  ...(HAS_STORE && {
    "a store": {
      copies: [AS_MANY],
      newLocation: () => stores.newLocation(),
      open: (location: string, storage?: Storage) => stores.open(location, optionsOf(storage)),
      async replace(location: string, backup: string) {
        const { storage } = stores.open(location);
        for (const { path } of await storage.walk("")) await storage.delete(path);
        await copyLake(stores.open(backup), stores.open(location));
      },
    },
  }),
};

const dayOf = (n: number): string => new Date(Date.UTC(2026, 0, 5) + n * 86_400_000).toISOString();

/**
 * Lands a bar a version, from the version after the newest up to another; of many versions, the first one and the last
 * three have a bar. @param close tells histories apart.
 */
async function landUpTo(session: Session, lake: Lake, version: number, close: number): Promise<void> {
  for (let n = (await lake.snapshot(BARS_1D)).version + 1; n <= version; n++)
    if (n === 0 || version - n < 3)
      await land(session, lake, BARS_1D, [{ at: dayOf(n), close }], { now: T0 + n });
    else await commit(lake, await lake.snapshot(BARS_1D), [{ commitInfo: { timestamp: T0 + n } }], T0 + n);
}

const stateOf = ({ version, files, dataId, commitId }: Snapshot) => ({
  version,
  files: [...files.keys()].sort(),
  dataId,
  commitId,
});

async function closesOf(lake: Lake): Promise<number[]> {
  using session = await Session.open(lake.access);
  const sql = "SELECT close FROM live ORDER BY timestamp";
  return (await liveRows<{ close: number }>(session, lake, BARS_1D, sql)).map(({ close }) => close);
}

test("a backup that is copied over the files of a folder is noticed by its newest commit", async () => {
  const session = await openSession();
  const [location, backup] = [inFolder.newLocation(), inFolder.newLocation()];
  const lake = inFolder.open(location);
  await landUpTo(session, lake, 2, 10);
  await landUpTo(session, inFolder.open(backup), 2, 9.5);
  const log = `${location}/bars_1d/_delta_log`;
  for (const path of [log, ...readdirSync(log).map((name) => `${log}/${name}`)]) utimesSync(path, 1e9, 1e9);
  const known = await lake.snapshot(BARS_1D);
  expect(await lake.snapshot(BARS_1D)).toBe(known);
  cpSync(backup, location, { recursive: true });
  expect(stateOf(await lake.snapshot(BARS_1D))).toEqual(
    stateOf(await inFolder.open(backup).snapshot(BARS_1D)),
  );
});

test.each([3, 52])(
  "a folder that is replaced while its log of %i versions is read is read again",
  async (versions) => {
    const session = await openSession();
    const [location, backup] = [inFolder.newLocation(), inFolder.newLocation()];
    await landUpTo(session, inFolder.open(location), versions, 10);
    await landUpTo(session, inFolder.open(backup), versions, 9.5);
    const { storage } = inFolder.open(location);
    let isReplaced = false;
    const lake = inFolder.open(location, {
      ...storage,
      async readText(path) {
        if (path === commitFile("bars_1d", versions) && !isReplaced) {
          isReplaced = true;
          renameSync(location, `${location}.old`);
          cpSync(backup, location, { recursive: true });
        }
        return storage.readText(path);
      },
    });
    expect(stateOf(await lake.snapshot(BARS_1D))).toEqual(
      stateOf(await inFolder.open(backup).snapshot(BARS_1D)),
    );
    expect(isReplaced).toBe(true);
  },
);

describe.each(Object.entries(FORMS))("%s", (form, { newLocation, open, replace, copies }) => {
  /** A lake with version 3, and a copy of its version 1 that was then filled up to another version. */
  async function lakeAndBackup(session: Session, version: number, at = 1) {
    const [location, backup] = [newLocation(), newLocation()];
    const lake = open(location);
    await landUpTo(session, lake, at, 10);
    await copyLake(lake, open(backup));
    await landUpTo(session, lake, at + 2, 10);
    await landUpTo(session, open(backup), version, 9.5);
    return { location, backup, lake };
  }

  test.each(copies)(
    "a reader goes on with the history of a copy with %s versions, and says so",
    async (_, version) => {
      const session = await openSession();
      const { location, backup, lake } = await lakeAndBackup(session, version);
      const found: ReplacedTable[] = [];
      lake.onReplaced((one) => found.push(one));
      expect((await lake.snapshot(BARS_1D)).version).toBe(3);
      await replace(location, backup);
      const read = await lake.snapshot(BARS_1D);
      expect(stateOf(read)).toEqual(stateOf(await open(location).snapshot(BARS_1D)));
      expect(stateOf(read)).toEqual(stateOf(await open(backup).snapshot(BARS_1D)));
      expect(found).toEqual([{ table: "bars_1d", before: 3, version }]);
      // Of a copy of version 5, version 2 has no bar.
      expect(await closesOf(lake)).toEqual([10, 10, 9.5, 9.5, 9.5].slice(0, version + 1));
      expect(await lake.snapshot(BARS_1D)).toBe(read);
      expect(found).toHaveLength(1);
    },
  );

  test("nothing is committed after a version of another history, whatever its number", async () => {
    const session = await openSession();
    const { location, backup, lake } = await lakeAndBackup(session, 3);
    const base = await lake.snapshot(BARS_1D);
    await replace(location, backup);
    expect(await commit(lake, base, [{ commitInfo: { timestamp: T0 } }], T0)).toBeUndefined();
    expect((await open(location).snapshot(BARS_1D)).version).toBe(3);
  });

  test("what was staged for the former history is staged again for the new one", async () => {
    const session = await openSession();
    const { location, backup } = await lakeAndBackup(session, 3);
    let isReplaced = false;
    const { storage } = open(location);
    const lake = open(location, {
      ...storage,
      async putFileIfAbsent(...file) {
        const done = await storage.putFileIfAbsent(...file);
        if (!isReplaced) await replace(location, backup);
        isReplaced = true;
        return done;
      },
    });
    await land(session, lake, BARS_1D, [{ at: dayOf(20), close: 10.75 }]);
    expect(await closesOf(open(location))).toEqual([10, 10, 9.5, 9.5, 10.75]);
  });

  // A store takes some hundred requests for it, and commits as a folder does.
  test.skipIf(form === "a store")("a checkpoint is what the log comes to", async () => {
    const session = await openSession();
    const { location, backup, lake } = await lakeAndBackup(session, 49, 47);
    expect((await lake.snapshot(BARS_1D)).version).toBe(49);
    await replace(location, backup);
    await landUpTo(session, lake, 51, 10.25);
    const known = emptySnapshot(BARS_1D);
    const { storage } = open(location);
    const [newest, whole] = [await readLog(storage, known), await readLog(storage, known, { whole: true })];
    expect(stateOf(newest)).toEqual(stateOf(whole));
    expect((await closesOf(open(location))).slice(-4)).toEqual([9.5, 9.5, 10.25, 10.25]);
  });
});

test.skipIf(!HAS_STORE)(
  "a store is asked for a known commit only where the list of the log has changed",
  async () => {
    const session = await openSession();
    const location = stores.newLocation();
    const lake = stores.open(location);
    await landUpTo(session, lake, 2, 10);
    const read = (): Promise<string[]> => stores.requestsOf(() => lake.snapshot(BARS_1D));
    const list = expect.stringMatching(/^LIST/);
    expect(await read()).toEqual([list]);
    expect(await read()).toEqual([list]);
    await landUpTo(session, stores.open(location), 3, 10);
    expect(await read()).toEqual([
      list,
      expect.stringMatching(/^GET .*0003\.json$/),
      expect.stringMatching(/^GET .*0002\.json$/),
    ]);
    expect(await read()).toEqual([list]);
    const commits = await stores.requestsOf(() => landUpTo(session, lake, 4, 10));
    expect(commits.filter((one) => one.startsWith("GET"))).toEqual([]);
    expect(await read()).toEqual([list]);
  },
);
