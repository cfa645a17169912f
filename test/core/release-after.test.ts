import { expect, test } from "vitest";
import { errorText } from "../../src/cli/error-text.js";
import { LakeError, UsageError } from "../../src/core/errors.js";
import { laterErrors, releaseAfter } from "../../src/core/release-after.js";

const failing = (error: Error) => async (): Promise<never> => {
  throw error;
};

test("the error of the work is thrown as it is; every release runs, and its error is known and shown", async () => {
  const [first, second, third] = [new UsageError("a: wrong"), new LakeError("b: gone"), new Error("c: full")];
  const done: string[] = [];
  const ended = releaseAfter(
    failing(first),
    failing(second),
    async () => done.push("released"),
    failing(third),
  );
  await expect(ended).rejects.toBe(first);
  expect(done).toEqual(["released"]);
  expect(laterErrors(first)).toEqual([second, third]);
  expect(errorText(first)).toBe("error: a: wrong\nthen:  b: gone\nthen:  c: full");
});

test("work that succeeds fails with the first error of a release, and one error is not its own follower", async () => {
  const error = new LakeError("b: gone");
  await expect(releaseAfter(async () => 1, failing(error), failing(error))).rejects.toBe(error);
  expect(laterErrors(error)).toEqual([]);
  await expect(
    releaseAfter(
      async () => 1,
      async () => {},
    ),
  ).resolves.toBe(1);
});
