import type { NumberToken } from "./number-token.js";

/** Takes the numbers of an array many at a time: nearly all bytes of an answer. */
export interface NumberRuns {
  readonly type: "double" | "int64";
  /** How many more it takes; the ones after them come singly. */
  readonly room: number;
  /** Values of the type, in the order of the array. They are valid only during the call. */
  push(values: Float64Array | BigInt64Array): void;
}

/** What a {@link JsonScanner} tells as it reads. Offsets count bytes of the whole document, from 0. */
export interface JsonSink {
  startObject(offset: number): void;
  endObject(): void;
  /** May give a taker of the numbers in it; those that it does not get come to `number`. */
  startArray(offset: number): NumberRuns | undefined;
  endArray(): void;
  key(text: string, offset: number): void;
  /** The token is valid only during the call. */
  number(token: NumberToken, offset: number): void;
  /** `read` gives the text; a sink that does not need it does not pay for it. */
  string(read: () => string, offset: number): void;
  literal(value: boolean | null, offset: number): void;
}

/** Bounds that keep a hostile document small. */
export interface JsonLimits {
  /** Deepest nesting of objects and arrays. @default 64 */
  readonly maxDepth: number;
  /** Longest string, in bytes; at most 131072. A number may have 4096. @default 65536 */
  readonly maxTokenBytes: number;
  /** Longest document, in bytes. @default 2 GiB */
  readonly maxBytes: number;
}

export const DEFAULT_JSON_LIMITS: JsonLimits = { maxDepth: 64, maxTokenBytes: 65_536, maxBytes: 2 ** 31 };
