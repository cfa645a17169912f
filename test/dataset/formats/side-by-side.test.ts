import { expect, test } from "vitest";
import { sideBySide } from "../../../src/dataset/formats/dataset-writer.js";

test("an error is thrown when the files that were begun are done, and no other is begun", async () => {
  const begun: number[] = [];
  const done: number[] = [];
  const writing = sideBySide([1, 2, 3], 2, async (file) => {
    begun.push(file);
    await new Promise((resolve) => setImmediate(resolve));
    if (file === 1) throw new Error("the disk is full");
    await new Promise((resolve) => setImmediate(resolve));
    done.push(file);
  });
  await expect(writing).rejects.toThrow("the disk is full");
  expect([begun, done]).toEqual([[1, 2], [2]]);
});
