import { setImmediate } from "node:timers/promises";
import { isSymbol, regionOf } from "../../market/symbol.js";
import { inBatches } from "../../plan/request-units.js";
import { QUOTE_TABLES, quoteTexts } from "../endpoints/quotes.js";
import type { MemoryBudgets } from "../http/memory-budget.js";
import { isOfRequest } from "../http/request-error.js";
import { type Caller, scopeOf } from "../keys/key-ring.js";
import { readQuoteBars } from "../klines/quote-bars.js";
import type { LakeReader, LakeView } from "../read/lake-reader.js";
import {
  MAX_SUBSCRIPTIONS,
  parseCommand,
  type QuoteStream,
  StreamError,
  subscribedText,
} from "./quote-stream.js";
import { lakeReads, type ReadLake } from "./read-lake.js";
import { ReplayedBars } from "./region-bars.js";

/** Number of symbols whose quotes are made at the same time. It limits memory, however many are subscribed to. */
const BLOCK_SYMBOLS = 1000;
/** Most subscriptions of all connections together. */
const MOST_SUBSCRIPTIONS = 1_000_000;
/** Number of unknown symbols after which a command stops reading symbols. */
const MOST_UNKNOWN = 1000;
const NAMED_SYMBOLS = 5;

interface HubOptions {
  readonly reader: LakeReader;
  readonly budgets: MemoryBudgets;
  /** Whether the lake is replayed: its quotes then change with each minute, whose bars are read ahead. */
  readonly isReplayed: boolean;
  /** Registers a function that is called when the replay is set to an earlier time; returns one that removes it. */
  readonly onSetBack: (listener: () => void) => () => void;
  /** Waits until quotes may have changed. The lake is read after that. */
  readonly nextChange: (signal: AbortSignal) => Promise<void>;
  /** The caller of a connection's key as it is now. @throws {RequestError} where it may not have a stream any more. */
  readonly callerOf: (stream: QuoteStream) => Caller;
  /** Most symbols of a connection, unless the key has its own limit. @default {@link MAX_SUBSCRIPTIONS} */
  readonly maxSymbols: number | undefined;
  /** Called before each read, to load keys that were added or revoked. */
  readonly refresh?: (() => Promise<void>) | undefined;
  /** Counts a command as a request of the key. @throws {RequestError} RATE_LIMITED */
  readonly takeQuota: (caller: Caller) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

/** All connections of a service. It makes each quote once for all that subscribed to its symbol. */
export class QuoteHub {
  readonly #options: HubOptions;
  readonly #streams = new Set<QuoteStream>();
  /** Connections whose key has changed since the scope of their symbols was checked. */
  readonly #changed = new Set<QuoteStream>();
  /** By symbol: the connections that subscribed to it, and the newest quote that they got. */
  readonly #topics = new Map<string, { readonly streams: Set<QuoteStream>; quote: string | undefined }>();
  readonly #ending = new AbortController();
  readonly #readLake: ReadLake;
  readonly #replayed: ReplayedBars | undefined;
  #subscriptions = 0;
  #state = "";
  /** How often the replay was set to an earlier time. Quotes that were read before the last time are not sent. */
  #setBacks = 0;
  readonly #endSetBacks: () => void;
  /** The end of the work that began last. Reads and commands run one at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #isWatching = false;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#readLake = lakeReads(options.reader, options.budgets, this.#ending.signal);
    this.#replayed = options.isReplayed ? new ReplayedBars(this.#readLake, options.onFault) : undefined;
    this.#endSetBacks = options.onSetBack(() => this.#forgetQuotes());
  }

  /** Number of connections of a key, by the name of its owner; without a name, of all keys. */
  count(name?: string): number {
    if (name === undefined) return this.#streams.size;
    let found = 0;
    for (const { caller } of this.#streams) if (caller.name === name) found += 1;
    return found;
  }

  /** Whether the hub was closed: it then accepts no more connections. */
  get isClosed(): boolean {
    return this.#ending.signal.aborted;
  }

  add(stream: QuoteStream): void {
    this.#streams.add(stream);
    if (!this.#isWatching) void this.#watch();
  }

  remove(stream: QuoteStream): void {
    this.#streams.delete(stream);
    this.#changed.delete(stream);
    this.#unsubscribe(stream, [...stream.symbols]);
  }

  /** Ends the work, and closes every connection with a code and a reason. */
  close(code: number, reason: string): readonly QuoteStream[] {
    this.#ending.abort();
    this.#endSetBacks();
    this.#replayed?.clear();
    const streams = [...this.#streams];
    for (const stream of streams) stream.close(code, reason);
    return streams;
  }

  async idle(): Promise<void> {
    await this.#turn;
  }

  /** Executes a message of a client. @returns the reply. @throws {StreamError} */
  carry = async (stream: QuoteStream, text: string): Promise<string> => {
    const { op, symbols } = parseCommand(text, stream.path);
    // Counting may be slow, so it is done before the command's turn: other connections do not wait for it.
    await refusing(() => this.#options.takeQuota(stream.caller));
    if (op === "subscribe") await this.#subscribe(stream, symbols);
    else await this.#inTurn(async () => this.#unsubscribe(stream, symbols));
    return subscribedText(stream.path, stream.symbols.size);
  };

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  /**
   * In blocks, between which commands of other connections run. It stops early if many symbols are unknown: each block
   * of these needs queries whose results cannot be cached.
   */
  async #subscribe(stream: QuoteStream, symbols: readonly string[]): Promise<void> {
    const added = symbols.filter((symbol) => !stream.symbols.has(symbol));
    const total = stream.symbols.size + added.length;
    this.#checkTotal(stream.caller, total);
    await this.#checkScope(stream.caller, added);
    const unknown: string[] = [];
    let tried = 0;
    for (const block of inBatches(added, BLOCK_SYMBOLS)) {
      if (unknown.length >= MOST_UNKNOWN) break;
      for (const symbol of await this.#inTurn(() => this.#subscribeBlock(stream, block)))
        unknown.push(symbol);
      tried += block.length;
    }
    if (unknown.length === 0) return;
    const skipped = added.length - tried;
    throw new StreamError(
      `symbols ${namesOf(unknown)} are not known; subscribed to the other ${tried - unknown.length}, ` +
        `${stream.symbols.size} in all${skipped > 0 ? `; the last ${skipped} were not looked up after so many unknown ones` : ""}`,
    );
  }

  /** Subscribes to one block. @returns the symbols that the lake does not know. */
  async #subscribeBlock(stream: QuoteStream, added: readonly string[]): Promise<readonly string[]> {
    if (!this.#streams.has(stream)) return [];
    if (this.#subscriptions + added.length > MOST_SUBSCRIPTIONS)
      throw new StreamError("the service has too many subscriptions; try again later");
    // The newest quotes may be of an older version, or of a later time from which the replay was set back.
    await this.#push();
    const asked = added.filter((symbol) => isSymbol(symbol) && regionOf(symbol) !== undefined);
    const others = asked.filter((symbol) => !this.#topics.has(symbol));
    const setBacks = this.#setBacks;
    const [quotes, { instruments }, isReplaced] = await refusing(() =>
      this.#readLake(async (view) => {
        // The key may have changed since the command was checked.
        scopeOf(stream.caller, await view.members()).checkSymbols(added);
        return [await this.#quotesOf(view, others), await view.reference(), view.isReplaced()] as const;
      }),
    );
    // After the replay was set back, or the lake replaced, the next push sends the quotes that count now.
    const isLeft = setBacks !== this.#setBacks || isReplaced;
    // Nothing is awaited after this, so that a connection that has ended gets no subscriptions.
    if (!this.#streams.has(stream)) {
      for (const symbol of others) this.#replayed?.forget(symbol);
      return [];
    }
    const unknown: string[] = [];
    for (const symbol of added) {
      const quote = isLeft ? undefined : quotes.get(symbol);
      const topic = this.#topics.get(symbol) ?? { streams: new Set(), quote };
      if (topic.streams.size === 0 && !quotes.has(symbol) && !instruments.has(symbol)) {
        unknown.push(symbol);
        this.#replayed?.forget(symbol);
        continue;
      }
      this.#topics.set(symbol, topic);
      topic.streams.add(stream);
      stream.symbols.add(symbol);
      this.#subscriptions += 1;
      if (topic.quote !== undefined) stream.offer(symbol, topic.quote);
    }
    return unknown;
  }

  #unsubscribe(stream: QuoteStream, symbols: readonly string[]): void {
    for (const symbol of symbols) {
      if (!stream.symbols.has(symbol)) continue;
      stream.drop(symbol);
      this.#subscriptions -= 1;
      const topic = this.#topics.get(symbol);
      topic?.streams.delete(stream);
      if (topic?.streams.size !== 0) continue;
      this.#topics.delete(symbol);
      this.#replayed?.forget(symbol);
    }
  }

  /** Reads the lake whenever quotes may have changed, as long as there are connections. */
  async #watch(): Promise<void> {
    this.#isWatching = true;
    const { signal } = this.#ending;
    while (this.#streams.size > 0 && !signal.aborted) {
      try {
        await this.#options.nextChange(signal);
        await this.#options.refresh?.();
        for (const stream of this.#streams) {
          this.#checkKey(stream);
          stream.check();
        }
        await this.#inTurn(() => this.#push());
      } catch (error) {
        if (!signal.aborted) this.#options.onFault(error);
      }
    }
    this.#replayed?.clear();
    this.#isWatching = false;
  }

  /** Takes over what a connection's key may do now; the next push drops the symbols that it may no longer request. */
  #checkKey(stream: QuoteStream): void {
    try {
      const caller = this.#options.callerOf(stream);
      if (caller === stream.caller) return;
      stream.caller = caller;
      this.#changed.add(stream);
      this.#checkTotal(caller, stream.symbols.size);
    } catch (error) {
      if (!(error instanceof StreamError || isOfRequest(error))) throw error;
      const isUnknown = isOfRequest(error) && error.code === "UNAUTHORIZED";
      stream.close(1008, isUnknown ? "the key is no longer valid" : error.message);
    }
  }

  /** @throws {StreamError} for more symbols than a connection of the key may have. */
  #checkTotal({ maxSymbols = this.#options.maxSymbols }: Caller, total: number): void {
    const most = Math.min(MAX_SUBSCRIPTIONS, maxSymbols ?? MAX_SUBSCRIPTIONS);
    if (total > most) throw new StreamError(`${total} symbols are more than the ${most} of one connection`);
  }

  /** Unsubscribes connections from the symbols that their keys may no longer request, and tells them so. */
  async #dropForbidden(view: LakeView, streams: Set<QuoteStream>): Promise<void> {
    const limited = [...streams].filter(({ caller }) => caller.universes !== undefined);
    if (limited.length > 0) {
      const members = await view.members();
      const scopes = new Map(limited.map(({ caller }) => [caller, scopeOf(caller, members)]));
      for (const stream of limited) {
        const lost = [...stream.symbols].filter((symbol) => !scopes.get(stream.caller)?.hasSymbol(symbol));
        if (lost.length === 0) continue;
        this.#unsubscribe(stream, lost);
        stream.report(
          `${stream.caller.name} may no longer ask for symbols ${namesOf(lost)}: unsubscribed from them, ` +
            `${stream.symbols.size} in all`,
        );
      }
    }
    for (const stream of streams) this.#changed.delete(stream);
  }

  /** Drops the quotes after the replay was set to an earlier time. The next push sends all quotes of the new time. */
  #forgetQuotes(): void {
    this.#setBacks += 1;
    this.#state = "";
    for (const topic of this.#topics.values()) topic.quote = undefined;
    for (const stream of this.#streams) stream.forgetUnsent();
  }

  /** Sends the quotes that have changed to their subscribers. All of them are of the same instant. */
  async #push(): Promise<void> {
    const setBacks = this.#setBacks;
    await this.#readLake(async (view) => {
      const state = await view.version.stateOf(QUOTE_TABLES);
      const isNew = state !== this.#state;
      await this.#dropForbidden(view, isNew ? this.#streams : this.#changed);
      if (!isNew) return;
      for (const symbols of inBatches([...this.#topics.keys()], BLOCK_SYMBOLS)) {
        const quotes = await this.#quotesOf(view, symbols);
        if (setBacks !== this.#setBacks || view.isReplaced()) return;
        for (const symbol of symbols) {
          const [topic, quote] = [this.#topics.get(symbol), quotes.get(symbol)];
          if (topic === undefined || topic.quote === quote) continue;
          topic.quote = quote;
          for (const stream of topic.streams) stream.offer(symbol, quote);
        }
        for (const stream of this.#streams) stream.flush();
        await setImmediate();
      }
      if (setBacks === this.#setBacks) this.#state = state;
    });
  }

  #quotesOf(view: LakeView, symbols: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return quoteTexts(view, symbols, this.#replayed?.read ?? readQuoteBars);
  }

  /** @throws {StreamError} for symbols that the key may not request. */
  async #checkScope(caller: Caller, symbols: readonly string[]): Promise<void> {
    await refusing(() =>
      this.#readLake(async (view) => (await view.scope()).checkSymbols(symbols), { caller }),
    );
  }
}

/** The first of some symbols, as an error names them. */
function namesOf(symbols: readonly string[]): string {
  const named = symbols.slice(0, NAMED_SYMBOLS).map((symbol) => JSON.stringify(symbol.slice(0, 32)));
  const rest = symbols.length > NAMED_SYMBOLS ? ` and ${symbols.length - NAMED_SYMBOLS} more` : "";
  return `${named.join(", ")}${rest}`;
}

/** Turns an error of the interface into an error of the stream. @throws {StreamError} */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isOfRequest(error)) throw new StreamError(error.message);
    throw error;
  }
}
