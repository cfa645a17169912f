import { Argument } from "commander";
import { UsageError } from "../../../core/errors.js";
import { type HistoryEntry, readHistory } from "../../../lake/log/history.js";
import type { TableSchema } from "../../../schema/column.js";
import { TABLES } from "../../../schema/tables.js";
import { type Cli, EXIT } from "../../cli.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  printJson,
} from "../../options/lake-option.js";
import { count, size, table } from "../../text.js";

interface Options extends CommonOptions {
  readonly limit: string;
}

export function addHistory(cli: Cli): void {
  cli.program
    .command("history")
    .addArgument(new Argument("<table>", "a table").choices(TABLES.map(({ name }) => name)))
    .option("--limit <n>", "newest versions that are shown", "20")
    .addOptions(lakeOption(), jsonOption())
    .notes(`
Examples:
  barlake history bars_1d
  barlake sql "select count(*) from bars_1d" --version bars_1d=12    as version 12 had it
  barlake restore bars_1d --version 12                               undo what came after version 12`)
    .does(async (name: string, options: Options) => {
      const found = TABLES.find((one) => one.name === name) as TableSchema;
      const limit = Number(options.limit);
      if (!Number.isSafeInteger(limit) || limit < 1)
        throw new UsageError(`--limit ${options.limit} is not a whole number of at least 1`);
      const { storage } = await openExistingLake(options);
      const entries = (await readHistory(storage, found)).slice(-limit).toReversed();
      if (options.json) printJson(entries.map(forMachines));
      else process.stdout.write(`${entries.length === 0 ? `${name} has no version yet` : text(entries)}\n`);
      return EXIT.done;
    });
}

function text(entries: readonly HistoryEntry[]): string {
  const rows = entries.map((one) => [
    one.version,
    one.committedAt === undefined ? undefined : new Date(one.committedAt).toISOString().slice(0, 19),
    whatOf(one),
    one.runId,
    one.inserted === undefined ? undefined : count(one.inserted),
    one.updated === undefined ? undefined : count(one.updated),
    `+${one.filesAdded} -${one.filesRemoved}`,
    size(one.bytesAdded),
  ]);
  return table(["version", "at (UTC)", "what", "run", "inserted", "updated", "files", "written"], rows);
}

function whatOf({ operation, engine, restoredTo }: HistoryEntry): string | undefined {
  if (restoredTo === undefined) return operation ?? engine;
  return `${operation} ${restoredTo < 0 ? "(no rows)" : `to ${restoredTo}`}`;
}

function forMachines({ committedAt, ...entry }: HistoryEntry): object {
  return { ...entry, committedAt: committedAt === undefined ? null : new Date(committedAt).toISOString() };
}
