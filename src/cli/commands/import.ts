import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Argument, Option } from "commander";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import {
  IMPORTABLE,
  type ImportReport,
  type ImportTable,
  runImport,
  UnfinishedImport,
} from "../../jobs/import/run-import.js";
import { newRunId } from "../../jobs/run/run-pipeline.js";
import { Lake } from "../../lake/lake.js";
import type { Cli } from "../cli.js";
import { inOptionWords } from "../errors/option-words.js";
import { exitOfImport } from "../exit-codes.js";
import { type CommonOptions, jsonOption, lakeOption, openLake, printJson } from "../options/lake-option.js";
import { changesTable, landedTable, rejectedTable } from "../reports/report-text.js";
import { progressView } from "../text/progress.js";
import { count, paint, plural, table } from "../text/text.js";

interface Options extends CommonOptions {
  readonly map: Record<string, string>;
  readonly volumeUnit: "shares" | "lots";
  readonly barLabel: "end" | "start";
  readonly symbol?: string;
  readonly exchange?: string;
  readonly dryRun?: boolean;
}

/** Maximum number of remarks that are printed; the others are only counted. */
const SHOWN_REMARKS = 5;

export function addImport(cli: Cli): void {
  cli.program
    .command("import")
    .addArgument(new Argument("<table>", "table to land in").choices(IMPORTABLE))
    .argument("<files...>", "files")
    .option(
      "--map <ours=theirs>",
      "a column that has another name in the files; may be repeated",
      collect,
      {},
    )
    .addOption(
      new Option("--volume-unit <unit>", "unit of the files' volumes")
        .choices(["shares", "lots"])
        .default("shares"),
    )
    .addOption(
      new Option("--bar-label <label>", "time that a minute bar is labelled with")
        .choices(["end", "start"])
        .default("end"),
    )
    .option("--symbol <symbol>", "symbol of all rows of one file of bars")
    .option("--exchange <suffix>", "exchange of symbols without one: AAPL is AAPL.US with --exchange US")
    .option("--dry-run", "read and judge every row as an import does, and write nothing into the lake")
    .addOption(lakeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      `
The symbol comes from a column of that name, or else from the file's name: 600519.SH.csv.gz is of 600519.SH.
Times are epoch milliseconds, or dates and times in the exchange's own zone.
Rows that break the schema are stored in rejects/ once, with file, line and reason; the others land. Of a file that cannot
be read, or of a .gz or .zst that was cut short, nothing lands; the other files do. 700.HK is taken as 00700.HK.
Exit codes: 0 imported, 1 a file could not be read or no row could be taken, 2 wrong usage, 130 interrupted before
anything has landed.

Examples:
  barlake import bars_1d prices/*.csv.gz
  barlake import bars_1d all.parquet --map timestamp=date --map volume=vol --volume-unit lots
  barlake import bars_1d AAPL.csv --exchange US --dry-run
  barlake import instruments list.csv --map listing_date=list_date
  barlake import universes universes.json`,
    )
    .action((name: ImportTable, files: string[], options: Options) =>
      cli.action(async () => {
        const view = progressView(`import ${name}`);
        const { map, volumeUnit, barLabel, symbol, exchange } = options;
        const show = (report: ImportReport): void => {
          if (options.json) printJson(options.dryRun ? { dryRun: true, ...report } : report);
          else print(report, options);
        };
        await using target = await targetOf(options);
        const report = await runImport(
          target.lake,
          name,
          files,
          {
            map,
            volumeUnit,
            barLabel,
            symbol,
            exchange,
            runId: newRunId(systemClock.now()),
            signal: cli.signal,
          },
          systemClock,
          (done) => view.update({ done, total: files.length, unit: "files", rows: 0, doing: "reading" }),
        )
          .finally(() => view.stop())
          .catch((error: unknown) => {
            if (error instanceof UnfinishedImport) show(error.report);
            throw error;
          });
        show(report);
        return exitOfImport(report);
      }),
    );
}

interface Target extends AsyncDisposable {
  readonly lake: Lake;
}

/** The lake to land in; for a dry run an empty one for the time of the run, so that all its rules apply. */
async function targetOf(options: Options): Promise<Target> {
  if (!options.dryRun) return { lake: openLake(options), [Symbol.asyncDispose]: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), "barlake-dry-run-"));
  return {
    lake: new Lake(folder, { hasDatabase: false }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function print(report: ImportReport, options: Options): void {
  if (options.dryRun) return printDryRun(report);
  process.stdout.write(`${[landedTable(report.landed), ...changesTable(report.landed)].join("\n")}\n`);
  for (const remark of report.remarks.slice(0, SHOWN_REMARKS))
    process.stdout.write(`${paint("yellow", "note:")} ${inOptionWords(remark)}\n`);
  const more = report.remarks.length - SHOWN_REMARKS;
  if (more > 0)
    process.stdout.write(`${paint("yellow", "note:")} and ${plural(more, "more remark")} of this kind\n`);
  if (report.rejected.length > 0) process.stdout.write(`\n${rejectedTable(report.rejected, options.lake)}\n`);
}

function printDryRun({ landed, remarks, rejected }: ImportReport): void {
  const rows = landed.map(({ table: name, inserted }) => [name, count(inserted)]);
  process.stdout.write(`dry run: nothing was written\n${table(["table", "rows that are good"], rows)}\n`);
  for (const remark of remarks)
    process.stdout.write(`${paint("yellow", "note:")} ${inOptionWords(remark)}\n`);
  if (rejected.length > 0) process.stdout.write(`\n${rejectedTable(rejected)}\n`);
}

function collect(text: string, sofar: Record<string, string>): Record<string, string> {
  const at = text.indexOf("=");
  const [ours, theirs] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (!ours || !theirs) throw new UsageError(`--map ${text}: is not of the form ours=theirs`);
  return { ...sofar, [ours]: theirs };
}
