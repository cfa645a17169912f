import {
  barColumnOf,
  type ConstantNode,
  type ExpressionNode,
  isWindow,
  nodesOf,
  type WindowNode,
} from "../expression/expression-tree.js";

/** The columns that order bars in time: dates, or, within a day, only the ends of bars. */
export interface BarClock {
  readonly isIntraday: boolean;
}

/**
 * Finds parts of an expression that could use later bars, or rows that cannot be determined. Allowed are windows
 * over the symbols of one date, `PARTITION BY trade_date`, and windows along ascending dates whose frame does not
 * extend beyond the row.
 *
 * @returns the fault, for a message; undefined if there is none.
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
export function isClock(node: ExpressionNode, { isIntraday }: BarClock): boolean {
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
