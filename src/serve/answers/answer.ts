import type { LakeView } from "../lake-reader.js";

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

/**
 * Answers one endpoint's requests: with an object to be written as JSON, or with the bytes of a finished JSON body.
 *
 * @throws {ParameterError} for a parameter that breaks a rule.
 * @throws {RequestError} for what cannot be answered.
 */
export type AnswerFunction = (view: LakeView, asked: Asked) => Promise<Uint8Array | object>;
