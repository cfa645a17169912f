import { ParameterError } from "../../wire/parameters.js";
import { RequestError } from "../http/errors/request-error.js";
import type { ReferenceData } from "../read/reference-data.js";
import type { Caller } from "./key-ring.js";

/** The symbols and universes that a request may read. */
export interface Scope {
  /** Whether everything is permitted. */
  readonly isWhole: boolean;
  hasSymbol(symbol: string): boolean;
  hasUniverse(id: string): boolean;
  /**
   * @throws {ParameterError} for more symbols than the key may put into a request.
   * @throws {RequestError} FORBIDDEN, with the first symbol that is not permitted.
   */
  checkSymbols(symbols: readonly string[]): void;
  /** @throws {RequestError} FORBIDDEN, with the first universe that is not permitted. */
  checkUniverses(ids: readonly string[]): void;
}

/** The scope of a caller: everything, or the current members of its universes. */
export function scopeOf({ name, universes, maxSymbols }: Caller, { members }: ReferenceData): Scope {
  const symbols =
    universes === undefined ? undefined : new Set([...universes].flatMap((id) => members.get(id) ?? []));
  const hasSymbol = (symbol: string): boolean => symbols === undefined || symbols.has(symbol);
  const hasUniverse = (id: string): boolean => universes === undefined || universes.has(id);
  const check = (kind: string, asked: readonly string[], permits: (one: string) => boolean): void => {
    const refused = asked.find((one) => !permits(one));
    if (refused === undefined) return;
    const text = JSON.stringify(refused.slice(0, 64));
    throw new RequestError("FORBIDDEN", `${name} may not ask for ${kind} ${text}`);
  };
  return {
    isWhole: universes === undefined,
    hasSymbol,
    hasUniverse,
    checkSymbols(asked) {
      if (maxSymbols !== undefined && asked.length > maxSymbols)
        throw new ParameterError("INVALID_PARAMETER", `symbols has more than ${maxSymbols} entries`);
      check("symbol", asked, hasSymbol);
    },
    checkUniverses: (asked) => check("universe", asked, hasUniverse),
  };
}
