import { expect, test } from "vitest";
import { claimPrefix } from "../../../src/dataset/store/build-mark.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { temporaryLake } from "../../lake/temporary-lake.js";

test("a mark that others read before its build knows that it is written is of a running build", async () => {
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

test("one that could not be written is not running", async () => {
  const { storage } = temporaryLake();
  const first = await claimPrefix(storage, { replace: false });
  await expect(claimPrefix(storage, { replace: false })).rejects.toThrow("is being written by process");
  first.abandon();
  const next = await claimPrefix(storage, { replace: false });
  expect(next.hasLeftovers).toBe(true);
  await next.release();
  next.abandon();
});
