import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { EXIT } from "../../../../src/cli/cli.js";
import { addRepair } from "../../../../src/cli/commands/lake/repair.js";
import { Lake } from "../../../../src/lake/lake.js";
import type { DataFile } from "../../../../src/lake/log/snapshot.js";
import { BARS_1D, BARS_1M } from "../../../../src/schema/bars.js";
import { land, openSession, temporaryFolder, temporaryLake } from "../../../lake/temporary-lake.js";
import { runCommand } from "./run-command.js";

/** A lake with a file of daily bars and a file of minutes. */
async function filledLake(): Promise<Lake> {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (const table of [BARS_1D, BARS_1M]) await land(session, lake, table, [{ at: "2026-11-02T16:00:00Z" }]);
  return lake;
}

/**
 * Runs the command in this process, so that it is interrupted at a defined point.
 *
 * @param interruptIn the table whose first file is being read when the signal aborts; "" before the first table,
 *   undefined for none.
 */
async function repair({ location }: Lake, interruptIn: string | undefined, ...options: string[]) {
  const stop = new AbortController();
  if (interruptIn === "") stop.abort();
  using _ = vi.spyOn(Lake.prototype, "read").mockImplementation(function (this: Lake, snapshot, file) {
    if (snapshot.table.name === interruptIn) stop.abort();
    return this.storage.read(`${snapshot.table.name}/${file.path}`);
  });
  return await runCommand(addRepair, ["repair", "--lake", location, ...options], stop.signal);
}

test("an interrupted repair says how much it has read, and not that nothing is lost", async () => {
  const lake = await filledLake();
  expect(await repair(lake, "")).toEqual({
    code: EXIT.interrupted,
    stdout: "interrupted: 0 files of 0 tables read\n",
  });
  expect(await repair(lake, BARS_1M.name)).toEqual({
    code: EXIT.interrupted,
    stdout: "interrupted: 1 file of 1 table read\n",
  });
  expect(await repair(lake, undefined)).toEqual({
    code: EXIT.done,
    stdout: "nothing is lost: 2 files read\n",
  });
});

test("an interrupted repair shows what it removed before", async () => {
  const lake = await filledLake();
  const snapshot = await lake.snapshot(BARS_1D);
  for (const file of snapshot.files.values()) rmSync(lake.urlOf(snapshot, file));
  const { code, stdout } = await repair(lake, BARS_1M.name);
  expect(code).toBe(EXIT.interrupted);
  expect(stdout).toMatch(/^bars_1d +region=CN\S+ +missing +1 .* removed /m);
  expect(stdout).toMatch(/\n\ninterrupted: 1 file of 1 table read\n$/);
  expect((await new Lake(lake.location).snapshot(BARS_1D)).files.size).toBe(0);
});

test("the JSON of a repair says whether it was interrupted", async () => {
  const lake = await filledLake();
  const said = async (interruptIn: string | undefined): Promise<unknown> =>
    JSON.parse((await repair(lake, interruptIn, "--json")).stdout);
  expect(await said(BARS_1M.name)).toMatchObject({ interrupted: true, tables: [{ table: "bars_1d" }] });
  expect(await said(undefined)).toMatchObject({
    interrupted: false,
    tables: [{ table: "bars_1d" }, { table: "bars_1m" }],
  });
});

test("a repair that fails after it removed a file shows the file before the error", async () => {
  const lake = await filledLake();
  const snapshot = await lake.snapshot(BARS_1D);
  for (const file of snapshot.files.values()) rmSync(lake.urlOf(snapshot, file));
  const copy = temporaryLake();
  await land(await openSession(), copy, BARS_1D, [{ at: "2026-11-02T16:00:00Z", close: 11 }]);
  const [file] = (await copy.snapshot(BARS_1D)).files.values();
  const path = copy.urlOf(await copy.snapshot(BARS_1D), file as DataFile);
  rmSync(path);
  mkdirSync(path);
  const { stdout, error } = await repair(lake, undefined, "--from", copy.location);
  expect(stdout).toMatch(/^bars_1d +region=CN\S+ +missing +1 .* removed /m);
  expect(String(error)).toMatch(/ is not readable: /);
});

test("a dry run with a copy has exit code 1 for a lost file, and the repair, which restores it, 0", async () => {
  const lake = await filledLake();
  const copy = join(temporaryFolder(), "copy");
  cpSync(lake.location, copy, { recursive: true });
  const snapshot = await lake.snapshot(BARS_1D);
  for (const file of snapshot.files.values()) rmSync(lake.urlOf(snapshot, file));
  const outcomes: unknown[] = [];
  for (const options of [["--dry-run"], [], ["--dry-run"]])
    outcomes.push((await repair(lake, undefined, "--from", copy, ...options)).code);
  expect(outcomes).toEqual([EXIT.partial, EXIT.done, EXIT.done]);
});
