import { systemClock } from "../../../client/system-clock.js";
import { type RepairedFile, type RepairReport, repairLake } from "../../../jobs/maintenance/repair-lake.js";
import { newRunId } from "../../../jobs/run/run-pipeline.js";
import { Lake } from "../../../lake/lake.js";
import { isRegion, REGIONS } from "../../../market/regions.js";
import { localDate } from "../../../market/zone.js";
import { type Cli, EXIT } from "../../cli.js";
import { failuresOf, throwErrors } from "../../error-text.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  printJson,
} from "../../options/lake-option.js";
import { tablesArgument, tablesNamed } from "../../options/options.js";
import { viewOf } from "../../progress.js";
import { count, plural, table } from "../../text.js";

interface Options extends CommonOptions {
  readonly from?: string;
  readonly dryRun?: boolean;
}

export function addRepair(cli: Cli): void {
  cli.program
    .command("repair")
    .addArgument(tablesArgument("tables; without one, all"))
    .option(
      "--from <lake>",
      "a copy of the lake: lost files, or their rows, are taken from it where it has them",
    )
    .option("--dry-run", "say what is lost and what would be repaired, and change nothing")
    .addOptions(lakeOption(), jsonOption())
    .notes(`
Reads every file of the tables in full. A file that is missing or damaged (its name contains the hash of its content) is
restored from the copy. If there is no copy, or the copy lacks the file, a commit removes the file from the table, and
the next run with --repair requests its content again; rows that the copy has in other files land at once.
Older versions that had the file remain unreadable.
Where reference data has two versions at the same time, as earlier releases could leave them, each one ends where the
next one begins.
Exit code 1: something is lost that was not restored from the copy; with --dry-run, there is something to repair.

Examples:
  barlake repair --dry-run
  barlake repair; barlake run daily --repair      # the second also after exit code 1
  barlake repair bars_1m --from /backup/lake`)
    .does(async (names: readonly string[], options: Options) => {
      const tables = tablesNamed(names);
      const lake = await openExistingLake(options);
      const view = viewOf("repair", options);
      const { reports, errors } = await repairLake(
        lake,
        tables,
        {
          runId: newRunId(systemClock.now()),
          dryRun: options.dryRun === true,
          signal: cli.signal,
          onProgress: ({ done, total, table: name, file }) =>
            view?.update({ done, total, unit: "files", rows: 0, doing: `${name} ${file}` }),
          ...(options.from === undefined ? {} : { from: new Lake(options.from) }),
        },
        systemClock,
      ).finally(() => view?.stop());
      if (options.json)
        printJson({
          dryRun: options.dryRun === true,
          interrupted: cli.signal.aborted,
          tables: reports.map((report) => forMachines(report)),
          ...failuresOf(errors),
        });
      else {
        const dryRun = options.dryRun === true;
        const isPart = errors.length > 0;
        process.stdout.write(`${text(reports, { dryRun, isPart, isInterrupted: cli.signal.aborted })}\n`);
      }
      if (cli.signal.aborted) return EXIT.interrupted;
      throwErrors(errors);
      const isWhole = reports.every(
        ({ files, overlapping }) => files.every(isRestored) && (overlapping === 0 || options.dryRun !== true),
      );
      return isWhole ? EXIT.done : EXIT.partial;
    });
}

/**
 * Whether no row of a file is lost: the file was restored, or the copy had all rows and no symbol is requested again.
 */
function isRestored({ outcome, rows, copiedRows, symbolsAskedAgain }: RepairedFile): boolean {
  return outcome === "restored" || (outcome === "copied" && copiedRows === rows && symbolsAskedAgain === 0);
}

interface Way {
  readonly dryRun: boolean;
  /** Whether some tables could not be read. */
  readonly isPart: boolean;
  /** Whether some tables may not have been reached. */
  readonly isInterrupted: boolean;
}

function text(reports: readonly RepairReport[], { dryRun, isPart, isInterrupted }: Way): string {
  const lost = reports.flatMap((report) => report.files.map((file) => ({ table: report.table, file })));
  const checked = reports.reduce((sum, report) => sum + report.checked, 0);
  const mended = reports
    .filter(({ overlapping }) => overlapping > 0)
    .map(
      ({ table: name, overlapping }) =>
        `${name}: ${plural(overlapping, "subject")} with two versions at the same time${dryRun ? "" : ", which now follow one another"}`,
    );
  const interrupted = `interrupted: ${plural(checked, "file")} of ${plural(reports.length, "table")} read`;
  if (lost.length === 0) {
    const whole = `nothing is lost${isPart ? " in the tables that can be read" : ""}: ${plural(checked, "file")} read`;
    return [isInterrupted ? interrupted : whole, ...mended].join("\n");
  }
  const rows = lost.map(({ table: name, file }) => [
    name,
    file.file.path,
    file.kind,
    file.rows === undefined ? "unknown" : count(file.rows),
    file.symbols === undefined ? "" : `${file.symbols.first} to ${file.symbols.last}`,
    dates(file),
    file.outcome === "copied" ? `${count(file.copiedRows)} rows copied` : file.outcome,
    count(file.symbolsAskedAgain),
  ]);
  const head = ["table", "file", "is", "rows", "symbols", "dates", "now", "symbols to ask"];
  const lines = [table(head, rows), ...mended.flatMap((line) => ["", line])];
  const refusals = new Set(lost.flatMap(({ file }) => file.notCopied ?? []));
  for (const reason of refusals) lines.push("", `not copied: ${reason}`);
  const toAsk = [...new Set(lost.filter(({ file }) => file.symbolsAskedAgain > 0).map((one) => one.table))];
  const commands = toAsk.flatMap((name) => NEXT[name] ?? []);
  if (commands.length > 0 && !dryRun) lines.push("", `to request it again: ${commands.join(", ")}`);
  const imported = lost.some(
    ({ table: name, file }) =>
      name in NEXT &&
      !isRestored(file) &&
      file.symbolsAskedAgain === 0 &&
      (dryRun || file.outcome !== "found"),
  );
  if (imported) lines.push("", "no service was asked for some of these bars: import their files again");
  if (isInterrupted) lines.push("", interrupted);
  return lines.join("\n");
}

const NEXT: Readonly<Record<string, readonly string[]>> = {
  bars_1d: ["barlake run daily --repair"],
  bars_1m: ["barlake run minute --repair"],
};

/** The dates of a file's first and last row, in the zone of its region's exchanges. */
function dates({ file, range }: RepairedFile): string {
  if (range === undefined) return "";
  const { region } = file.partitionValues;
  const zone = region && isRegion(region) ? REGIONS[region].zone : "UTC";
  return `${localDate(range.start, zone)} to ${localDate(range.end - 1, zone)}`;
}

function forMachines({ table: name, version, checked, overlapping, files }: RepairReport): object {
  return {
    table: name,
    version,
    checked,
    overlapping,
    files: files.map(({ file, ...rest }) => ({ path: file.path, partition: file.partitionValues, ...rest })),
  };
}
