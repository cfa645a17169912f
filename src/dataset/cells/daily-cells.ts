import { type FixedType, type ResultRows, visitRows } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import { LakeError } from "../../core/errors.js";
import { literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { ExRuleOf } from "../../market/ex-rule.js";
import { REGIONS } from "../../market/regions.js";
import type { ResolvedField } from "../expression/resolve-fields.js";
import type { Axes } from "../panel/axes.js";
import type { FieldCells } from "../panel/block.js";
import type { DatasetSpec } from "../spec.js";
import { firstFactors } from "./adjust-days.js";
import { BAR_COLUMNS, type BarColumn, type BarColumnName } from "./bar-columns.js";
import {
  blankUntraded,
  type CellBuffers,
  type CellSource,
  type Cells,
  factorsBefore,
  type SymbolRange,
  symbolIndexes,
  symbolsSql,
} from "./cells.js";
import {
  CLOSE,
  DAY,
  factorHistory,
  KEY_SHAPE,
  KEYS_SQL,
  PREV_CLOSE,
  SYMBOL,
  takeFactors,
  VECTOR_ROWS,
} from "./factor-history.js";

/**
 * The rows of a vector that have a cell, as runs: consecutive rows of one symbol, with one factor, whose cells are
 * consecutive. Nearly all rows of a lake are in long runs.
 */
interface CellRuns {
  /** Number of runs; the arrays may be longer. */
  count: number;
  /** The first row of each run, and the row after its last one. */
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** The cell of its first row. */
  readonly cell: Int32Array;
  /** The index of its symbol in the range. */
  readonly symbol: Int32Array;
  readonly factor: Float64Array;
}

export function newCellRuns(): CellRuns {
  const integers = (): Int32Array => new Int32Array(VECTOR_ROWS);
  const [start, end, cell, symbol] = [integers(), integers(), integers(), integers()];
  return { count: 0, start, end, cell, symbol, factor: new Float64Array(VECTOR_ROWS) };
}

interface CellPlaces {
  /** The label of each day from `firstDay` to the last label's; negative where it is no session. */
  readonly labelOfDay: Int32Array;
  readonly firstDay: number;
  /** The first label that has cells, and the number of those that have. */
  readonly since: number;
  readonly width: number;
}

/**
 * Finds the cells of rows, and marks them as traded; rows of no symbol of the range, without trades, or of a date that
 * is no session of the labels have none. @param of the index of each row's symbol in the range, negative where it is
 * not in it; and its factor. @param marks receives 1 for each cell that has a row.
 */
export function findRuns(
  rows: ResultRows,
  traded: number,
  { symbols, factors }: { readonly symbols: Int32Array; readonly factors: Float64Array },
  { labelOfDay, firstDay, since, width }: CellPlaces,
  runs: CellRuns,
  marks: Uint8Array,
): void {
  const day = rows.values(DAY, "date");
  const isTraded = rows.values(traded, "boolean");
  const isKnown = rows.validity(traded);
  const { start, end, cell, symbol, factor } = runs;
  let count = 0;
  // What the next row must be to belong to the open run.
  let [nextRow, nextCell, own, times] = [-1, -1, -1, 0];
  for (let row = 0; row < rows.rows; row++) {
    const s = symbols[row] as number;
    if (s < 0 || isTraded[row] !== 1 || !isPresent(isKnown, row)) continue;
    const label = labelOfDay[(day[row] as number) - firstDay];
    if (label === undefined || label < since) continue;
    const at = s * width + label - since;
    const by = factors[row] as number;
    marks[at] = 1;
    if (row !== nextRow || at !== nextCell || s !== own || by !== times) {
      if (count > 0) end[count - 1] = nextRow;
      start[count] = row;
      cell[count] = at;
      symbol[count] = s;
      factor[count] = by;
      count += 1;
      own = s;
      times = by;
    }
    nextRow = row + 1;
    nextCell = at + 1;
  }
  if (count > 0) end[count - 1] = nextRow;
  runs.count = count;
}

type OfVolume = "volume" | "shares" | "vwap";

/** Fields that follow from the volume, and what each is before it is adjusted. */
const OF_VOLUME: Partial<Readonly<Record<BarColumnName, OfVolume>>> = {
  volume: "volume",
  shares: "shares",
  adjusted_volume: "shares",
  vwap: "vwap",
};

/** The columns of a result that volumes are computed of: an int64, an int32, and a double. */
interface VolumeColumns {
  readonly volume: number;
  readonly lot: number;
  readonly amount: number;
}

/**
 * The volumes of rows in the unit of their region that fit into 64 bits in lots and shares, as nearly all do: the
 * values of the SQL of the columns, whose cases take DuckDB as long as a third of the scan. NaN for a missing one.
 * @returns false where a row is another one: the values are then invalid.
 */
function plainVolumes(
  rows: ResultRows,
  columns: VolumeColumns,
  runs: CellRuns,
  lots: Int32Array,
  { volume, shares, vwap }: Readonly<Record<OfVolume, Float64Array>>,
): boolean {
  const { buffer, byteOffset } = rows.values(columns.volume, "int64");
  const words = new Uint32Array(buffer, byteOffset, rows.rows * 2);
  const rowLots = rows.values(columns.lot, "int32");
  const hasLot = rows.validity(columns.lot);
  const amounts = rows.values(columns.amount, "double");
  const hasAmount = rows.validity(columns.amount);
  for (let run = 0; run < runs.count; run++) {
    const lot = lots[runs.symbol[run] as number] as number;
    const end = runs.end[run] as number;
    for (let row = runs.start[run] as number; row < end; row++) {
      if (words[row * 2 + 1] !== 0 || rowLots[row] !== lot || !isPresent(hasLot, row)) return false;
      const inShares = (words[row * 2] as number) * lot;
      const amount = isPresent(hasAmount, row) ? (amounts[row] as number) : Number.NaN;
      volume[row] = words[row * 2] as number;
      shares[row] = inShares;
      vwap[row] = amount > 0 ? amount / inShares : Number.NaN;
    }
  }
  return true;
}

/** The values of some rows, and whether each is present: all are where there is no bitmap. */
interface RowValues {
  readonly values: Float64Array;
  readonly validity: Uint8Array | undefined;
}

/** Writes some rows' values to their cells, adjusted by the factor of their run: NaN for a missing one. */
export function scatterAdjusted(
  { values, validity }: RowValues,
  kind: BarColumn["factor"],
  runs: CellRuns,
  cells: FieldCells,
): void {
  for (let run = 0; run < runs.count; run++) {
    const start = runs.start[run] as number;
    const end = runs.end[run] as number;
    const factor = runs.factor[run] as number;
    let cell = runs.cell[run] as number;
    // A loop for each kind takes half the time of one that decides for each row.
    if (validity !== undefined) {
      for (let row = start; row < end; row++, cell++) {
        const value = isPresent(validity, row) ? (values[row] as number) : Number.NaN;
        cells[cell] = kind === "none" ? value : kind === "times" ? value * factor : value / factor;
      }
    } else if (kind === "times") {
      for (let row = start; row < end; row++, cell++) cells[cell] = (values[row] as number) * factor;
    } else if (kind === "none") {
      for (let row = start; row < end; row++, cell++) cells[cell] = values[row] as number;
    } else {
      for (let row = start; row < end; row++, cell++) cells[cell] = (values[row] as number) / factor;
    }
  }
}

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
 * Cells of daily bars, unadjusted or adjusted backward: as {@link sqlCells}, in a fraction of the time, as rows are
 * read as traded and adjusted here.
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

  /** There is no join: it returns rows in any order, whereas a scan returns them in the order of the files. */
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
    const { since } = range;
    const places = { labelOfDay, firstDay, since, width: labels.count - since };
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
    blankUntraded(cells, range.symbols.length);
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

interface WindowColumns {
  readonly shape: Readonly<Record<string, FixedType | "text">>;
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
