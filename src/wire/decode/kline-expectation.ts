import type { JsonLimits } from "./json/json-sink.js";

/** Most bars of one symbol, and most symbols in one response, if an expectation does not state other limits. */
export const MAX_BARS = 1_000_000;
export const MAX_SYMBOLS = 20_000;

/** What was requested, so that a response about something else is detected; and how large the response may be. */
export interface KlineExpectation {
  /** `map`: `data` is symbol -> Compact K-line data. `single`: `data` is Compact K-line data of `symbols[0]`. */
  readonly shape: "map" | "single";
  /** The requested symbols. Other symbols are rejected. Undefined: any symbol is accepted. */
  readonly symbols?: readonly string[] | undefined;
  /** First and last requested timestamp in epoch milliseconds, both inclusive. Bars outside are rejected. */
  readonly window?: { readonly first: number; readonly last: number } | undefined;
  /** Most bars of one symbol; a symbol with more is rejected. @default {@link MAX_BARS} */
  readonly maxBarsPerSymbol?: number;
  /** Most symbols of one response. @default {@link MAX_SYMBOLS} */
  readonly maxSymbols?: number;
  readonly limits?: JsonLimits;
}
