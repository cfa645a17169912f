import { isDeepStrictEqual } from "node:util";
import type { Issue, IssueLog } from "../../core/issue.js";
import { exchangeOf, isSymbol, MAX_SYMBOL_LENGTH, SYMBOL_GRAMMAR } from "../../market/symbol.js";
import type { DecodedRecords } from "../../wire/decode/decode-records.js";
import type { UniverseDetail } from "../../wire/resources.js";
import type { Received } from "../run/request/request-records.js";

/** The facts for the ledger about a decoded response, and its values. */
export function receivedRecords<T>(
  { entries, issues, count, bytes }: DecodedRecords<T>,
  asked: readonly string[] = [],
): Received & { readonly values: readonly T[]; readonly count: number | undefined } {
  const keys = new Set(entries.map(([key]) => key));
  const absent = asked.filter((key) => !keys.has(key));
  return {
    values: entries.map(([, value]) => value),
    count,
    rows: entries.length,
    rejected: issues.rejected,
    bytes,
    absent,
    issues: issues.stored,
    // A list that may lack elements has a fault, which is recorded for each list.
    setAside: [],
  };
}

/** Whether an element of an exchange's list is an instrument of that exchange. If not, an issue is added. */
export function isInstrumentOf(exchange: string, symbol: string, issues: IssueLog): boolean {
  if (isSymbol(symbol) && exchangeOf(symbol) === exchange) return true;
  if (!isSymbol(symbol)) issues.add(notASymbol(symbol, `instruments of ${exchange}`));
  else issues.add({ rule: "not_requested", message: `${symbol} is not of ${exchange}`, symbol, rejected: 1 });
  return false;
}

/** Adds an issue for each repeated instrument with the same content. @returns the number of repeats. */
export function noteRepeats(
  exchange: string,
  entries: readonly (readonly [string, { readonly symbol: string }])[],
  issues: IssueLog,
): number {
  const first = new Map<string, object>();
  let repeats = 0;
  for (const [, one] of entries) {
    const { symbol } = one;
    const earlier = first.get(symbol);
    if (earlier === undefined) first.set(symbol, one);
    else if (isDeepStrictEqual(earlier, one)) {
      const message = `instruments of ${exchange}: ${symbol} is listed more than once, with the same content`;
      issues.add({ rule: "duplicate_key", message, symbol, rejected: 1 });
      repeats += 1;
    }
  }
  return repeats;
}

/** The requested universes in a response. A member that is not a symbol becomes an issue, and does not land. */
export function receivedMembers(decoded: DecodedRecords<UniverseDetail>, ids: readonly string[]) {
  const entries = decoded.entries.filter(([key, { id }]) => {
    const isAsked = key === id && ids.includes(id);
    const message = `universe ${shown(id)} was not requested as ${shown(key)}`;
    if (!isAsked) decoded.issues.add({ rule: "not_requested", message, rejected: 1 });
    return isAsked;
  });
  for (const [id, { symbols }] of entries) {
    const different = new Set(symbols);
    for (const symbol of different)
      if (!isSymbol(symbol)) decoded.issues.add(notASymbol(symbol, `universe ${shown(id)}`));
    const repeats = symbols.length - different.size;
    const message = `universe ${shown(id)}: ${repeats} of its ${symbols.length} symbols repeat others`;
    if (repeats > 0) decoded.issues.add({ rule: "duplicate_key", message, rejected: repeats });
  }
  return receivedRecords({ ...decoded, entries }, ids);
}

/** A row for each member of a universe whose symbol is valid. */
export function memberRows({ id, region, symbols }: UniverseDetail): Record<string, unknown>[] {
  return [...new Set(symbols.filter(isSymbol))].map((symbol) => ({ id, symbol, region }));
}

function notASymbol(text: string, where: string): Issue {
  const message = `${where}: ${shown(text)} is not of the form ${SYMBOL_GRAMMAR}`;
  return { rule: "bad_symbol", message, symbol: text.slice(0, MAX_SYMBOL_LENGTH), rejected: 1 };
}

/** A text of a response in the form in which messages show it. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
