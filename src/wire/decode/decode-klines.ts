import { IssueLog } from "../../core/issue.js";
import type { KlineColumns } from "../kline-columns.js";
import { JsonScanner } from "./json-scanner.js";
import { type KlineBufferPool, KlineBuffers } from "./kline-buffers.js";
import type { KlineExpectation } from "./kline-expectation.js";
import { KlineSink } from "./kline-sink.js";

/** A decoded K-line answer. Disposing of it gives the buffers of its columns back to their pool: they are void then. */
export interface DecodedKlines extends Disposable {
  readonly columns: KlineColumns;
  readonly issues: IssueLog;
  /** Symbols that were asked for and are not in the answer, or have no bar in it. */
  readonly absent: readonly string[];
  /** Symbols that were asked for and were set aside whole, as their columns do not fit together: they may have bars after all. */
  readonly unusable: readonly string[];
  /** Bars that each symbol of the answer had, before any was set aside; by symbol. */
  readonly received: ReadonlyMap<string, number>;
  /** Size of the body, uncompressed. */
  readonly bytes: number;
}

/**
 * Reads a K-line body, as its bytes arrive, straight into typed column buffers.
 *
 * What is wrong with single bars or symbols becomes an issue and is set aside; the rest is in the columns.
 *
 * @param body pieces of the uncompressed body, cut anywhere.
 * @param pool lends the buffers. @default new ones
 * @throws {WireError} where the body is not JSON, is cut short, has another shape, or passes a limit.
 * @throws {ServiceError} where the body is the interface's error body.
 */
export async function decodeKlines(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  expectation: KlineExpectation,
  pool?: KlineBufferPool,
): Promise<DecodedKlines> {
  let lent = pool?.take();
  const giveBack = (): void => {
    if (lent !== undefined) pool?.give(lent);
    lent = undefined;
  };
  try {
    const response = await read(body, expectation, lent ?? new KlineBuffers());
    return { ...response, [Symbol.dispose]: giveBack };
  } catch (error) {
    giveBack();
    throw error;
  }
}

async function read(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  expectation: KlineExpectation,
  buffers: KlineBuffers,
): Promise<Omit<DecodedKlines, typeof Symbol.dispose>> {
  const issues = new IssueLog();
  const sink = new KlineSink(expectation, issues, buffers);
  const scanner = new JsonScanner(sink, expectation.limits);
  for await (const chunk of body) scanner.push(chunk);
  scanner.end();
  const { columns, received, named } = sink.finish(scanner.bytes);
  const usable = new Set(columns.symbols);
  const asked = expectation.symbols ?? [];
  const unusable = asked.filter((symbol) => named.has(symbol) && !usable.has(symbol));
  const absent = asked.filter((symbol) => !received.get(symbol) && !unusable.includes(symbol));
  return { columns, issues, absent, unusable, received, bytes: scanner.bytes };
}
