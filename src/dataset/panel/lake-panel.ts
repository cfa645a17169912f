import type { Session } from "../../db/session/session.js";
import { type CellSource, cellBuffers, type SymbolRange } from "../cells/cells.js";
import { dailyCells, dailyColumns } from "../cells/daily-cells.js";
import { fillGaps } from "../cells/fill-gaps.js";
import { askStatus, isStatusMask } from "../cells/mask-cells.js";
import { sqlCells } from "../cells/sql-cells.js";
import { type ResolvedFields, resolveFields } from "../expression/resolve-fields.js";
import type { DatasetSpec } from "../spec.js";
import { type Axes, createAxes } from "./axes.js";
import type { Block, PanelShape } from "./block.js";
import { readKnownDays } from "./known-days.js";
import { markMembers } from "./membership.js";

/** Memory that the cells of a block may take. Block sizes depend only on it, so that files are the same everywhere. */
const BLOCK_BYTES = 48 * 2 ** 20;

/** Rows that DuckDB computes ahead of their reader, in megabytes: enough for its threads not to wait. */
const STREAM_MB = 32;

/** A dataset's cells, read from the lake. */
export interface LakePanel extends PanelShape {
  readonly spec: DatasetSpec;
  readonly axes: Axes;
  readonly resolved: ResolvedFields;
  /** Symbols of a block; the last block may have fewer. */
  readonly symbolsAtATime: number;
  /** All cells, block by block. A block is valid until the next one is requested: blocks share their memory. */
  blocks(): AsyncGenerator<Block, void, undefined>;
  /** The cells of a few symbols from the middle of the dataset. */
  sample(symbols: number): Promise<Block>;
}

/**
 * Determines the axes and columns of a dataset; its cells are read on demand.
 *
 * @param session has the lake's views; it gets temporary tables, and must not be used for anything else.
 * @throws {UsageError} for a spec that the lake cannot fulfil, and {@link QueryError} for an expression that fails.
 */
export async function openPanel(session: Session, spec: DatasetSpec): Promise<LakePanel> {
  await session.run(`SET streaming_buffer_size = '${STREAM_MB}MB'`);
  const resolved = await resolveFields(session, spec);
  const axes = await createAxes(session, spec);
  const shape: PanelShape = {
    labels: axes.labels,
    symbols: axes.symbols,
    fields: resolved.fields,
    masks: spec.masks,
  };
  const hasCloses = spec.fill !== "none" && resolved.fields.some(({ fill }) => fill === "close");
  const bytes =
    axes.labels.count * (8 * (resolved.fields.length + Number(hasCloses)) + spec.masks.length + 1);
  const symbolsAtATime = Math.max(1, Math.min(axes.symbols.length, Math.floor(BLOCK_BYTES / bytes)));
  const buffers = cellBuffers(shape, symbolsAtATime, hasCloses);
  const daily = dailyColumns(spec, resolved.fields);
  const source =
    daily === undefined
      ? await sqlCells(session, spec, axes, resolved, { hasCloses, buffers })
      : dailyCells(session, axes, daily, {
          adjustment: spec.adjustment,
          buffers,
          isSparse: !isAll(spec),
          knownDays: await readKnownDays(session),
        });
  return {
    ...shape,
    spec,
    axes,
    resolved,
    symbolsAtATime,
    async sample(symbols) {
      const start = Math.max(0, (axes.symbols.length - symbols) >> 1);
      const few = axes.symbols.slice(start, start + Math.min(symbols, symbolsAtATime));
      return (await askBlock(session, spec, { shape, axes, source }, { start, symbols: few }))();
    },
    blocks: () =>
      oneAhead(rangesOf(shape, symbolsAtATime), (range) =>
        askBlock(session, spec, { shape, axes, source }, range),
      ),
  };
}

function* rangesOf({ symbols }: PanelShape, atATime: number): Generator<SymbolRange> {
  for (let start = 0; start < symbols.length; start += atATime)
    yield { start, symbols: symbols.slice(start, start + atATime) };
}

/** Queries each item, and makes its result, in order. The next item is queried while the result of the previous one is used. */
async function* oneAhead<T, R>(
  items: Iterable<T>,
  ask: (item: T) => Promise<() => Promise<R>>,
): AsyncGenerator<R, void, undefined> {
  const next = items[Symbol.iterator]();
  const askNext = (): Promise<() => Promise<R>> | undefined => {
    const { done, value } = next.next();
    if (done === true) return undefined;
    const asked = ask(value);
    asked.catch(() => {});
    return asked;
  };
  let asked = askNext();
  try {
    while (asked !== undefined) {
      const made = await (await asked)();
      asked = askNext();
      yield made;
    }
  } finally {
    await asked?.catch(() => {});
  }
}

async function askBlock(
  session: Session,
  spec: DatasetSpec,
  { shape, axes, source }: { readonly shape: PanelShape; readonly axes: Axes; readonly source: CellSource },
  range: SymbolRange,
): Promise<() => Promise<Block>> {
  const markStatus = spec.masks.some(isStatusMask) ? await askStatus(session, spec, axes, range) : undefined;
  const hasMembers = spec.masks.includes("in_universe");
  const before = hasMembers ? await barsBefore(session, spec, axes, range) : undefined;
  // The last statement: another one would end its result.
  const makeCells = await source.ask(range);
  return async () => {
    const { fields, traded, closes } = await makeCells();
    const spans = spansOf(traded, range.symbols.length, shape.labels.count);
    const block: Block = {
      start: range.start,
      symbols: range.symbols,
      width: shape.labels.count,
      fields,
      masks: shape.masks.map(() => new Uint8Array(traded.length)),
      traded,
      ...spans,
    };
    if (spec.fill !== "none") fillGaps(block, shape.fields, closes, spec.fill.limit);
    for (const [i, mask] of spec.masks.entries()) {
      const cells = block.masks[i] as Uint8Array;
      if (isStatusMask(mask)) markStatus?.(mask, cells);
      else if (before) markMembers(block, shape.labels, { minHistory: spec.minHistory, before }, cells);
    }
    return block;
  };
}

/** Number of bars with trades of each symbol before the first label. */
async function barsBefore(
  session: Session,
  { minHistory, period }: DatasetSpec,
  { tables }: Axes,
  { start, symbols }: SymbolRange,
): Promise<Float64Array> {
  const counts = new Float64Array(symbols.length);
  if (minHistory === 0) return counts;
  const rows = await session.json<{ s: number; bars: number }>(
    `SELECT s, CAST(count(*) AS DOUBLE) AS bars FROM bars('${period}')
     JOIN ${tables.symbols.name} USING (symbol)
     WHERE s >= ${start} AND s < ${start + symbols.length} AND shares > 0 AND trade_date < (SELECT min(day) FROM ${tables.days.name}) GROUP BY s`,
  );
  for (const { s, bars } of rows) counts[s - start] = bars;
  return counts;
}

/** First and last label of each symbol with trades. */
function spansOf(traded: Uint8Array, symbols: number, width: number): Pick<Block, "first" | "last"> {
  const first = new Int32Array(symbols);
  const last = new Int32Array(symbols);
  for (let s = 0; s < symbols; s++) {
    const row = traded.subarray(s * width, (s + 1) * width);
    first[s] = row.indexOf(1);
    last[s] = row.lastIndexOf(1);
  }
  return { first, last };
}

/** Whether a dataset has every symbol of a region. */
function isAll({ universe }: DatasetSpec): boolean {
  return typeof universe === "object" && "region" in universe && universe.types === undefined;
}
