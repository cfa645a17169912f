import type { MemberPattern } from "../../kernel/number-kernel.js";
import type { NumberToken } from "./number-token.js";

/** Receives the numbers of an array, many at a time. Numbers are nearly all bytes of a response. */
export interface NumberRuns {
  readonly type: "double" | "int64";
  /** How many more numbers it accepts. All later ones are passed one by one. */
  readonly capacity: number;
  /** Receives values of the type, in the order of the array. They are valid only during the call. */
  push(values: Float64Array | BigInt64Array): void;
}

/** Receives members of an object that have the same form, many at a time. */
export interface MemberRuns {
  readonly pattern: MemberPattern;
  /**
   * Receives members that the kernel has just read. @returns how many of them it accepts, starting with the first; the
   * others are passed key by key.
   */
  push(count: number, nameOf: (index: number) => string): number;
}

/** Receives the values that a {@link JsonScanner} reads. Offsets are in bytes of the whole document, from 0. */
export interface JsonSink {
  /** The receiver of the next members of the innermost object, if they may have the same form. */
  readonly members?: MemberRuns | undefined;
  startObject(offset: number): void;
  endObject(): void;
  /** May return a receiver for the numbers in the array. Numbers that it does not accept are passed to `number`. */
  startArray(offset: number): NumberRuns | undefined;
  endArray(): void;
  key(text: string, offset: number): void;
  /** The token is valid only during the call. */
  number(token: NumberToken, offset: number): void;
  /** `read` decodes and returns the text. A sink that does not need the text does not call it. */
  string(read: () => string, offset: number): void;
  literal(value: boolean | null, offset: number): void;
}

/** Limits that protect against hostile documents. */
export interface JsonLimits {
  /** Deepest nesting of objects and arrays. @default 64 */
  readonly maxDepth: number;
  /** Longest string in bytes, at most 131072. The limit of a number is 4096. @default 65536 */
  readonly maxTokenBytes: number;
  /** Longest document, in bytes. @default 2 GiB */
  readonly maxBytes: number;
}

export const DEFAULT_JSON_LIMITS: JsonLimits = { maxDepth: 64, maxTokenBytes: 65_536, maxBytes: 2 ** 31 };
