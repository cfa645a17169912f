import { judgeAbsence, waitAfter } from "./absence.js";

/** Number of runs whose responses had no statement of any symbol, after which a symbol counts as having none. */
const RUNS_OF_NONE = 2;
/** Most symbols with statements that are requested together with unconfirmed ones. */
const MOST_CONTROLS = 3;

/** What earlier responses have shown about a table of statements. */
export interface EarlierStatements {
  /** Symbols with statements in the lake, those with the newest period first. */
  readonly inLake: ReadonlySet<string>;
  /** Symbols that were absent from a response that had statements of other symbols. */
  readonly absentBefore: ReadonlySet<string>;
  /** Number of earlier runs whose responses without any statement left a symbol unconfirmed. */
  readonly emptyRuns: ReadonlyMap<string, number>;
}

/** The last responses about a symbol, of each of which a statement was set aside. */
export interface SetAsideStatements {
  /** Number of consecutive runs that received them. */
  readonly runs: number;
  /** When the last one was requested, in epoch milliseconds. */
  readonly askedAt: number;
}

/**
 * When a symbol of which statements were set aside is requested again, in epoch milliseconds: by the next run, and then
 * after the same waits as bars that were set aside, but no later than a symbol of which all statements landed.
 *
 * @param refreshMs time after which such a symbol is requested again, in milliseconds.
 */
export function dueAfterSetAside({ runs, askedAt }: SetAsideStatements, refreshMs: number): number {
  return askedAt + Math.min(waitAfter(runs, "set_aside"), refreshMs);
}

interface StatementsResponse {
  /** Requested symbols without a record. */
  readonly absent: readonly string[];
  readonly present: number;
  /** Whether it contains a symbol that was not requested. */
  readonly hasStrangers: boolean;
}

/**
 * Symbols that may have statements although a response has none: those with statements in the lake; and, if the
 * response shows nothing, all symbols that no earlier response has shown to have none.
 */
export function unconfirmedAbsences(response: StatementsResponse, earlier: EarlierStatements): string[] {
  const shownNothing = new Set(judgeAbsence(response.absent, response).unconfirmed);
  return response.absent.filter(
    (symbol) => earlier.inLake.has(symbol) || (shownNothing.has(symbol) && !earlier.absentBefore.has(symbol)),
  );
}

/**
 * A second request: for the unconfirmed symbols, together with symbols that have statements, which a valid response
 * contains.
 */
interface SecondRequest {
  readonly symbols: readonly string[];
  readonly controls: readonly string[];
}

/**
 * The next second request for unconfirmed symbols.
 *
 * @param size most symbols of one request; with 1 there is no control symbol.
 * @param came symbols whose statements this run has received.
 */
export function nextSecondRequest(
  unconfirmed: readonly string[],
  size: number,
  came: ReadonlySet<string>,
  { inLake }: EarlierStatements,
): SecondRequest {
  const most = Math.min(MOST_CONTROLS, Math.floor(size / 2));
  const symbols = unconfirmed.slice(0, size - most);
  const controls = [...came, ...inLake].filter((symbol) => !symbols.includes(symbol));
  return { symbols, controls: [...new Set(controls)].slice(0, most) };
}

/**
 * Symbols that presumably never had statements: the service has returned no statement of any symbol, in this run and in
 * several earlier ones.
 */
export function neverHadStatements(
  unconfirmed: readonly string[],
  came: ReadonlySet<string>,
  { inLake, emptyRuns }: EarlierStatements,
): string[] {
  if (came.size + inLake.size > 0) return [];
  return unconfirmed.filter((symbol) => (emptyRuns.get(symbol) ?? 0) >= RUNS_OF_NONE);
}
