import { type Command, InvalidArgumentError } from "commander";
import { parseTradingDate } from "../../core/time.js";
import type { RunOptions } from "../../jobs/run/run-pipeline.js";
import { isRegion, type Region } from "../../market/regions.js";
import { expectNoMore, listOption, namedSymbols, SYMBOLS_HELP, symbolsOption } from "./symbols-option.js";

/** Options that say what a pipeline asks for. */
export interface DemandOptions {
  readonly from?: string;
  readonly to?: string;
  readonly symbols?: string[];
  readonly universe?: string[];
  readonly region?: Region[];
  readonly lookback?: number;
  readonly repair?: boolean;
}

/** Adds the argument and the options that say what a pipeline asks for. */
export function demandOptions(command: Command): Command {
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

/** Reads the options that say what a pipeline asks for. */
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
