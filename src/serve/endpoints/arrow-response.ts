import type { RecordBatch } from "apache-arrow";
import { batchesToIpc } from "../../arrow/batches-ipc.js";
import {
  type KlineStream,
  klineStream,
  klineStreamPieces,
  type StreamFacts,
} from "../../arrow/stream/kline-stream.js";
import type { KlineRun } from "../../wire/kline-columns.js";

/** Smaller pieces are sent together: many pieces of a stream have only a few bytes. */
const PIECE_BYTES = 16 * 1024;

/** A table that is sent as an Arrow IPC stream. */
export class ArrowResponse {
  /** Rows of the whole table; undefined where they are not known before it is read. */
  readonly rows: number | undefined;
  /** Bytes of the whole stream; undefined where they are not known before it is read. */
  readonly byteLength: number | undefined;
  readonly #pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

  private constructor(
    pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    rows?: number,
    byteLength?: number,
  ) {
    this.#pieces = pieces;
    this.rows = rows;
    this.byteLength = byteLength;
  }

  /** A table whose batches are computed while the client reads. @param batches at least one. */
  static ofBatches(batches: AsyncIterable<RecordBatch>, rows?: number): Promise<ArrowResponse> {
    return ArrowResponse.#begun(batchesToIpc(batches, "stream"), rows);
  }

  /** A response with bars that are already in memory. */
  static ofRuns(runs: readonly KlineRun[], facts: StreamFacts): ArrowResponse {
    const stream: KlineStream = klineStream(runs, facts);
    const rows = runs.reduce((sum, { start, end }) => sum + end - start, 0);
    return new ArrowResponse(stream.pieces(), rows, stream.byteLength);
  }

  /** A response with bars that are read from the lake while the client reads. */
  static ofBlocks(blocks: AsyncIterable<readonly KlineRun[]>, facts: StreamFacts): Promise<ArrowResponse> {
    return ArrowResponse.#begun(klineStreamPieces(blocks, facts));
  }

  /** Makes the first piece, so that a failing read fails before the response begins. */
  static async #begun(pieces: AsyncGenerator<Uint8Array>, rows?: number): Promise<ArrowResponse> {
    const { value: first } = await pieces.next();
    return new ArrowResponse(joined(first as Uint8Array, pieces), rows);
  }

  /**
   * The stream in pieces. A stream that fails ends with an incomplete message, so that no reader accepts it as
   * complete.
   */
  async *pieces(): AsyncGenerator<Uint8Array> {
    let small: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of this.#pieces) {
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

  /** The whole stream in one buffer. */
  async bytes(): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#pieces) pieces.push(piece);
    return Buffer.concat(pieces);
  }
}

/** The batches of a table with a single batch. */
export async function* only(batch: RecordBatch): AsyncGenerator<RecordBatch> {
  yield batch;
}

async function* joined(
  first: Uint8Array,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield first;
  yield* rest;
}
