import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { thisProcess } from "../../../src/lease/owner.js";
import { makeWorkspaceFolder } from "../../../src/ui/process/query-processes.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

test("a folder whose workspace has ended is deleted by the next one, and no other", () => {
  const place = temporaryFolder();
  const own = makeWorkspaceFolder(place);
  const { machine, pid } = thisProcess();
  const ended = spawnSync(process.execPath, ["--version"]).pid;
  expect(basename(own)).toContain(`-${machine}-${pid}-`);
  const left = (of: string, owner: number): string => `barlake-ui-${of}-${owner}-AbCdEf`;
  // A container has another namespace of process ids: this process cannot see whether its processes run.
  const container = "0123456789ab-0123456789ab-000000000000";
  const names = [left(machine, ended), left(container, ended), "barlake-ui-notes", "barlake-ui-1-2"];
  for (const name of names) mkdirSync(join(place, name));
  const next = makeWorkspaceFolder(place);
  expect(readdirSync(place).sort()).toEqual([...names.slice(1), basename(own), basename(next)].sort());
  expect(existsSync(next)).toBe(true);
});
