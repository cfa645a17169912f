import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { UsageError } from "../../core/errors.js";
import { buildDataset } from "../../dataset/build-dataset.js";
import { planDataset } from "../../dataset/plan-dataset.js";
import { DATASET_FORMATS, type DatasetFormat, type DatasetSpec } from "../../dataset/spec.js";
import { folderOf, listDatasets, movedAway, recoverFolder } from "../../dataset/store/dataset-folder.js";
import { isSound, verifyDataset } from "../../dataset/store/verify-dataset.js";
import type { Lake } from "../../lake/lake.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import { type Cli, EXIT } from "../cli.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  openLake,
  printJson,
} from "../options/lake-option.js";
import { loadSpec, shippedSpecs } from "../options/load-spec.js";
import { type PointInTimeOptions, pointInTimeOf, pointInTimeOptions } from "../options/options.js";
import { progressView } from "../progress.js";
import { buildText, checkText, listText, planText, stoppedText } from "../reports/dataset-text.js";

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
  const command = cli.program.command("dataset").addHelpText(
    "after",
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
  addPlan(cli, command);
  addBuild(cli, command);
  addList(cli, command);
  addVerify(cli, command);
}

function addPlan(cli: Cli, parent: Command): void {
  specOptions(parent.command("plan"))
    .description("show what a dataset would be; writes nothing")
    .action((name: string, options: SpecOptions) =>
      cli.action(async () => {
        const plan = await planDataset(
          await openExistingLake(options),
          await specOf(name, options),
          pointInTimeOf(options),
        );
        if (options.json) printJson(plan);
        else process.stdout.write(`${planText(plan)}\n`);
        return EXIT.done;
      }),
    );
}

function addBuild(cli: Cli, parent: Command): void {
  specOptions(parent.command("build"))
    .description("build a dataset")
    .addOption(new Option("--append", "add new days to the existing dataset").conflicts("replace"))
    .option("--replace", "replace an existing dataset")
    .option(
      "--no-verify",
      "do not compare the content of the lake's files with the hashes in their names first",
    )
    .addHelpText(
      "after",
      `
Examples:
  barlake dataset build cn-daily --format qlib
  barlake dataset build cn-factors --format wide-parquet --from 2020-01-01
  barlake dataset build mine.ts --as-of 2026-11-01T00:00:00Z     of the lake at that time
  barlake dataset build mine.ts --append                         equal to a full build, or refused with the reason`,
    )
    .action((name: string, options: BuildOptions) =>
      cli.action(async () => {
        const lake = await openExistingLake(options);
        const spec = await specOf(name, options);
        const view = progressView(spec.name);
        const startedAt = performance.now();
        try {
          const report = await buildDataset(lake, spec, {
            pointInTime: pointInTimeOf(options),
            existing: options.append ? "append" : options.replace ? "replace" : "refuse",
            verify: options.verify,
            signal: cli.signal,
            onProgress: ({ symbols, of, rows }) =>
              view.update({ done: symbols, total: of, unit: "symbols", rows, doing: spec.format }),
          });
          view.stop();
          if (options.json) printJson(report);
          else process.stdout.write(`${buildText(report, performance.now() - startedAt)}\n`);
        } catch (error) {
          view.stop();
          if (cli.signal.aborted) process.stderr.write(`${stoppedText(folderOf(lake, spec))}\n`);
          throw error;
        } finally {
          view.stop();
        }
        return EXIT.done;
      }),
    );
}

function addList(cli: Cli, parent: Command): void {
  parent
    .command("list")
    .description("the datasets in a lake's own folder")
    .addOption(lakeOption())
    .addOption(jsonOption())
    .action((options: CommonOptions) =>
      cli.action(async () => {
        const found = await listDatasets(openLake(options));
        if (options.json) printJson(found);
        else if (found.length === 0)
          process.stdout.write("there are none yet: barlake dataset build --help shows how to make one\n");
        else process.stdout.write(`${listText(found)}\n`);
        return EXIT.done;
      }),
    );
}

function addVerify(cli: Cli, parent: Command): void {
  parent
    .command("verify")
    .description("check datasets: their files, and what the lake has changed since")
    .argument("[datasets...]", "names, or folders; all of the lake's where none is given")
    .option("--rebuild", "also build each again at its versions, and compare the bytes")
    .addOption(lakeOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      `
Exit code 0: as they were made, and the lake has not changed their days; 1: findings.

Examples:
  barlake dataset verify
  barlake dataset verify cn-daily --rebuild
  barlake dataset verify ~/research/mine`,
    )
    .action((names: string[], options: CommonOptions & { readonly rebuild?: boolean }) =>
      cli.action(async () => {
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
      }),
    );
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

function specOptions(command: Command): Command {
  const [asOf, version] = pointInTimeOptions();
  return command
    .argument("<spec>", "a spec's file, or the name of an included one")
    .addOption(new Option("--format <format>", "another format than the spec's").choices(DATASET_FORMATS))
    .option(
      "-o, --output <location>",
      "folder to be made, or s3://bucket/prefix (default: datasets/NAME/FORMAT in the lake)",
    )
    .option("--from <date>", "first trading date")
    .option("--to <date>", "trading date after the last one")
    .addOption(asOf)
    .addOption(version)
    .addOption(lakeOption())
    .addOption(jsonOption());
}

async function specOf(name: string, { format, output, from, to }: SpecOptions): Promise<DatasetSpec> {
  const changes = { format, output, from, to };
  return loadSpec(
    name,
    Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)),
  );
}
