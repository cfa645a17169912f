import type { FastifyInstance } from "fastify";
import { MemoryBudgets } from "../http/memory-budget.js";
import { type ReadQuoteBars, readQuoteBars } from "../klines/quote-bars.js";
import type { LakeReader, LakeView } from "../read/lake-reader.js";
import type { ReplayClock } from "../replay/replay-clock.js";
import { lakeReads } from "./read-lake.js";
import { ReplayedBars } from "./region-bars.js";

/** Most symbols whose bars are cached, about 20 MB. */
const MOST_SYMBOLS = 20_000;

interface RequestedQuotesOptions {
  readonly bars: ReplayedBars;
  /** Returns the instant up to which rows are visible now, in epoch milliseconds of replayed time. */
  readonly visibleNow: () => number;
}

/**
 * The bars for quotes in a replay that requests ask for, in memory and shared by all clients. The lake is queried for a
 * symbol's first request, and for the first one after the replay was set to another time.
 */
export class RequestedQuotes {
  readonly #bars: ReplayedBars;
  readonly #visibleNow: () => number;
  readonly #symbols = new Set<string>();
  #at = Number.NEGATIVE_INFINITY;
  /** The end of the read that began last. Reads run one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ bars, visibleNow }: RequestedQuotesOptions) {
    this.#bars = bars;
    this.#visibleNow = visibleNow;
  }

  read: ReadQuoteBars = (view, symbols) => {
    if (symbols.length > MOST_SYMBOLS) return readQuoteBars(view, symbols);
    const reading = this.#turn.then(() => this.#read(view, symbols));
    this.#turn = reading.catch(() => {});
    return reading;
  };

  async #read(view: LakeView, symbols: readonly string[]): ReturnType<ReadQuoteBars> {
    view.signal.throwIfAborted();
    const { visibleUntil = view.now } = view.version;
    // The replay was set to an earlier time.
    if (this.#at > this.#visibleNow()) this.clear();
    // The request arrived before the current minute began: it must not see the bars of the later minute.
    if (visibleUntil < this.#at) return readQuoteBars(view, symbols);
    for (const symbol of symbols) this.#symbols.add(symbol);
    if (this.#symbols.size > MOST_SYMBOLS) {
      this.clear();
      for (const symbol of symbols) this.#symbols.add(symbol);
    }
    this.#at = visibleUntil;
    return this.#bars.read(view, symbols);
  }

  clear(): void {
    this.#bars.clear();
    this.#symbols.clear();
    this.#at = Number.NEGATIVE_INFINITY;
  }

  /** Resolves when all reads that have begun are finished. */
  async idle(): Promise<void> {
    await this.#turn;
  }
}

/** How requests read the bars of quotes in a replay. @param onFault called with errors of reads ahead of its time. */
export function replayedQuoteBars(
  app: FastifyInstance,
  reader: LakeReader,
  clock: ReplayClock,
  onFault: (error: unknown) => void,
): ReadQuoteBars {
  const ending = new AbortController();
  // These reads have a separate budget: requests wait for them, so they must not wait for the memory of requests.
  const readLake = lakeReads(reader, new MemoryBudgets(), ending.signal);
  const visibleNow = (): number => clock.asOf().visibleUntil;
  const requested = new RequestedQuotes({ bars: new ReplayedBars(readLake, onFault), visibleNow });
  app.addHook("onClose", async () => {
    ending.abort();
    requested.clear();
    await requested.idle();
  });
  return requested.read;
}
