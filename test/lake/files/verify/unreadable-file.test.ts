import { expect, test } from "vitest";
import { LakeError } from "../../../../src/core/errors.js";
import { verifyOnce } from "../../../../src/lake/files/verify-content.js";
import { Lake } from "../../../../src/lake/lake.js";
import { openReader } from "../../../../src/lake/open-reader.js";
import { folderStorage } from "../../../../src/lake/storage/folder-storage.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { FileVerifier } from "../../../../src/serve/read/lake-version.js";
import { land, openSession, temporaryLake } from "../../temporary-lake.js";

/** A lake with one data file. Nobody can read it to its end while `fault` names an error of the system. */
async function unreadableLake() {
  const { location } = temporaryLake();
  const session = await openSession();
  await land(session, new Lake(location), BARS_1D, [{ at: "2024-03-06T16:00:00Z" }]);
  const inner = folderStorage(location);
  const state: { fault: string | undefined; reads: number } = { fault: undefined, reads: 0 };
  async function* failing(code: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from("PAR1");
    throw Object.assign(new Error(`${code}: i/o error, read`), { code });
  }
  const lake = new Lake(location, {
    storage: {
      ...inner,
      async read(path) {
        state.reads += 1;
        if (state.fault === "EMFILE")
          throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
        return state.fault === undefined ? inner.read(path) : failing(state.fault);
      },
    },
  });
  const snapshot = await lake.snapshot(BARS_1D);
  return { lake, snapshot, files: [...snapshot.files.values()], state };
}

const hint = expect.stringContaining("the file may be sound") as string;

test.each(["EMFILE", "EIO"])(
  "a file that cannot be read (%s) is not verified: a query of it fails, and the next one verifies it",
  async (code) => {
    const { lake, state } = await unreadableLake();
    const { session } = await openReader(lake, { threads: 1 });
    using reader = session;
    state.fault = code;
    const query = (): Promise<unknown[]> => reader.json("SELECT symbol, close FROM bars_1d");
    const message = expect.stringMatching(
      new RegExp(`^table bars_1d: \\S+ is not readable: ${code}`),
    ) as string;
    await expect(query()).rejects.toMatchObject({ message, hint });
    state.fault = undefined;
    const before = state.reads;
    await expect(query()).resolves.toHaveLength(1);
    expect(state.reads).toBe(before + 1);
  },
);

test("a landing and a dataset do not use a file that cannot be read", async () => {
  const { lake, snapshot, files, state } = await unreadableLake();
  state.fault = "EMFILE";
  await expect(verifyOnce(lake, snapshot, files)).rejects.toMatchObject({ name: "LakeError", hint });
  using session = await openSession();
  await expect(
    land(session, lake, BARS_1D, [{ at: "2024-03-06T16:00:00Z", close: 11 }]),
  ).rejects.toMatchObject({ name: "LakeError", hint });
});

test("a request of the service fails where a file that it needs cannot be read, and the next one verifies the file", async () => {
  const { lake, snapshot, files, state } = await unreadableLake();
  const damaged: LakeError[] = [];
  const verifier = new FileVerifier(lake, (error) => damaged.push(error));
  state.fault = "EMFILE";
  const both = await Promise.allSettled([verifier.verify(snapshot, files), verifier.verify(snapshot, files)]);
  for (const one of both)
    expect(one).toMatchObject({ status: "rejected", reason: { name: "LakeError", hint } });
  expect(state.reads).toBe(1);
  state.fault = undefined;
  await verifier.verify(snapshot, files);
  await verifier.verify(snapshot, files);
  expect([state.reads, damaged]).toEqual([2, []]);
  await verifier.close();
});
