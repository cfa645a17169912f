import { MemoryPool } from "../../core/memory-pool.js";
import { type DecodedKlines, decodeBars } from "../../wire/decode/decode-klines.js";
import type { KlineBufferPool } from "../../wire/decode/kline-buffers.js";
import type { KlineExpectation } from "../../wire/decode/kline-expectation.js";
import { MessageReader, type ReadMessage } from "./message-reader.js";
import { StreamBars } from "./stream-bars.js";

/**
 * Decodes an Arrow IPC stream of bars, while its bytes arrive, into typed column buffers. The bars pass the same checks
 * as those of a JSON body: see {@link decodeKlines}.
 *
 * @throws {WireError} where the body is no such stream, is cut short, or exceeds a limit.
 */
export function decodeKlineStream(
  body: AsyncIterable<Uint8Array>,
  expectation: KlineExpectation,
  pool?: KlineBufferPool,
): Promise<DecodedKlines> {
  return decodeBars(expectation, pool, async (issues, buffers) => {
    const memory = new MemoryPool();
    const reader = new MessageReader(body, memory);
    const bars = new StreamBars(expectation, issues, buffers);
    let batches: ArrayBuffer[] = [];
    const take = (message: ReadMessage): void => {
      bars.take(message);
      if (message.kind === "batch") batches.push(message.body.buffer);
      const read = batches.length - bars.unreadBatches;
      for (const batch of batches.slice(0, read)) memory.giveBack(batch);
      batches = batches.slice(read);
    };
    while (await reader.next(take));
    return { ...bars.finish(reader.bytes), bytes: reader.bytes };
  });
}
