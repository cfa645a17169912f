import type { TableSchema } from "../../schema/column.js";
import { elementsBefore, type ListResponse, listResponses } from "../ledger/list-responses.js";
import type { Run } from "../run/run.js";
import { currentRows } from "./current-rows.js";

/** So many missing elements, and more than this share of the list, are a cut; fewer may have changed between two responses. */
const LEAST_MISSING = 10;
const MISSING_SHARE = 0.05;
/** Number of runs that found about the same difference, after which the other list is taken to count something else. */
const RUNS_OF_LESS = 2;
/** Shares of missing elements are about the same if they differ by at most this. */
const SAME_SHARE = 0.05;

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
 * earlier runs found about the same difference, and the list is not clearly shorter than the last accepted one, the
 * other list is taken to count something else.
 *
 * @returns undefined where the list seems complete.
 */
export async function countFault(run: Run, list: CountedList): Promise<string | undefined> {
  const { table, name, symbols, repeats, counted, countedBy } = list;
  if (!isCut(symbols.size + repeats, counted)) return undefined;
  const fault = `the list of ${countedBy} counts more elements`;
  const { session, lake } = run.context;
  const earlier = await listResponses(session, lake, table.name, name);
  const share = missingShare(symbols.size, counted);
  const alike = earlier.filter((response) => {
    const found = shareOf(response, mayLackRows(name, fault));
    return found !== undefined && Math.abs(found - share) <= SAME_SHARE;
  });
  const runs = new Set(alike.map(({ runId }) => runId)).size;
  if (runs >= RUNS_OF_LESS && !(await lacksElements(run, list, earlier))) return undefined;
  return `${fault}: ${counted}, and it has ${symbols.size}`;
}

/**
 * Whether a list lacks clearly more elements than change between two snapshots. It is compared with the number of
 * elements of the last accepted list, as an index replaces many members at once. Without an accepted list, it is
 * compared with all elements that came so far.
 */
async function lacksElements(
  run: Run,
  { table, where, symbols }: CountedList,
  earlier: readonly ListResponse[],
): Promise<boolean> {
  const accepted = earlier.findLastIndex(({ fault }) => fault === undefined);
  if (accepted !== -1) {
    // Lists that were not accepted have added elements, and have ended none.
    const next = earlier[accepted + 1];
    if (next === undefined) return isCut(symbols.size, (await currentRows(run, table, where)).length);
    const { session, lake } = run.context;
    return isCut(symbols.size, await elementsBefore(session, lake, table, where, next.askedAt));
  }
  const rows = await currentRows<{ readonly symbol: string }>(run, table, where);
  const missing = rows.filter(({ symbol }) => !symbols.has(symbol)).length;
  return isCut(symbols.size, symbols.size + missing);
}

/** The share of missing elements that a response was not accepted for; undefined where that was not the reason. */
function shareOf({ fault = "" }: ListResponse, text: string): number | undefined {
  const at = fault.indexOf(`${text}: `);
  const numbers = at === -1 ? null : /^: (\d+), and it has (\d+)/.exec(fault.slice(at + text.length));
  return numbers === null ? undefined : missingShare(Number(numbers[2]), Number(numbers[1]));
}

function missingShare(elements: number, counted: number): number {
  return (counted - elements) / counted;
}

function isCut(elements: number, counted: number): boolean {
  const missing = counted - elements;
  return missing >= LEAST_MISSING && missing > elements * MISSING_SHARE;
}
