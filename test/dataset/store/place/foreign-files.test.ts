import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type BuildOptions, type BuildReport, buildDataset } from "../../../../src/dataset/build-dataset.js";
import { defineDataset } from "../../../../src/dataset/spec.js";
import { isSound, verifyDataset } from "../../../../src/dataset/store/verify-dataset.js";
import type { Lake } from "../../../../src/lake/lake.js";
import { thisProcess } from "../../../../src/lease/owner.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { land, openSession, temporaryFolder, temporaryLake } from "../../../lake/temporary-lake.js";

describe("the folder of a dataset", () => {
  let lake: Lake;
  let place: string;
  let folder: string;
  let content: string;

  beforeEach(async () => {
    lake = temporaryLake();
    place = temporaryFolder();
    folder = join(place, "mine");
    const session = await openSession({ threads: 1 });
    for (const days of [
      [2, 3, 4],
      [5, 6],
    ]) {
      const bars = days.map((day) => ({ symbol: "600519.SH", at: `2026-03-0${day}T00:00:00+08:00` }));
      await land(session, lake, BARS_1D, bars);
    }
    ({ content } = await build({ pointInTime: { versions: new Map([["bars_1d", 0]]) } }));
  });

  const build = (options: BuildOptions): Promise<BuildReport> =>
    buildDataset(
      lake,
      defineDataset({
        name: "mine",
        universe: ["600519.SH"],
        from: "2026-03-01",
        fields: ["close"],
        format: "symbol-csv",
        output: folder,
      }),
      options,
    );

  test.each(["append", "replace"] as const)(
    "%s: files of somebody else are named, and nothing is deleted",
    async (existing) => {
      writeFileSync(join(folder, "notes.txt"), "mine");
      mkdirSync(join(folder, "plots"));
      writeFileSync(join(folder, "plots", "a.png"), "mine");
      symlinkSync(join(place, "nowhere"), join(folder, "link"));
      const onProgress = (): never => expect.fail("rows were read for a build that is refused");
      await expect(build({ existing, onProgress })).rejects.toMatchObject({
        message: `dataset ${folder}: there are files that its files.sha256 does not name, and a build would delete: link, notes.txt, plots/a.png`,
        hint: expect.stringContaining("move them to another place"),
      });
      expect(readdirSync(place)).toEqual(["mine"]);
      expect(readFileSync(join(folder, "plots", "a.png"), "utf8")).toBe("mine");
      expect((await verifyDataset(lake, folder)).damage).toEqual([
        "link was not written with it",
        "notes.txt was not written with it",
        "plots/a.png was not written with it",
      ]);
      for (const name of ["notes.txt", "plots", "link"]) rmSync(join(folder, name), { recursive: true });
      expect((await build({ existing })).content).not.toBe(content);
    },
  );

  test("a file that is put there while a dataset is built ends the build, and the dataset is as before", async () => {
    const onProgress = (): void => writeFileSync(join(folder, "notes.txt"), "mine");
    await expect(build({ existing: "append", onProgress })).rejects.toThrow("would delete: notes.txt");
    expect(readFileSync(join(folder, "notes.txt"), "utf8")).toBe("mine");
    expect((await verifyDataset(lake, folder)).manifest.content).toBe(content);
    expect(readdirSync(place)).toEqual(["mine"]);
  });

  test("without its manifest it is built again by `replace`, which other builds say", async () => {
    rmSync(join(folder, "manifest.json"));
    for (const existing of ["refuse", "append"] as const)
      await expect(build({ existing })).rejects.toMatchObject({
        message: `dataset mine: ${folder} is there, and no dataset: it has no manifest.json`,
        hint: expect.stringContaining('`existing: "replace"` builds it again'),
      });
    await build({ existing: "replace" });
    expect(isSound(await verifyDataset(lake, folder))).toBe(true);
  });

  test("with a damaged manifest it is built again by `replace`, which an append says", async () => {
    writeFileSync(join(folder, "manifest.json"), "{");
    await expect(build({ existing: "append" })).rejects.toMatchObject({
      hint: expect.stringContaining('`existing: "replace"`'),
    });
    await build({ existing: "replace" });
    expect(isSound(await verifyDataset(lake, folder))).toBe(true);
  });

  test("without the list of its files nothing says whose they are: they are named", async () => {
    rmSync(join(folder, "manifest.json"));
    rmSync(join(folder, "files.sha256"));
    await expect(build({})).rejects.toMatchObject({
      hint: expect.stringContaining("does not name 600519.SH.csv: move such files"),
    });
    await expect(build({ existing: "replace" })).rejects.toThrow("would delete: 600519.SH.csv");
    rmSync(join(folder, "600519.SH.csv"));
    await build({ existing: "replace" });
    expect(isSound(await verifyDataset(lake, folder))).toBe(true);
  });

  test("an earlier dataset next to something else is not deleted, and put back when that is gone", async () => {
    const id = "00000000-0000-4000-8000-000000000000";
    const moved = join(place, `.mine.old-${hostname()}-${2 ** 22 + 1}-${id}`);
    mkdirSync(moved);
    for (const name of readdirSync(folder))
      writeFileSync(join(moved, name), readFileSync(join(folder, name)));
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    writeFileSync(join(folder, "cache"), "of a reader");
    await expect(build({})).rejects.toMatchObject({
      hint: expect.stringContaining(
        `an earlier dataset, ${moved}, is put back when ${folder} is no longer there`,
      ),
    });
    rmSync(folder, { recursive: true });
    const appended = await build({ existing: "append" });
    expect(appended.newRows).toBe(2);
    expect(readdirSync(place)).toEqual(["mine"]);
  });

  test("a dataset that a running process has moved away is neither built a second time, nor called absent", async () => {
    const id = "00000000-0000-4000-8000-000000000000";
    const moved = join(place, `.mine.old-${hostname()}-${thisProcess().machine}-${process.pid}-${id}`);
    mkdirSync(moved);
    const error = {
      message: `dataset ${folder}: was moved to ${moved} by process ${process.pid} on ${hostname()}, which is to replace it`,
      hint: `wait until that process has ended; if it has, put the dataset back: mv ${moved} ${folder}`,
    };
    rmSync(folder, { recursive: true });
    await expect(build({ existing: "append" })).rejects.toMatchObject(error);
    await expect(verifyDataset(lake, folder)).rejects.toMatchObject(error);
    expect(existsSync(folder)).toBe(false);
  });
});
