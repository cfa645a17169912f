import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { removeFolder } from "../../../../src/dataset/store/dataset-folder.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";

test("a folder is deleted with all its files and folders, and links, but not what these lead to", async () => {
  const folder = temporaryFolder();
  const [path, other] = [join(folder, "old"), join(folder, "other")];
  for (const one of ["a/b/c", "a/d", "e"]) mkdirSync(join(path, one), { recursive: true });
  for (const one of ["top", "a/middle", "a/b/c/deep"]) writeFileSync(join(path, one), "x");
  mkdirSync(other);
  writeFileSync(join(other, "precious.txt"), "mine");
  symlinkSync(other, join(path, "a", "link"));
  await removeFolder(path);
  expect(existsSync(path)).toBe(false);
  expect(readdirSync(other)).toEqual(["precious.txt"]);
  await removeFolder(path);
});

test("of a link to a folder, only the link is deleted", async () => {
  const folder = temporaryFolder();
  const [path, other] = [join(folder, "latest"), join(folder, "of-monday")];
  mkdirSync(other);
  writeFileSync(join(other, "precious.txt"), "mine");
  symlinkSync(other, path);
  await removeFolder(path);
  expect(readdirSync(folder)).toEqual(["of-monday"]);
  expect(readdirSync(other)).toEqual(["precious.txt"]);
});

test("other work runs while folders are deleted, and may add to them", async () => {
  const path = join(temporaryFolder(), "draft");
  for (const n of [1, 2, 3]) mkdirSync(join(path, `${n}`), { recursive: true });
  for (const n of [1, 2, 3]) writeFileSync(join(path, `${n}`, "file"), "x");
  const removed = removeFolder(path);
  expect(readdirSync(path)).toHaveLength(2);
  writeFileSync(join(path, "late"), "x");
  await removed;
  expect(existsSync(path)).toBe(false);
});

test("other work runs while the files of one folder are deleted", async () => {
  const path = join(temporaryFolder(), "old");
  mkdirSync(path);
  for (let n = 0; n < 1500; n++) writeFileSync(join(path, `${n}`), "");
  const removed = removeFolder(path);
  const seen: number[] = [];
  while (existsSync(path)) {
    seen.push(readdirSync(path).length);
    await setImmediate();
  }
  await removed;
  expect(seen[0]).toBeGreaterThan(1000);
  expect(seen.filter((left) => left > 0 && left < 1000).length).toBeGreaterThan(2);
});
