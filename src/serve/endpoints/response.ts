import { encodeRuns, type KlineShape, klinePieces } from "../../wire/encode/encode-klines.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import type { BodyFormat } from "../../wire/media-type.js";
import type { LakeView } from "../read/lake-reader.js";
import type { ArrowResponse } from "./arrow-response.js";

/** The parts of a request that its response depends on. */
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

  /** Number of rows of the whole body; undefined where there are more blocks. */
  get rows(): number | undefined {
    return this.#rest === undefined
      ? this.#first.reduce((sum, { start, end }) => sum + end - start, 0)
      : undefined;
  }

  /**
   * The whole body, for a response of one block.
   *
   * @param take returns memory of at least a number of bytes.
   * @throws {RangeError} for a value that JSON cannot represent.
   */
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

async function* joined(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
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
 * Handles the requests of one endpoint. Returns an object to encode as JSON, JSON text, bars, or a table for Arrow.
 *
 * @throws {ParameterError} for a parameter that breaks a rule.
 * @throws {RequestError} for a request that cannot be served.
 */
export type EndpointHandler = (
  view: LakeView,
  asked: Asked,
) => Promise<ArrowResponse | KlineResponse | StreamedResponse | TextResponse | object>;
