import { type ResultRows, visitRows } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import { messageOf, UsageError } from "../../core/errors.js";
import { dateOfEpochDay } from "../../core/time.js";
import { ident, literal } from "../../db/quote.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { IS_MEMBER } from "../expression/look-ahead.js";
import { mentions, type NeededViews, type ResolvedField } from "../expression/resolve-fields.js";
import type { Axes, AxisTables } from "../panel/axes.js";
import type { Labels } from "../panel/block.js";
import { type DatasetSpec, isIntraday } from "../spec.js";
import { BAR_COLUMNS, type BarColumn } from "./bar-columns.js";
import {
  blankUntraded,
  type CellBuffers,
  type CellSource,
  type SymbolRange,
  scatter,
  symbolsSql,
} from "./cells.js";

/**
 * Cells of any period, adjustment and expression, by SQL. If an expression has a window, which may cover all symbols of
 * a date, everything is computed once into a table that can spill to disk; else each block is queried.
 */
export async function sqlCells(
  session: Session,
  spec: DatasetSpec,
  axes: Axes,
  { fields, views }: { readonly fields: readonly ResolvedField[]; readonly views: NeededViews },
  { hasCloses, buffers }: { readonly hasCloses: boolean; readonly buffers: CellBuffers },
): Promise<CellSource> {
  const columns = [
    ...fields.map(({ source }) => (source.kind === "bar" ? `bars.${ident(source.column)}` : source.sql)),
    ...(hasCloses ? ["bars.close"] : []),
  ];
  const isAdjusted = hasCloses || fields.some(({ source }) => mayBeAdjusted(source));
  const query = cellsSql(isAdjusted ? spec : { ...spec, adjustment: "none" }, axes, views, columns);
  // An invalid expression fails here, and not only with the first symbols.
  await session.run(`DESCRIBE ${query("true")}`).catch(async (error: unknown) => {
    for (const { name, source } of fields)
      if (source.kind === "sql")
        await expectValid(session, spec, name, cellsSql(spec, axes, views, [source.sql]));
    throw error;
  });
  const isWhole = columns.some((sql) => mentions(sql, "over"));
  const whole = new TempTable(session, "panel_cells");
  if (isWhole) await whole.fill(`${query("true")} ORDER BY s`);
  const select = `CAST(s AS INTEGER) AS s, l, traded${columns.map((_, i) => `, f${i}`).join("")}`;
  const resultShape = {
    s: "int32",
    l: "int32",
    traded: "int32",
    ...Object.fromEntries(columns.map((_, i) => [`f${i}`, "double" as const])),
  } as const;
  return {
    async ask(range) {
      const { start, symbols } = range;
      const from = isWhole ? whole.name : `(${query(symbolsSql(range, literal))})`;
      const result = await session.stream(
        `SELECT ${select} FROM ${from} WHERE s >= ${start} AND s < ${start + symbols.length}`,
      );
      return async () => {
        const cells = buffers(range);
        const targets = [...cells.fields, ...(cells.closes ? [cells.closes] : [])];
        await visitRows(result, resultShape, (rows) => {
          const target = findTargets(rows, range, cells.traded);
          for (const [i, into] of targets.entries()) scatter(rows, FIRST_FIELD + i, target, into);
        });
        blankUntraded(cells, range.symbols.length);
        return cells;
      };
    },
  };

  /** Finds the cell of each row; -1 where nothing traded. */
  function findTargets(rows: ResultRows, { start, symbols }: SymbolRange, traded: Uint8Array): Int32Array {
    const [s, l, isTraded] = [0, 1, 2].map((column) => rows.values(column, "int32")) as [
      Int32Array,
      Int32Array,
      Int32Array,
    ];
    const isKnown = rows.validity(2);
    const target = new Int32Array(rows.rows).fill(-1);
    for (let row = 0; row < rows.rows; row++) {
      if (isTraded[row] === 0 || !isPresent(isKnown, row)) continue;
      const at = (s[row] as number) - start;
      const cell = at * axes.labels.count + (l[row] as number);
      if (traded[cell] === 1) throw severalRows(spec, symbols[at]?.symbol, l[row] as number, axes.labels);
      traded[cell] = 1;
      target[row] = cell;
    }
    return target;
  }
}

/** Bar columns whose values depend on the adjustment. */
const ADJUSTED = Object.entries<BarColumn>(BAR_COLUMNS).flatMap(([name, { adjusted, factor }]) =>
  factor !== "none" || adjusted !== name ? [name] : [],
);

/**
 * Whether a field may depend on the adjustment: an expression also where it names the rows of bars. To read adjusted bars takes
 * ten times as long as bars as traded.
 */
function mayBeAdjusted(source: ResolvedField["source"]): boolean {
  if (source.kind === "bar") return ADJUSTED.includes(source.column);
  return [...ADJUSTED, "bars"].some((name) => mentions(source.sql, name));
}

/** @param query the cells of one field alone. @throws {UsageError} naming the field, where its expression is not valid. */
async function expectValid(
  session: Session,
  { name }: DatasetSpec,
  field: string,
  query: (where: string) => string,
): Promise<void> {
  try {
    await session.run(`DESCRIBE ${query("true")}`);
  } catch (cause) {
    // The excerpt after the message is of a query that the user did not write.
    const [message] = messageOf(cause).split("\n\nLINE ");
    throw new UsageError(`dataset ${name}: field ${field}: ${message}`, {
      hint: "docs/datasets.md lists the columns and views that an expression can use",
      cause,
    });
  }
}

/** The first column of a result that contains a field. */
const FIRST_FIELD = 3;

function severalRows(
  { name }: DatasetSpec,
  symbol: string | undefined,
  label: number,
  labels: Labels,
): UsageError {
  const day = dateOfEpochDay(labels.days[label] as number);
  return new UsageError(`dataset ${name}: ${symbol} has several rows on ${day}`, {
    hint: "a view that a field names must have one row for each symbol and trading date",
  });
}

/** The query for the cells `s, l, traded, f0, f1, ...` of the symbols that satisfy a condition. */
function cellsSql(
  spec: DatasetSpec,
  { labels, tables }: Axes,
  views: NeededViews,
  columns: readonly string[],
): (where: string) => string {
  const end = `DATE '1970-01-01' + ${labels.days[labels.count - 1]}`;
  const label = isIntraday(spec)
    ? `${tables.times.name} AS labels ON labels.ts = cells."timestamp"`
    : `${tables.days.name} AS labels ON labels.day = cells.trade_date`;
  const joins = [...views].map(([view, needed], i) => {
    const taken = [...needed].filter((column) => column !== "symbol" && column !== "trade_date").map(ident);
    const keys = `symbol AS key_symbol_${i}, trade_date AS key_date_${i}`;
    // Within a day, a view's row of a date is known only after that date: the newest known row is of an earlier date.
    const [join, dates] = isIntraday(spec) ? ["ASOF LEFT JOIN", ">"] : ["LEFT JOIN", "="];
    return `${join} (SELECT ${[keys, ...taken].join(", ")} FROM ${ident(view)} WHERE trade_date <= ${end}) AS ${ident(view)}
      ON key_symbol_${i} = bars.symbol AND bars.trade_date ${dates} key_date_${i}`;
  });
  const isMember = columns.some((sql) => mentions(sql, IS_MEMBER))
    ? `, ${isMemberSql(tables.universe.name)} AS ${IS_MEMBER}`
    : "";
  return (
    where,
  ) => `WITH bars AS NOT MATERIALIZED (SELECT *${isMember} FROM (${barsSql(spec, tables, end, where)}) AS b)
    SELECT s, l, traded${columns.map((_, i) => `, f${i}`).join("")}
    FROM (SELECT bars.symbol AS cell_symbol, bars.trade_date, bars."timestamp", CAST(bars.shares > 0 AND bars.is_final AS INTEGER) AS traded${columns
      .map((sql, i) => `, CAST((${sql}\n) AS DOUBLE) AS f${i}`)
      .join("")}
      FROM bars ${joins.join("\n")}) AS cells
    JOIN ${label} JOIN ${tables.symbols.name} AS symbols ON symbols.symbol = cell_symbol`;
}

function isMemberSql(universe: string): string {
  return `(shares > 0 AND is_final AND EXISTS (FROM ${universe} AS u WHERE u.symbol = b.symbol
  AND b.trade_date >= coalesce(u.from_date, DATE '0001-01-01') AND b.trade_date < coalesce(u.to_date, DATE '9999-12-31')))`;
}

function barsSql(
  { period, adjustment }: DatasetSpec,
  { symbols }: AxisTables,
  end: string,
  where: string,
): string {
  const columns = Object.entries(BAR_COLUMNS).filter(([name]) => name !== "factor");
  const factor = { forward: "coalesce(1 / step, 1)", backward: "coalesce(step, 1)", none: "1.0" } as Readonly<
    Record<string, string>
  >;
  return `SELECT symbol, trade_date, "timestamp", is_final, region, factor, ${columns.map(([name, { adjusted }]) => `${adjusted} AS ${ident(name)}`).join(", ")}
    FROM (SELECT a.*, steps.value AS step, ${literal(adjustment)} AS adjustment, CAST(${factor[adjustment] ?? "NULL"} AS DOUBLE) AS factor
      FROM (FROM adjusted(${literal(period)}, ${literal(adjustment)}, as_of := ${end}) WHERE ${where} AND symbol IN (SELECT symbol FROM ${symbols.name})) AS a
      LEFT JOIN adjustment_steps(${literal(adjustment)}, as_of := ${end}) AS steps
        ON steps.symbol = a.symbol AND a.trade_date >= start_date AND a.trade_date < end_date)`;
}
