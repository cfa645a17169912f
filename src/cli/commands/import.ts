import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Argument, InvalidArgumentError, Option } from "commander";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import { compareTable } from "../../jobs/compare/compare-sources.js";
import { COMPARABLE, lakeSource } from "../../jobs/compare/sources.js";
import { CHOICES, type ImportOptions } from "../../jobs/import/import-options.js";
import { type FormPlan, loadPlan, savePlan } from "../../jobs/import/plan/import-plan.js";
import { textOf } from "../../jobs/import/plan/plan-of.js";
import {
  IMPORTABLE,
  type ImportReport,
  type ImportTable,
  runImport,
  UnfinishedImport,
} from "../../jobs/import/run-import.js";
import { newRunId } from "../../jobs/run/run-pipeline.js";
import { Lake } from "../../lake/lake.js";
import { type Cli, type CliCommand, EXIT, exitOfImport } from "../cli.js";
import { inOptionWords } from "../error-text.js";
import { type CommonOptions, jsonOption, lakeOption, openLake, printJson } from "../options/lake-option.js";
import { mapOption } from "../options/options.js";
import { viewOf } from "../progress.js";
import { differencesText } from "../reports/compare-text.js";
import { changesTable, landedTable, rejectedTable } from "../reports/report-text.js";
import { undoCommand } from "../reports/restore-text.js";
import { count, paint, plural, table } from "../text.js";
import { openFor } from "./lake/compare.js";

interface Options extends CommonOptions, Omit<ImportOptions, "announceLagDays"> {
  readonly map?: Record<string, string>;
  readonly announceLag?: number;
  readonly dryRun?: boolean;
  readonly compare?: boolean;
  readonly savePlan?: string;
  readonly plan?: string;
}

export function addImport(cli: Cli): void {
  const command = cli.program
    .command("import")
    .addArgument(new Argument("<table>", "table to land in").choices(IMPORTABLE))
    .argument("<files...>", "files");
  addReadingOptions(command)
    .option(
      "--dry-run",
      "read and judge every row as an import does, show the plan, and write nothing into the lake",
    )
    .option(
      "--compare",
      "compare the files with what the lake has of their symbols and times, and land nothing where they differ",
    )
    .option("--save-plan <file>", "write how the files were read, for --plan")
    .option("--plan <file>", "read the files by a saved plan: one that does not fit it is refused")
    .addOptions(lakeOption(), jsonOption())
    .notes(`
What is certain is used, and shown as a plan; a file that has two readings is refused with the option that decides.
The symbol comes from its column, or else from the file's name: 600519.SH.csv.gz and SH#600519.txt are of 600519.SH.
Times are dates, dates and times (in the exchange's own zone, unless they say another one), or epoch numbers.
What a file does not say is not changed. Of rows with the same key, the later one wins: files count in their order.
Rows that cannot be read are stored in rejects/ once, with file, line and reason; the others land. Of a file that
is refused or cut short nothing lands; the other files do.
With --compare, the lake is compared within the times that the files have: rows that it lacks are no difference.
Exit codes: 0 imported, 1 a file was refused among others, no row could be taken, or the lake differs, 2 wrong usage or the only file
was refused, 130 interrupted before anything has landed.

Examples:
  barlake import bars_1d prices/*.csv.gz --dry-run
  barlake import bars_1d AAPL.csv --exchange US
  barlake import bars_1d all.parquet --map close=last --volume-unit lots
  barlake import bars_1m minutes.csv --zone UTC --bar-label start
  barlake import income income.csv --values discrete --announce-lag 60d
  barlake import corporate_actions dividends.csv --source company
  barlake import bars_1d vendor.csv --compare
  barlake import bars_1d monday.csv --dry-run --save-plan daily.plan.json
  barlake import bars_1d tuesday.csv --plan daily.plan.json`)
    .does(async (name: ImportTable, files: string[], options: Options) => {
      const {
        dryRun,
        compare,
        savePlan: target,
        plan: planFile,
        lake: _lake,
        json,
        announceLag,
        ...reading
      } = options;
      const show = (report: ImportReport): void => {
        if (json) printJson(dryRun ? { dryRun: true, ...report } : report);
        else process.stdout.write(importText(report, { isDryRun: dryRun === true, lake: options.lake }));
      };
      const plan = planFile === undefined ? undefined : await loadPlan(planFile, name);
      const reference = openLake(options);
      const importInto = (lake: Lake): Promise<ImportReport> => {
        const view = viewOf(`import ${name}`, options);
        return runImport(
          lake,
          name,
          files,
          {
            ...reading,
            announceLagDays: announceLag,
            plan,
            reference,
            runId: newRunId(systemClock.now()),
            signal: cli.signal,
          },
          systemClock,
          (done) => view?.update({ done, total: files.length, unit: "files", rows: 0, doing: "reading" }),
        )
          .finally(() => view?.stop())
          .catch((error: unknown) => {
            if (error instanceof UnfinishedImport) show(error.report);
            throw error;
          });
      };
      if (compare && (await differs(name, reference, importInto, options))) return EXIT.partial;
      await using place = dryRun
        ? await temporaryLake()
        : { lake: reference, [Symbol.asyncDispose]: async () => {} };
      const report = await importInto(place.lake);
      show(report);
      if (target !== undefined) await savePlan(target, name, report.plan);
      return exitOfImport(report);
    });
}

/** The options that say how files are read: each decides where files have two readings. */
function addReadingOptions(command: CliCommand): CliCommand {
  const choice = (flags: string, description: string, choices: readonly string[]): Option =>
    new Option(flags, description).choices(choices);
  return command
    .addOption(mapOption())
    .option("--symbol <symbol>", "symbol of all rows of one file")
    .option("--exchange <suffix>", "exchange of symbols without one: AAPL is AAPL.US with --exchange US")
    .option("--date-format <format>", "dmy, mdy, excel, s, ms, us, ns, or a pattern: DD.MM.YYYY, %d/%m/%y")
    .option("--zone <zone>", "zone of times without an offset, such as UTC (default: the exchange's)")
    .addOption(choice("--bar-label <label>", "time that a minute bar is labelled with", CHOICES.barLabel))
    .addOption(
      choice("--period <period>", "the period of the bars, where few bars look like another", CHOICES.period),
    )
    .addOption(choice("--volume-unit <unit>", "unit of volumes and of numbers of shares", CHOICES.volumeUnit))
    .addOption(choice("--amount-unit <unit>", "unit of amounts of money", CHOICES.amountUnit))
    .option("--round-volumes", "round fractions of shares, as US volumes have since 2026")
    .addOption(
      choice(
        "--values <kind>",
        "flows of statements: of the fiscal year so far, or of each quarter alone",
        CHOICES.values,
      ),
    )
    .option(
      "--announce-lag <days>",
      "statements without an announcement are known so many days later: 60d",
      lagDays,
    )
    .addOption(
      choice(
        "--prices <kind>",
        "what prices of Yahoo Finance are: adjusted for later splits, or as traded",
        CHOICES.prices,
      ),
    )
    .option(
      "--source <name>",
      "who says so: the source of corporate actions and factors without a column of it",
    )
    .option("--encoding <name>", "encoding of text files, such as gb18030 (default: found)")
    .option("--skip <lines>", "lines before the header (default: found)", lineCount)
    .addOption(choice("--decimal <mark>", "mark before the fraction of a number", CHOICES.decimal));
}

function lagDays(text: string): number {
  const days = /^(\d{1,4})d?$/.exec(text)?.[1];
  if (days === undefined) throw new InvalidArgumentError("It must be a number of days such as 60d.");
  return Number(days);
}

function lineCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError("It must be a number of lines.");
  return Number(text);
}

/**
 * Whether the lake has other rows than the files within the times of the files; says which. What the lake lacks is no
 * difference.
 */
async function differs(
  name: ImportTable,
  lake: Lake,
  importInto: (lake: Lake) => Promise<ImportReport>,
  { json, lake: location }: Options,
): Promise<boolean> {
  const compared = COMPARABLE.find((one) => one.name === name);
  if (compared === undefined)
    throw new UsageError(`${name} cannot be compared`, {
      hint: `tables that can be: ${COMPARABLE.map((one) => one.name).join(", ")}`,
    });
  await using read = await temporaryLake();
  await importInto(read.lake);
  using session = await openFor([lake, read.lake]);
  const found = await compareTable(session, compared, lakeSource(read.lake), lakeSource(lake), {
    withinA: true,
  });
  const others = found?.differences.filter(({ rows, onlyA }) => rows > onlyA) ?? [];
  if (found === undefined || others.length === 0) return false;
  const shown = { ...found, differences: others };
  if (json) printJson({ compared: shown });
  else {
    const text = differencesText([shown], "the files", location);
    process.stdout.write(
      `${text}\nnothing was imported: without the comparison, the rows of the files replace those of the lake\n`,
    );
  }
  return true;
}

/** An empty lake for the time of a dry run, so that all rules of a landing apply. */
async function temporaryLake(): Promise<AsyncDisposable & { readonly lake: Lake }> {
  const folder = await mkdtemp(join(tmpdir(), "barlake-dry-run-"));
  return {
    lake: new Lake(folder, { hasDatabase: false }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Most forms of files, and remarks, that are printed; the others are only counted. */
const SHOWN = 5;
/** Tables that follow from others: the landing of these restores them, too. */
const DERIVED = new Set(["trading_days", "exchanges"]);

/** The report of an import: how files were read, the first rows, what landed, what was set aside, and how to undo it. */
export function importText(
  report: ImportReport,
  { isDryRun, lake }: { readonly isDryRun: boolean; readonly lake: string },
): string {
  const { plan, preview, landed, remarks, rejected } = report;
  const lines: string[] = [];
  for (const form of plan.slice(0, SHOWN)) lines.push(...formLines(form), "");
  if (plan.length > SHOWN) lines.push(`and ${plural(plan.length - SHOWN, "more form")} of files`, "");
  if (preview.length > 0) lines.push("first rows", previewTable(preview), "");
  if (isDryRun) {
    const rows = landed.map(({ table: name, inserted }) => [name, count(inserted)]);
    lines.push("dry run: nothing was written", table(["table", "rows that are good"], rows));
  } else lines.push(landedTable(landed), ...changesTable(landed));
  for (const remark of remarks.slice(0, SHOWN))
    lines.push(`${paint("yellow", "note:")} ${inOptionWords(remark)}`);
  const more = remarks.length - SHOWN;
  if (more > 0) lines.push(`${paint("yellow", "note:")} and ${plural(more, "more remark")} of this kind`);
  if (rejected.length > 0) lines.push("", rejectedTable(rejected, isDryRun ? undefined : lake));
  if (!isDryRun)
    for (const one of landed)
      if (one.filesAdded > 0 && !DERIVED.has(one.table)) lines.push(`undo: ${undoCommand(one)}`);
  return `${lines.join("\n")}\n`;
}

function formLines({ files, source, fields, found, unused }: FormPlan): string[] {
  const [first = ""] = files;
  const which = files.length === 1 ? first : `${first} and ${plural(files.length - 1, "file")} like it`;
  const rows = fields.map(({ field, column, readAs, before, after }) => [
    field,
    column ?? "",
    readAs,
    short(before),
    short(after),
  ]);
  return [
    `${paint("bold", which)}${source === undefined ? "" : `, as ${source} writes it`}`,
    table(["field", "column", "read as", "for example", "lands as"], rows),
    ...found.map((one) => `found: ${inOptionWords(one)}`),
    ...unusedLines(unused),
  ];
}

function unusedLines(unused: FormPlan["unused"]): string[] {
  const plain = unused.filter(({ advice }) => advice === undefined).map(({ column }) => column);
  const advised = new Map<string, string[]>();
  for (const { column, advice } of unused)
    if (advice !== undefined) advised.set(advice, [...(advised.get(advice) ?? []), column]);
  return [
    ...[...advised].map(([advice, columns]) => `unused: ${columns.join(", ")} (${advice})`),
    ...(plain.length > 0
      ? [`unused: ${plain.slice(0, 12).join(", ")}${plain.length > 12 ? ", ..." : ""}`]
      : []),
  ];
}

function previewTable(rows: ImportReport["preview"]): string {
  const [first = {}] = rows;
  const names = Object.keys(first).filter((name) => rows.some((row) => row[name] !== null));
  return table(
    names,
    rows.map((row) => names.map((name) => short(row[name] === null ? undefined : textOf(row[name])))),
  );
}

function short(text: string | undefined): string {
  if (text === undefined) return "";
  const plain = text.replaceAll(/\s+/g, " ").trim();
  return plain.length > 30 ? `${plain.slice(0, 27)}...` : plain;
}
