import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, recoverFolder } from "../../../src/dataset/store/dataset-folder.js";
import { thisProcess } from "../../../src/lease/owner.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

const ID = "00000000-0000-4000-8000-000000000000";
/** A process that cannot be: its number is above all that there are. */
const ENDED = `${thisProcess().machine}-${2 ** 22 + 1}-${ID}`;

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
  ["a process that runs", `${thisProcess().machine}-${process.pid}-${ID}`],
  ["a process of another machine", `elsewhere-1-${ID}`],
])("the unfinished folders of %s stay", async (_, owner) => {
  const place = temporaryFolder();
  const names = [`.long.draft-${owner}`, `.long.old-${owner}`];
  for (const name of names) folderWith(join(place, name));
  await recoverFolder(join(place, "long"));
  expect(readdirSync(place).sort()).toEqual(names);
});
