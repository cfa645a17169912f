import { isDeepStrictEqual } from "node:util";
import type { Issue, IssueLog } from "../../core/issue.js";
import { ident } from "../../db/quote.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { landVersions } from "../../lake/land/land-versions.js";
import type { LandOptions, LandReport } from "../../lake/land/upsert.js";
import { exchangeOf, isSymbol, MAX_SYMBOL_LENGTH, SYMBOL_GRAMMAR } from "../../market/symbol.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS, subjectOf } from "../../schema/reference.js";
import type { DecodedRecords } from "../../wire/decode/decode-records.js";
import type { UniverseDetail } from "../../wire/resources.js";
import { elementsBefore, type ListResponse, listResponses } from "../ledger/known-lists.js";
import type { Received } from "../run/request/request-records.js";
import type { Run } from "../run/run.js";

/** The current rows of a table of reference data. @param where a condition on them. */
export async function currentRows<T>(run: Run, table: TableSchema, where = "true"): Promise<T[]> {
  const { session, lake } = run.context;
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  const numbers = table.columns.flatMap(({ name, type }) =>
    type === "int64" ? [`CAST(${ident(name)} AS DOUBLE) AS ${ident(name)}`] : [],
  );
  const columns = numbers.length === 0 ? "*" : `* REPLACE (${numbers.join(", ")})`;
  return session.json<T>(
    `SELECT ${columns} FROM (${files}) WHERE valid_to IS NULL AND ${where} ORDER BY ${subjectOf(table).join(", ")}`,
  );
}

export function receivedRecords<T>(
  { entries, issues, count, bytes }: DecodedRecords<T>,
  asked: readonly string[] = [],
): Received & { readonly values: readonly T[]; readonly count: number | undefined } {
  const keys = new Set(entries.map(([key]) => key));
  const absent = asked.filter((key) => !keys.has(key));
  return {
    values: entries.map(([, value]) => value),
    count,
    rows: entries.length,
    rejected: issues.rejected,
    bytes,
    absent,
    issues: issues.stored,
    // A list that may lack elements has a fault, which is recorded for each list.
    setAside: [],
  };
}

/** Whether an element of an exchange's list is an instrument of that exchange. If not, an issue is added. */
export function isInstrumentOf(exchange: string, symbol: string, issues: IssueLog): boolean {
  if (isSymbol(symbol) && exchangeOf(symbol) === exchange) return true;
  if (!isSymbol(symbol)) issues.add(notASymbol(symbol, `instruments of ${exchange}`));
  else issues.add({ rule: "not_requested", message: `${symbol} is not of ${exchange}`, symbol, rejected: 1 });
  return false;
}

/** Adds an issue for each repeated instrument with the same content. @returns the number of repeats. */
export function noteRepeats(
  exchange: string,
  entries: readonly (readonly [string, { readonly symbol: string }])[],
  issues: IssueLog,
): number {
  const first = new Map<string, object>();
  let repeats = 0;
  for (const [, one] of entries) {
    const { symbol } = one;
    const earlier = first.get(symbol);
    if (earlier === undefined) first.set(symbol, one);
    else if (isDeepStrictEqual(earlier, one)) {
      const message = `instruments of ${exchange}: ${symbol} is listed more than once, with the same content`;
      issues.add({ rule: "duplicate_key", message, symbol, rejected: 1 });
      repeats += 1;
    }
  }
  return repeats;
}

/** The requested universes in a response. A member that is not a symbol becomes an issue, and does not land. */
export function receivedMembers(decoded: DecodedRecords<UniverseDetail>, ids: readonly string[]) {
  const entries = decoded.entries.filter(([key, { id }]) => {
    const isAsked = key === id && ids.includes(id);
    const message = `universe ${shown(id)} was not requested as ${shown(key)}`;
    if (!isAsked) decoded.issues.add({ rule: "not_requested", message, rejected: 1 });
    return isAsked;
  });
  for (const [id, { symbols }] of entries) {
    const different = new Set(symbols);
    for (const symbol of different)
      if (!isSymbol(symbol)) decoded.issues.add(notASymbol(symbol, `universe ${shown(id)}`));
    const repeats = symbols.length - different.size;
    const message = `universe ${shown(id)}: ${repeats} of its ${symbols.length} symbols repeat others`;
    if (repeats > 0) decoded.issues.add({ rule: "duplicate_key", message, rejected: repeats });
  }
  return receivedRecords({ ...decoded, entries }, ids);
}

/** A row for each member of a universe whose symbol is valid. */
export function memberRows({ id, region, symbols }: UniverseDetail): Record<string, unknown>[] {
  return [...new Set(symbols.filter(isSymbol))].map((symbol) => ({ id, symbol, region }));
}

function notASymbol(text: string, where: string): Issue {
  const message = `${where}: ${shown(text)} is not of the form ${SYMBOL_GRAMMAR}`;
  return { rule: "bad_symbol", message, symbol: text.slice(0, MAX_SYMBOL_LENGTH), rejected: 1 };
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}

/** So many missing elements, and more than this share of the list, are a cut; fewer may have changed between two responses. */
const LEAST_MISSING = 10;
const MISSING_SHARE = 0.05;
/** Number of runs that found about the same difference, after which the other list is taken to count something else. */
const RUNS_OF_LESS = 2;
/** Shares of missing elements are about the same if they differ by at most this. */
const SAME_SHARE = 0.05;

interface CountedList {
  readonly table: TableSchema;
  /** The exchange, or the universe's id. */
  readonly name: string;
  readonly where: string;
  readonly symbols: ReadonlySet<string>;
  /** Number of repeats, which the other list may count, too. */
  readonly repeats: number;
  readonly counted: number;
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

/** Lands the exchanges with counts of the lake's current instruments, for lakes that are filled without a service. */
export async function landExchangeCounts(
  session: Session,
  lake: Lake,
  exchanges: TableSchema,
  options: LandOptions,
): Promise<LandReport> {
  const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  await using counts = new TempTable(session, "exchange_counts");
  await counts.fill(
    `SELECT exchange, region, count(*) AS "count" FROM (${live}) WHERE valid_to IS NULL GROUP BY ALL`,
  );
  return await landVersions(session, lake, exchanges, counts.name, options);
}
