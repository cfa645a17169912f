import type { RecordBatch } from "apache-arrow";
import { batchesToIpc } from "../../arrow/batches-ipc.js";
import {
  type KlineStream,
  klineStream,
  klineStreamPieces,
  type StreamFacts,
} from "../../arrow/stream/kline-stream.js";
import { encodeRuns, type KlineShape, klinePieces } from "../../wire/encode/encode-klines.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import type { BodyFormat } from "../../wire/media-type.js";
import type { LakeView } from "../read/lake-reader.js";

/** Smaller pieces are sent together: many pieces of a stream have only a few bytes. */
const PIECE_BYTES = 16 * 1024;

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

  /** A stream that fails ends with an incomplete message, so that no reader accepts it as complete. */
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

  async bytes(): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#pieces) pieces.push(piece);
    return Buffer.concat(pieces);
  }
}

export async function* only(batch: RecordBatch): AsyncGenerator<RecordBatch> {
  yield batch;
}

export interface Asked {
  /** Parsed query; a value is a text, or a list of texts where a name is repeated. */
  readonly query: unknown;
  /** Parsed JSON body; undefined where there is none. */
  readonly body: unknown;
  /** Parameters of the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** The format that the client accepts. An endpoint without a table always responds with JSON. */
  readonly format: BodyFormat;
}

/** Bars to encode as a body: all of them, or blocks of symbols that are read while the client reads. */
export class KlineResponse {
  #first: readonly KlineRun[];
  readonly #rest: AsyncIterator<readonly KlineRun[]> | undefined;
  readonly #shape: KlineShape;

  private constructor(
    first: readonly KlineRun[],
    rest: AsyncIterator<readonly KlineRun[]> | undefined,
    shape: KlineShape,
  ) {
    this.#first = first;
    this.#rest = rest;
    this.#shape = shape;
  }

  static of(runs: readonly KlineRun[], shape: KlineShape): KlineResponse {
    return new KlineResponse(runs, undefined, shape);
  }

  /** Reads the first block, so that a failing read fails before the response begins. */
  static async ofBlocks(blocks: AsyncGenerator<readonly KlineRun[]>): Promise<KlineResponse> {
    const { value: first } = await blocks.next();
    return new KlineResponse(first ?? [], blocks, "map");
  }

  get rows(): number | undefined {
    return this.#rest === undefined
      ? this.#first.reduce((sum, { start, end }) => sum + end - start, 0)
      : undefined;
  }

  /** The whole body, of one block, in memory from `take`. @throws {RangeError} for a value that JSON cannot represent. */
  bytes(take?: (bytes: number) => ArrayBuffer): Uint8Array<ArrayBuffer> {
    return encodeRuns(this.#first, this.#shape, take);
  }

  /** The body in pieces, encoded on demand. @throws {RangeError} for a value that JSON cannot represent. */
  pieces(): AsyncGenerator<Uint8Array> {
    return klinePieces(this.#blocks(), this.#shape);
  }

  async *#blocks(): AsyncGenerator<readonly KlineRun[]> {
    yield this.#first;
    if (this.#rest === undefined) return;
    this.#first = [];
    for (let next = await this.#rest.next(); next.done !== true; next = await this.#rest.next())
      yield next.value;
  }
}

/** A body in pieces that are made while the client reads. */
export class StreamedResponse {
  readonly pieces: () => AsyncGenerator<string>;

  private constructor(pieces: () => AsyncGenerator<string>) {
    this.pieces = pieces;
  }

  /** Makes the first piece, so that a failing read fails before the response begins. */
  static async of(pieces: AsyncGenerator<string>): Promise<StreamedResponse> {
    const { value: first } = await pieces.next();
    return new StreamedResponse(() => joined(first ?? "", pieces));
  }
}

async function* joined<T>(first: T, rest: AsyncGenerator<T>): AsyncGenerator<T, void, undefined> {
  yield first;
  yield* rest;
}

/** A body that is already encoded, so that the many small objects that it was made from can be freed. */
export class TextResponse {
  /** JSON. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Returns an object to encode as JSON, JSON text, bars, or a table for Arrow. @throws {ParameterError} for a parameter
 * that breaks a rule. @throws {RequestError} for a request that cannot be served.
 */
export type EndpointHandler = (
  view: LakeView,
  asked: Asked,
) => Promise<ArrowResponse | KlineResponse | StreamedResponse | TextResponse | object>;
