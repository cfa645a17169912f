import {
  AsyncByteQueue,
  type RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
} from "apache-arrow";

/** `stream`: for a pipe, read from its beginning. `file`: with an index at its end; Feather is another name for it. */
export type IpcFormat = "stream" | "file";

/** What a writer has written and nobody has taken yet. */
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
 * Writes record batches of one schema as Arrow IPC, uncompressed: a batch is asked for when what came before it has been
 * taken, so that memory holds one. The pieces lie in the batches' own buffers where they can.
 *
 * Where the batches fail, the output ends with a message that is cut short, and the error follows: no reader takes such
 * an output for whole. A missing end alone would not do, because Arrow permits a stream to end without a mark.
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

/** The beginning of a message: its mark, a length of 264 bytes, and eight of these. Some readers take none for an end. */
const CUT_SHORT = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x08, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
