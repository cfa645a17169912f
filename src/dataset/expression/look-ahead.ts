import { groupBy } from "../../core/group-by.js";
import type { Session } from "../../db/session/session.js";
import { type SqlToken, sqlTokens } from "../../db/sql-tokens.js";
import {
  barColumnOf,
  type ConstantNode,
  type ExpressionNode,
  isFunction,
  isWindow,
  nodesOf,
  parseExpression,
  startOf,
  type WindowNode,
} from "./expression-tree.js";

/** The columns that order bars in time: dates, or, within a day, only the ends of bars. */
export interface BarClock {
  readonly isIntraday: boolean;
}

/**
 * Finds parts of an expression that could use later bars, or rows that cannot be determined, as the fault for a
 * message. Allowed are windows over the symbols of one date, `PARTITION BY trade_date`, and windows along ascending
 * dates whose frame does not extend beyond the row.
 */
export function findLookAhead(expression: ExpressionNode, clock: BarClock): string | undefined {
  for (const node of nodesOf(expression)) {
    if (node.class === "SUBQUERY") return "a subquery may see rows of later dates";
    const fault = isWindow(node) ? windowFault(node, clock) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Whether a node is a bar's time. Within a day, the date is not: later bars have the same date. */
function isClock(node: ExpressionNode, { isIntraday }: BarClock): boolean {
  const column = barColumnOf(node);
  return column === "timestamp" || (column === "trade_date" && !isIntraday);
}

/** Window functions that use only rows before the current one, or in the frame. ntile and others use all rows. */
const BACKWARD = new Set([
  "WINDOW_AGGREGATE",
  "WINDOW_ROW_NUMBER",
  "WINDOW_RANK",
  "WINDOW_RANK_DENSE",
  "WINDOW_FIRST_VALUE",
  "WINDOW_LAST_VALUE",
  "WINDOW_NTH_VALUE",
  "WINDOW_LAG",
]);
/** Those whose own ORDER BY sorts the frame, and not the partition. */
const OVER_FRAME = new Set([
  "WINDOW_AGGREGATE",
  "WINDOW_FIRST_VALUE",
  "WINDOW_LAST_VALUE",
  "WINDOW_NTH_VALUE",
]);

function windowFault(node: WindowNode, clock: BarClock): string | undefined {
  if (node.partitions.some((key) => isClock(key, clock))) return undefined;
  const name = node.function_name;
  if (!BACKWARD.has(node.type)) return `${name}() takes in later rows`;
  const [first] = node.orders;
  if (first === undefined) return "a window without ORDER BY takes in every date";
  if (!isClock(first.expression, clock)) {
    const allowed = clock.isIntraday ? "timestamp" : "trade_date or timestamp";
    return `a window along anything but ${allowed} may take in later rows`;
  }
  if (first.type === "DESCENDING") return "a window along descending dates takes in later rows";
  if (node.arg_orders.length > 0 && !OVER_FRAME.has(node.type))
    return `${name}() with a separate ORDER BY may take in later rows`;
  if (node.type === "WINDOW_LAG" && node.offset_expr !== null && !isWholeNumber(node.offset_expr, 1))
    return "lag() needs a distance that is a whole number above 0";
  return frameFault(node);
}

function frameFault({ end, end_expr }: WindowNode): string | undefined {
  if (end.startsWith("CURRENT_ROW")) return undefined;
  if (end.endsWith("FOLLOWING") || end.includes("FOLLOWING_")) return "FOLLOWING takes in later rows";
  // DuckDB itself rejects a RANGE with a negative distance.
  const isBefore =
    end === "EXPR_PRECEDING_RANGE" || (end_expr !== null && isWholeNumber(end_expr, 0)) || end_expr === null;
  return isBefore ? undefined : "a frame needs distances that are whole numbers of 0 or more";
}

function isWholeNumber(node: ExpressionNode, least: number): boolean {
  if (node.class !== "CONSTANT") return false;
  const { value } = (node as ConstantNode).value;
  return typeof value === "number" && Number.isInteger(value) && value >= least;
}

/**
 * Finds parts of an expression that could give other values when it is computed again, as the fault for a message: a
 * function of the current time or of chance, or rows without a defined order.
 */
export async function findChance(
  session: Session,
  root: ExpressionNode,
  clock: BarClock,
): Promise<string | undefined> {
  for (const node of nodesOf(root)) {
    if (NO_VALUES.has(node.class)) return "an expression is made of columns, functions and constants";
    const fault = isWindow(node) ? orderFault(node, clock) : undefined;
    if (fault !== undefined) return fault;
  }
  return await functionFault(session, root);
}

/** Whether these keys define the order of rows uniquely. */
function isSettled(keys: readonly ExpressionNode[], clock: BarClock): boolean {
  return keys.some((key) => barColumnOf(key) === "symbol") && keys.some((key) => isClock(key, clock));
}

/** Nodes that refer to unknown expressions, values or columns. */
const NO_VALUES = new Set(["STAR", "POSITIONAL_REFERENCE", "PARAMETER", "DEFAULT"]);
/** Window functions that give rows with equal keys the same result. */
const RANKS = new Set(["WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_PERCENT_RANK", "WINDOW_CUME_DIST"]);
const ORDER_FREE = new Set(["count", "min", "max", "bool_and", "bool_or", "median"]);

/** Whether an aggregate does not depend on the order of its rows. */
function isOrderFree({ function_name }: WindowNode): boolean {
  return ORDER_FREE.has(function_name) || function_name.startsWith("quantile");
}

/** Whether rows with equal keys are always in the frame together. */
function isOfValues({ start, end, exclude_clause }: WindowNode): boolean {
  return !start.endsWith("_ROWS") && !end.endsWith("_ROWS") && exclude_clause === "NO_OTHER";
}

function orderFault(node: WindowNode, clock: BarClock): string | undefined {
  if (RANKS.has(node.type) && node.arg_orders.length === 0) return undefined;
  if (isOfValues(node)) {
    if (isOrderFree(node)) return undefined;
    if (node.type === "WINDOW_AGGREGATE" && node.orders.length === 0 && !node.distinct) return undefined;
  }
  const keys = [...node.partitions, ...node.orders.map(({ expression }) => expression)];
  if (!isSettled(keys, clock) || node.distinct)
    return `${node.function_name}() OVER takes rows with equal keys in no settled order: let its ORDER BY end with symbol, or partition by it`;
  const own = [...node.partitions, ...node.arg_orders.map(({ expression }) => expression)];
  if (node.arg_orders.length === 0 || RANKS.has(node.type) || isOrderFree(node) || isSettled(own, clock))
    return undefined;
  return `${node.function_name}() with a separate ORDER BY takes rows with equal keys in any order: let that ORDER BY end with the date and symbol`;
}

/** Functions that DuckDB calls consistent, but that depend on the session or on chance. */
const OF_THE_MOMENT = /^(current_|local|get_current_|getvariable$|getenv$|version$|reservoir_|approx_)/;

/** A function of DuckDB, or a macro; several may have the same name. */
interface FunctionFact {
  readonly name: string;
  readonly kind: string;
  readonly stability: string | null;
  readonly definition: string | null;
}

async function functionFault(session: Session, root: ExpressionNode): Promise<string | undefined> {
  const seen = new Set<string>();
  const pending: (readonly [node: ExpressionNode, macro?: string])[] = [[root]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const nodes = [...nodesOf(next[0])];
    if (next[1] !== undefined && nodes.some((node) => isWindow(node) || node.class === "SUBQUERY"))
      return `${next[1]}() is a macro that sees other rows`;
    const facts = await factsOf(session, nodes);
    const fault = nodes.map((node) => nodeFault(node, facts)).find((one) => one !== undefined);
    if (fault !== undefined) return fault;
    for (const { name, definition } of facts) {
      if (definition === null || seen.has(definition)) continue;
      seen.add(definition);
      pending.push([await parseExpression(session, `macro ${name}`, definition), name]);
    }
  }
  return undefined;
}

function nodeFault(node: ExpressionNode, facts: readonly FunctionFact[]): string | undefined {
  // A bare word that is no column is a function, such as current_date.
  const name = isFunction(node) || isWindow(node) ? node.function_name.toLowerCase() : barColumnOf(node);
  if (name === undefined) return undefined;
  const own = facts.filter((fact) => fact.name === name);
  const isUnstable = own.some(({ stability }) => stability !== null && stability !== "CONSISTENT");
  if (OF_THE_MOMENT.test(name) || (isUnstable && node.class !== "COLUMN_REF"))
    return `${name} is not the same when it is computed again`;
  if (!isFunction(node) || own.length === 0) return undefined;
  if (name === "age" && node.children.length === 1) return "age of one date depends on the current time";
  if (own.every(({ kind }) => kind === "table")) return `${name}() makes several rows of one`;
  if (own.every(({ kind }) => kind === "aggregate"))
    return `${name}() without OVER is of all rows: OVER (...) says of which`;
  return undefined;
}

async function factsOf(session: Session, nodes: readonly ExpressionNode[]): Promise<FunctionFact[]> {
  const known = functionsOf.get(session) ?? readFunctions(session);
  functionsOf.set(session, known);
  const names = new Set(
    nodes.flatMap((node) => (isFunction(node) || isWindow(node) ? [node.function_name.toLowerCase()] : [])),
  );
  const functions = await known;
  return [...names].flatMap((name) => functions.get(name) ?? []);
}

/** The functions and macros of a session, by name. A session of a dataset defines none after the views of its lake. */
const functionsOf = new WeakMap<Session, Promise<ReadonlyMap<string, readonly FunctionFact[]>>>();

async function readFunctions(session: Session): Promise<ReadonlyMap<string, readonly FunctionFact[]>> {
  const facts = await session.json<FunctionFact>(
    `SELECT DISTINCT lower(function_name) AS name, function_type AS kind, stability, macro_definition AS definition
     FROM duckdb_functions() WHERE function_type <> 'pragma' ORDER BY ALL`,
  );
  return groupBy(facts, ({ name }) => name);
}

/** Column of the bars that says which symbols are part of a window over a date. */
export const IS_MEMBER = "is_member";

interface Insertion {
  readonly at: number;
  readonly text: string;
}

/**
 * Completes the windows of an expression. One over the symbols of one date gets only those that are in the universe and
 * trade on that date: symbols that join later change no earlier date. An aggregate over unordered rows is ordered by
 * symbol and time: the last bits of a sum depend on the order of addition.
 */
export function settleWindows(sql: string, root: ExpressionNode, clock: BarClock): string {
  const tokens = sqlTokens(sql);
  const insertions = [...nodesOf(root)].filter(isWindow).flatMap((node): Insertion[] => {
    const parts = partsOf(tokens, startOf(node, sql));
    return [...orderOf(node, parts, clock), ...membersOf(node, parts, clock)];
  });
  return insertions
    .sort((a, b) => b.at - a.at)
    .reduce((text, { at, text: more }) => text.slice(0, at) + more + text.slice(at), sql);
}

function orderOf(node: WindowNode, { argumentsEnd }: WindowParts, clock: BarClock): Insertion[] {
  if (node.type !== "WINDOW_AGGREGATE" || node.orders.length > 0 || isOrderFree(node)) return [];
  const keys = node.arg_orders.map(({ expression }) => expression);
  if (isSettled(keys, clock)) return [];
  return [
    { at: argumentsEnd, text: `${keys.length > 0 ? ", " : " ORDER BY "}bars.symbol, bars."timestamp"` },
  ];
}

function membersOf(node: WindowNode, { start, keys, end }: WindowParts, clock: BarClock): Insertion[] {
  const isOfOneDate = node.partitions.some((key) => isClock(key, clock));
  if (!isOfOneDate || node.partitions.some((key) => barColumnOf(key) === IS_MEMBER)) return [];
  return [
    { at: start, text: `CASE WHEN bars.${IS_MEMBER} THEN ` },
    { at: keys, text: `bars.${IS_MEMBER}, ` },
    { at: end, text: " END" },
  ];
}

/** The positions of the parts of `call(arguments) OVER (PARTITION BY keys ...)`. */
interface WindowParts {
  readonly start: number;
  /** The parenthesis that ends the arguments. */
  readonly argumentsEnd: number;
  /** The first key of its partition. */
  readonly keys: number;
  /** The position after its last parenthesis. */
  readonly end: number;
}

function partsOf(all: readonly SqlToken[], start: number): WindowParts {
  const tokens = all.filter(
    (token) => token.start >= start && token.kind !== "blank" && token.kind !== "comment",
  );
  const argumentsEnd = closingOf(tokens, 0);
  let over = argumentsEnd;
  while (tokens[over]?.text.toLowerCase() !== "over")
    over = tokens[over + 1]?.text === "(" ? closingOf(tokens, over + 1) : over + 1;
  const end = closingOf(tokens, over);
  const by = tokens.findIndex(({ text }, i) => i > over && text.toLowerCase() === "by");
  const startOfToken = (index: number): number => tokens[index]?.start ?? start;
  return {
    start,
    argumentsEnd: startOfToken(argumentsEnd),
    keys: startOfToken(by + 1),
    end: startOfToken(end) + 1,
  };
}

/** The parenthesis that closes the first one at or after a token. */
function closingOf(tokens: readonly SqlToken[], from: number): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    const { text } = tokens[at] as SqlToken;
    depth += text === "(" ? 1 : text === ")" ? -1 : 0;
    if (text === ")" && depth === 0) return at;
  }
  return tokens.length - 1;
}
