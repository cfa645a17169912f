import {
  barColumnOf,
  type ConstantNode,
  type ExpressionNode,
  isWindow,
  nodesOf,
  type WindowNode,
} from "../expression/expression-tree.js";

/** What tells bars' order in time: dates, or, of bars within a day, the ends of the bars alone. */
export interface BarClock {
  readonly isIntraday: boolean;
}

/**
 * What in an expression could use rows of later bars, or rows that cannot be seen through. Permitted are windows over the
 * symbols of one date, `PARTITION BY trade_date`, and windows along ascending dates whose frame ends at the row or before.
 *
 * @returns what was found, to be told; undefined: nothing.
 */
export function findLookAhead(expression: ExpressionNode, clock: BarClock): string | undefined {
  for (const node of nodesOf(expression)) {
    if (node.class === "SUBQUERY") return "a subquery may see rows of later dates";
    const fault = isWindow(node) ? windowFault(node, clock) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Whether a node is a bar's time. The date of a bar within a day is that of later bars too. */
export function isClock(node: ExpressionNode, { isIntraday }: BarClock): boolean {
  const column = barColumnOf(node);
  return column === "timestamp" || (column === "trade_date" && !isIntraday);
}

/** Functions of a window that see the rows before theirs, or those of the frame. ntile, percent_rank and cume_dist count all. */
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
/** Of these, those whose own ORDER BY goes over the frame, and not over the partition. */
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
    return `${name}() with an order of its own may take in later rows`;
  if (node.type === "WINDOW_LAG" && node.offset_expr !== null && !isWholeNumber(node.offset_expr, 1))
    return "lag() needs a distance that is a whole number above 0";
  return frameFault(node);
}

function frameFault({ end, end_expr }: WindowNode): string | undefined {
  if (end.startsWith("CURRENT_ROW")) return undefined;
  if (end.endsWith("FOLLOWING") || end.includes("FOLLOWING_")) return "FOLLOWING takes in later rows";
  // DuckDB itself refuses a RANGE whose distance is below 0.
  const isBefore =
    end === "EXPR_PRECEDING_RANGE" || (end_expr !== null && isWholeNumber(end_expr, 0)) || end_expr === null;
  return isBefore ? undefined : "a frame needs distances that are whole numbers of 0 or more";
}

function isWholeNumber(node: ExpressionNode, least: number): boolean {
  if (node.class !== "CONSTANT") return false;
  const { value } = (node as ConstantNode).value;
  return typeof value === "number" && Number.isInteger(value) && value >= least;
}
