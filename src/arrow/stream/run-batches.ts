import { RecordBatch, RecordBatchReader } from "apache-arrow";
import type { KlineRun } from "../../wire/kline-columns.js";
import { klineStreamPieces, type StreamFacts } from "./kline-stream.js";

/**
 * Record batches of bars, in the form of {@link klineStreamPieces}: the batches of a program and those of the service
 * have one schema. Values are copied. There is at least one batch, which may be empty.
 *
 * @param blocks the runs, in blocks that are read on demand; their symbols are among those of the facts.
 */
export async function* runBatches(
  blocks: AsyncIterable<readonly KlineRun[]>,
  facts: StreamFacts,
): AsyncGenerator<RecordBatch, void, undefined> {
  const reader = await RecordBatchReader.from(apart(klineStreamPieces(blocks, facts)));
  await reader.open();
  let isEmpty = true;
  for await (const batch of reader) {
    isEmpty = false;
    yield batch;
  }
  if (isEmpty) yield new RecordBatch(reader.schema);
}

/**
 * Copies a piece whose memory overlaps that of the piece before it, as the validity of two columns of nulls does: the
 * reader takes such pieces for one range of bytes.
 */
async function* apart(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let before: Uint8Array = new Uint8Array(0);
  for await (const piece of pieces) {
    const isApart =
      piece.buffer !== before.buffer || piece.byteOffset === before.byteOffset + before.byteLength;
    before = isApart ? piece : piece.slice();
    yield before;
  }
}
