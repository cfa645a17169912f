import { expect, test } from "vitest";
import { scrubLake } from "../../../../src/jobs/maintenance/scrub-lake.js";
import { verifyOnce } from "../../../../src/lake/files/verify-content.js";
import { Lake } from "../../../../src/lake/lake.js";
import { checkTable } from "../../../../src/lake/maintenance/check/check-table.js";
import { folderStorage } from "../../../../src/lake/storage/folder-storage.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { land, openSession, T0, temporaryLake } from "../../temporary-lake.js";

/** A lake whose data file comes in a hundred pieces; the signal aborts while the third is read. */
async function lakeOfPieces() {
  const { location } = temporaryLake();
  const session = await openSession();
  await land(session, new Lake(location, { hasDatabase: false }), BARS_1D, [{ at: "2024-03-06T16:00:00Z" }]);
  const inner = folderStorage(location);
  const stopped = new AbortController();
  const state = { pieces: 0, isClosed: false };
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      while (state.pieces < 100) {
        state.pieces += 1;
        if (state.pieces === 3) stopped.abort(new Error("stopped"));
        yield Buffer.alloc(16);
      }
    } finally {
      state.isClosed = true;
    }
  }
  const read: typeof inner.read = async (path) => (path.endsWith(".parquet") ? pieces() : inner.read(path));
  const lake = new Lake(location, { hasDatabase: false, storage: { ...inner, read } });
  return { lake, signal: stopped.signal, state };
}

const READ = { pieces: 3, isClosed: true };

test("the files of a dataset are not hashed to the end of a file after the signal", async () => {
  const { lake, signal, state } = await lakeOfPieces();
  const snapshot = await lake.snapshot(BARS_1D);
  await expect(verifyOnce(lake, snapshot, snapshot.files.values(), signal)).rejects.toThrow("stopped");
  expect(state).toEqual(READ);
  await expect(verifyOnce(lake, snapshot, snapshot.files.values(), signal)).rejects.toThrow("stopped");
  expect(state).toEqual(READ);
});

test("a check that is stopped within a file says nothing about it, and is not complete", async () => {
  const { lake, signal, state } = await lakeOfPieces();
  const found = await checkTable(lake, BARS_1D, { deep: true, signal });
  expect(found).toMatchObject({ complete: false, findings: [], rows: 0 });
  expect(state).toEqual(READ);
});

test("a scrub that is stopped within a file has not read it", async () => {
  const { lake, signal, state } = await lakeOfPieces();
  const clock = { now: () => T0 + 40 * 86_400_000 };
  expect(await scrubLake(lake, { signal }, clock)).toMatchObject({ files: 0, damaged: [] });
  expect(state).toEqual(READ);
});
