import { expect, test, vi } from "vitest";
import { EXIT } from "../../../../src/cli/cli.js";
import { addVacuum } from "../../../../src/cli/commands/lake/vacuum.js";
import { Lake } from "../../../../src/lake/lake.js";
import { readLog } from "../../../../src/lake/log/read-log.js";
import { emptySnapshot } from "../../../../src/lake/log/snapshot.js";
import { BARS_1D, BARS_1M } from "../../../../src/schema/bars.js";
import { land, openSession, temporaryLake } from "../../../lake/temporary-lake.js";
import { type CommandResult, runCommand } from "./run-command.js";

const TABLES = [BARS_1D.name, BARS_1M.name];

/** Runs the command on two tables. The signal aborts as the log of the table `interruptIn` is read. */
async function vacuum({ location }: Lake, interruptIn?: string, ...more: string[]): Promise<CommandResult> {
  const stop = new AbortController();
  if (interruptIn === "") stop.abort();
  using _ = vi.spyOn(Lake.prototype, "wholeSnapshot").mockImplementation(function (this: Lake, table) {
    if (table.name === interruptIn) stop.abort();
    return readLog(this.storage, emptySnapshot(table), { whole: true });
  });
  const options = ["--retention", "0h", "--lake", location, ...more];
  return await runCommand(addVacuum, ["vacuum", ...TABLES, ...options], stop.signal);
}

test("an interrupted vacuum says how many tables it has done, and not that there is nothing to delete", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2026-11-02T16:00:00Z" }]);
  expect(await vacuum(lake, "")).toEqual({
    code: EXIT.interrupted,
    stdout: "interrupted: 0 of 2 tables done\n",
  });
  expect(await vacuum(lake, BARS_1D.name)).toEqual({
    code: EXIT.interrupted,
    stdout: "interrupted: 1 of 2 tables done\n",
  });
  expect(JSON.parse((await vacuum(lake, BARS_1D.name, "--json")).stdout)).toMatchObject({
    interrupted: true,
    tables: [{ table: "bars_1d" }],
  });
  expect(await vacuum(lake)).toEqual({
    code: EXIT.done,
    stdout: "nothing to delete: every file belongs to a newest version\n",
  });
  expect(JSON.parse((await vacuum(lake, undefined, "--json")).stdout)).toMatchObject({ interrupted: false });
});

test("an interrupted vacuum shows what it deleted before", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (const close of [10, 11]) await land(session, lake, BARS_1D, [{ at: "2026-11-02T16:00:00Z", close }]);
  const { code, stdout } = await vacuum(lake, BARS_1D.name);
  expect(code).toBe(EXIT.interrupted);
  expect(stdout).toMatch(/\nbars_1d +1 .*\n\ninterrupted: 1 of 2 tables done\n$/);
});
