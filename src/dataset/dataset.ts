import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecordBatch } from "apache-arrow";
import { isSet } from "../core/bits.js";
import { dateOfEpochDay, type TradingDate } from "../core/time.js";
import type { Session } from "../db/session/session.js";
import type { Lake, PointInTime } from "../lake/lake.js";
import { openReader } from "../lake/open-reader.js";
import { type Coverage, coverageOf } from "./panel/coverage.js";
import { type LakePanel, openPanel } from "./panel/lake-panel.js";
import { PanelSpool, panelBatches } from "./panel/panel-batches.js";
import { warningsOf } from "./panel/panel-warnings.js";
import { type DatasetDefinition, defineDataset, isIntraday } from "./spec.js";
import { verifySources } from "./store/lake-changes.js";

/** Rows of one date, or of one end of bars: `start` inclusive, `end` exclusive. */
export interface RowStretch {
  readonly date: TradingDate;
  /** End of the bars, epoch milliseconds; undefined where labels are dates. */
  readonly time: number | undefined;
  readonly start: number;
  readonly end: number;
}

/** A batch of rows as typed arrays, one value per row. */
export interface BatchRows {
  readonly rows: number;
  /** The rows of each date, or time, in order of time. All rows of a date or time are in one batch. */
  readonly labels: readonly RowStretch[];
  /** The dataset's symbols. `symbol` is the index of each row's symbol among them. */
  readonly symbols: readonly string[];
  readonly symbol: Int32Array;
  /** NaN where there is no value. */
  readonly fields: Readonly<Record<string, Float64Array>>;
  /** 0 or 1. */
  readonly masks: Readonly<Record<string, Uint8Array>>;
}

const KEYS = 3;

/** The typed arrays of a batch of {@link panelBatches}. Fields are views of the batch; masks are unpacked from bits. */
export function batchRows(
  batch: RecordBatch,
  {
    symbols,
    fields,
    isIntraday: hasTimes,
  }: { readonly symbols: readonly string[]; readonly fields: number; readonly isIntraday: boolean },
): BatchRows {
  const rows = batch.numRows;
  const names = batch.schema.fields.map(({ name }) => name);
  /** A column's buffer: each column of a batch is one chunk. */
  const own = (index: number): unknown => batch.getChildAt(index)?.data[0]?.values;
  const times = hasTimes ? (own(2) as BigInt64Array) : undefined;
  const masks = names.slice(KEYS + fields).map((name, i) => {
    const bits = own(KEYS + fields + i) as Uint8Array;
    return [name, Uint8Array.from({ length: rows }, (_, row) => Number(isSet(bits, row)))];
  });
  return {
    rows,
    labels: stretchesOf(own(1) as Int32Array, times, rows),
    symbols,
    symbol: own(0) as Int32Array,
    fields: Object.fromEntries(
      names.slice(KEYS, KEYS + fields).map((name, i) => [name, own(KEYS + i) as Float64Array]),
    ),
    masks: Object.fromEntries(masks) as Record<string, Uint8Array>,
  };
}

function stretchesOf(days: Int32Array, times: BigInt64Array | undefined, rows: number): RowStretch[] {
  const found: RowStretch[] = [];
  let start = 0;
  for (let row = 1; row <= rows; row++) {
    if (row < rows && days[row] === days[start] && times?.[row] === times?.[start]) continue;
    const time = times === undefined ? undefined : Number(times[start]);
    found.push({ date: dateOfEpochDay(days[start] as number), time, start, end: row });
    start = row;
  }
  return found;
}

/** A dataset's cells as typed arrays: cell `symbol * labels + label` of a column. */
export interface DatasetColumns {
  readonly symbols: readonly string[];
  /** The trading date of each label; a field has `symbols.length * dates.length` values, symbol by symbol. */
  readonly dates: readonly TradingDate[];
  /** Ends of the bars, epoch milliseconds; undefined where labels are dates. */
  readonly times: Float64Array | undefined;
  /** NaN where there is no value. */
  readonly fields: Readonly<Record<string, Float64Array>>;
  /** 0 or 1. */
  readonly masks: Readonly<Record<string, Uint8Array>>;
}

/** Read in this process. */
export class Dataset implements Disposable {
  readonly #session: Session;
  readonly #panel: LakePanel;
  /** In order; the index of a symbol identifies it in rows and cells. */
  readonly symbols: readonly string[];
  /** Trading date of each label, ascending. */
  readonly dates: readonly TradingDate[];
  /** What users should know before they trust the dataset. */
  readonly warnings: readonly string[];
  /** How many of its members the lake has bars of, on each date; undefined for a universe without dates of membership. */
  readonly coverage: Coverage | undefined;

  constructor(
    session: Session,
    panel: LakePanel,
    facts: { readonly warnings: readonly string[]; readonly coverage: Coverage | undefined },
  ) {
    this.#session = session;
    this.#panel = panel;
    this.warnings = facts.warnings;
    this.coverage = facts.coverage;
    this.symbols = panel.symbols.map(({ symbol }) => symbol);
    this.dates = Array.from(panel.labels.days, (day) => dateOfEpochDay(day));
  }

  async columns(): Promise<DatasetColumns> {
    const { symbols, labels, fields, masks } = this.#panel;
    const cells = symbols.length * labels.count;
    const values = fields.map(() => new Float64Array(cells));
    const marks = masks.map(() => new Uint8Array(cells));
    for await (const block of this.#panel.blocks()) {
      for (const [f, from] of block.fields.entries()) values[f]?.set(from, block.start * labels.count);
      for (const [m, from] of block.masks.entries()) marks[m]?.set(from, block.start * labels.count);
    }
    return {
      symbols: this.symbols,
      dates: this.dates,
      times: labels.times,
      fields: Object.fromEntries(fields.map(({ name }, f) => [name, values[f] as Float64Array])),
      masks: Object.fromEntries(masks.map((name, m) => [name, marks[m] as Uint8Array])),
    };
  }

  /**
   * All rows of all symbols in order of time, as record batches with the columns of {@link panelBatches}: the feed of
   * an event-driven backtest. A few batches are in memory at a time.
   */
  async *batches(): AsyncGenerator<RecordBatch, void, undefined> {
    const scratch = mkdtempSync(join(tmpdir(), "barlake-dataset-"));
    const spool = new PanelSpool(scratch, this.#panel);
    try {
      for await (const block of this.#panel.blocks()) spool.write(block);
      yield* panelBatches(spool, this.#panel);
    } finally {
      spool.close();
      rmSync(scratch, { recursive: true, force: true });
    }
  }

  /** The typed arrays of one of {@link batches}, with the rows of each date: for users without Arrow. */
  rowsOf(batch: RecordBatch): BatchRows {
    const { fields, spec } = this.#panel;
    return batchRows(batch, {
      symbols: this.symbols,
      fields: fields.length,
      isIntraday: isIntraday(spec),
    });
  }

  close(): void {
    this.#session.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Opens a dataset of a lake for reading in this process; `format` and `output` are ignored. The lake's files are
 * compared with the hashes in their names, each once per process, unless `verify` is false. @throws {LakeError} for a
 * file of the lake that is missing or damaged. @throws {UsageError} for a definition that the lake cannot fulfil.
 */
export async function dataset(
  lake: Lake,
  definition: DatasetDefinition,
  { pointInTime = {}, verify = true }: { readonly pointInTime?: PointInTime; readonly verify?: boolean } = {},
): Promise<Dataset> {
  const spec = defineDataset(definition);
  const { session, snapshots } = await openReader(lake, { memoryLimit: "1GB", verify: false }, pointInTime);
  try {
    if (verify) await verifySources(lake, snapshots, spec);
    const panel = await openPanel(session, spec);
    const coverage = await coverageOf(session, panel);
    const { texts } = await warningsOf(session, panel, { coverage });
    return new Dataset(session, panel, { coverage, warnings: texts });
  } catch (error) {
    session.close();
    throw error;
  }
}
