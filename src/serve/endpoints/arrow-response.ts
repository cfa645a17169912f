import type { RecordBatch } from "apache-arrow";
import { batchesToIpc } from "../../arrow/batches-ipc.js";

/** Pieces that are smaller are sent together: most pieces of a stream are a few bytes of padding. */
const PIECE_BYTES = 64 * 1024;

/** A table that is not yet encoded as an Arrow IPC stream; its batches are made as the client reads. */
export class ArrowResponse {
  /** Rows of the whole table; undefined where they are not known before it is read. */
  readonly rows: number | undefined;
  readonly #batches: AsyncIterable<RecordBatch>;

  private constructor(batches: AsyncIterable<RecordBatch>, rows: number | undefined) {
    this.#batches = batches;
    this.rows = rows;
  }

  /** Makes the first batch, so that what cannot be read fails before the response begins. @param batches at least one. */
  static async of(batches: AsyncGenerator<RecordBatch>, rows?: number): Promise<ArrowResponse> {
    const { value: first } = await batches.next();
    return new ArrowResponse(joined(first as RecordBatch, batches), rows);
  }

  /** The stream in pieces; one that fails ends with an incomplete message, so that no reader accepts it as whole. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    let small: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of batchesToIpc(this.#batches, "stream")) {
      if (piece.length < PIECE_BYTES) {
        small.push(piece);
        bytes += piece.length;
        if (bytes < PIECE_BYTES) continue;
      }
      if (small.length > 0) yield Buffer.concat(small);
      [small, bytes] = [[], 0];
      if (piece.length >= PIECE_BYTES) yield piece;
    }
    if (small.length > 0) yield Buffer.concat(small);
  }

  /** The whole stream. */
  async bytes(): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.pieces()) pieces.push(piece);
    return Buffer.concat(pieces);
  }
}

/** The batches of a table that has one. */
export async function* only(batch: RecordBatch): AsyncGenerator<RecordBatch> {
  yield batch;
}

async function* joined(first: RecordBatch, rest: AsyncGenerator<RecordBatch>): AsyncGenerator<RecordBatch> {
  yield first;
  yield* rest;
}
