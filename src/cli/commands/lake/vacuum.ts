import { systemClock } from "../../../client/system-clock.js";
import { vacuumLake } from "../../../jobs/maintenance/vacuum-lake.js";
import { STAGING } from "../../../lake/local/work-folder.js";
import type { VacuumReport } from "../../../lake/maintenance/vacuum.js";
import { type Cli, EXIT } from "../../cli.js";
import { failuresOf, throwErrors } from "../../error-text.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  printJson,
} from "../../options/lake-option.js";
import { retentionOption, tablesArgument, tablesNamed } from "../../options/options.js";
import { count, plural, size, table } from "../../text.js";

interface Options extends CommonOptions {
  /** Milliseconds. */
  readonly retention: number;
  readonly dryRun?: boolean;
}

export function addVacuum(cli: Cli): void {
  cli.program
    .command("vacuum")
    .addArgument(tablesArgument("tables; without one, all"))
    .addOption(retentionOption("versions newer than this remain readable, as 7d or 12h", "7d"))
    .option("--dry-run", "show what would be deleted, and delete nothing")
    .addOptions(lakeOption(), jsonOption())
    .notes(`
A file that no version names is deleted a day after it was written at the earliest: a writer may be about to commit it.
Entries of a log go, too, once a checkpoint is older than the retention and 30 days (the table's delta.logRetentionDuration).
barlake schedule does this once a day.

Examples:
  barlake vacuum --dry-run
  barlake vacuum bars_1m --retention 30d`)
    .does(async (names: readonly string[], options: Options) => {
      const tables = tablesNamed(names);
      const dryRun = options.dryRun === true;
      const lake = await openExistingLake(options);
      const { reports, errors } = await vacuumLake(
        lake,
        tables,
        { retentionMs: options.retention, dryRun, signal: cli.signal },
        systemClock,
      );
      if (options.json)
        printJson({
          dryRun,
          interrupted: cli.signal.aborted,
          tables: reports.map(forMachines),
          ...failuresOf(errors),
        });
      else {
        const isPart = errors.length > 0;
        const interrupted = cli.signal.aborted
          ? `interrupted: ${reports.filter(({ table: name }) => name !== STAGING).length} of ${plural(tables.length, "table")} done`
          : undefined;
        process.stdout.write(`${text(reports, { dryRun, isPart, interrupted })}\n`);
      }
      if (cli.signal.aborted) return EXIT.interrupted;
      throwErrors(errors);
      return EXIT.done;
    });
}

function bytesOf({ deleted }: VacuumReport): number {
  return deleted.reduce((sum, file) => sum + file.size, 0);
}

interface Way {
  readonly dryRun: boolean;
  /** Whether some tables could not be read. */
  readonly isPart: boolean;
  /** How many tables were done before an interrupt, in words; undefined where there was none. */
  readonly interrupted: string | undefined;
}

function text(reports: readonly VacuumReport[], { dryRun, isPart, interrupted }: Way): string {
  const touched = reports.filter(({ deleted, kept, logEntries }) => deleted.length + kept + logEntries > 0);
  if (touched.length === 0) {
    const where = isPart ? " in the tables that can be read" : "";
    return interrupted ?? `nothing to delete${where}: every file belongs to a newest version`;
  }
  const rows = touched.map((one) => [
    one.table,
    count(one.deleted.length),
    size(bytesOf(one)),
    count(one.kept),
    count(one.logEntries),
  ]);
  const go = dryRun ? "would go" : "deleted";
  const list = table(["table", go, "size", "kept for old versions", `${go} of the log`], rows);
  return interrupted === undefined ? list : `${list}\n\n${interrupted}`;
}

function forMachines(report: VacuumReport): object {
  const { table: name, deleted, kept, logEntries } = report;
  return { table: name, files: deleted.map(({ path }) => path), bytes: bytesOf(report), kept, logEntries };
}
