import type { TableSchema } from "../../schema/column.js";
import { failedRuns } from "../ledger/ledger.js";
import type { Run } from "../run/run.js";
import { currentRows } from "./current-rows.js";

/** So many missing elements, and more than this share of the list, are a cut; fewer may have changed between two responses. */
const LEAST_MISSING = 10;
const MISSING_SHARE = 0.05;
/** Number of runs that received about the same list, after which the other list is taken to count something else. */
const RUNS_OF_LESS = 2;

/** A list of symbols, and the number of its elements that another list gives. */
export interface CountedList {
  readonly table: TableSchema;
  /** The exchange, or the universe's id. */
  readonly name: string;
  /** A condition on the current rows of the list. */
  readonly where: string;
  readonly symbols: ReadonlySet<string>;
  /** Number of repeats, which the other list may count, too. */
  readonly repeats: number;
  readonly counted: number;
  /** The list that gives the number. */
  readonly countedBy: "exchanges" | "universes";
}

/** The reason of a failure of a list that may lack rows. @param list its name; "" for a whole table. */
export function mayLackRows(list: string, fault: string): string {
  return `the list${list && ` of ${list}`} may lack rows: ${fault}`;
}

/**
 * Why a list may be cut, although it agrees with its own length: another list counts clearly more elements. If two
 * earlier runs found the same, and the lake does not have the missing elements either, the other list is taken to count
 * something else.
 *
 * @returns undefined where the list seems complete.
 */
export async function countFault(run: Run, list: CountedList): Promise<string | undefined> {
  const { table, name, where, symbols, repeats, counted, countedBy } = list;
  if (!isCut(symbols.size + repeats, counted)) return undefined;
  const fault = `the list of ${countedBy} counts more elements`;
  const rows = await currentRows<{ readonly symbol: string }>(run, table, where);
  const missing = rows.filter(({ symbol }) => !symbols.has(symbol)).length;
  if (!isCut(symbols.size, symbols.size + missing)) {
    const { session, lake } = run.context;
    const runs = await failedRuns(session, lake, table.name, name, mayLackRows(name, fault));
    if (runs >= RUNS_OF_LESS) return undefined;
  }
  return `${fault}: ${counted}, and it has ${symbols.size}`;
}

function isCut(elements: number, counted: number): boolean {
  const missing = counted - elements;
  return missing >= LEAST_MISSING && missing > elements * MISSING_SHARE;
}
