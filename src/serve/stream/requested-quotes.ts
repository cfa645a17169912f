import type { FastifyInstance } from "fastify";
import { MemoryBudgets } from "../http/memory-budget.js";
import { type ReadQuoteBars, readQuoteBars } from "../klines/quote-bars.js";
import type { LakeReader, LakeView } from "../read/lake-reader.js";
import type { ReplayClock } from "../replay/replay-clock.js";
import { lakeReads } from "./read-lake.js";
import { ReplayedBars } from "./replayed-bars.js";

/** Symbols whose bars are cached: some 20 MB. */
const MOST_SYMBOLS = 20_000;

/** What {@link RequestedQuotes} work with. */
interface RequestedQuotesOptions {
  readonly bars: ReplayedBars;
  /** The replayed time of what is visible now. */
  readonly visibleNow: () => number;
}

/**
 * The bars of quotes in a replay, for requests: in memory as those of the stream, and shared by all clients. A
 * symbol's first request, and the first after the replay was set to another time, query the lake.
 */
export class RequestedQuotes {
  readonly #bars: ReplayedBars;
  readonly #visibleNow: () => number;
  readonly #symbols = new Set<string>();
  /** The as-of time of the bars. */
  #at = Number.NEGATIVE_INFINITY;
  /** The end of the read that was begun last: one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ bars, visibleNow }: RequestedQuotesOptions) {
    this.#bars = bars;
    this.#visibleNow = visibleNow;
  }

  /** The bars of symbols at the as-of time of a view. */
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
    // A request that arrived before the last minute passed: the bars of the later minute are not its own.
    if (visibleUntil < this.#at) return readQuoteBars(view, symbols);
    for (const symbol of symbols) this.#symbols.add(symbol);
    if (this.#symbols.size > MOST_SYMBOLS) {
      this.clear();
      for (const symbol of symbols) this.#symbols.add(symbol);
    }
    this.#at = visibleUntil;
    return this.#bars.read(view, symbols);
  }

  /** Frees what is in memory. */
  clear(): void {
    this.#bars.clear();
    this.#symbols.clear();
    this.#at = Number.NEGATIVE_INFINITY;
  }

  /** Resolves when the reads that were begun are over. */
  async idle(): Promise<void> {
    await this.#turn;
  }
}

/**
 * How the requests of a service read the bars of quotes in a replay.
 *
 * @param onFault is called with the errors of what is read ahead.
 */
export function replayedQuoteBars(
  app: FastifyInstance,
  reader: LakeReader,
  clock: ReplayClock,
  onFault: (error: unknown) => void,
): ReadQuoteBars {
  const ending = new AbortController();
  // Reads ahead do not wait for the memory of requests, which wait for them.
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
