import { Argument } from "commander";
import { millisecondsInHour } from "date-fns/constants";
import { systemClock } from "../../../client/system-clock.js";
import { UsageError } from "../../../core/errors.js";
import { DAY_MS } from "../../../core/time.js";
import { eachTable } from "../../../jobs/maintenance/each-table.js";
import { STAGING } from "../../../lake/local/work-folder.js";
import { type VacuumReport, vacuum, vacuumStaging, vacuumTime } from "../../../lake/maintenance/vacuum.js";
import { TABLES } from "../../../schema/tables.js";
import type { Cli } from "../../cli.js";
import { failuresOf, throwErrors } from "../../errors/throw-errors.js";
import { EXIT } from "../../exit-codes.js";
import { openExistingLake } from "../../options/existing-lake.js";
import { type CommonOptions, jsonOption, lakeOption, printJson } from "../../options/lake-option.js";
import { count, plural, size, table } from "../../text/text.js";

interface Options extends CommonOptions {
  readonly retention: string;
  readonly dryRun?: boolean;
}

export function addVacuum(cli: Cli): void {
  cli.program
    .command("vacuum")
    .addArgument(
      new Argument("[tables...]", "tables; without one, all").choices(TABLES.map(({ name }) => name)),
    )
    .option("--retention <time>", "versions newer than this remain readable, as 7d or 12h", "7d")
    .option("--dry-run", "show what would be deleted, and delete nothing")
    .addOption(lakeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      `
A file that no version names is deleted a day after it was written at the earliest: a writer may be about to commit it.

Examples:
  barlake vacuum --dry-run
  barlake vacuum bars_1m --retention 30d`,
    )
    .action((names: readonly string[], options: Options) =>
      cli.action(async () => {
        const tables = TABLES.filter(({ name }) => names.length === 0 || names.includes(name));
        const retentionMs = parseRetention(options.retention);
        const dryRun = options.dryRun === true;
        const lake = await openExistingLake(options);
        const { reports: vacuumed, errors } = await eachTable(tables, cli.signal, async (one) => {
          const now = await vacuumTime(lake, systemClock);
          return vacuum(lake, one, { now, retentionMs, dryRun });
        });
        const reports = [...vacuumed];
        if (names.length === 0 && !cli.signal.aborted) {
          const now = await vacuumTime(lake, systemClock);
          reports.push({ table: STAGING, deleted: await vacuumStaging(lake, { now, dryRun }), kept: 0 });
        }
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
            ? `interrupted: ${vacuumed.length} of ${plural(tables.length, "table")} done`
            : undefined;
          process.stdout.write(`${text(reports, { dryRun, isPart, interrupted })}\n`);
        }
        if (cli.signal.aborted) return EXIT.interrupted;
        throwErrors(errors);
        return EXIT.done;
      }),
    );
}

function parseRetention(given: string): number {
  const [, amount, unit] = /^(\d{1,5})([dh])$/.exec(given) ?? [];
  if (amount === undefined) {
    throw new UsageError(`--retention ${JSON.stringify(given)} is no time`, {
      hint: "write it like 7d or 12h; with 0h only the newest version remains",
    });
  }
  return Number(amount) * (unit === "d" ? DAY_MS : millisecondsInHour);
}

function bytesOf({ deleted }: VacuumReport): number {
  return deleted.reduce((sum, file) => sum + file.size, 0);
}

/** How a vacuum was done. */
interface Way {
  readonly dryRun: boolean;
  /** Whether some tables could not be read. */
  readonly isPart: boolean;
  /** How many tables were done before an interrupt, in words; undefined where there was none. */
  readonly interrupted: string | undefined;
}

function text(reports: readonly VacuumReport[], { dryRun, isPart, interrupted }: Way): string {
  const touched = reports.filter(({ deleted, kept }) => deleted.length + kept > 0);
  if (touched.length === 0) {
    const where = isPart ? " in the tables that can be read" : "";
    return interrupted ?? `nothing to delete${where}: every file belongs to a newest version`;
  }
  const rows = touched.map((one) => [
    one.table,
    count(one.deleted.length),
    size(bytesOf(one)),
    count(one.kept),
  ]);
  const list = table(["table", dryRun ? "would go" : "deleted", "size", "kept for old versions"], rows);
  return interrupted === undefined ? list : `${list}\n\n${interrupted}`;
}

function forMachines(report: VacuumReport): object {
  const { table: name, deleted, kept } = report;
  return { table: name, files: deleted.map(({ path }) => path), bytes: bytesOf(report), kept };
}
