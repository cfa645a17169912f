import { setImmediate } from "node:timers/promises";
import { LentMemory } from "../../core/memory-pool.js";
import { LIMITS } from "../../wire/endpoints.js";
import { type EndpointHandler, KlineResponse } from "../endpoints/response.js";
import type { LakeReader, LakeView } from "../read/lake-reader.js";
import type { MemoryBudgets } from "./memory-budget.js";
import { isOfRequest } from "./request-error.js";
import type { RequestsInFlight } from "./request-lifetime.js";
import type { ServiceLogger } from "./service-metrics.js";

/** The most symbols that are read: so many quotes of a region are cached. */
const MOST_SYMBOLS = 20_000;
/** Groups of a universe's first symbols: code that is not compiled yet keeps no request waiting for long then. */
const FIRST_GROUPS = [50, 500];
const CALLER = { name: "warm-up" };

export interface WarmUpParts {
  readonly reader: LakeReader;
  readonly budgets: MemoryBudgets;
  readonly requests: RequestsInFlight;
  readonly handlers: Readonly<Record<"intradayBatch" | "quotes", EndpointHandler>>;
  /** @default none */
  readonly logger?: ServiceLogger | undefined;
}

/**
 * Reads what the first requests for minutes and quotes of the universes would read, into the same caches. A request at
 * the same time shares the read in flight; the next read waits until none is in flight. A failure is logged. Disposing
 * it ends the reads, and waits for their end.
 */
export function startWarmUp(parts: WarmUpParts): AsyncDisposable {
  const controller = new AbortController();
  const { signal } = controller;
  const ended = warmUp(parts, signal).catch((err: unknown) => {
    if (signal.aborted) return;
    parts.logger?.error({ err }, "the service was not warmed up: its first responses take longer");
  });
  return {
    async [Symbol.asyncDispose]() {
      controller.abort();
      await ended;
    },
  };
}

async function warmUp(parts: WarmUpParts, signal: AbortSignal): Promise<void> {
  const { handlers, logger } = parts;
  const groups = await withView(parts, signal, groupsOf);
  const count = String(LIMITS.defaultIntradayCount);
  for (const symbols of groups)
    await ask(parts, signal, handlers.intradayBatch, { query: { symbols: symbols.join(), count } });
  for (const symbols of groups) await ask(parts, signal, handlers.quotes, { body: { symbols } });
  logger?.info({ symbols: groups.flat().length }, "warmed up");
}

/** The symbols of the largest universes, in the order of a request for the universe: what is cached is not read again. */
async function groupsOf(view: LakeView): Promise<readonly (readonly string[])[]> {
  const members = await view.members();
  const largest = [...members.values()].sort((a, b) => b.length - a.length);
  const read = new Set<string>();
  const groups: (readonly string[])[] = [];
  for (const universe of largest) {
    const symbols = universe.filter((symbol) => !read.has(symbol));
    if (read.size + symbols.length > MOST_SYMBOLS) continue;
    let start = 0;
    for (const size of read.size === 0 ? FIRST_GROUPS : []) {
      groups.push(symbols.slice(start, start + size));
      start += size;
    }
    groups.push(symbols.slice(start));
    for (const symbol of symbols) read.add(symbol);
  }
  return groups.filter((group) => group.length > 0);
}

/** Makes a response as for a request, and drops it. */
async function ask(
  parts: WarmUpParts,
  signal: AbortSignal,
  handler: EndpointHandler,
  asked: { readonly query?: object; readonly body?: object },
): Promise<void> {
  await withView(parts, signal, async (view) => {
    try {
      const response = await handler(view, {
        query: {},
        body: undefined,
        path: {},
        format: "json",
        ...asked,
      });
      if (!(response instanceof KlineResponse)) return;
      for await (const _ of response.pieces()) {
        await setImmediate();
        if (signal.aborted || parts.requests.count > 0) break;
      }
    } catch (error) {
      // For example, the lake has no minutes, or a symbol is blank.
      if (!isOfRequest(error)) throw error;
    }
  });
}

/** Reads the newest version of the lake when no request is in flight, within the memory budget of requests. */
async function withView<T>(
  { reader, budgets, requests }: WarmUpParts,
  signal: AbortSignal,
  use: (view: LakeView) => Promise<T>,
): Promise<T> {
  await setImmediate();
  await requests.none(signal);
  const memory = new LentMemory(budgets.pool);
  let permit: Disposable | undefined;
  const acquireMemory = async (rows: number): Promise<void> => {
    permit ??= await budgets.take(rows, signal);
  };
  try {
    const reading = { caller: CALLER, signal, acquireMemory, memory, buildsSegments: false };
    const result = await use(reader.current(reading));
    memory.giveBack();
    return result;
  } finally {
    permit?.[Symbol.dispose]();
  }
}
