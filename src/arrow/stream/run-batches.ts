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
  const reader = await RecordBatchReader.from(klineStreamPieces(blocks, facts));
  await reader.open();
  let isEmpty = true;
  for await (const batch of reader) {
    isEmpty = false;
    yield batch;
  }
  if (isEmpty) yield new RecordBatch(reader.schema);
}
