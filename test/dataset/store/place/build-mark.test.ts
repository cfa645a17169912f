import { expect, test } from "vitest";
import { claimPrefix, isBuildMark } from "../../../../src/dataset/store/dataset-prefix.js";
import type { Storage } from "../../../../src/lake/storage/storage.js";
import { temporaryLake } from "../../../lake/temporary-lake.js";

test("while a mark is being written, another build of this process sees it as of a running build", async () => {
  const { storage } = temporaryLake();
  let second: Promise<unknown> | undefined;
  const slow: Storage = {
    ...storage,
    async putIfAbsent(path, text) {
      const isPut = await storage.putIfAbsent(path, text);
      second = claimPrefix(storage, { replace: true });
      await second.catch(() => {});
      return isPut;
    },
  };
  const first = await claimPrefix(slow, { replace: false });
  await expect(second).rejects.toThrow("is being written by process");
  await first.confirm();
  await first.release();
  first.abandon();
});

test("the mark of a claim whose write failed, but happened, is of a build that has ended", async () => {
  const { storage } = temporaryLake();
  const torn: Storage = {
    ...storage,
    async putIfAbsent(path, text) {
      await storage.putIfAbsent(path, text);
      throw new Error("the connection was lost");
    },
  };
  await expect(claimPrefix(torn, { replace: false })).rejects.toThrow("the connection was lost");
  const next = await claimPrefix(storage, { replace: false });
  expect(next.hasLeftovers).toBe(true);
  await next.release();
  next.abandon();
});

test("of builds that find the mark of a build that has ended one takes over, however their requests interleave", async () => {
  // The second build does all of its work before the n-th request of the first one.
  for (let at = 0; at < 8; at++) {
    const { storage } = temporaryLake();
    (await claimPrefix(storage, { replace: false })).abandon();
    let calls = 0;
    let second: ReturnType<typeof claimPrefix> | undefined;
    const before = async <T>(request: () => Promise<T>): Promise<T> => {
      if (calls++ === at) {
        second = claimPrefix(storage, { replace: true });
        await second.catch(() => {});
      }
      return request();
    };
    const slow: Storage = {
      ...storage,
      readText: (path) => before(() => storage.readText(path)),
      putIfAbsent: (path, text) => before(() => storage.putIfAbsent(path, text)),
      delete: (path) => before(() => storage.delete(path)),
    };
    const first = claimPrefix(slow, { replace: true });
    await first.catch(() => {});
    const claims = await Promise.allSettled([first, second]);
    const taken = claims.flatMap((claim) =>
      claim.status === "fulfilled" && claim.value ? [claim.value] : [],
    );
    expect(taken.length, `request ${at}`).toBe(1);
    for (const claim of taken) {
      expect(claim.hasLeftovers).toBe(true);
      await claim.confirm();
      await claim.release();
      claim.abandon();
    }
    expect((await storage.walk("")).map(({ path }) => path).filter(isBuildMark)).toEqual([]);
  }
});

test("a mark that was removed since it was read is not taken over", async () => {
  const { storage } = temporaryLake();
  (await claimPrefix(storage, { replace: false })).abandon();
  const late: Storage = {
    ...storage,
    async putIfAbsent(path, text) {
      const other = await claimPrefix(storage, { replace: false });
      await other.release();
      other.abandon();
      return storage.putIfAbsent(path, text);
    },
  };
  await expect(claimPrefix(late, { replace: false })).rejects.toThrow("is being written by");
  const next = await claimPrefix(storage, { replace: false });
  expect(next.hasLeftovers).toBe(false);
  await next.release();
  next.abandon();
  expect((await storage.walk("")).map(({ path }) => path).filter(isBuildMark)).toEqual([]);
});
