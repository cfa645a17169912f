import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError } from "commander";
import { messageOf, UsageError } from "../../core/errors.js";
import { parseTradingDate } from "../../core/time.js";
import type { RunOptions } from "../../jobs/run/run-pipeline.js";
import { isRegion, type Region } from "../../market/regions.js";
import { canonicalSymbol, isSymbol, regionOf, splitList } from "../../market/symbol.js";
import type { CliCommand } from "../cli.js";
import { systemFaultOf } from "../error-text.js";

export const SYMBOLS_HELP = "symbols, separated by commas, or @FILE with one a line";

/** Adds up an option that is given several times: each has a list. */
function listOption(text: string, before: readonly string[] = []): string[] {
  return [...before, ...splitList(text)];
}

/** As {@link listOption}, for symbols, which spaces separate, too. `@FILE` is one item. */
export function symbolsOption(text: string, before: readonly string[] = []): string[] {
  return [...before, ...(text.startsWith("@") ? [text] : splitSymbols(text))];
}

function splitSymbols(text: string): string[] {
  return splitList(text.replaceAll(/\s+/g, ","));
}

/**
 * The symbols that `--symbols` names, with those of its files; undefined without the option.
 *
 * @throws {UsageError} where a file cannot be read.
 */
export async function namedSymbols(given: readonly string[] | undefined): Promise<string[] | undefined> {
  if (given === undefined) return undefined;
  const symbols: string[] = [];
  for (const item of given) symbols.push(...(item.startsWith("@") ? await symbolsIn(item.slice(1)) : [item]));
  return [...new Set(symbols)];
}

async function symbolsIn(file: string): Promise<readonly string[]> {
  try {
    return splitSymbols(await readFile(file, "utf8"));
  } catch (cause) {
    throw new UsageError(`--symbols @${file}: ${systemFaultOf(cause)?.message ?? messageOf(cause)}`, {
      hint: "name a file with one symbol a line",
      cause,
    });
  }
}

/**
 * Refuses what follows the arguments of a command. A list that is written with spaces is the usual cause, so the error
 * shows how to write it.
 *
 * @throws {UsageError}
 */
export function expectNoMore(command: Command): void {
  const { symbols } = command.opts<{ readonly symbols?: readonly string[] }>();
  const most = command.registeredArguments.length;
  if (command.args.length <= most) return;
  const isStray = (text: string): boolean =>
    splitList(text).every(
      (item) => isSymbol(canonicalSymbol(item)) && regionOf(canonicalSymbol(item)) !== undefined,
    );
  const strays = command.args.filter(isStray);
  const extra = strays.length > 0 ? strays : command.args.slice(most);
  const list = [...(symbols ?? []), ...strays].join(",");
  throw new UsageError(`${command.name()}: ${extra.join(" ")} is not expected here`, {
    hint:
      strays.length > 0
        ? `separate symbols by commas, without spaces: --symbols ${list}`
        : `barlake ${command.name()} --help shows what it takes`,
  });
}

export interface DemandOptions {
  readonly from?: string;
  readonly to?: string;
  readonly symbols?: string[];
  readonly universe?: string[];
  readonly region?: Region[];
  readonly lookback?: number;
  readonly repair?: boolean;
}

export function demandOptions(command: CliCommand): CliCommand {
  return command
    .argument("<pipeline>", "name of a pipeline, or path of a file")
    .option("--from <date>", "first date, of each exchange's own calendar", dateOption)
    .option("--to <date>", "date after the last one", dateOption)
    .allowExcessArguments()
    .hook("preAction", expectNoMore)
    .option("--symbols <list>", SYMBOLS_HELP, symbolsOption)
    .option("--universe <ids>", "universes, separated by commas", listOption)
    .option("--region <list>", "regions: CN, HK, US", regionsOption)
    .option(
      "--lookback <days>",
      "last trading days to ask for again, the newest included, such as 3d: corrections are merged",
      daysOption,
    )
    .option("--repair", "fill just the gaps that status shows, of the symbols asked for before");
}

export async function demandOf({
  from,
  to,
  symbols,
  universe,
  region,
  ...rest
}: DemandOptions): Promise<RunOptions> {
  return {
    from,
    to,
    symbols: await namedSymbols(symbols),
    universes: universe,
    regions: region,
    lookbackDays: rest.lookback,
    repair: rest.repair,
  };
}

function dateOption(text: string): string {
  try {
    return parseTradingDate(text);
  } catch {
    throw new InvalidArgumentError("must be a date YYYY-MM-DD");
  }
}

function daysOption(text: string): number {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  if (days === undefined) throw new InvalidArgumentError("must be a number of days such as 3d");
  return Number(days);
}

function regionsOption(text: string, before: readonly Region[] = []): Region[] {
  return listOption(text, before).map((name) => {
    if (!isRegion(name)) throw new InvalidArgumentError(`${name} is not one of CN, HK, US`);
    return name;
  });
}
