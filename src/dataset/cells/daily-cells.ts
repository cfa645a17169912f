import { type FixedType, visitRows } from "../../arrow/scan/result-columns.js";
import { LakeError } from "../../core/errors.js";
import { literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { ExRuleOf } from "../../market/adjustment/ex-rule.js";
import { REGIONS } from "../../market/regions.js";
import type { ResolvedField } from "../expression/resolve-fields.js";
import type { Axes } from "../panel/axes.js";
import type { FieldCells } from "../panel/block.js";
import type { DatasetSpec } from "../spec.js";
import { firstFactors } from "./adjust-days.js";
import { BAR_COLUMNS, type BarColumnName } from "./bar-columns.js";
import { findRuns, newCellRuns } from "./cell-runs.js";
import {
  blankUntraded,
  type CellBuffers,
  type CellSource,
  type Cells,
  type SymbolRange,
  symbolsSql,
} from "./cells.js";
import {
  CLOSE,
  factorHistory,
  KEY_SHAPE,
  KEYS_SQL,
  PREV_CLOSE,
  SYMBOL,
  takeFactors,
  VECTOR_ROWS,
} from "./factor-history.js";
import { OF_VOLUME, type OfVolume, plainVolumes, type VolumeColumns } from "./plain-volumes.js";
import { scatterAdjusted } from "./scatter-adjusted.js";
import { factorsBefore } from "./symbol-history.js";
import { symbolIndexes } from "./symbol-indexes.js";

/** The bar columns of a dataset's fields; undefined where {@link dailyCells} does not support all of them. */
export function dailyColumns(
  { period, adjustment }: DatasetSpec,
  fields: readonly ResolvedField[],
): BarColumnName[] | undefined {
  const isPlain = adjustment === "none" || adjustment === "backward";
  const names = fields.flatMap(({ source }) => (source.kind === "bar" ? [source.column] : []));
  return period === "1d" && isPlain && names.length === fields.length ? names : undefined;
}

const TRADED = 4;

/**
 * Cells of daily bars, unadjusted or adjusted backward: rows are read as traded, and adjusted here. They are identical
 * to those of {@link sqlCells}, in a fraction of the time.
 */
export function dailyCells(
  axes: Axes,
  names: readonly BarColumnName[],
  {
    adjustment,
    buffers,
    isSparse,
    ruleOf,
  }: {
    readonly adjustment: string;
    readonly buffers: CellBuffers;
    readonly ruleOf: ExRuleOf;
    /** Whether many symbols of the lake are not in the dataset. */
    readonly isSparse: boolean;
  },
): CellSource {
  const { labels, tables } = axes;
  const firstDay = labels.days[0] as number;
  const lastDay = labels.days[labels.count - 1] as number;
  const labelOfDay = new Int32Array(lastDay - firstDay + 1).fill(-1);
  for (let label = 0; label < labels.count; label++)
    labelOfDay[(labels.days[label] as number) - firstDay] = label;
  const places = { labelOfDay, firstDay, labels: labels.count };
  const runs = newCellRuns();
  const isAdjusted = adjustment === "backward";
  const factors = new Float64Array(VECTOR_ROWS).fill(1);
  /** The index of each row's symbol in the range. */
  const symbols = new Int32Array(VECTOR_ROWS);
  const history = factorHistory(
    axes.symbols,
    ruleOf,
    (range) => `SELECT ${KEYS_SQL} ${rowsSql(range, `trade_date < ${sinceSql(range)}`)}`,
  );
  const vector = (): Float64Array => new Float64Array(VECTOR_ROWS);
  const computed = { volume: vector(), shares: vector(), vwap: vector(), one: vector().fill(1) };
  /** A type whose values are the symbols; a session gets it with its first query. */
  const symbolType = `${tables.symbols.name}_enum`;
  const prepared = new WeakSet<Session>();
  /** Whether rows must be sorted, because the order of the files is not sufficient. */
  let mustOrder = false;
  /** Whether volumes are computed here; otherwise by DuckDB. */
  let isPlain = names.some((name) => OF_VOLUME[name] !== undefined);

  return {
    async ask(range, session) {
      await prepare(session);
      let asked = await query(range, session);
      return async () => {
        for (;;) {
          const cells = await read(range, asked);
          if (cells === "other volumes") isPlain = false;
          else if (cells !== "not in order") return cells;
          else if (asked.isSorted)
            throw new LakeError("table bars_1d: a symbol has two bars on one date", {
              hint: 'barlake sql "from quality_duplicates" finds them',
            });
          else mustOrder = true;
          asked = await query(range, session);
        }
      };
    },
  };

  async function prepare(session: Session): Promise<void> {
    if (!isSparse || prepared.has(session)) return;
    const texts = literalList(axes.symbols.map(({ symbol }) => symbol));
    await session.run(`CREATE TEMP TYPE ${symbolType} AS ENUM (SELECT unnest(${texts}))`);
    prepared.add(session);
  }

  /**
   * The rows of a range. There is no join: it returns rows in any order, whereas a scan returns them in the order of
   * the files.
   */
  function rowsSql(range: SymbolRange, where: string): string {
    return `FROM (
        FROM raw.bars_1d WHERE ${symbolsSql(range, literal)} AND ${where}
          ${isSparse ? `AND TRY_CAST(symbol AS ${symbolType}) IS NOT NULL` : ""})
      ${mustOrder ? "ORDER BY symbol, trade_date" : ""}`;
  }

  function sinceSql({ since }: SymbolRange): string {
    return dateSql(labels.days[since] as number);
  }

  async function query(range: SymbolRange, session: Session) {
    const isSorted = mustOrder;
    const columns = windowColumns(names, isPlain);
    const window = `SELECT ${KEYS_SQL}, (is_final AND volume > 0) AS traded${columns.sql}
      ${rowsSql(range, `trade_date BETWEEN ${sinceSql(range)} AND ${dateSql(lastDay)}`)}`;
    const state = isAdjusted ? await factorsOfRange(session, range, isSorted) : firstFactors([]);
    return { state, columns, isSorted, window: await session.stream(window) };
  }

  async function factorsOfRange(session: Session, range: SymbolRange, isSorted: boolean) {
    const { known, start, since } = range;
    if (known === undefined) return history(session, range, isSorted);
    return factorsBefore(known, start, start + range.symbols.length, labels.days[since] as number);
  }

  /** @returns what is wrong where the rows' days do not ascend, or volumes are not those that are computed here. */
  async function read(
    range: SymbolRange,
    { state, window, columns: { shape, sources, volume } }: Awaited<ReturnType<typeof query>>,
  ): Promise<Cells | "not in order" | "other volumes"> {
    if (state === undefined) return "not in order";
    const indexesOf = symbolIndexes(range);
    const cells = buffers(range);
    const lots = Int32Array.from(range.symbols, ({ region }) => REGIONS[region].lot);
    let fault: "not in order" | "other volumes" | undefined;
    await visitRows(window, shape, (rows) => {
      if (fault !== undefined) return;
      indexesOf(rows.texts(SYMBOL), symbols);
      if (isAdjusted && !takeFactors(rows, symbols, state, factors)) fault = "not in order";
      if (fault !== undefined) return;
      findRuns(rows, TRADED, { symbols, factors }, places, runs, cells.traded);
      if (volume !== undefined && !plainVolumes(rows, volume, runs, lots, computed)) fault = "other volumes";
      if (fault !== undefined) return;
      const place = (source: Source, name: BarColumnName, into: FieldCells): void => {
        const isColumn = typeof source === "number";
        const values = isColumn ? rows.values(source, "double") : computed[source];
        const validity = isColumn ? rows.validity(source) : undefined;
        const kind = isAdjusted ? BAR_COLUMNS[name].factor : "none";
        scatterAdjusted({ values, validity }, kind, runs, into);
      };
      for (const [i, source] of sources.entries())
        place(source, names[i] as BarColumnName, cells.fields[i] as FieldCells);
      if (cells.closes) place(CLOSE, "close", cells.closes);
    });
    if (fault !== undefined) return fault;
    blankUntraded(cells, range);
    return { ...cells, factors: isAdjusted ? state : undefined };
  }
}

/** Where the values of a field are: a column of the result, or an array that is computed here. */
type Source = number | OfVolume | "one";

/** Fields that are key columns already, or computed here: the factor is 1, adjusted. */
const KEY_COLUMNS: Partial<Readonly<Record<BarColumnName, Source>>> = {
  close: CLOSE,
  prev_close: PREV_CLOSE,
  factor: "one",
};

/** The columns of the window's result. */
interface WindowColumns {
  readonly shape: Readonly<Record<string, FixedType | "text">>;
  /** SQL of the columns after the keys. */
  readonly sql: string;
  /** Of each field. */
  readonly sources: readonly Source[];
  /** The columns that volumes are computed of; undefined where DuckDB computes them. */
  readonly volume: VolumeColumns | undefined;
}

/** @param isPlain whether volumes are computed here. */
function windowColumns(names: readonly BarColumnName[], isPlain: boolean): WindowColumns {
  const shape: Record<string, FixedType | "text"> = { ...KEY_SHAPE, traded: "boolean" };
  let sql = "";
  const add = (name: string, expression: string, type: FixedType): number => {
    sql += `, ${expression} AS ${name}`;
    shape[name] = type;
    return Object.keys(shape).length - 1;
  };
  const volume = isPlain
    ? {
        volume: add("volume", "volume", "int64"),
        lot: add("lot", "lot", "int32"),
        amount: add("amount", "amount", "double"),
      }
    : undefined;
  const sources = names.map((name, i): Source => {
    if (volume !== undefined && name === "amount") return volume.amount;
    const computed = volume && OF_VOLUME[name];
    return (
      computed ?? KEY_COLUMNS[name] ?? add(`f${i}`, `CAST(${BAR_COLUMNS[name].raw} AS DOUBLE)`, "double")
    );
  });
  return { shape, sql, sources, volume };
}

function dateSql(day: number): string {
  return `DATE '1970-01-01' + ${day}`;
}
