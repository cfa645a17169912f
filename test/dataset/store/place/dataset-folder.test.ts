import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, recoverFolder } from "../../../../src/dataset/store/dataset-folder.js";
import { thisProcess } from "../../../../src/lease/owner.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";

const ID = "00000000-0000-4000-8000-000000000000";
/** A process that cannot be: its number is above all that there are. */
const ENDED = `${hostname()}-${thisProcess().machine}-${2 ** 22 + 1}-${ID}`;
/** A process of this host before a reboot of a machine that has no id of its own. */
const REBOOTED = `${hostname()}-${"a".repeat(12)}-${"b".repeat(12)}-${"0".repeat(12)}-1-${ID}`;

/** Makes a folder with one file. */
function folderWith(path: string): void {
  mkdirSync(path);
  writeFileSync(join(path, "manifest.json"), "{}");
}

test("the folder that a killed process had moved away is restored, by several processes at once, too", async () => {
  const place = temporaryFolder();
  const folder = join(place, "long");
  for (let round = 0; round < 10; round++) {
    const name = `long${round}`;
    folderWith(join(place, `.${name}.old-${ENDED}`));
    folderWith(join(place, `.${name}.draft-${ENDED}`));
    await Promise.all(Array.from({ length: 4 }, () => recoverFolder(join(place, name))));
    expect(readdirSync(place)).toEqual([name]);
    await makeFolder(folder, { replace: true }, async () => {});
    await recoverFolder(folder);
    expect(readdirSync(place).sort()).toEqual(["long", name]);
    for (const one of [folder, join(place, name)]) rmSync(one, { recursive: true });
  }
});

test.each([
  ["a process that runs", `${hostname()}-${thisProcess().machine}-${process.pid}-${ID}`],
  ["a process that runs, named as by earlier releases,", `${hostname()}-${process.pid}-${ID}`],
  ["a process of another machine", `elsewhere-1-${ID}`],
])("the unfinished folders of %s stay", async (_, owner) => {
  const place = temporaryFolder();
  const names = [`.long.draft-${owner}`, `.long.old-${owner}`];
  for (const name of names) folderWith(join(place, name));
  await recoverFolder(join(place, "long"));
  expect(readdirSync(place).sort()).toEqual(names);
});

test.each([
  ["a process before a reboot", REBOOTED],
  ["an earlier release, before a reboot", `${"a".repeat(32)}-1-${ID}`],
  ["an earlier release", `${hostname()}-${2 ** 22 + 1}-${ID}`],
])("the only copy of a dataset that %s had moved away is restored", async (_, owner) => {
  const place = temporaryFolder();
  folderWith(join(place, `.long.old-${owner}`));
  await recoverFolder(join(place, "long"));
  expect(readdirSync(place)).toEqual(["long"]);
});

test("what was unfinished at a reboot is removed after an hour without a change, the dataset is restored at once", async () => {
  const place = temporaryFolder();
  const [draft, old] = [`.long.draft-${REBOOTED}`, `.long.old-${REBOOTED}`];
  for (const name of [draft, old]) folderWith(join(place, name));
  await recoverFolder(join(place, "long"));
  expect(readdirSync(place).sort()).toEqual([draft, "long"]);
  folderWith(join(place, old));
  await recoverFolder(join(place, "long"));
  expect(readdirSync(place).sort()).toEqual([draft, old, "long"].sort());
  for (const name of [draft, old]) utimesSync(join(place, name), 1, 1);
  await recoverFolder(join(place, "long"));
  expect(readdirSync(place)).toEqual(["long"]);
});

test("a dataset remains moved away while a process that runs, or may run elsewhere, is about to replace it", async () => {
  const running = `${hostname()}-${thisProcess().machine}-${process.pid}-${ID}`;
  for (const owner of [running, `elsewhere-1-${ID}`]) {
    const place = temporaryFolder();
    const names = [`.long.draft-${owner}`, `.long.old-${REBOOTED}`, `.long.old-${ENDED}`];
    for (const name of names) folderWith(join(place, name));
    const left = await recoverFolder(join(place, "long"));
    expect(left?.owner).toMatch(/^process \d+ on /);
    expect(readdirSync(place).sort()).toEqual(names.sort());
  }
});
