import { UsageError } from "../../core/errors.js";
import type { Session } from "../../db/session.js";
import { sqlTokens } from "../../db/sql-tokens.js";
import { BAR_COLUMNS, type BarColumnName, isBarColumn } from "../cells/bar-columns.js";
import type { PanelField } from "../panel/block.js";
import { type DatasetSpec, isIntraday } from "../spec.js";
import { checkExpression } from "./check-expression.js";
import { isColumn, nodesOf, parseExpression, startOf } from "./expression-tree.js";

/** A field, and where its values come from. */
export interface ResolvedField extends PanelField {
  readonly source:
    | { readonly kind: "bar"; readonly column: BarColumnName }
    | { readonly kind: "sql"; readonly sql: string };
}

/** Views that expressions use, each with the columns they need of it. */
export type NeededViews = ReadonlyMap<string, ReadonlySet<string>>;

export interface ResolvedFields {
  readonly fields: readonly ResolvedField[];
  readonly views: NeededViews;
  /** Views of the user's own among them: nobody has looked whether they look ahead. */
  readonly ownViews: readonly string[];
}

/** Views with a row a symbol and trading date, in the order in which a bare column is looked for in them. */
const DAILY_VIEWS = ["daily_status", "daily_valuation", "daily_fundamentals", "returns", "bars_1d"];
/** Columns of these that stand as they do now, whatever the date. */
const OF_NOW: Readonly<Record<string, readonly string[]>> = {
  daily_fundamentals: ["name", "type", "exchange", "total_shares", "float_shares"],
};
/** What bars have beside {@link BAR_COLUMNS}. */
const OF_BARS = ["symbol", "trade_date", "timestamp", "region", "is_final"];

type Fields = NonNullable<DatasetSpec["fields"]>;
const PRICES = ["open", "high", "low", "close"] as const;
const plainly = (name: string, sql: string): Fields[number] => ({ name, sql, looksAhead: false });

/** What users of a format expect. qlib's volumes go with its prices; backtesters by symbol count shares. */
function defaultFields({ format, adjustment }: DatasetSpec): Fields {
  const isAdditive = adjustment.endsWith("additive");
  if (format === "backtrader" || format === "zipline-csvdir") return [...PRICES, plainly("volume", "shares")];
  if (isAdditive) return [...PRICES, "volume", "amount", "vwap"];
  if (format === "qlib")
    return [...PRICES, plainly("volume", "adjusted_volume"), "amount", "vwap", "factor", "change"];
  return [...PRICES, "volume", "amount", "vwap", "factor"];
}

/**
 * Finds where each field's values come from.
 *
 * @throws {UsageError} for an expression that looks ahead or is not reproducible, and a column that is none.
 */
export async function resolveFields(session: Session, spec: DatasetSpec): Promise<ResolvedFields> {
  const columnsOf = await readDailyViews(session);
  const views = new Map<string, Set<string>>();
  const fields: ResolvedField[] = [];
  for (const field of spec.fields ?? defaultFields(spec)) {
    const { name, sql, fill, looksAhead } =
      typeof field === "string" ? { name: field, sql: field, fill: undefined, looksAhead: false } : field;
    if (spec.adjustment.endsWith("additive") && mentions(sql, "factor"))
      throw new UsageError(`field ${name}: there is no factor where prices are adjusted by amounts`, {
        hint: 'choose "backward", or leave factor out',
      });
    if (isBarColumn(sql)) {
      fields.push({ name, fill: fill ?? BAR_COLUMNS[sql].fill, source: { kind: "bar", column: sql } });
      continue;
    }
    const { sql: qualified, columns } = await qualify(session, { name, sql }, columnsOf);
    const expression = { name, sql: qualified, looksAhead };
    const checked = await checkExpression(session, expression, { isIntraday: isIntraday(spec) });
    for (const [view, column] of columns) {
      const needed = views.get(view) ?? new Set();
      views.set(view, needed.add(column));
    }
    fields.push({ name, fill: fill ?? "last", source: { kind: "sql", sql: checked } });
  }
  return { fields, views, ownViews: [...views.keys()].filter((view) => !DAILY_VIEWS.includes(view)) };
}

/**
 * Says of each column in an expression whose it is: the bars' own come first, then the views' in their order.
 *
 * @returns the expression with every such column qualified, and the columns that it needs of views.
 */
async function qualify(
  session: Session,
  { name: field, sql }: { readonly name: string; readonly sql: string },
  columnsOf: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<{ readonly sql: string; readonly columns: readonly (readonly [view: string, column: string])[] }> {
  const columns: [string, string][] = [];
  const owned: { readonly at: number; readonly owner: string }[] = [];
  for (const node of nodesOf(await parseExpression(session, `field ${field}`, sql))) {
    if (!isColumn(node)) continue;
    const [first, second] = node.column_names.map((name) => name.toLowerCase()) as [string, string?];
    if (second !== undefined) {
      if (!columnsOf.has(first)) continue;
      refuseOfNow(field, first, second);
      columns.push([first, second]);
      continue;
    }
    const isKnown = ([view, known]: [string, ReadonlySet<string>]): boolean =>
      known.has(first) && !OF_NOW[view]?.includes(first);
    const isOfBars = isBarColumn(first) || OF_BARS.includes(first);
    const owner = isOfBars ? "bars" : [...columnsOf].find(isKnown)?.[0];
    if (owner === undefined) continue;
    owned.push({ at: startOf(node, sql), owner });
    if (owner !== "bars") columns.push([owner, first]);
  }
  const qualified = owned
    .sort((a, b) => b.at - a.at)
    .reduce((text, { at, owner }) => `${text.slice(0, at)}${owner}.${text.slice(at)}`, sql);
  return { sql: qualified, columns };
}

function refuseOfNow(field: string, view: string, column: string): void {
  if (OF_NOW[view]?.includes(column) !== true) return;
  throw new UsageError(
    `field ${field}: ${view}.${column} is what holds now, and not what was known on each date`,
    {
      hint: "daily_status and daily_valuation have what was known of shares",
    },
  );
}

/** Views that have a symbol and a trading date, with their other columns; barlake's own first. */
async function readDailyViews(session: Session): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await session.json<{ view: string; columns: string[] }>(
    `SELECT table_name AS view, list(column_name) AS columns FROM duckdb_columns()
     WHERE schema_name = 'main' AND NOT internal GROUP BY table_name
     HAVING list_has_all(list(column_name), ['symbol', 'trade_date']) ORDER BY table_name`,
  );
  const known = new Map(rows.map(({ view, columns }) => [view, new Set(columns)]));
  const isOther = (view: string): boolean =>
    !DAILY_VIEWS.includes(view) &&
    !view.startsWith("quality_") &&
    view !== "trading_calendar" &&
    view !== "bars_1m";
  const order = [...DAILY_VIEWS, ...[...known.keys()].filter(isOther)];
  return new Map(order.flatMap((view) => (known.has(view) ? [[view, known.get(view) as Set<string>]] : [])));
}

/** Whether an expression names a column. */
export function mentions(sql: string, column: string): boolean {
  return sqlTokens(sql).some(
    ({ kind, text }) => (kind === "word" || kind === "identifier") && plain(text) === column,
  );
}

function plain(text: string): string {
  return (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text).toLowerCase();
}
