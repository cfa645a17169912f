import { encodeRuns, type KlineShape, klinePieces } from "../../wire/encode/encode-klines.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import type { LakeView } from "../read/lake-reader.js";

/** The parts of a request that its response depends on. */
interface Asked {
  /** Parsed query; a value is a text, or a list of texts where a name is repeated. */
  readonly query: unknown;
  /** Parsed JSON body; undefined where there is none. */
  readonly body: unknown;
  /** Parameters of the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Bars that are not yet encoded as a body. */
export class KlineResponse {
  readonly #runs: readonly KlineRun[];
  readonly #shape: KlineShape;

  constructor(runs: readonly KlineRun[], shape: KlineShape) {
    this.#runs = runs;
    this.#shape = shape;
  }

  get rows(): number {
    return this.#runs.reduce((sum, { start, end }) => sum + end - start, 0);
  }

  /** The whole body. @throws {RangeError} for a value that JSON cannot represent. */
  bytes(): Uint8Array {
    return encodeRuns(this.#runs, this.#shape);
  }

  /** The body in pieces, encoded on demand. @throws {RangeError} for a value that JSON cannot represent. */
  pieces(): Generator<Uint8Array> {
    return klinePieces(this.#runs, this.#shape);
  }
}

/** An encoded body. Each of its many small objects can be freed as soon as its text exists. */
export class TextResponse {
  /** JSON. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Handles the requests of one endpoint. Returns an object to be written as JSON, its text, or bars.
 *
 * @throws {ParameterError} for a parameter that breaks a rule.
 * @throws {RequestError} for a request that cannot be served.
 */
export type EndpointHandler = (
  view: LakeView,
  asked: Asked,
) => Promise<KlineResponse | TextResponse | object>;
