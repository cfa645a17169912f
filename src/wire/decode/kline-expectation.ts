import type { JsonLimits } from "./json-sink.js";

/** What was asked for, so that an answer which is something else is noticed; and how large it may be. */
export interface KlineExpectation {
  /** `map`: `data` is symbol -> Compact K-line data. `single`: `data` is Compact K-line data of `symbols[0]`. */
  readonly shape: "map" | "single";
  /** The symbols asked for; another one is set aside. Undefined accepts any. */
  readonly symbols?: readonly string[] | undefined;
  /** First and last timestamp asked for, both inclusive, epoch milliseconds; a bar outside is set aside. */
  readonly window?: { readonly first: number; readonly last: number } | undefined;
  /** Most bars of one symbol; one with more is set aside. @default 1000000 */
  readonly maxBarsPerSymbol?: number;
  /** Most symbols of one answer. @default 20000 */
  readonly maxSymbols?: number;
  readonly limits?: JsonLimits;
}
