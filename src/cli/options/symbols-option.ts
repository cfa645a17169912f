import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { messageOf, UsageError } from "../../core/errors.js";
import { canonicalSymbol, isSymbol, regionOf, splitList } from "../../market/symbol.js";
import { systemFaultOf } from "../errors/system-fault.js";

export const SYMBOLS_HELP = "symbols, separated by commas, or @FILE with one a line";

/** Adds up an option that is given several times: each has a list. */
export function listOption(text: string, before: readonly string[] = []): string[] {
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
