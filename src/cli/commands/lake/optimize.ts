import { Option } from "commander";
import { systemClock } from "../../../client/system-clock.js";
import { optimizeLake } from "../../../jobs/maintenance/optimize-lake.js";
import { newRunId } from "../../../jobs/run/run-pipeline.js";
import { CODECS, type Codec } from "../../../lake/files/data-file.js";
import { type OptimizeReport, TARGET_BYTES } from "../../../lake/maintenance/optimize.js";
import { type Cli, EXIT } from "../../cli.js";
import { failuresOf, throwErrors } from "../../error-text.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  printJson,
} from "../../options/lake-option.js";
import { positiveNumber, tablesArgument, tablesNamed } from "../../options/options.js";
import { viewOf } from "../../progress.js";
import { count, paint, plural, size, table } from "../../text.js";

interface Options extends CommonOptions {
  readonly targetMb: number;
  readonly codec?: Codec;
  readonly rewrite?: boolean;
}

const BYTES_A_MB = 1_000_000;

export function addOptimize(cli: Cli): void {
  cli.program
    .command("optimize")
    .addArgument(tablesArgument("tables to compact; without one, all"))
    .option(
      "--target-mb <n>",
      "size that a file has at most, in MB",
      positiveNumber,
      TARGET_BYTES / BYTES_A_MB,
    )
    .addOption(
      new Option(
        "--codec <name>",
        "compression of compacted files, now and in later compactions of these tables",
      ).choices(CODECS),
    )
    .option("--rewrite", "also rewrite files that have another codec, and those that are as they landed")
    .addOptions(lakeOption(), jsonOption())
    .notes(`
Others may read and write at the same time. Older versions still have their files. Each partition is a separate commit: after
an interruption the next run continues, and a run that finds nothing to do changes nothing. A landed file that is alone in
its partition is sorted already, and is left as it is.
Codecs: snappy (the default) is read by every engine; zstd makes files a sixth smaller, and slower to read; lz4 is the
quickest to read, but Trino cannot read it.
Exit code 1: a partition was not compacted because other writers replaced its files again and again.

Examples:
  barlake optimize
  barlake optimize bars_1d bars_1m --target-mb 256
  barlake optimize --codec zstd --rewrite`)
    .does(async (names: string[], options: Options) => {
      const tables = tablesNamed(names);
      const lake = await openExistingLake(options);
      const view = viewOf("optimize", options);
      const { reports, errors } = await optimizeLake(
        lake,
        tables,
        {
          runId: newRunId(systemClock.now()),
          targetBytes: options.targetMb * BYTES_A_MB,
          ...(options.codec === undefined ? {} : { codec: options.codec }),
          rewrite: options.rewrite ?? false,
          signal: cli.signal,
          onProgress: ({ done, total, table: name, partition }) =>
            view?.update({ done, total, unit: "partitions", rows: 0, doing: `${name} ${partition}` }),
        },
        systemClock,
      ).finally(() => view?.stop());
      const interrupted = cli.signal.aborted;
      if (options.json) printJson({ interrupted, tables: reports, ...failuresOf(errors) });
      else {
        if (reports.length > 0 || (errors.length === 0 && !interrupted)) print(reports, options);
        if (interrupted) process.stdout.write("interrupted: the next run compacts the rest\n");
      }
      if (interrupted) return EXIT.interrupted;
      throwErrors(errors);
      return reports.some(({ skipped }) => skipped.length > 0) ? EXIT.partial : EXIT.done;
    });
}

function print(reports: readonly OptimizeReport[], options: Options): void {
  if (reports.length === 0) {
    process.stdout.write(`${options.lake} has no such table yet\n`);
    return;
  }
  const rows = reports.map((r) => [
    r.table,
    count(r.partitions),
    count(r.filesBefore),
    count(r.filesAfter),
    size(r.bytesBefore),
    size(r.bytesAfter),
  ]);
  const head = ["table", "compacted", "files before", "after", "size before", "after"];
  process.stdout.write(`${table(head, rows)}\n`);
  printCodecs(reports);
  process.stdout.write(asLandedText(reports) + growthText(reports));
  const skipped = reports.flatMap((r) => r.skipped.map((partition) => `${r.table} ${partition}`));
  if (skipped.length === 0) return;
  process.stdout.write(
    `${paint("yellow", `${plural(skipped.length, "partition")} left as it was`)}, other writers were at it; run it again: ${skipped.join(", ")}\n`,
  );
}

function asLandedText(reports: readonly OptimizeReport[]): string {
  const files = reports.reduce((sum, { asLanded }) => sum + asLanded, 0);
  if (files === 0) return "";
  return `left as landed: ${plural(files, "sorted file")} with nothing to be joined with; --rewrite makes them quicker to read, and mostly larger\n`;
}

/** Why tables are larger than before, and the folder is: readers of older versions still have the replaced files. */
export function growthText(
  reports: readonly Pick<OptimizeReport, "codec" | "partitions" | "bytesBefore" | "bytesAfter">[],
): string {
  const compacted = reports.filter(({ partitions }) => partitions > 0);
  if (compacted.length === 0) return "";
  const larger = compacted.filter(({ bytesBefore, bytesAfter }) => bytesAfter > bytesBefore);
  const codecs = [...new Set(larger.map(({ codec }) => codec))].filter((codec) => codec !== "zstd");
  const why =
    codecs.length === 0
      ? ""
      : `larger than before: landed files have the codec zstd, compacted ones ${codecs.join(" or ")}, which is quicker to read; --codec zstd --rewrite makes them smaller\n`;
  return `${why}the replaced files remain for older versions, until barlake vacuum deletes them\n`;
}

/** Names the compacted files that still have another codec than their table's. */
function printCodecs(reports: readonly OptimizeReport[]): void {
  const unchanged = new Map<string, number>();
  for (const { codec, otherCodecs } of reports)
    for (const [other, files] of Object.entries(otherCodecs)) {
      const change = `${other} instead of ${codec}`;
      unchanged.set(change, (unchanged.get(change) ?? 0) + files);
    }
  for (const [change, files] of unchanged)
    process.stdout.write(
      `left with the codec ${change}: ${plural(files, "compacted file")}; --rewrite rewrites them\n`,
    );
}
