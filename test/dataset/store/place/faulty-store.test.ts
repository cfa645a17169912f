import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { buildDataset } from "../../../../src/dataset/build-dataset.js";
import { type DatasetSpec, defineDataset } from "../../../../src/dataset/spec.js";
import { BUILD_MARK } from "../../../../src/dataset/store/dataset-prefix.js";
import { MANIFEST } from "../../../../src/dataset/store/manifest.js";
import { isSound, verifyDataset } from "../../../../src/dataset/store/verify-dataset.js";
import { runImport } from "../../../../src/jobs/import/run-import.js";
import { Lake } from "../../../../src/lake/lake.js";
import { objectStorage } from "../../../../src/lake/storage/object-storage.js";
import { thisProcess } from "../../../../src/lease/owner.js";
import { openStorePlace } from "../../../../src/object-store/store-place.js";
import { virtualClock } from "../../../faults/clock/virtual-clock.js";
import type { Fault, Passing } from "../../../object-store/faulty-store.js";
import { laggingLists } from "../../../object-store/lagging-lists.js";
import { HAS_STORE, storeLakes } from "../../../object-store/store-lakes.js";
import { once } from "../../../once.js";
import { pickFrom, SWEEP } from "../../../sweep.js";

/** Five days of bars of two symbols. */
const BARS = [
  "symbol,timestamp,open,high,low,close,volume,amount",
  ...["600000.SH", "600519.SH"].flatMap((symbol) =>
    [2, 3, 4, 5, 6].map((day) => `${symbol},2026-03-0${day}T07:00:00Z,10,11,9,10.${day},100,1000`),
  ),
  "",
].join("\n");
const PREFIX = "datasets/test/symbol-csv";
const nameIn = (path: string): string => path.slice(PREFIX.length + 1);
const GONE: Fault = { kind: "lost" };
const FAILS: Fault = { kind: "refused", status: 500, code: "InternalError" };

function spec(output?: string): DatasetSpec {
  return defineDataset({
    name: "test",
    universe: { region: "CN" },
    from: "2026-03-02",
    fields: ["close", "volume"],
    format: "symbol-csv",
    ...(output !== undefined && { output }),
  });
}

type FaultOf = (passing: Passing, index: number) => Fault | undefined;
const isOfDataset = ({ key }: Passing): boolean => key.includes(`${PREFIX}/`);
const isWrite = (one: Passing): boolean => one.method !== "GET" && one.method !== "HEAD" && isOfDataset(one);
const isSource = (one: Passing): boolean => one.method === "GET" && one.key.endsWith(".parquet");

/** The index is that of the request among those that the fault is about. */
const FAULTS: readonly [string, (passing: Passing) => boolean, FaultOf][] = [
  ["its sources are refused", isSource, () => FAILS],
  ["its sources are cut off", isSource, () => ({ kind: "cut", bytes: 300 })],
  [
    "its sources are sent in part",
    isSource,
    () => ({ kind: "edited", edit: (body) => body.subarray(0, body.length >> 1) }),
  ],
  ["the first write fails", isWrite, () => FAILS],
  ["writes fail after the third", isWrite, (one, n) => (n >= 3 && one.method === "PUT" ? FAILS : undefined)],
  ["the store is away after the third write", isOfDataset, (_, n) => (n >= 6 ? GONE : undefined)],
  ["the manifest is refused", isWrite, ({ key }) => (key.endsWith(MANIFEST) ? FAILS : undefined)],
  [
    "the manifest is written, and its response is lost again and again",
    isWrite,
    ({ key, method }) => (key.endsWith(MANIFEST) && method === "PUT" ? GONE : undefined),
  ],
];

describe.skipIf(!HAS_STORE)("a dataset of a lake on a store that is not well", () => {
  const stores = storeLakes();
  let location: string;
  beforeAll(async () => {
    location = stores.newLocation();
    const folder = mkdtempSync(join(tmpdir(), "barlake-dataset-"));
    const file = join(folder, "bars.csv");
    writeFileSync(file, BARS);
    const options = { map: {}, volumeUnit: "shares", barLabel: "end", runId: "import" } as const;
    await runImport(stores.open(location), "bars_1d", [file], options, virtualClock("2026-04-01T00:00:00Z"));
    rmSync(folder, { recursive: true });
  });

  /** The lake on the store, whose pauses take no time, without a dataset. */
  async function setUp() {
    const open = async (): Promise<Lake> => {
      const clock = { now: () => Date.now(), sleep: () => turn() };
      const place = await openStorePlace(location, { env: stores.env, clock, retries: 2, timeoutMs: 60_000 });
      onTestFinished(() => place.store.close());
      const storage = objectStorage(place, { extensions: stores.env.BARLAKE_DUCKDB_EXTENSIONS });
      return new Lake(location, { environment: stores.env, storage, hasDatabase: false });
    };
    const lake = await open();
    const { storage } = stores.open(location);
    for (const { path } of await storage.walk(PREFIX)) await storage.delete(`${PREFIX}/${path}`);
    const files = async (): Promise<string[]> => (await lake.storage.walk(PREFIX)).map(({ path }) => path);
    return { lake, open, files };
  }

  /** Runs some work while the store misbehaves. */
  async function through<T>(
    isMet: (passing: Passing) => boolean,
    faultOf: FaultOf,
    work: () => Promise<T>,
  ): Promise<T> {
    const before = stores.store.faultOf;
    let index = 0;
    stores.store.faultOf = (passing) => (isMet(passing) ? faultOf(passing, index++) : undefined);
    try {
      return await work();
    } finally {
      stores.store.faultOf = before;
    }
  }

  test.each(pickFrom(FAULTS, { few: 1, more: 8, all: 8 }, [5]))(
    "where %s, there is none, and the next build makes it",
    async (_, isMet, faultOf) => {
      const { lake, open, files } = await setUp();
      const failed = await through(isMet, faultOf, () =>
        buildDataset(lake, spec()).catch((error: unknown) => error),
      );
      expect(failed).toBeInstanceOf(Error);
      expect((failed as { hint?: string }).hint).toBeDefined();
      const manifest = (await files()).includes(MANIFEST);
      // A manifest that was written counts only with all of its files.
      if (manifest) expect(isSound(await verifyDataset(lake, `${location}/${PREFIX}`))).toBe(true);
      // Another process makes it; or this one, which is not taken for a build that still runs.
      const built = await buildDataset(await open(), spec(), { existing: manifest ? "replace" : "refuse" });
      expect(isSound(await verifyDataset(lake, built.folder, { rebuild: true }))).toBe(true);
      expect(await files()).not.toContain(BUILD_MARK);
    },
  );

  once(
    "what a killed build has left is deleted by the next one; what another program has put, is not",
    async () => {
      const { lake, files } = await setUp();
      const ended = { ...thisProcess(), pid: 2 ** 22 + 1, id: "of a process that has ended" };
      await lake.storage.put(`${PREFIX}/${BUILD_MARK}`, JSON.stringify(ended));
      await lake.storage.put(`${PREFIX}/left.csv`, "half");
      const others =
        "there are files that its files.sha256 does not name, and a build would delete: left.csv";
      for (const existing of ["refuse", "replace"] as const)
        await expect(buildDataset(lake, spec(), { existing })).rejects.toThrow(others);
      expect(await files()).toEqual([`${PREFIX}/left.csv`, `${PREFIX}/${BUILD_MARK}`].map(nameIn));
      // A build sends the list of its files first.
      await lake.storage.put(`${PREFIX}/files.sha256`, `${"0".repeat(64)}  left.csv\n`);
      const built = await buildDataset(lake, spec());
      expect(await files()).not.toContain("left.csv");
      expect(isSound(await verifyDataset(lake, built.folder))).toBe(true);
      // Another dataset that was built below the prefix is nothing that the killed build has left.
      const nested = `${location}/outer/inner`;
      await buildDataset(lake, spec(nested));
      await lake.storage.put(`outer/${BUILD_MARK}`, JSON.stringify(ended));
      const outer = spec(`${location}/outer`);
      for (const existing of ["refuse", "replace"] as const)
        await expect(buildDataset(lake, outer, { existing })).rejects.toThrow(
          /would delete: inner\/600000.SH.csv, .*inner\/manifest.json/,
        );
      expect(isSound(await verifyDataset(lake, nested))).toBe(true);
      const other = `${location}/other`;
      await lake.storage.put("other/left.csv", "half");
      await expect(buildDataset(lake, spec(other))).rejects.toThrow("is there, and no dataset");
      expect(await lake.storage.readText("other/left.csv")).toBe("half");
      // It is not known whether a process of another machine has ended.
      const unknown = { host: "elsewhere", machine: "elsewhere", pid: 1, id: "of another machine" };
      await lake.storage.put(`other/${BUILD_MARK}`, JSON.stringify(unknown));
      await expect(buildDataset(lake, spec(other))).rejects.toMatchObject({
        message: expect.stringMatching(/is there, and no dataset|is being written by process 1 on elsewhere/),
        hint: expect.stringContaining("replace"),
      });
      await lake.storage.put("other/files.sha256", `${"0".repeat(64)}  left.csv\n`);
      await buildDataset(lake, spec(other), { existing: "replace" });
      expect(isSound(await verifyDataset(lake, other))).toBe(true);
    },
  );

  test.skipIf(SWEEP === "few")(
    "of builds of the same at the same time one makes it, and the others say so",
    async () => {
      const { lake: reader, open } = await setUp();
      const lakes = await Promise.all([open(), open(), open()]);
      for (const existing of ["refuse", "replace"] as const) {
        const results = await Promise.allSettled(
          lakes.map((lake) => buildDataset(lake, spec(), { existing })),
        );
        expect(results.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
        for (const result of results)
          if (result.status === "rejected")
            expect(String(result.reason)).toMatch(/is being written by|is there already/);
        expect(isSound(await verifyDataset(reader, `${location}/${PREFIX}`))).toBe(true);
      }
    },
  );

  once(
    "a build that is stopped while it sends deletes what it has sent, but completes one that is replaced",
    async () => {
      const { lake, files } = await setUp();
      const isData = (one: Passing): boolean => one.method === "PUT" && one.key.endsWith(".csv");
      const reason = new Error("stopped by hand");
      const stopped = (existing: "refuse" | "replace") => {
        const controller = new AbortController();
        const stop: FaultOf = () => {
          controller.abort(reason);
          return undefined;
        };
        return through(isData, stop, () =>
          buildDataset(lake, spec(), { existing, signal: controller.signal }),
        );
      };
      await expect(stopped("refuse")).rejects.toBe(reason);
      expect(await files()).toEqual([]);
      await buildDataset(lake, spec());
      await stopped("replace");
      expect(isSound(await verifyDataset(lake, `${location}/${PREFIX}`))).toBe(true);
    },
  );

  test.skipIf(SWEEP === "few")(
    "lists that lag are waited for, also where a dataset is replaced",
    async () => {
      const { lake } = await setUp();
      const before = stores.store.faultOf;
      stores.store.faultOf = laggingLists(3);
      try {
        await buildDataset(lake, spec());
        await buildDataset(lake, spec(), { existing: "replace" });
      } finally {
        stores.store.faultOf = before;
      }
      expect(isSound(await verifyDataset(lake, `${location}/${PREFIX}`))).toBe(true);
    },
  );

  once("a store that fails is not reported as damage of a dataset", async () => {
    const { lake } = await setUp();
    await buildDataset(lake, spec());
    const verifying = through(
      (one) => one.method === "GET" && one.key.endsWith(".csv"),
      () => FAILS,
      () => verifyDataset(lake, `${location}/${PREFIX}`),
    );
    await expect(verifying).rejects.toThrow("InternalError");
  });
});
