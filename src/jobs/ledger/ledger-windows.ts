import { DAY_MS, subtractRanges, type TimeRange, unionRanges } from "../../core/time.js";
import type { Session } from "../../db/session/session.js";
import type { TempTable } from "../../db/session/temp-table.js";
import type { Lake } from "../../lake/lake.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { ASKED_AGAIN_SOON, REVISIT_DAYS } from "../../plan/absence/absence.js";
import { AskedWindows } from "./asked-windows.js";
import type { RequestRecord } from "./ledger.js";
import { type HolesBySymbol, holesOf, type JudgedWindow, withoutHoles } from "./ledger-holes.js";
import { instantSql, ledgerVersion } from "./ledger-sql.js";

/** Windows by symbol; those of a symbol are sorted and disjoint. */
type WindowsBySymbol = ReadonlyMap<string, readonly TimeRange[]>;

/** The windows of a dataset in one version of the ledger. */
export interface LedgerWindows {
  readonly dataset: string;
  /** The version of the ledger. */
  readonly version: number;
  /**
   * The windows with a response of final bars. A window without a bar of the symbol counts only for some time: the
   * service may have bars later.
   */
  readonly answered: WindowsBySymbol;
  /** The same windows, from recent requests only. */
  readonly recent: WindowsBySymbol;
  readonly holes: HolesBySymbol;
}

/** Which requests count, and which of them are recent. */
interface ReadOptions {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Requests at or after this time are recent; epoch milliseconds. @default no request is recent */
  readonly recentSince?: number | undefined;
}

/** Reads the windows of a dataset from the ledger. */
export async function readLedgerWindows(
  session: Session,
  lake: Lake,
  dataset: string,
  options: ReadOptions,
): Promise<LedgerWindows> {
  await using asked = await AskedWindows.read(session, lake, dataset);
  const { version, hasResponses, hasLosses, hasHoles, ofSymbols } = asked;
  const windows: Answered = { answered: new Map(), recent: new Map() };
  if (hasResponses) await addAnswered(session, asked, options, windows);
  if (hasLosses) await subtractLosses(session, ofSymbols, options, windows);
  return { dataset, version, ...windows, holes: hasHoles ? await holesIn(session, ofSymbols) : new Map() };
}

/** Rules for what counts as covered by earlier requests. */
export interface CoverageRules {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Only recent requests cover time from here on; epoch milliseconds. @default all requests count */
  readonly recheckSince?: Readonly<Record<Region, number>> | undefined;
  /**
   * Which empty windows without a certain explanation are not covered: those that are due to be requested again, or
   * all. @default due
   */
  readonly openHoles?: "due" | "all" | undefined;
}

/** The windows that need no request, by symbol; sorted and disjoint. The map and its arrays may be changed. */
export function coveredWindows(
  { answered, recent, holes }: LedgerWindows,
  { now, recheckSince, openHoles = "due" }: CoverageRules,
): Map<string, TimeRange[]> {
  const covered = new Map<string, TimeRange[]>();
  // Symbols of one list share its windows and follow one another, so the joined windows of one symbol can be used for
  // the next.
  let last: { windows: unknown; again: unknown; since: number; joined: readonly TimeRange[] } | undefined;
  for (const [symbol, windows] of answered) {
    const region = recheckSince && regionOf(symbol);
    const since = region && recheckSince[region];
    if (since === undefined) {
      covered.set(symbol, [...windows]);
      continue;
    }
    const again = recent.get(symbol);
    if (last?.windows !== windows || last.again !== again || last.since !== since) {
      const before = ({ start, end }: TimeRange): TimeRange => ({ start, end: Math.min(end, since) });
      const joined = unionRanges([...windows.map(before), ...(again ?? [])]);
      last = { windows, again, since, joined };
    }
    covered.set(symbol, [...last.joined]);
  }
  return withoutHoles(covered, holes, ({ dueAt }) => openHoles === "all" || dueAt <= now);
}

/**
 * The current holes in a dataset's requests.
 *
 * @param known an earlier result of reading the ledger.
 * @param leavesNone whether a version of the ledger is known to have added only records that leave no hole. If all
 *   later versions are such, and there was no hole before, there is none now.
 */
export async function holesNow(
  session: Session,
  lake: Lake,
  known: LedgerWindows,
  leavesNone: (version: number) => boolean,
): Promise<HolesBySymbol> {
  const newest = await ledgerVersion(lake);
  let isSame = newest === known.version || known.holes.size === 0;
  for (let version = known.version + 1; version <= newest; version++) isSame &&= leavesNone(version);
  if (isSame) return known.holes;
  await using asked = await AskedWindows.read(session, lake, known.dataset);
  return asked.hasHoles ? await holesIn(session, asked.ofSymbols) : new Map();
}

/** Whether a record means that symbols lack bars in its window for a reason that may pass. */
export function leavesHole({ reason, status, absent }: RequestRecord): boolean {
  if (reason === undefined) return status === "empty" && absent.length > 0;
  return (ASKED_AGAIN_SOON as readonly string[]).includes(reason);
}

/** Maps of windows that can be changed: from all requests, and from recent ones. */
interface Answered {
  readonly answered: Map<string, TimeRange[]>;
  readonly recent: Map<string, TimeRange[]>;
}

/** SQL of the rows of responses that count. */
function countingSql({ name }: TempTable, { now }: ReadOptions): string {
  return `SELECT * FROM ${name}
    WHERE NOT is_lost AND (asked_at >= ${instantSql(now - REVISIT_DAYS * DAY_MS)} OR NOT is_absent)`;
}

/**
 * Adds the windows of every symbol: those of its separate rows where it has any, else those of the lists that contain
 * it.
 */
async function addAnswered(
  session: Session,
  { lists, ofLists, ofSymbols }: AskedWindows,
  options: ReadOptions,
  windows: Answered,
): Promise<void> {
  const own = await session.json<{ symbol: string }>(`SELECT DISTINCT symbol FROM ${ofSymbols.name}`);
  const hasOwn = new Set(own.map(({ symbol }) => symbol));
  const members = await session.json<{ list: number; symbols: string[] }>(
    `SELECT list::INTEGER AS list, symbols FROM ${lists.name}`,
  );
  const byList = await answeredBy<number>(session, ofLists, "list", options);
  const bySymbol = await answeredBy<string>(session, ofSymbols, "symbol", options);
  for (const kind of ["answered", "recent"] as const) {
    const into = windows[kind];
    const joined = new Set<string>();
    for (const { list, symbols } of members) {
      const ranges = byList[kind].get(list);
      if (ranges === undefined) continue;
      for (const symbol of symbols) {
        if (hasOwn.has(symbol)) continue;
        const known = into.get(symbol);
        if (known === undefined) into.set(symbol, ranges);
        else if (joined.has(symbol)) known.push(...ranges);
        else into.set(symbol, [...known, ...ranges]);
        if (known !== undefined) joined.add(symbol);
      }
    }
    for (const symbol of joined) into.set(symbol, unionRanges(into.get(symbol) ?? []));
    for (const [symbol, ranges] of bySymbol[kind]) into.set(symbol, ranges);
  }
}

/** The windows with a response, by symbol or by list; sorted and disjoint. */
async function answeredBy<Key>(
  session: Session,
  asked: TempTable,
  key: "symbol" | "list",
  options: ReadOptions,
): Promise<{ readonly answered: Map<Key, TimeRange[]>; readonly recent: Map<Key, TimeRange[]> }> {
  const { recentSince } = options;
  const recentSql =
    recentSince === undefined
      ? ""
      : `UNION ALL SELECT key, s, e, true FROM counting WHERE asked_at >= ${instantSql(recentSince)}`;
  const rows = await session.json<{ key: Key; recent: boolean; start: number; end: number }>(
    `WITH counting AS (SELECT ${key === "list" ? "list::INTEGER" : key} AS key, s, e, asked_at FROM (${countingSql(asked, options)})),
     windows AS (SELECT key, s, e, false AS recent FROM counting ${recentSql}),
     islands AS (
       SELECT *, s > max(e) OVER (PARTITION BY key, recent ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS begins
       FROM windows),
     numbered AS (
       SELECT *, count(*) FILTER (begins) OVER (PARTITION BY key, recent ORDER BY s, e ROWS UNBOUNDED PRECEDING) AS island
       FROM islands)
     SELECT key, recent, epoch_ms(min(s))::DOUBLE AS start, epoch_ms(max(e))::DOUBLE AS "end"
     FROM numbered GROUP BY key, recent, island ORDER BY start`,
  );
  const found = { answered: new Map<Key, TimeRange[]>(), recent: new Map<Key, TimeRange[]>() };
  for (const { key: one, recent, start, end } of rows) {
    const into = recent ? found.recent : found.answered;
    const known = into.get(one);
    if (known === undefined) into.set(one, [{ start, end }]);
    else known.push({ start, end });
  }
  return found;
}

/** For symbols with a loss, subtracts from each window the ranges that were lost after the window was requested. */
async function subtractLosses(
  session: Session,
  asked: TempTable,
  options: ReadOptions,
  windows: Answered,
): Promise<void> {
  const rows = await session.json<{
    symbol: string;
    start: number;
    end: number;
    askedAt: number;
    starts: number[];
    ends: number[];
  }>(
    `SELECT c.symbol, epoch_ms(c.s)::DOUBLE AS start, epoch_ms(c.e)::DOUBLE AS "end", epoch_ms(c.asked_at)::DOUBLE AS "askedAt",
       coalesce(list(epoch_ms(l.s)::DOUBLE) FILTER (l.asked_at > c.asked_at), []) AS starts,
       coalesce(list(epoch_ms(l.e)::DOUBLE) FILTER (l.asked_at > c.asked_at), []) AS ends
     FROM (${countingSql(asked, options)}) c JOIN (FROM ${asked.name} WHERE is_lost) l ON l.symbol = c.symbol
     GROUP BY c.symbol, c.s, c.e, c.asked_at`,
  );
  const { recentSince = Number.POSITIVE_INFINITY } = options;
  for (const [into, since] of [
    [windows.answered, Number.NEGATIVE_INFINITY],
    [windows.recent, recentSince],
  ] as const) {
    const left = new Map<string, TimeRange[]>();
    for (const { symbol, askedAt, starts, ends, ...window } of rows) {
      if (askedAt < since) continue;
      const lost = starts.map((start, i): TimeRange => ({ start, end: ends[i] as number }));
      left.set(symbol, [...(left.get(symbol) ?? []), ...subtractRanges(window, lost)]);
    }
    for (const [symbol, own] of left) into.set(symbol, unionRanges(own));
  }
}

/** The holes among requested windows: a later response about the same time closes a hole. */
async function holesIn(session: Session, asked: TempTable): Promise<HolesBySymbol> {
  // Only responses that overlap an earlier hole matter, which are few.
  return holesOf(
    await session.json<JudgedWindow>(
      `WITH answered AS (
         SELECT symbol, epoch_ms(s)::DOUBLE AS start, epoch_ms(e)::DOUBLE AS "end", epoch_ms(asked_at)::DOUBLE AS "askedAt",
           hole AS reason
         FROM ${asked.name} WHERE NOT is_lost)
       FROM answered SEMI JOIN (FROM answered WHERE reason IS NOT NULL) AS open
         ON answered.symbol = open.symbol AND answered.start < open."end" AND answered."end" > open.start
           AND answered."askedAt" >= open."askedAt"
       ORDER BY symbol, "askedAt", reason NULLS LAST, start`,
    ),
  );
}
