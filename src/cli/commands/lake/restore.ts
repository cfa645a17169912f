import { Argument, InvalidArgumentError } from "commander";
import { UsageError } from "../../../core/errors.js";
import { type RestoredLake, restoreLake } from "../../../jobs/maintenance/restore-lake.js";
import type { HistoryEntry } from "../../../lake/log/history.js";
import type { RestoreReport, RestoreTarget } from "../../../lake/maintenance/restore-table.js";
import { TABLES } from "../../../schema/tables.js";
import { type Cli, EXIT } from "../../cli.js";
import { failuresOf, throwErrors } from "../../error-text.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  printJson,
} from "../../options/lake-option.js";
import { asOfOption } from "../../options/options.js";
import { restoreSummary, restoreText } from "../../reports/restore-text.js";
import { plural } from "../../text.js";

interface Options extends CommonOptions {
  readonly version?: number;
  readonly asOf?: number;
  readonly empty?: boolean;
  readonly dryRun?: boolean;
}

export function addRestore(cli: Cli): void {
  cli.program
    .command("restore")
    .addArgument(
      new Argument("[table]", "a table; without one, all, with --as-of").choices(
        TABLES.map(({ name }) => name),
      ),
    )
    .option("--version <n>", "the table as its version n had it (barlake history)", versionOf)
    .addOption(asOfOption("each table as it was at that time"))
    .option("--empty", "take all rows out of the table: undoes its first commit")
    .option("--dry-run", "show what would be done, and change nothing")
    .addOptions(lakeOption(), jsonOption())
    .notes(`
A restore is a new version of the table: the history remains, every version can be read as before, and the restore can
be undone. A table that did not exist at the time becomes empty. The columns remain the newest ones. The files of the
old version must still be there: vacuum deletes those that only versions of more than a week ago have.
Rows are counted by the log. "rows in files" counts a file of which one row differs as a whole.

A run changes several tables, and the ledger (requests) records what it received. Only --as-of without a table restores
all of them, so that the next run asks again for what was undone. Of a table alone, the command says what else the same
runs have changed. Rejects remain. While a run is working on the lake, the command is refused.
If it is stopped or killed, the same command completes it.

Examples:
  barlake history bars_1d                              which versions there are
  barlake restore bars_1d --version 11 --dry-run
  barlake restore bars_1d --version 11
  barlake restore --as-of 2026-11-20T08:30:00Z         the whole lake, with the ledger`)
    .does(async (name: string | undefined, options: Options) => {
      const target = targetOf(name, options);
      const lake = await openExistingLake(options);
      const tables = TABLES.filter((one) => name === undefined || one.name === name);
      const dryRun = options.dryRun === true;
      const done = await restoreLake(lake, target, { tables, dryRun, signal: cli.signal });
      if (options.json) printJson(forMachines(done, { dryRun, interrupted: cli.signal.aborted }));
      else {
        const interrupted = cli.signal.aborted
          ? [`interrupted: ${plural(done.reports.length, "table")} done; the same command does the others`]
          : [];
        process.stdout.write(`${[textOf(done, dryRun), ...interrupted].join("\n")}\n`);
      }
      if (cli.signal.aborted) return EXIT.interrupted;
      throwErrors(done.errors);
      return EXIT.done;
    });
}

/** @throws {UsageError} unless the options name one target. */
function targetOf(name: string | undefined, { version, asOf, empty }: Options): RestoreTarget {
  const given = [version, asOf, empty].filter((one) => one !== undefined).length;
  if (given !== 1)
    throw new UsageError(
      `restore: ${given === 0 ? "nothing says what to restore" : "two states are named"}`,
      {
        hint: "give one of --version N, --as-of TIME and --empty; barlake history TABLE lists the versions",
      },
    );
  if (asOf !== undefined) return { kind: "time", asOf };
  if (name === undefined)
    throw new UsageError(
      `restore: ${empty ? "--empty" : "--version"} is about one table, and none is named`,
      {
        hint: "name it, as in barlake restore bars_1d --version 11; for the whole lake give --as-of TIME",
      },
    );
  return version === undefined ? { kind: "empty" } : { kind: "version", version };
}

function versionOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It is no version; write a number that barlake history lists.");
}

function textOf(done: RestoredLake, dryRun: boolean): string {
  const summary = restoreSummary(done);
  if (summary.changed.length > 0) return restoreText(summary, dryRun);
  if (done.errors.length > 0) return "nothing was changed";
  const [only, ...others] = done.reports;
  if (only === undefined || others.length > 0)
    return "nothing to do: every table has the rows that it had then";
  const state = only.to === undefined ? "is empty" : `has the rows of version ${only.to}`;
  return `nothing to do: ${only.table} ${state} already`;
}

function forMachines(done: RestoredLake, state: { dryRun: boolean; interrupted: boolean }): object {
  const { changed, notes, restoreAll, undo } = restoreSummary(done);
  return {
    ...state,
    tables: changed.map(reportForMachines),
    alsoChanged: done.related.changes.map(({ table, commits }) => ({
      table,
      commits: commits.map(commitForMachines),
    })),
    restoreAll: restoreAll ?? null,
    notes,
    undo,
    ...failuresOf(done.errors),
  };
}

function reportForMachines({ undone, replacedAt, restoredAt, ...report }: RestoreReport): object {
  const unknown = {
    to: null,
    version: null,
    rowsBefore: null,
    rowsAfter: null,
    rowsAdded: null,
    rowsRemoved: null,
  };
  const known = Object.fromEntries(Object.entries(report).filter(([, value]) => value !== undefined));
  const times = { replacedAt: isoOf(replacedAt), restoredAt: isoOf(restoredAt) };
  return { ...unknown, ...known, ...times, undone: undone.map(commitForMachines) };
}

function isoOf(time: number | undefined): string | null {
  return time === undefined ? null : new Date(time).toISOString();
}

function commitForMachines({ version, committedAt, operation, runId }: HistoryEntry): object {
  return {
    version,
    at: isoOf(committedAt),
    operation: operation ?? null,
    runId: runId ?? null,
  };
}
