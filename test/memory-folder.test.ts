import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";

const HAS_MEMORY = existsSync("/dev/shm") && freeBytes("/dev/shm") >= 4 * 2 ** 30;

test.runIf(HAS_MEMORY)(
  "tests write into memory, and nothing is left of a run that ended or was killed",
  () => {
    const folder = folderOf({});
    expect(dirname(folder)).toBe("/dev/shm");
    expect(existsSync(folder)).toBe(false);

    // No process has this number: it is above the greatest that Linux gives.
    const left = "/dev/shm/barlake-tests-999999999-left";
    mkdirSync(left);
    folderOf({});
    expect(existsSync(left)).toBe(false);
  },
);

test("a temporary folder that was chosen is used", () => {
  expect(folderOf({ TMPDIR: "/chosen" })).toBe("/chosen");
});

/** The temporary folder of a process that has asked for one in memory. */
function folderOf(env: { readonly TMPDIR?: string }): string {
  const { TMPDIR: _, ...rest } = process.env;
  const program = `import { tmpdir } from "node:os";
    import { useMemoryFolder } from "./test/memory-folder.ts";
    useMemoryFolder();
    console.log(tmpdir());`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", program],
    { env: { ...rest, ...env }, encoding: "utf8" },
  );
  expect(stderr).toBe("");
  return stdout.trim();
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
