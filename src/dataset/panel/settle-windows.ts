import { type SqlToken, sqlTokens } from "../../db/sql-tokens.js";
import {
  barColumnOf,
  type ExpressionNode,
  isWindow,
  nodesOf,
  startOf,
  type WindowNode,
} from "../expression/expression-tree.js";
import { type BarClock, isClock, isOrderFree, isSettled } from "../expression/look-ahead.js";

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
