import { UsageError } from "../../core/errors.js";
import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";

/** A node of an expression from DuckDB's parser. Its further members depend on its class. */
export interface ExpressionNode {
  readonly class: string;
  readonly type: string;
  /** Offset of its beginning in the parsed statement, in bytes. */
  readonly query_location: number;
}

/** A column, by its name and qualifiers: `["bars", "close"]`. */
interface ColumnNode extends ExpressionNode {
  readonly class: "COLUMN_REF";
  readonly column_names: readonly string[];
}

export interface ConstantNode extends ExpressionNode {
  readonly class: "CONSTANT";
  readonly value: { readonly type: { readonly id: string }; readonly value?: unknown };
}

interface FunctionNode extends ExpressionNode {
  readonly class: "FUNCTION";
  readonly function_name: string;
  readonly children: readonly ExpressionNode[];
}

interface OrderKey {
  readonly type: string;
  readonly null_order: string;
  readonly expression: ExpressionNode;
}

export interface WindowNode extends ExpressionNode {
  readonly class: "WINDOW";
  readonly function_name: string;
  readonly partitions: readonly ExpressionNode[];
  readonly orders: readonly OrderKey[];
  /** Order within the function's parentheses. */
  readonly arg_orders: readonly OrderKey[];
  readonly distinct: boolean;
  /** The bounds of the frame, such as `CURRENT_ROW_RANGE`. */
  readonly start: string;
  readonly end: string;
  readonly end_expr: ExpressionNode | null;
  /** What EXCLUDE removes; `NO_OTHER`: nothing. */
  readonly exclude_clause: string;
  /** Distance of lag and lead. */
  readonly offset_expr: ExpressionNode | null;
}

const BEFORE = "SELECT (";

/**
 * Parses an expression with DuckDB's own parser. @throws {UsageError} naming the subject and DuckDB's message, unless
 * the text is exactly one expression.
 */
export async function parseExpression(
  session: Session,
  subject: string,
  sql: string,
): Promise<ExpressionNode> {
  const [row] = await session.json<{ tree: string }>(
    `SELECT CAST(json_serialize_sql(${literal(`${BEFORE}${sql}\n)`)}) AS VARCHAR) AS tree`,
  );
  const found = JSON.parse(row?.tree ?? "{}") as {
    readonly error_message?: string;
    readonly statements?: readonly { readonly node: { readonly select_list: readonly ExpressionNode[] } }[];
  };
  const [root, ...others] = found.statements?.[0]?.node.select_list ?? [];
  if (root === undefined || others.length > 0) {
    throw new UsageError(`${subject}: ${found.error_message ?? "must be one expression"}`, {
      hint: "an expression gives one value for each bar, as close / open - 1 does",
    });
  }
  return root;
}

/** Offset of a node in its expression's SQL, in UTF-16 units from 0. */
export function startOf({ query_location }: ExpressionNode, sql: string): number {
  return Buffer.from(sql).toString("utf8", 0, query_location - BEFORE.length).length;
}

export function* nodesOf(tree: unknown): Generator<ExpressionNode, void, undefined> {
  if (typeof tree !== "object" || tree === null) return;
  if ("class" in tree && typeof tree.class === "string") yield tree as ExpressionNode;
  for (const part of Object.values(tree)) yield* nodesOf(part);
}

export function isWindow(node: ExpressionNode): node is WindowNode {
  return node.class === "WINDOW";
}

export function isFunction(node: ExpressionNode): node is FunctionNode {
  return node.class === "FUNCTION";
}

export function isColumn(node: ExpressionNode): node is ColumnNode {
  return node.class === "COLUMN_REF";
}

/** A column's name in lower case if it is a column of the bars: `close` or `bars.close`; else undefined. */
export function barColumnOf(node: ExpressionNode): string | undefined {
  if (!isColumn(node)) return undefined;
  const names = node.column_names.map((name) => name.toLowerCase());
  const isOfBars = names.length === 1 || (names.length === 2 && names[0] === "bars");
  return isOfBars ? names.at(-1) : undefined;
}
