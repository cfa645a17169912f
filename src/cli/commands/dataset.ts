import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Option } from "commander";
import { UsageError } from "../../core/errors.js";
import { groupBy } from "../../core/group-by.js";
import { firstNames, shellWord } from "../../core/text-order.js";
import { type BuildReport, buildDataset } from "../../dataset/build-dataset.js";
import { type Coverage, type CoverageRange, isWhole, lowestCoverage } from "../../dataset/panel/coverage.js";
import { type DatasetPlan, planDataset } from "../../dataset/plan-dataset.js";
import { DATASET_FORMATS, type DatasetFormat, type DatasetSpec } from "../../dataset/spec.js";
import {
  type FoundDataset,
  folderOf,
  listDatasets,
  movedAway,
  recoverFolder,
} from "../../dataset/store/dataset-folder.js";
import { changesText, isOfPast } from "../../dataset/store/lake-changes.js";
import { type DatasetCheck, isSound, verifyDataset } from "../../dataset/store/verify-dataset.js";
import type { Lake } from "../../lake/lake.js";
import { basePeriod } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import { type Cli, type CliCommand, EXIT } from "../cli.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  openLake,
  printJson,
} from "../options/lake-option.js";
import { loadSpec, shippedSpecs } from "../options/load-spec.js";
import {
  knownAtOptions,
  type PointInTimeOptions,
  pointInTimeOf,
  pointInTimeOptions,
} from "../options/options.js";
import { progressView } from "../progress.js";
import { count, paint, plural, size, table } from "../text.js";

interface SpecOptions extends CommonOptions, PointInTimeOptions {
  readonly format?: DatasetFormat;
  readonly output?: string;
  readonly from?: string;
  readonly to?: string;
}

interface BuildOptions extends SpecOptions {
  readonly verify: boolean;
  readonly append?: boolean;
  readonly replace?: boolean;
}

export function addDataset(cli: Cli): void {
  const command = cli.program.command("dataset").notes(
    () => `
A spec is a JSON or TypeScript file (docs/datasets.md), or the name of an included one:
${shippedSpecs()
  .map(({ name, doc }) => `  ${name.padEnd(12)} ${doc}`)
  .join("\n")}

Examples:
  barlake dataset plan cn-daily                               symbols, rows, bytes and what to know; writes nothing
  barlake dataset build cn-daily --format qlib
  barlake dataset build mine.json --from 2020-01-01 --output ~/research/mine
  barlake dataset build cn-daily --format qlib --append       adds the days that came since
  barlake dataset verify cn-daily                             its files, and what the lake has changed since`,
  );
  addPlan(command);
  addBuild(cli, command);
  addList(command);
  addVerify(cli, command);
}

function addPlan(parent: CliCommand): void {
  specOptions(parent.command("plan"))
    .description("show what a dataset would be; writes nothing")
    .does(async (name: string, options: SpecOptions) => {
      const plan = await planDataset(
        await openExistingLake(options),
        await specOf(name, options),
        pointInTimeOf(options),
      );
      if (options.json) printJson(plan);
      else process.stdout.write(`${planText(plan)}\n`);
      return EXIT.done;
    });
}

function addBuild(cli: Cli, parent: CliCommand): void {
  specOptions(parent.command("build"))
    .description("build a dataset")
    .addOption(new Option("--append", "add new days to the existing dataset").conflicts("replace"))
    .option("--replace", "replace an existing dataset")
    .option(
      "--no-verify",
      "do not compare the content of the lake's files with the hashes in their names first",
    )
    .notes(`
Examples:
  barlake dataset build cn-daily --format qlib
  barlake dataset build cn-factors --format wide-parquet --from 2020-01-01
  barlake dataset build mine.ts --as-of 2026-11-01T00:00:00Z     of the rows that the lake had then
  barlake dataset build mine.ts --known-at 2026-06-30            of what was known at the end of that day
  barlake dataset build mine.ts --append                         equal to a full build, or refused with the reason`)
    .does(async (name: string, options: BuildOptions) => {
      const lake = await openExistingLake(options);
      const spec = await specOf(name, options);
      const view = progressView(spec.name);
      const startedAt = performance.now();
      const report = await buildDataset(lake, spec, {
        pointInTime: pointInTimeOf(options),
        existing: options.append ? "append" : options.replace ? "replace" : "refuse",
        verify: options.verify,
        signal: cli.signal,
        onProgress: ({ symbols, of, rows }) =>
          view.update({ done: symbols, total: of, unit: "symbols", rows, doing: spec.format }),
      })
        .finally(() => view.stop())
        .catch((error: unknown) => {
          if (cli.signal.aborted) process.stderr.write(`${stoppedText(folderOf(lake, spec))}\n`);
          throw error;
        });
      if (options.json) printJson(report);
      else process.stdout.write(`${buildText(report, performance.now() - startedAt)}\n`);
      return EXIT.done;
    });
}

function addList(parent: CliCommand): void {
  parent
    .command("list")
    .description("the datasets in a lake's own folder")
    .addOptions(lakeOption(), jsonOption())
    .does(async (options: CommonOptions) => {
      const found = await listDatasets(openLake(options));
      if (options.json) printJson(found);
      else if (found.length === 0)
        process.stdout.write("there are none yet: barlake dataset build --help shows how to make one\n");
      else process.stdout.write(`${listText(found)}\n`);
      return EXIT.done;
    });
}

function addVerify(cli: Cli, parent: CliCommand): void {
  parent
    .command("verify")
    .description("check datasets: their files, and what the lake has changed since")
    .argument("[datasets...]", "names, or folders; all of the lake's where none is given")
    .option("--rebuild", "also build each again at its versions, and compare the bytes")
    .addOptions(lakeOption(), jsonOption())
    .notes(`
Exit code 0: as they were made, and the lake has not changed their days; 1: findings.

Examples:
  barlake dataset verify
  barlake dataset verify cn-daily --rebuild
  barlake dataset verify ~/research/mine`)
    .does(async (names: string[], options: CommonOptions & { readonly rebuild?: boolean }) => {
      const lake = openLake(options);
      const checks = [];
      for (const folder of await foldersNamed(lake, names)) {
        const check = await verifyDataset(lake, folder, {
          rebuild: options.rebuild ?? false,
          signal: cli.signal,
        });
        checks.push(check);
        if (!options.json) process.stdout.write(`${checks.length > 1 ? "\n" : ""}${checkText(check)}\n`);
      }
      if (options.json) printJson(checks.map((check) => ({ ...check, isSound: isSound(check) })));
      else if (checks.length === 0) process.stdout.write("there are no datasets yet\n");
      return checks.every(isSound) ? EXIT.done : EXIT.partial;
    });
}

/** Folders of the named datasets, or of all. @throws {UsageError} for an unknown name. */
async function foldersNamed(lake: Lake, names: readonly string[]): Promise<string[]> {
  const found = await listDatasets(lake);
  if (names.length === 0) return found.map(({ folder }) => folder);
  const folders: string[] = [];
  for (const name of names) {
    const named = found.filter(({ manifest }) => manifest?.name === name).map(({ folder }) => folder);
    if (named.length > 0) folders.push(...named);
    else if (isObjectUrl(name)) folders.push(name.replace(/\/$/, ""));
    else folders.push(await folderNamed(name));
  }
  return folders;
}

/** The folder of a dataset, also where a crash has left it next to its place. @throws {UsageError} where there is none. */
async function folderNamed(name: string): Promise<string> {
  const folder = resolve(name);
  const left = await recoverFolder(folder);
  if (existsSync(folder)) return folder;
  if (left !== undefined) throw movedAway(folder, left);
  throw new UsageError(`dataset ${name}: there is none`, {
    hint: "barlake dataset list shows those there are",
  });
}

function specOptions(command: CliCommand): CliCommand {
  return command
    .argument("<spec>", "a spec's file, or the name of an included one")
    .addOption(new Option("--format <format>", "another format than the spec's").choices(DATASET_FORMATS))
    .option(
      "-o, --output <location>",
      "folder to be made, or s3://bucket/prefix (default: datasets/NAME/FORMAT in the lake)",
    )
    .option("--from <date>", "first trading date")
    .option("--to <date>", "trading date after the last one")
    .addOptions(...pointInTimeOptions(), ...knownAtOptions(), lakeOption(), jsonOption());
}

async function specOf(name: string, { format, output, from, to }: SpecOptions): Promise<DatasetSpec> {
  const changes = { format, output, from, to };
  return loadSpec(
    name,
    Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)),
  );
}

const NAMED = 3;
const PIPELINES = { "1d": "daily", "1m": "minute" } as const;

/**
 * Of how many members a dataset has bars, as lines: one where all have some on each date, else a table by year, the members
 * without, and how to get their bars.
 *
 * @param all where all of these members are listed.
 */
export function coverageLines(
  coverage: Coverage | undefined,
  period: DatasetSpec["period"],
  all: string,
): string[] {
  if (coverage === undefined) return [];
  const { ranges, recordedFrom, unrecorded } = coverage;
  if (isWhole(coverage))
    return [`${paint("dim", "members")} ${numbersText(ranges)} on each date, with bars of all of them`];
  if (recordedFrom === null)
    return [`${paint("dim", "members")} on no date on record: those of later are assumed`];
  const rows = [...groupBy(ranges, ({ first }) => first.slice(0, 4))].map(([year, of]) => {
    const lowest = lowestCoverage(of);
    const isAll = lowest === undefined || lowest.withoutBars === 0;
    return [
      year,
      numbersText(of),
      isAll
        ? "all"
        : `${shareText(lowest)}: ${count(lowest.withBars)} of ${count(lowest.members)} on ${lowest.first}`,
    ];
  });
  return [
    table(
      ["year", "members", "with bars, at least"],
      [...(unrecorded > 0 ? [[`before ${recordedFrom}`, "not on record", ""]] : []), ...rows],
    ),
    ...missingLines(coverage, period, all),
    "",
  ];
}

function missingLines({ noBars, someBars }: Coverage, period: DatasetSpec["period"], all: string): string[] {
  const lines: string[] = [];
  if (noBars.length > 0) {
    const names = noBars.map(
      ({ symbol, membership }) => `${symbol} (${membership.map(spellText).join(", ")})`,
    );
    lines.push(`without any bar: ${plural(noBars.length, "member")}, ${firstNames(names, NAMED)}`);
  }
  if (someBars.length > 0) {
    const names = someBars
      .toSorted((a, b) => b.without - a.without)
      .map(
        ({ symbol, dates, without, first, last }) =>
          `${symbol} on ${count(without)} of ${count(dates)} dates, ${first} to ${last}`,
      );
    lines.push(`without some bars: ${plural(someBars.length, "member")}, ${firstNames(names, NAMED)}`);
  }
  const missing = [...noBars, ...someBars];
  if (missing.length === 0) return [];
  const [first] = missing.map((one) => one.first).sort();
  const symbols = missing.slice(0, NAMED).map(({ symbol }) => symbol);
  const more = missing.length > NAMED ? ",..." : "";
  const base = basePeriod(period);
  lines.push(
    `all of them: ${all}`,
    `get them: barlake run ${PIPELINES[base]} --symbols ${symbols.join(",")}${more} --from ${first}`,
    `where the service knows them no more: barlake import bars_${base} FILES`,
  );
  return lines;
}

function spellText({ from, to }: { readonly from: string | null; readonly to: string | null }): string {
  return `${from ?? ""} to ${to ?? "now"}`;
}

function numbersText(ranges: readonly CoverageRange[]): string {
  const members = ranges.map((range) => range.members);
  const [least, most] = [Math.min(...members), Math.max(...members)];
  return least === most ? count(least) : `${count(least)} to ${count(most)}`;
}

/** A share that is not whole is not rounded to a whole. */
function shareText({ withBars, members }: CoverageRange): string {
  return `${(Math.floor((withBars / members) * 1000) / 10).toFixed(1)} %`;
}

/** A share as a percentage. */
const percent = (part: number): string => (part === 0 ? "0 %" : `${(part * 100).toFixed(1)} %`);

export function planText(plan: DatasetPlan): string {
  const lines = [
    `${paint("bold", plan.name)}, ${plan.format}: ${plan.first} to ${plan.last}; nothing was written`,
    `${plural(plan.symbols, "symbol")}, ${plural(plan.labels, "label")}, ${plural(plan.rows, "row")}, about ${size(plan.bytes)}`,
    "",
    table(
      ["field", "without a value"],
      [
        ...plan.fields.map(({ name, nulls }) => [name, percent(nulls)]),
        ...plan.masks.map((name) => [name, ""]),
      ],
    ),
    "",
    ...coverageLines(plan.coverage, plan.period, "with --json"),
    ...warningLines(plan.warnings),
    `${paint("dim", "into")} ${plan.folder}`,
  ];
  return lines.join("\n");
}

function buildText(report: BuildReport, tookMs: number): string {
  const { name, spec, symbols, rows, newRows, labels, files, bytes, first, last, folder, content } = report;
  const added = newRows === rows ? "" : ` (${count(newRows)} of them new)`;
  const rate = tookMs > 0 ? ` in ${(tookMs / 1000).toFixed(1)} s` : "";
  return [
    `${paint("bold", name)}, ${spec.format}: ${first} to ${last}`,
    `${plural(symbols.length, "symbol")}, ${plural(labels, "label")}, ${plural(rows, "row")}${added}; ${plural(files, "file")}, ${size(bytes)}${rate}`,
    ...coverageLines(report.coverage, spec.period, "coverage in its manifest.json"),
    ...warningLines(report.warnings),
    `${paint("dim", "content")} ${content.slice(0, 16)}`,
    `${paint("dim", "in")} ${folder}`,
    `${paint("dim", "load")} ${loadingLine(report)}`,
  ].join("\n");
}

function stoppedText(folder: string): string {
  return `stopped: nothing of this build is left, and ${folder} is as it was before`;
}

function checkText(check: DatasetCheck): string {
  const { manifest, folder, damage, otherwise, isReproduced } = check;
  const lines = [
    `${paint("bold", manifest.name)}, ${manifest.spec.format}: ${isSound(check) ? paint("green", "sound") : paint("red", "not as it was made")}`,
    damage.length === 0
      ? `files: ${plural(manifest.files, "file")} as they were written`
      : `files: ${damage.slice(0, 5).join("; ")}${damage.length > 5 ? `; and ${damage.length - 5} more` : ""}`,
    ...lakeLines(check),
    ...(check.otherLake === undefined ? otherwise : []).map((text) => `${paint("yellow", "other:")} ${text}`),
    ...(isReproduced === undefined
      ? []
      : [isReproduced ? "rebuilt: the same bytes" : paint("red", "rebuilt: other bytes")]),
    `${paint("dim", "in")} ${folder}`,
  ];
  return lines.join("\n");
}

/** What the lake has changed since, or that it is not the one that the dataset was built from. */
function lakeLines({ manifest, folder, changes, otherLake }: DatasetCheck): string[] {
  if (otherLake !== undefined)
    return [
      `lake: ${paint("red", "another one:")} the dataset was built from ${manifest.lake}, and ${otherLake} has not the rows that it was built from`,
      `compare it with its own: barlake dataset verify ${shellWord(folder)} --lake ${shellWord(manifest.lake)}`,
    ];
  const past = changes.filter(isOfPast);
  if (past.length > 0) return [`lake: ${changesText(past)}`];
  return [
    `lake: nothing of its days has changed${changes.length > 0 ? ", while new ones came: --append adds them" : ""}`,
  ];
}

function listText(found: readonly FoundDataset[]): string {
  const rows = found.map(({ folder, manifest, fault }) =>
    manifest === undefined
      ? [folder, undefined, undefined, undefined, undefined, undefined, fault]
      : [
          manifest.name,
          manifest.spec.format,
          `${manifest.first} to ${manifest.last}`,
          count(manifest.symbols.length),
          count(manifest.rows),
          size(manifest.bytes),
          manifest.createdAt.slice(0, 16).replace("T", " "),
        ],
  );
  return table(["dataset", "format", "dates", "symbols", "rows", "size", "made (UTC)"], rows);
}

function warningLines(warnings: readonly string[]): string[] {
  return warnings.map((text) => `${paint("yellow", "note:")} ${text}`);
}

type DatasetPlace = Pick<BuildReport, "folder" | "spec" | "symbols">;

/** A line that loads a dataset, of one symbol `SYMBOL` where each has a file; pandas gets a DatetimeIndex. */
export function loadingLine(dataset: DatasetPlace): string {
  const isDaily = basePeriod(dataset.spec.period) === "1d";
  return LOADING[dataset.spec.format](dataset.folder, regionOfDataset(dataset), isDaily);
}

/** A date of Parquet is an object in pandas. */
const byTime = (isDaily: boolean): string =>
  isDaily ? 'set_index("trade_date").rename(index=pandas.Timestamp)' : 'set_index("timestamp")';

const LOADING: Readonly<Record<DatasetFormat, (folder: string, region: Region, isDaily: boolean) => string>> =
  {
    qlib: (folder, region) => `qlib.init(provider_uri="${folder}"${region === "US" ? ', region="us"' : ""})`,
    "wide-parquet": (folder, _, isDaily) =>
      `pandas.read_parquet("${folder}/fields/close.parquet").${byTime(isDaily)}`,
    "wide-arrow": (folder) => `polars.read_ipc("${folder}/fields/close.arrow")`,
    "long-parquet": (folder) => `polars.scan_parquet("${folder}/rows")`,
    "long-arrow": (folder) => `polars.read_ipc("${folder}/rows.arrow")`,
    "symbol-csv": (folder) => `pandas.read_csv("${folder}/SYMBOL.csv", parse_dates=[0], index_col=0)`,
    "symbol-parquet": (folder, _, isDaily) =>
      `pandas.read_parquet("${folder}/SYMBOL.parquet").${byTime(isDaily)}`,
    backtrader: (folder, _, isDaily) =>
      `backtrader.feeds.GenericCSVData(dataname="${folder}/SYMBOL.csv", dtformat=${isDaily ? '"%Y-%m-%d"' : '"%Y-%m-%d %H:%M:%S", timeframe=backtrader.TimeFrame.Minutes'})`,
    "zipline-csvdir": (folder, region) =>
      `zipline.data.bundles.register("NAME", csvdir_equities(None, "${folder}"), calendar_name="${CALENDARS[region]}")`,
    lean: (folder) => `cp -r "${folder}/equity" Lean/Data/`,
  };

/** Names of each region's calendar in the package exchange-calendars, which zipline uses: by ISO 10383. */
const CALENDARS: Readonly<Record<Region, string>> = { CN: "XSHG", HK: "XHKG", US: "XNYS" };

/** The region of a dataset's sessions: that of its calendar, or of its first symbol. */
function regionOfDataset({ spec, symbols }: DatasetPlace): Region {
  return spec.calendar ?? regionOf(symbols[0] as string) ?? "CN";
}
