import { DAY_MS, subtractRanges, type TimeRange, unionRanges } from "../../core/time.js";
import { literalList } from "../../db/quote.js";
import { type Session, TempTable } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { ASKED_AGAIN_SOON, REVISIT_DAYS, waitAfter } from "../../plan/absence/absence.js";
import { type AbsenceReason, REQUESTS } from "../../schema/runs.js";
import { instantSql, ledgerSql, ledgerVersion, type RequestRecord } from "./ledger.js";

/**
 * Fills a table with the lists of symbols that were requested of some datasets, with their windows: `dataset`, the number of
 * the list as `list`, `symbols`, and `windows`. Every night requests the same lists, so windows are stored by list. With a
 * row for each symbol and night, reading a year of them took most of the time of a plan; reading the lists still does, so
 * those of several datasets are read together.
 *
 * @returns the version of the ledger.
 */
async function fillLists(
  lists: TempTable,
  session: Session,
  lake: Lake,
  datasets: readonly string[],
): Promise<number> {
  const ledger = await lake.snapshot(REQUESTS);
  // As `leavesHole` defines it. In ledgers without reasons, which earlier versions wrote, a response without any bar
  // explained nothing.
  await lists.fill(
    `SELECT row_number() OVER () AS list, dataset, symbols, windows FROM (
       SELECT dataset, symbols, list({s: window_start, e: least(window_end, final_end), asked_at: asked_at, is_lost: status = 'lost',
         absent: absent, hole: CASE WHEN list_contains(${literalList(ASKED_AGAIN_SOON)}, reason) THEN reason END,
         explains_nothing: reason IS NULL AND status = 'empty'}) AS windows
       FROM (${await ledgerSql(session, lake, ledger)})
       WHERE dataset IN (SELECT unnest(${literalList(datasets)})) AND status IN ('answered', 'empty', 'lost')
         AND window_start < least(window_end, final_end) AND len(symbols) > 0
       GROUP BY dataset, symbols)`,
  );
  return ledger.version;
}

/**
 * The requested windows of a dataset. A symbol has separate rows only where a response shows something about it that is not
 * true of the rest of its list.
 */
class AskedWindows implements AsyncDisposable {
  readonly dataset: string;
  /** The lists of all datasets that were read, see {@link fillLists}. */
  readonly lists: TempTable;
  /** One row for each request of a list: `list`, the window from `s` to `e`, `asked_at`, `is_lost`, `is_absent`. */
  readonly ofLists: TempTable;
  /**
   * The same for single symbols, with `symbol` instead of `list`, and `hole`: the reason why the symbol lacks bars, or
   * null.
   */
  readonly ofSymbols: TempTable;
  /**
   * Whether bars of a window were lost (`hasLosses`), or may be absent for a reason that can pass (`hasHoles`). This
   * can be true only of symbols in {@link ofSymbols}.
   */
  readonly hasLosses: boolean;
  readonly hasHoles: boolean;
  readonly hasResponses: boolean;

  private constructor(tables: Tables, facts: Pick<AskedWindows, "hasResponses" | "hasLosses" | "hasHoles">) {
    this.dataset = tables.dataset;
    this.lists = tables.lists;
    this.ofLists = tables.ofLists;
    this.ofSymbols = tables.ofSymbols;
    this.hasResponses = facts.hasResponses;
    this.hasLosses = facts.hasLosses;
    this.hasHoles = facts.hasHoles;
  }

  /** Reads the windows of a dataset that were requested, or whose bars were lost. */
  static async of(session: Session, lists: TempTable, dataset: string): Promise<AskedWindows> {
    const tables = {
      dataset,
      lists,
      ofLists: new TempTable(session, "asked_windows_of_lists"),
      ofSymbols: new TempTable(session, "asked_windows_of_symbols"),
    };
    try {
      return new AskedWindows(tables, await fill(session, tables));
    } catch (error) {
      await dropAll(tables);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await dropAll(this);
  }
}

type Tables = Pick<AskedWindows, "dataset" | "lists" | "ofLists" | "ofSymbols">;

async function dropAll({ ofLists, ofSymbols }: Tables): Promise<void> {
  for (const table of [ofLists, ofSymbols]) await table[Symbol.asyncDispose]();
}

async function fill(
  session: Session,
  { dataset, lists, ofLists, ofSymbols }: Tables,
): Promise<Pick<AskedWindows, "hasResponses" | "hasLosses" | "hasHoles">> {
  // If all symbols of a list are absent, they do not differ, so the row of the list suffices.
  await ofLists.fill(
    `SELECT list, "window".*, list_has_all("window".absent, symbols) AS is_absent
     FROM (SELECT list, symbols, unnest(windows) AS "window" FROM ${lists.name} WHERE dataset = $1)`,
    [dataset],
  );
  await ofSymbols.fill(
    `WITH differing AS (
       SELECT DISTINCT unnest(CASE WHEN w.is_lost OR w.hole IS NOT NULL THEN l.symbols ELSE w.absent END) AS symbol
       FROM ${ofLists.name} w JOIN ${lists.name} l ON w.list = l.list
       WHERE w.is_lost OR w.hole IS NOT NULL OR (len(w.absent) > 0 AND (w.explains_nothing OR NOT w.is_absent))),
     members AS (
       SELECT m.list, m.symbol FROM (SELECT list, unnest(symbols) AS symbol FROM ${lists.name} WHERE dataset = $1) m SEMI JOIN differing d ON m.symbol = d.symbol)
     SELECT m.symbol, w.s, w.e, w.asked_at, w.is_lost, list_contains(w.absent, m.symbol) AS is_absent,
       CASE WHEN w.hole IS NOT NULL THEN w.hole
         WHEN w.explains_nothing AND list_contains(w.absent, m.symbol) THEN 'unexplained' END AS hole
     FROM members m JOIN ${ofLists.name} w ON m.list = w.list`,
    [dataset],
  );
  const [kinds] = await session.json<Record<"responses" | "losses" | "holes", boolean | null>>(
    `SELECT bool_or(NOT is_lost) AS responses, bool_or(is_lost) AS losses,
       EXISTS (FROM ${ofSymbols.name} WHERE hole IS NOT NULL) AS holes
     FROM ${ofLists.name}`,
  );
  return {
    hasResponses: kinds?.responses === true,
    hasLosses: kinds?.losses === true,
    hasHoles: kinds?.holes === true,
  };
}

/** A window in which a symbol lacks bars for a reason that may pass, and which no later response has closed. */
interface Hole {
  readonly symbol: string;
  readonly window: TimeRange;
  readonly reason: AbsenceReason;
  /** Number of consecutive runs that found nothing. */
  readonly tries: number;
  /** When the last of these runs sent its request, and when the next request is due; epoch milliseconds. */
  readonly askedAt: number;
  readonly dueAt: number;
}

type HolesBySymbol = ReadonlyMap<string, readonly Hole[]>;

interface JudgedWindow {
  readonly symbol: string;
  readonly start: number;
  readonly end: number;
  readonly askedAt: number;
  /** Null where the response settled the window. */
  readonly reason: AbsenceReason | null;
}

/**
 * The holes that responses leave, by symbol. A later response about the same time closes a hole.
 *
 * @param judged ordered by symbol and request time; for each response, the windows with a reason come first.
 */
export function holesOf(judged: readonly JudgedWindow[]): HolesBySymbol {
  const holes = new Map<string, Hole[]>();
  for (const one of judged) holes.set(one.symbol, afterResponse(holes.get(one.symbol) ?? [], one));
  return holes;
}

function afterResponse(
  holes: readonly Hole[],
  { symbol, start, end, askedAt, reason }: JudgedWindow,
): Hole[] {
  const range = { start, end };
  // The holes of a response are recorded with its settled windows, and have the same request time.
  const left = holes.flatMap((hole) =>
    hole.askedAt === askedAt
      ? [hole]
      : subtractRanges(hole.window, [range]).map((window) => ({ ...hole, window })),
  );
  if (reason === null) return left;
  const before = holes.filter(
    ({ window, askedAt: at }) => at < askedAt && window.start < end && window.end > start,
  );
  const tries = 1 + Math.max(0, ...before.map((hole) => hole.tries));
  return [
    ...left,
    { symbol, window: range, reason, tries, askedAt, dueAt: askedAt + waitAfter(tries, reason) },
  ];
}

/** The windows of holes in which nothing came when they were last requested, by symbol. */
export function emptyWindows(holes: HolesBySymbol): Map<string, readonly TimeRange[]> {
  const empty = new Map<string, readonly TimeRange[]>();
  for (const [symbol, own] of holes) {
    const windows = own.flatMap(({ reason, window }) => (reason === "set_aside" ? [] : [window]));
    if (windows.length > 0) empty.set(symbol, windows);
  }
  return empty;
}

/** Removes holes from covered windows. @param isOpen whether a hole counts. */
function withoutHoles(
  covered: Map<string, readonly TimeRange[]>,
  holes: HolesBySymbol,
  isOpen: (hole: Hole) => boolean,
): Map<string, readonly TimeRange[]> {
  for (const [symbol, own] of holes) {
    const windows = covered.get(symbol);
    if (windows === undefined) continue;
    const open = own.filter(isOpen).map(({ window }) => window);
    covered.set(
      symbol,
      windows.flatMap((window) => subtractRanges(window, open)),
    );
  }
  return covered;
}

/** Windows by symbol; those of a symbol are sorted and disjoint. */
type WindowsBySymbol = ReadonlyMap<string, readonly TimeRange[]>;

export interface LedgerWindows {
  readonly dataset: string;
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

/** The windows of datasets in the newest version of the ledger, by dataset. */
export async function readLedgerWindows(
  session: Session,
  lake: Lake,
  datasets: readonly string[],
  options: ReadOptions,
): Promise<ReadonlyMap<string, LedgerWindows>> {
  await using lists = new TempTable(session, "asked_lists");
  const version = await fillLists(lists, session, lake, datasets);
  const found = new Map<string, LedgerWindows>();
  for (const dataset of new Set(datasets))
    found.set(dataset, { dataset, version, ...(await windowsOf(session, lists, dataset, options)) });
  return found;
}

async function windowsOf(
  session: Session,
  lists: TempTable,
  dataset: string,
  options: ReadOptions,
): Promise<Omit<LedgerWindows, "dataset" | "version">> {
  await using asked = await AskedWindows.of(session, lists, dataset);
  const { hasResponses, hasLosses, hasHoles, ofSymbols } = asked;
  const windows: Answered = { answered: new Map(), recent: new Map() };
  if (hasResponses) await addAnswered(session, asked, options, windows);
  if (hasLosses) await subtractLosses(session, ofSymbols, options, windows);
  return { ...windows, holes: hasHoles ? await holesIn(session, ofSymbols) : new Map() };
}

/** Rules for what counts as covered by earlier requests. */
interface CoverageRules {
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

/**
 * The windows that need no request, by symbol; sorted and disjoint. The map may be changed, its arrays may not: symbols of
 * one list share one.
 */
export function coveredWindows(
  { answered, recent, holes }: LedgerWindows,
  { now, recheckSince, openHoles = "due" }: CoverageRules,
): Map<string, readonly TimeRange[]> {
  const covered = new Map<string, readonly TimeRange[]>();
  // Symbols of one list share its windows and follow one another, so the joined windows of one symbol can be used for
  // the next.
  let last: { windows: unknown; again: unknown; since: number; joined: readonly TimeRange[] } | undefined;
  for (const [symbol, windows] of answered) {
    const region = recheckSince && regionOf(symbol);
    const since = region && recheckSince[region];
    if (since === undefined) {
      covered.set(symbol, windows);
      continue;
    }
    const again = recent.get(symbol);
    if (last?.windows !== windows || last.again !== again || last.since !== since) {
      const before = ({ start, end }: TimeRange): TimeRange => ({ start, end: Math.min(end, since) });
      const joined = unionRanges([...windows.map(before), ...(again ?? [])]);
      last = { windows, again, since, joined };
    }
    covered.set(symbol, last.joined);
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
  await using lists = new TempTable(session, "asked_lists");
  await fillLists(lists, session, lake, [known.dataset]);
  await using asked = await AskedWindows.of(session, lists, known.dataset);
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
  { dataset, lists, ofLists, ofSymbols }: AskedWindows,
  options: ReadOptions,
  windows: Answered,
): Promise<void> {
  const own = await session.json<{ symbol: string }>(`SELECT DISTINCT symbol FROM ${ofSymbols.name}`);
  const hasOwn = new Set(own.map(({ symbol }) => symbol));
  const members = await session.json<{ list: number; symbols: string[] }>(
    `SELECT list::INTEGER AS list, symbols FROM ${lists.name} WHERE dataset = $1`,
    [dataset],
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
