import type { MemoryBudgets } from "../http/memory-budget.js";
import type { Caller } from "../keys/key-ring.js";
import type { LakeReader, LakeView } from "../read/lake-reader.js";
import type { AsOfTime } from "../replay/as-of-time.js";

const EVERYTHING: Caller = { name: "stream" };

/** How the lake is read. */
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
