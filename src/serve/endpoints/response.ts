import { encodeRuns, type KlineShape, klinePieces } from "../../wire/encode/encode-klines.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import type { LakeView } from "../read/lake-reader.js";

/** A request, as far as an answer depends on it. */
interface Asked {
  /** Parsed query; values are texts, or lists of texts where a name stands more than once. */
  readonly query: unknown;
  /** Parsed JSON body; undefined where there is none. */
  readonly body: unknown;
  /** Parameters of the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Bars that are still to be written as a body. */
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

  /** The body, whole. @throws {RangeError} for a value that JSON cannot have. */
  bytes(): Uint8Array {
    return encodeRuns(this.#runs, this.#shape);
  }

  /** The body in pieces, made as they are asked for. @throws {RangeError} for a value that JSON cannot have. */
  pieces(): Generator<Uint8Array> {
    return klinePieces(this.#runs, this.#shape);
  }
}

/** A body that is written already: of many small objects, none of which outlives its own text. */
export class TextResponse {
  /** JSON. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Answers one endpoint's requests: with an object to be written as JSON, with its text, or with bars.
 *
 * @throws {ParameterError} for a parameter that breaks a rule.
 * @throws {RequestError} for what cannot be answered.
 */
export type EndpointHandler = (
  view: LakeView,
  asked: Asked,
) => Promise<KlineResponse | TextResponse | object>;
