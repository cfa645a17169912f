import { existsSync } from "node:fs";
import { Argument } from "commander";
import { UsageError } from "../../../core/errors.js";
import { interruptOn, Session } from "../../../db/session/session.js";
import { compareTable, type TableDifferences } from "../../../jobs/compare/compare-sources.js";
import { COMPARABLE, fileSource, isFile, lakeSource, type Source } from "../../../jobs/compare/sources.js";
import type { Lake } from "../../../lake/lake.js";
import { spillOptions } from "../../../lake/local/work-folder.js";
import { type Cli, EXIT } from "../../cli.js";
import { jsonOption, openExistingLake, printJson } from "../../options/lake-option.js";
import { mapOption, wholeNumber } from "../../options/options.js";
import { viewOf } from "../../progress.js";
import { differencesText } from "../../reports/compare-text.js";

interface Options {
  readonly json?: boolean;
  readonly examples: number;
  readonly map: Record<string, string>;
}

export function addCompare(cli: Cli): void {
  const names = COMPARABLE.map(({ name }) => name);
  cli.program
    .command("compare")
    .argument(
      "<a>",
      "a lake (folder, or s3://bucket/prefix), or a file: .parquet, .csv, .json; a pattern of files in quotes",
    )
    .argument("<b>", "what it is compared with")
    .addArgument(
      new Argument("[tables...]", "tables to compare; a file is one (default: all that both have)").choices(
        names,
      ),
    )
    .addOption(mapOption())
    .option("--examples <n>", "examples of each kind, of different symbols", wholeNumber, 3)
    .addOption(jsonOption())
    .notes(`
Names each difference, by symbol and date:
  missing      one source has the row, or the value, and the other has not
  stale        a source ends earlier for the symbol, or repeats the bar before
  calendar     a day on which one source has a session, and the other none
  label        the same bar under another date or minute
  unit         numbers that differ by a power of ten: lots, thousands, percent
  adjustment   prices that differ by one ratio, or by one difference, over a stretch of days
  revised      a correction: an earlier version of a statement, or close to the other (prices 2 %, volume and amount 20 %)
  value        any other number
Volume is compared in shares where its unit is known. Numbers are the same within a millionth. Nothing is written.
Exit code 1: they differ, or have no numbers in common.

Examples:
  barlake compare data /backup/lake
  barlake compare data s3://bucket/lake bars_1d --json
  barlake compare data vendor.parquet bars_1d --map symbol=ticker
  barlake compare "old/*.csv" "new/*.csv" bars_1m`)
    .does(async (a: string, b: string, tables: readonly string[], options: Options) => {
      const [left, right] = [await sideOf(a, tables, options), await sideOf(b, tables, options)];
      const chosen = COMPARABLE.filter(({ name }) => tables.length === 0 || tables.includes(name));
      const view = viewOf("compare", options);
      const found: TableDifferences[] = [];
      try {
        for (const table of chosen) {
          using session = await openFor([left.lake, right.lake]);
          using _ = interruptOn(session, cli.signal);
          const differences = await compareTable(session, table, left.source, right.source, {
            examples: options.examples,
            onProgress: (done, total) =>
              view?.update({ done, total, unit: "rows", rows: 0, doing: table.name }),
          });
          if (differences !== undefined) found.push(differences);
        }
      } finally {
        view?.stop();
      }
      if (found.length === 0)
        throw new UsageError(`${a} and ${b} have no table in common that can be compared`, {
          hint: `tables that can be: ${names.join(", ")}`,
        });
      if (options.json) printJson({ a, b, tables: found });
      else process.stdout.write(differencesText(found, a, b));
      return found.some(({ columns, different }) => columns.length === 0 || different > 0)
        ? EXIT.partial
        : EXIT.done;
    });
}

export function openFor(lakes: readonly (Lake | undefined)[]): Promise<Session> {
  const known = lakes.filter((lake) => lake !== undefined);
  const [first] = known;
  return Session.open({
    ...(first === undefined ? {} : spillOptions(first.work)),
    stores: known.flatMap((lake) => lake.access.stores ?? []),
  });
}

async function sideOf(
  location: string,
  tables: readonly string[],
  { map }: Options,
): Promise<{ readonly source: Source; readonly lake?: Lake }> {
  if (!isFile(location)) {
    const lake = await openExistingLake({ lake: location });
    return { source: lakeSource(lake), lake };
  }
  if (!/[*?[]/.test(location) && !existsSync(location))
    throw new UsageError(`${location}: there is no such file`);
  if (tables.length !== 1)
    throw new UsageError(`${location}: a file is compared with one table`, {
      hint: `say which: ${COMPARABLE.map(({ name }) => name).join(", ")}`,
    });
  return { source: fileSource(location, map) };
}
