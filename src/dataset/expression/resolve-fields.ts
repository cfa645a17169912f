import { UsageError } from "../../core/errors.js";
import type { Session } from "../../db/session/session.js";
import { sqlTokens } from "../../db/sql-tokens.js";
import { BAR_COLUMNS, type BarColumnName, isBarColumn } from "../cells/bar-columns.js";
import type { PanelField } from "../panel/block.js";
import { type DatasetSpec, isIntraday } from "../spec.js";
import { isColumn, nodesOf, parseExpression, startOf } from "./expression-tree.js";
import { type BarClock, findChance, findLookAhead, settleWindows } from "./look-ahead.js";

interface WrittenExpression {
  readonly name: string;
  readonly sql: string;
  readonly looksAhead: boolean;
}

/**
 * Checks that an expression uses no later bars, unless it says so, and is reproducible. @returns its SQL with complete
 * windows: {@link settleWindows}. @throws {UsageError} naming the field, the fault, and what to do.
 */
export async function checkExpression(
  session: Session,
  { name, sql, looksAhead }: WrittenExpression,
  clock: BarClock,
): Promise<string> {
  const subject = `field ${name}`;
  const root = await parseExpression(session, subject, sql);
  const ahead = looksAhead ? undefined : findLookAhead(root, clock);
  if (ahead !== undefined) {
    throw new UsageError(`${subject}: ${ahead}`, {
      hint: "a dataset has what was known on each date; a field that is meant to look ahead, such as a label to train on, needs looksAhead: true",
    });
  }
  const chance = await findChance(session, root, clock);
  if (chance !== undefined) {
    throw new UsageError(`${subject}: ${chance}`, {
      hint: "a dataset has the same bytes whenever it is built of the same versions",
    });
  }
  return settleWindows(sql, root, clock);
}

/** A field, and the source of its values. */
export interface ResolvedField extends PanelField {
  readonly source:
    | { readonly kind: "bar"; readonly column: BarColumnName }
    | { readonly kind: "sql"; readonly sql: string };
}

/** Views that expressions use, each with the columns that are used. */
export type NeededViews = ReadonlyMap<string, ReadonlySet<string>>;

export interface ResolvedFields {
  readonly fields: readonly ResolvedField[];
  readonly views: NeededViews;
  /** The user's own views among them, which are not checked for looking ahead. */
  readonly userViews: readonly string[];
}

/** Views with one row per symbol and trading date, in the order in which a column name without a view is resolved. */
const DAILY_VIEWS = [
  "daily_status",
  "daily_valuation",
  "daily_fundamentals",
  "daily_metrics",
  "returns",
  "bars_1d",
];
/** Columns of these views that have the current value on every date. */
const OF_NOW: Readonly<Record<string, readonly string[]>> = {
  daily_fundamentals: ["name", "type", "exchange", "total_shares", "float_shares"],
};
/** Columns of bars in addition to {@link BAR_COLUMNS}. */
const OF_BARS = ["symbol", "trade_date", "timestamp", "region", "is_final"];

type Fields = NonNullable<DatasetSpec["fields"]>;
const PRICES = ["open", "high", "low", "close"] as const;
const plainly = (name: string, sql: string): Fields[number] => ({ name, sql, looksAhead: false });

/** The fields that users of a format expect. qlib adjusts volumes like prices; backtesters by symbol count shares. */
function defaultFields({ format, adjustment }: DatasetSpec): Fields {
  const isAdditive = adjustment.endsWith("additive");
  if (format === "backtrader" || format === "zipline-csvdir" || format === "lean")
    return [...PRICES, plainly("volume", "shares")];
  if (isAdditive) return [...PRICES, "volume", "amount", "vwap"];
  if (format === "qlib")
    return [...PRICES, plainly("volume", "adjusted_volume"), "amount", "vwap", "factor", "change"];
  return [...PRICES, "volume", "amount", "vwap", "factor"];
}

/**
 * @throws {UsageError} for an expression that looks ahead or is not reproducible, and for an unknown column.
 */
export async function resolveFields(session: Session, spec: DatasetSpec): Promise<ResolvedFields> {
  let columnsOf: Awaited<ReturnType<typeof readDailyViews>> | undefined;
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
    columnsOf ??= await readDailyViews(session);
    const { sql: qualified, columns } = await qualify(session, { name, sql }, columnsOf);
    const expression = { name, sql: qualified, looksAhead };
    const checked = await checkExpression(session, expression, { isIntraday: isIntraday(spec) });
    for (const [view, column] of columns) {
      const needed = views.get(view) ?? new Set();
      views.set(view, needed.add(column));
    }
    fields.push({ name, fill: fill ?? "last", source: { kind: "sql", sql: checked } });
  }
  return { fields, views, userViews: [...views.keys()].filter((view) => !DAILY_VIEWS.includes(view)) };
}

/**
 * Qualifies every column of an expression: the bars come first, then the views in their order. @returns the view
 * columns that it uses, too.
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
    `field ${field}: ${view}.${column} is the current value, and not what was known on each date`,
    {
      hint: "daily_status and daily_valuation have what was known of shares",
    },
  );
}

/** Views with a symbol and a trading date, and their other columns; barlake's own views come first. */
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

export function mentions(sql: string, column: string): boolean {
  return sqlTokens(sql).some(
    ({ kind, text }) => (kind === "word" || kind === "identifier") && plain(text) === column,
  );
}

function plain(text: string): string {
  return (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text).toLowerCase();
}
