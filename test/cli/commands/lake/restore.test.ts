import { expect, test } from "vitest";
import { EXIT } from "../../../../src/cli/cli.js";
import { addHistory } from "../../../../src/cli/commands/lake/history.js";
import { addRestore } from "../../../../src/cli/commands/lake/restore.js";
import { undoCommand } from "../../../../src/cli/reports/restore-text.js";
import { UsageError } from "../../../../src/core/errors.js";
import { landRequests } from "../../../../src/jobs/ledger/ledger.js";
import type { Lake } from "../../../../src/lake/lake.js";
import { landTradingDays } from "../../../../src/lake/land/trading-days.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { land, openSession, T0, temporaryLake } from "../../../lake/temporary-lake.js";
import { type CommandResult, runCommand } from "./run-command.js";

const DAY = 86_400_000;
const REQUEST = {
  pipeline: "daily",
  requestId: "1",
  dataset: "bars_1d",
  endpoint: "GET /klines",
  symbols: ["000001.SH"],
  status: "answered",
  attempts: 1,
  rows: 1,
  rejected: 0,
  bytes: 1,
  durationMs: 1,
  absent: [],
} as const;

/** A lake that an import and a later run have filled. */
async function lakeOfTwo(): Promise<Lake> {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2026-11-17T16:00:00Z", symbol: "000001.SH" }], { now: T0 });
  await landTradingDays(session, lake, { operation: "TEST", runId: "first", now: T0 });
  const now = T0 + DAY;
  await land(session, lake, BARS_1D, [{ at: "2026-11-18T16:00:00Z", symbol: "000001.SH" }], { now });
  await landTradingDays(session, lake, { operation: "TEST", runId: "test", now: now + 1000 });
  const record = { ...REQUEST, runId: "test", askedAt: now };
  await landRequests(session, lake, [record], { operation: "TEST", runId: "test", now: now + 2000 });
  return lake;
}

function restore({ location }: Lake, ...args: string[]): Promise<CommandResult> {
  return runCommand(addRestore, ["restore", ...args, "--lake", location]);
}

test("a table is restored; what else the runs have changed, and how to go back, is printed; a dry run shows the same", async () => {
  const lake = await lakeOfTwo();
  const dry = await restore(lake, "bars_1d", "--version", "0", "--dry-run");
  expect(dry.code).toBe(EXIT.done);
  expect(dry.stdout).toBe(
    `table    version  restored  rows    rows in files  files  undone
bars_1d        1         0  2 -> 1  +0 -1          +0 -1  1 TEST

the same runs have also changed trading_days (version 1), requests (version 0); this leaves them as before
the ledger (requests) still has the responses of these runs: barlake run does not ask for them again, until the ledger is restored, too
to restore that, too: barlake restore --as-of 2026-11-21T23:59:59.999Z
nothing was changed: this was a dry run
`,
  );
  const done = await restore(lake, "bars_1d", "--version", "0");
  const last = (text: string): string[] => text.trimEnd().split("\n");
  expect(last(done.stdout).slice(0, -1)).toEqual(last(dry.stdout).slice(0, -1));
  expect(last(done.stdout).at(-1)).toBe("undo: barlake restore bars_1d --version 1");
  expect(await restore(lake, "bars_1d", "--version", "0")).toEqual({
    code: EXIT.done,
    stdout: "nothing to do: bars_1d has the rows of version 0 already\n",
  });
  const all = await restore(lake, "--as-of", "2026-11-21T23:59:59.999Z");
  expect(all.stdout).toMatch(
    /^table +version[^]*\nrequests +0 +empty +1 -> 0 [^]*\ntrading_days +1 +0 +2 -> 1 [^]*\nthe ledger \(requests\) is what it was: the next barlake run asks again/,
  );
  expect(all.stdout).toMatch(/\nundo: barlake restore --as-of 2026-11-22T00:00:02.000Z\n$/);
  expect(await restore(lake, "--as-of", "2026-11-21T23:59:59.999Z")).toEqual({
    code: EXIT.done,
    stdout: "nothing to do: every table has the rows that it had then\n",
  });
  expect((await restore(lake, "bars_1d", "--empty")).code).toBe(EXIT.done);
  const { stdout } = await runCommand(addHistory, ["history", "bars_1d", "--lake", lake.location]);
  expect(stdout).toMatch(/\n +3 .* RESTORE \(no rows\) [^]*\n +2 .* RESTORE to 0 /);
});

test("the JSON has the same", async () => {
  const lake = await lakeOfTwo();
  const facts = async (...more: string[]): Promise<object> =>
    JSON.parse((await restore(lake, "bars_1d", "--version", "0", "--json", ...more)).stdout) as object;
  const table = {
    table: "bars_1d",
    from: 1,
    to: 0,
    rowsBefore: 2,
    rowsAfter: 1,
    rowsAdded: 0,
    rowsRemoved: 1,
    filesAdded: 0,
    filesRemoved: 1,
    undone: [{ version: 1, at: "2026-11-22T00:00:00.000Z", operation: "TEST", runId: "test" }],
  };
  const common = {
    interrupted: false,
    alsoChanged: [{ table: "trading_days" }, { table: "requests" }],
    restoreAll: "barlake restore --as-of 2026-11-21T23:59:59.999Z",
  };
  expect(await facts("--dry-run")).toMatchObject({
    ...common,
    dryRun: true,
    tables: [{ ...table, version: null }],
    undo: [],
  });
  expect(await facts()).toMatchObject({
    ...common,
    dryRun: false,
    tables: [{ ...table, version: 2 }],
    undo: ["barlake restore bars_1d --version 1"],
  });
  expect(await facts()).toMatchObject({ tables: [], undo: [], restoreAll: null });
});

test.each([
  [["bars_1d"], "nothing says what to restore"],
  [["bars_1d", "--version", "1", "--empty"], "two states are named"],
  [["--version", "1"], "--version is about one table, and none is named"],
  [["--empty"], "--empty is about one table, and none is named"],
])("%j is a wrong call", async (args, message) => {
  const { error } = await restore(await lakeOfTwo(), ...args);
  expect(error).toBeInstanceOf(UsageError);
  expect((error as UsageError).message).toContain(message);
});

test("the command that undoes a commit", () => {
  expect(undoCommand({ table: "bars_1d", version: 12 })).toBe("barlake restore bars_1d --version 11");
  expect(undoCommand({ table: "bars_1d", version: 0 })).toBe("barlake restore bars_1d --empty");
});
