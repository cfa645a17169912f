import { existsSync } from "node:fs";
import { messageOf } from "../../../core/errors.js";
import { type CopyReport, copyLake } from "../../../lake/maintenance/copy-lake.js";
import { publish } from "../../../lake/publish.js";
import { type Cli, EXIT } from "../../cli.js";
import { jsonOption, lakeAt, printJson } from "../../options/lake-option.js";
import { viewOf } from "../../progress.js";
import { count, paint, plural, size, table } from "../../text.js";

interface Options {
  readonly json?: boolean;
  readonly database: boolean;
}

export function addCopy(cli: Cli): void {
  cli.program
    .command("copy")
    .argument("<from>", "the lake to copy: a folder, or s3://bucket/prefix")
    .argument("<to>", "an empty folder or prefix, or one with a part of this copy")
    .option("--no-database", "do not write lake.duckdb, the views for other DuckDB clients")
    .addOption(jsonOption())
    .notes(`
Copies every table with its whole history, the files of all versions that can still be read, and the rejects. Each file
is compared with the hash in its name on the way. The lake may be written to during the copy: a version of one time is copied.
After an interruption the same command continues, and later it copies what has come since.

Examples:
  barlake copy data s3://bucket/lake
  barlake copy s3://bucket/lake /backup/lake`)
    .does(async (source: string, destination: string, options: Options) => {
      const [from, to] = [lakeAt(source), lakeAt(destination)];
      const view = viewOf("copy", options);
      try {
        const reports = await copyLake(from, to, {
          signal: cli.signal,
          onProgress: ({ done, total, bytes, table: name }) =>
            view?.update({ done, total, unit: "files", rows: 0, bytes, doing: name }),
        });
        // An interrupted copy may have all tables, and no views yet.
        const isNew =
          reports.some(({ commits }) => commits > 0) || (reports.length > 0 && !existsSync(to.databaseFile));
        // The copy is whole without the views: to make them, DuckDB may lack its extension for stores.
        const fault =
          options.database && isNew ? await publish(to).catch((error: unknown) => error) : undefined;
        view?.stop();
        if (fault !== undefined)
          process.stderr.write(`${paint("yellow", "warning:")} the copy is whole, and ${messageOf(fault)}\n`);
        if (options.json) printJson({ from: from.location, to: to.location, tables: reports });
        else process.stdout.write(`${text(reports, to.location)}\n`);
        return EXIT.done;
      } finally {
        view?.stop();
      }
    });
}

function text(reports: readonly CopyReport[], location: string): string {
  const sum = (of: (report: CopyReport) => number): number => reports.reduce((n, one) => n + of(one), 0);
  if (sum(({ files, commits }) => files + commits) === 0) return `${location} has all of it already`;
  const rows = reports.map((one) => [
    one.table,
    count(one.version),
    count(one.commits),
    count(one.files),
    size(one.bytes),
    count(one.present),
  ]);
  const head = ["table", "version", "versions copied", "files copied", "size", "files there before"];
  const total = `${plural(
    sum(({ files }) => files),
    "file",
  )} (${size(sum(({ bytes }) => bytes))}) copied to ${location}`;
  return `${table(head, rows)}\n${total}`;
}
