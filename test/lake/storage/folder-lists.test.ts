import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderLists } from "../../../src/lake/storage/folder-storage.js";
import { temporaryFolder } from "../temporary-lake.js";

test("a settled folder is listed once, and every change is seen", async () => {
  const folder = temporaryFolder();
  const list = folderLists();
  writeFileSync(join(folder, "a"), "");
  // A folder that has just changed can change again under the same stamp, so it is listed each time. It stays new here.
  utimesSync(folder, 4e9, 4e9);
  const fresh = await list(folder);
  expect(await list(folder)).not.toBe(fresh);
  const stampOf = (): bigint => statSync(folder, { bigint: true }).ctimeNs;
  let settledAt = 0n;
  // Many kernels take the stamps of changes from a clock that ticks every few milliseconds.
  const settle = (): void => {
    do for (const name of ["", ...readdirSync(folder)]) utimesSync(join(folder, name), 1e9, 1e9);
    while (stampOf() === settledAt);
    settledAt = stampOf();
  };
  settle();
  const first = await list(folder);
  expect(first).toEqual(["a"]);
  expect(await list(folder)).toBe(first);
  writeFileSync(join(folder, "a"), "other");
  utimesSync(join(folder, "a"), 1e9, 1e9);
  expect(await list(folder)).not.toBe(first);
  for (const [change, names] of [
    [() => writeFileSync(join(folder, "b"), ""), ["a", "b"]],
    [() => rmSync(join(folder, "a")), ["b"]],
    [() => (rmSync(folder, { recursive: true }), mkdirSync(folder)), []],
  ] as const) {
    change();
    // Even if the modification time is set back.
    settle();
    expect((await list(folder)).toSorted()).toEqual(names);
  }
  await expect(list(join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
});
