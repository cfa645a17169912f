import {
  AsyncByteQueue,
  type RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
} from "apache-arrow";
import { CUT_SHORT } from "./stream/stream-message.js";

/** `stream`: can be read from its beginning, as from a pipe. `file`: has an index at its end; also called Feather. */
export type IpcFormat = "stream" | "file";

/** Bytes that the writer has produced and the caller has not yet read. */
class WrittenBytes extends AsyncByteQueue {
  #pieces: Uint8Array[] = [];

  override write(piece: Uint8Array): void {
    this.#pieces.push(piece);
  }

  take(): readonly Uint8Array[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }
}

/**
 * Writes record batches of one schema as Arrow IPC, uncompressed. A batch is requested only when the output before it
 * was read, so that memory contains one batch. The pieces are views of the batches' buffers where possible.
 *
 * If the batches fail, the output ends with an incomplete message, and the error follows: no reader accepts such an
 * output as complete. A missing end mark would not suffice, because Arrow permits streams without one.
 */
export async function* batchesToIpc(
  batches: AsyncIterable<RecordBatch>,
  format: IpcFormat,
): AsyncGenerator<Uint8Array, void, undefined> {
  const written = new WrittenBytes();
  const writer = format === "file" ? new RecordBatchFileWriter() : new RecordBatchStreamWriter();
  let isBegun = false;
  try {
    for await (const batch of batches) {
      if (!isBegun) writer.reset(written, batch.schema);
      isBegun = true;
      writer.write(batch);
      yield* written.take();
    }
  } catch (error) {
    if (isBegun) yield CUT_SHORT;
    throw error;
  }
  writer.finish();
  yield* written.take();
}
