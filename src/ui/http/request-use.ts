import type { FastifyReply, FastifyRequest } from "fastify";
import { BarlakeError, UsageError } from "../../core/errors.js";
import { type Language, languageOf } from "../../core/language.js";
import { parseTradingDate, type TradingDate } from "../../core/time.js";
import { isRegion, type Region } from "../../market/regions.js";

/** A signal that aborts when the page that sent the request is closed, even if that happened before the call. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const onClose = (): void => {
    if (!raw.writableFinished) gone.abort(new BarlakeError("the page has gone"));
  };
  if (raw.destroyed) onClose();
  else raw.once("close", onClose);
  return gone.signal;
}

/** The language in which the browser that sent the request shows texts. */
export function languageIn({ headers }: FastifyRequest): Language {
  return languageOf(headers["accept-language"]);
}

/** The query in a request's address. If a name is repeated, the last value is used. */
export function queryOf({ query }: FastifyRequest): ReadonlyMap<string, string> {
  const entries = Object.entries(query as Record<string, string | string[]>);
  return new Map(entries.map(([name, value]) => [name, Array.isArray(value) ? (value.at(-1) ?? "") : value]));
}

/** A member of a JSON body; undefined where the body does not have it. */
export function memberOf(body: unknown, name: string): unknown {
  return (body as Readonly<Record<string, unknown>> | null | undefined)?.[name];
}

/** A member of a JSON body that must be a text. @throws {UsageError} where it is not. */
export function textIn(body: unknown, name: string): string {
  const value = memberOf(body, name);
  if (typeof value === "string") return value;
  throw new UsageError(`the body has no text ${name}`);
}

/** A value in the query. @throws {UsageError} where it is missing. */
export function required(query: ReadonlyMap<string, string>, name: string): string {
  const value = query.get(name);
  if (value === undefined || value === "") throw new UsageError(`the address has no ${name}`);
  return value;
}

/** A value in the query that must be one of several. @throws {UsageError} that names them. */
export function oneOf<T extends string>(
  query: ReadonlyMap<string, string>,
  name: string,
  values: readonly T[],
): T {
  const value = required(query, name);
  const found = values.find((known) => known === value);
  if (found !== undefined) return found;
  throw new UsageError(`${name}: ${JSON.stringify(value.slice(0, 40))} is none of ${values.join(", ")}`);
}

/** A date in the query; undefined where there is none. @throws {UsageError} for a text that is not a date. */
export function dateOf(query: ReadonlyMap<string, string>, name: string): TradingDate | undefined {
  const value = query.get(name);
  return value === undefined || value === "" ? undefined : parseTradingDate(value);
}

/** A region in the query. @throws {UsageError} for a region that does not exist. */
export function regionIn(query: ReadonlyMap<string, string>): Region {
  const value = required(query, "region");
  if (isRegion(value)) return value;
  throw new UsageError(`region: ${JSON.stringify(value.slice(0, 40))} is none of CN, HK, US`);
}

interface CachedResult {
  readonly result: Promise<unknown>;
  readonly stop: AbortController;
  waiting: number;
  isMade: boolean;
}

/** Caches the newest results by key: several pages request the same ones, and a page requests them again. */
export class ResultCache {
  readonly #most: number;
  /** Results by key, the least recently used first. */
  readonly #cached = new Map<string, CachedResult>();

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * The result of a key, made once; a failure is not cached. @param gone aborts when the caller no longer waits.
   * @param make gets a signal that aborts when no caller waits any more.
   */
  of<T>(key: string, gone: AbortSignal, make: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const known = this.#cached.get(key) ?? this.#begin(key, make);
    this.#cached.delete(key);
    this.#cached.set(key, known);
    for (const old of [...this.#cached.keys()].slice(0, -this.#most)) this.#cached.delete(old);
    this.#wait(key, known, gone);
    return known.result as Promise<T>;
  }

  #begin<T>(key: string, make: (signal: AbortSignal) => Promise<T>): CachedResult {
    const stop = new AbortController();
    const known: CachedResult = { result: make(stop.signal), stop, waiting: 0, isMade: false };
    const end = (): void => {
      known.isMade = true;
    };
    known.result.then(end, () => this.#forget(key, known)).finally(end);
    return known;
  }

  #wait(key: string, known: CachedResult, gone: AbortSignal): void {
    known.waiting++;
    const leave = (): void => {
      known.waiting--;
      if (known.waiting > 0 || known.isMade) return;
      this.#forget(key, known);
      known.stop.abort(gone.reason);
    };
    if (gone.aborted) leave();
    else gone.addEventListener("abort", leave, { once: true });
  }

  #forget(key: string, known: CachedResult): void {
    if (this.#cached.get(key) === known) this.#cached.delete(key);
  }
}
