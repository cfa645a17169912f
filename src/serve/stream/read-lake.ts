import { type ResultColumns, readColumns } from "../../arrow/scan/result-columns.js";
import type { TimeRange } from "../../core/time.js";
import { exactSharesSql, statedPriceSql } from "../../db/market/bar-sql.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { BARS_1M } from "../../schema/bars.js";
import type { MemoryBudgets } from "../http/memory-budget.js";
import type { Caller } from "../keys/key-ring.js";
import { demandsOf, requestedSql } from "../klines/requested-bars.js";
import type { LakeReader, LakeView } from "../read/lake-reader.js";
import type { AsOfTime } from "../replay/replay-clock.js";

const EVERYTHING: Caller = { name: "stream" };

interface ReadLakeOptions {
  /** @default a caller that may see everything */
  readonly caller?: Caller;
  /** @default now */
  readonly asOf?: AsOfTime;
  /** Ends this read. The signal that ends all reads ends it, too. */
  readonly signal?: AbortSignal;
}

/** Reads the lake at one instant, within the memory budget of all responses. */
export type ReadLake = <T>(read: (view: LakeView) => Promise<T>, options?: ReadLakeOptions) => Promise<T>;

/** @param ending ends every read. */
export function lakeReads(reader: LakeReader, budgets: MemoryBudgets, ending: AbortSignal): ReadLake {
  return async (read, { caller = EVERYTHING, asOf, signal: own } = {}) => {
    const signal = own === undefined ? ending : AbortSignal.any([ending, own]);
    let permit: Disposable | undefined;
    const reading = {
      caller,
      signal,
      acquireMemory: async (rows: number) => {
        permit ??= await budgets.take(rows, signal);
      },
    };
    try {
      return await read(asOf === undefined ? reader.current(reading) : reader.at(asOf, reading));
    } finally {
      permit?.[Symbol.dispose]();
    }
  };
}

const SHAPE = {
  position: "int32",
  timestamp: "double",
  open: "double",
  high: "double",
  low: "double",
  close: "double",
  shares: "double",
  amount: "double",
  prev_close: "double",
} as const;

/** In the order of time. `position` is the index of the symbol in the list; timestamps are epoch milliseconds. */
export type Minutes = ResultColumns<typeof SHAPE>;

/** Reads the minutes of some symbols in a time range. All of it must be visible in the view. */
export async function readMinutes(
  view: LakeView,
  symbols: readonly string[],
  range: TimeRange,
): Promise<Minutes> {
  const snapshot = await view.version.snapshot(BARS_1M);
  const { files, requested } = demandsOf(snapshot, symbols, { rangeOf: () => range });
  return view.version.query(async (session) => {
    const relation = await view.version.relation(session, snapshot, files);
    const parameters = { requested: jsonParameter(requested), start: range.start, end: range.end };
    return readColumns(await session.run(minutesSql(relation), parameters), SHAPE);
  });
}

function minutesSql(relation: string): string {
  const stated = ["open", "high", "low"].map((name) => `${statedPriceSql(name, "close")} AS ${name}`);
  const instant = (parameter: string): string => `make_timestamptz(CAST(${parameter} AS BIGINT) * 1000)`;
  return `WITH ${requestedSql("$requested")}
    SELECT position, CAST(epoch_ms("timestamp") AS DOUBLE) AS "timestamp", ${stated.join(", ")}, close,
      coalesce(CAST(${exactSharesSql("volume", "lot")} AS DOUBLE), 0) AS shares, amount, prev_close
    FROM (${relation}) AS bars JOIN requested USING (symbol)
    WHERE bars."timestamp" >= ${instant("$start")} AND bars."timestamp" < ${instant("$end")}
    ORDER BY bars."timestamp"`;
}
