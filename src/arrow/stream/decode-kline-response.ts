import { freedAfterUse } from "../../core/memory-pool.js";
import { type DecodedKlines, decodeKlines } from "../../wire/decode/decode-klines.js";
import type { KlineBufferPool } from "../../wire/decode/kline-buffers.js";
import type { KlineExpectation } from "../../wire/decode/kline-expectation.js";
import { isArrowStream } from "../../wire/media-type.js";

/**
 * Decodes a K-line response in the form that its `content-type` names: an Arrow stream, else JSON. Arrow is loaded with
 * the first stream.
 *
 * @param body the memory of each piece is freed once it is read.
 */
export async function decodeKlineResponse(
  body: AsyncIterable<Uint8Array>,
  contentType: string | undefined,
  expectation: KlineExpectation,
  pool?: KlineBufferPool,
): Promise<DecodedKlines> {
  if (!isArrowStream(contentType)) return decodeKlines(freedAfterUse(body), expectation, pool);
  const { decodeKlineStream } = await import("./decode-kline-stream.js");
  return decodeKlineStream(body, expectation, pool);
}
