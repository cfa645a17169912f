import { IssueLog } from "../../core/issue.js";
import type { DecodedBars, DecodedDocument } from "./decoded-bars.js";
import { JsonScanner } from "./json/json-scanner.js";
import { type KlineBufferPool, KlineBuffers } from "./kline-buffers.js";
import type { KlineExpectation } from "./kline-expectation.js";
import { KlineSink } from "./kline-sink.js";
import { SymbolsInOrder } from "./symbols-in-order.js";

/**
 * A decoded K-line response. Disposing of it returns its buffers to the pool; after that its columns must not be used.
 */
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
 * Decodes a K-line body, while its bytes arrive, directly into typed column buffers.
 *
 * Invalid bars and symbols are rejected, each with an issue; the columns contain all others.
 *
 * @param body pieces of the uncompressed body, of any length.
 * @param pool provides the buffers. @default new ones
 * @throws {WireError} where the body is not JSON, is cut short, has another shape, or exceeds a limit.
 * @throws {ServiceError} where the body is the interface's error body.
 */
export function decodeKlines(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  expectation: KlineExpectation,
  pool?: KlineBufferPool,
): Promise<DecodedKlines> {
  return decodeBars(expectation, pool, async (issues, buffers) => {
    const sink = new KlineSink(expectation, issues, buffers);
    const scanner = new JsonScanner(sink, expectation.limits);
    for await (const chunk of body) scanner.push(chunk);
    scanner.end();
    return { ...sink.finish(scanner.bytes), bytes: scanner.bytes };
  });
}

/** The bars of a body in any format. */
interface ReadBars extends DecodedDocument {
  /** Size of the uncompressed body in bytes. */
  readonly bytes: number;
}

/**
 * Decodes a body of any format: provides buffers for its bars, and finds out what the bars show about the requested
 * symbols.
 */
export async function decodeBars(
  expectation: KlineExpectation,
  pool: KlineBufferPool | undefined,
  read: (issues: IssueLog, buffers: KlineBuffers) => Promise<ReadBars>,
): Promise<DecodedKlines> {
  const issues = new IssueLog();
  let lent = pool?.take();
  const giveBack = (): void => {
    if (lent !== undefined) pool?.give(lent);
    lent = undefined;
  };
  try {
    const { columns, received, setAsideAt, named, bytes } = await read(issues, lent ?? new KlineBuffers());
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
