import { expect, test } from "vitest";
import { claimPrefix } from "../../../src/dataset/store/build-mark.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { temporaryLake } from "../../lake/temporary-lake.js";

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
