import { IssueLog } from "../../core/issue.js";
import { JsonScanner } from "./json/json-scanner.js";
import { type KlineBufferPool, KlineBuffers } from "./kline-buffers.js";
import { type KlineExpectation, KlineSink, SymbolsInOrder } from "./kline-sink.js";
import type { DecodedBars } from "./symbol-bars.js";

/** Disposing of it returns its buffers to the pool; after that its columns must not be used. */
export interface DecodedKlines extends DecodedBars, Disposable {
  readonly issues: IssueLog;
  /** Requested symbols that are not in the response, or have no bar in it. */
  readonly absent: readonly string[];
  /** Requested symbols that were rejected completely, because their columns do not fit together. They may have bars. */
  readonly unusable: readonly string[];
  /** Size of the uncompressed body in bytes. */
  readonly bytes: number;
}

/**
 * Decodes a K-line body, while its bytes arrive in pieces of any length, into buffers of `pool` (@default new ones).
 * Invalid bars and symbols are rejected, each with an issue. @throws {WireError} where the body is not JSON, is cut
 * short, has another shape, or exceeds a limit. @throws {ServiceError} where it is the interface's error body.
 */
export async function decodeKlines(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  expectation: KlineExpectation,
  pool?: KlineBufferPool,
): Promise<DecodedKlines> {
  const issues = new IssueLog();
  let lent = pool?.take();
  const giveBack = (): void => {
    if (lent !== undefined) pool?.give(lent);
    lent = undefined;
  };
  try {
    const sink = new KlineSink(expectation, issues, lent ?? new KlineBuffers());
    const scanner = new JsonScanner(sink, expectation.limits);
    for await (const chunk of body) scanner.push(chunk);
    scanner.end();
    const { bytes } = scanner;
    const { columns, received, setAsideAt, named } = sink.finish(bytes);
    const usable = new SymbolsInOrder(columns.symbols);
    const [unusable, absent]: [string[], string[]] = [[], []];
    for (const symbol of expectation.symbols ?? []) {
      if (!usable.has(symbol) && named.has(symbol)) unusable.push(symbol);
      else if (!received.get(symbol)) absent.push(symbol);
    }
    return { columns, issues, absent, unusable, received, setAsideAt, bytes, [Symbol.dispose]: giveBack };
  } catch (error) {
    giveBack();
    throw error;
  }
}
