import { compareText } from "../../../core/text-order.js";
import type { TimeRange } from "../../../core/time.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import type { Region } from "../../../market/regions.js";
import type { ResponseVerdict } from "../../../plan/absence/judge-response.js";
import type { Page } from "../../../plan/absence/older-bars.js";
import type { TableSchema } from "../../../schema/column.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS } from "../../../schema/reference.js";
import type { AbsenceReason } from "../../../schema/runs.js";
import { type KnownList, knownLists } from "../../ledger/known-lists.js";
import type { GoneBars } from "../../ledger/recent-windows.js";
import type { Pipeline } from "../../pipeline/definition.js";
import type { RunContext } from "../run-context.js";
import type { RunOptions } from "../run-demand.js";

/** A list that a run's symbols come from. */
export interface RunList extends KnownList {
  /** Whether its first snapshot was taken during the run. */
  readonly isNew: boolean;
}

/**
 * The lists that a run's symbols come from: all lists for reference data, the chosen universes, or the instruments of
 * the regions. There are none for named symbols, for gaps of earlier requests, and for universes that are requested as
 * a whole.
 */
export async function runLists(
  run: Pick<RunContext, "session" | "lake" | "startedAt">,
  pipeline: Pipeline,
  demand: RunOptions,
): Promise<RunList[]> {
  const found: KnownList[] = [];
  for (const { table, ...choice } of choicesOf(pipeline, demand)) {
    const files = run.lake.filesOf(await run.lake.snapshot(table));
    const relation = `(${await parquetRelation(run.session, files)})`;
    found.push(...(await knownLists(run.session, { table, relation, ...choice })));
  }
  return found.map((list) => ({ ...list, isNew: list.firstSeenAt >= run.startedAt }));
}

interface Choice {
  readonly table: TableSchema;
  readonly regions?: readonly Region[] | undefined;
  readonly ids?: readonly string[] | undefined;
}

function choicesOf(pipeline: Pipeline, { symbols, universes, regions, repair }: RunOptions): Choice[] {
  if (pipeline.kind === "reference") return [{ table: INSTRUMENTS }, { table: UNIVERSE_MEMBERS }];
  if (pipeline.kind === "intraday" || pipeline.kind === "files" || symbols || repair) return [];
  if (universes) return [{ table: UNIVERSE_MEMBERS, ids: universes }];
  return [{ table: INSTRUMENTS, regions: regions ?? pipeline.regions }];
}

/** The numbers of requested and of returned symbols. */
export interface Returned {
  readonly dataset: string;
  readonly requested: number;
  readonly returned: number;
  /** The first of the symbols for which nothing was returned. */
  readonly missing: readonly string[];
}

const NAMED = 10;

/** Counts requested and returned symbols, by dataset. A symbol counts as returned if any response had it. */
export class SymbolTally {
  readonly #datasets = new Map<string, { requested: Set<string>; returned: Set<string> }>();

  /** Counts a request. @param absent its symbols that the response lacked; all of them where the request failed. */
  note(dataset: string, symbols: readonly string[], absent: ReadonlySet<string>): void {
    const tally = this.#datasets.get(dataset) ?? { requested: new Set(), returned: new Set() };
    this.#datasets.set(dataset, tally);
    for (const symbol of symbols) {
      tally.requested.add(symbol);
      if (!absent.has(symbol)) tally.returned.add(symbol);
    }
  }

  forget(dataset: string): void {
    this.#datasets.delete(dataset);
  }

  counts(): Returned[] {
    return [...this.#datasets].map(([dataset, { requested, returned }]) => ({
      dataset,
      requested: requested.size,
      returned: returned.size,
      missing: [...requested].filter((symbol) => !returned.has(symbol)).slice(0, NAMED),
    }));
  }
}

/** Why a symbol with bars has no bar in a session. */
export type SessionReason = AbsenceReason | "no_bar";

/** Bars of one symbol and window that were set aside. */
export interface SetAsideBars {
  readonly symbol: string;
  /** Epoch milliseconds, end exclusive; undefined for a snapshot. */
  readonly window: TimeRange | undefined;
  /** Undefined where the number is not known. */
  readonly bars: number | undefined;
}

/** Sessions of symbols that have no bar, by reason. */
export interface AbsentSessions {
  readonly reason: SessionReason;
  readonly symbols: number;
  readonly sessions: number;
}

/** A window in which a symbol has no bar, without an explanation. */
export interface UnexplainedWindow extends TimeRange {
  readonly symbol: string;
}

/** What was requested of a table, and which part is in the lake, absent for a reason, unexplained, or set aside. */
export interface TableCompleteness {
  readonly dataset: string;
  /**
   * Requested symbols, their sessions by the calendar (one for each symbol and trading day), and the start of the
   * earliest requested window in epoch milliseconds; undefined where nothing was requested.
   */
  readonly asked: {
    readonly symbols: number;
    readonly sessions: number;
    readonly start?: number | undefined;
  };
  /** Number of received bars that break no rule. */
  readonly received: { readonly bars: number };
  /** Explained sessions without a bar, largest number first. */
  readonly absent: readonly AbsentSessions[];
  /** Windows without an explanation, from requests of this run or an earlier one. */
  readonly unexplained: readonly UnexplainedWindow[];
  readonly setAside: readonly SetAsideBars[];
  /** Bars of recent days that the lake has and the service no longer has. */
  readonly withdrawn: readonly GoneBars[];
}

function bySymbol(a: { readonly symbol: string }, b: { readonly symbol: string }): number {
  return compareText(a.symbol, b.symbol);
}

interface Tally {
  readonly symbols: Set<string>;
  sessions: number;
  start: number | undefined;
  bars: number;
  readonly absent: Map<SessionReason, { readonly symbols: Set<string>; sessions: number }>;
  unexplained: UnexplainedWindow[];
  setAside: SetAsideBars[];
  withdrawn: GoneBars[];
}

export class Completeness {
  readonly #tables = new Map<string, Tally>();

  /**
   * @param sessions number of sessions of all the symbols together.
   * @param start the start of its window, in epoch milliseconds.
   */
  asked(dataset: string, symbols: readonly string[], sessions: number, start: number): void {
    const tally = this.#of(dataset);
    tally.start = Math.min(start, tally.start ?? start);
    for (const symbol of symbols) tally.symbols.add(symbol);
    tally.sessions += sessions;
  }

  received(dataset: string, bars: number): void {
    this.#of(dataset).bars += bars;
  }

  /** Counts sessions without a bar. @param sessions number of sessions of each of the symbols. */
  absent(dataset: string, reason: SessionReason, symbols: readonly string[], sessions: number): void {
    if (sessions === 0 || symbols.length === 0) return;
    const { absent } = this.#of(dataset);
    const own = absent.get(reason) ?? { symbols: new Set<string>(), sessions: 0 };
    absent.set(reason, own);
    for (const symbol of symbols) own.symbols.add(symbol);
    own.sessions += sessions * symbols.length;
  }

  judged(dataset: string, { symbols }: Pick<Page, "symbols">, verdict: ResponseVerdict): void {
    for (const { symbol, window, bars } of verdict.lost) this.setAside(dataset, { symbol, window, bars });
    for (const { symbol, reason, sessions } of verdict.quiet)
      this.absent(dataset, reason, [symbol], sessions);
    const confirmed = new Set(verdict.absence.confirmed);
    for (const symbol of symbols.filter((one) => confirmed.has(one)))
      this.absent(dataset, "others_came", [symbol], verdict.sessions.get(symbol) ?? 0);
  }

  unexplained(dataset: string, window: UnexplainedWindow): void {
    this.#of(dataset).unexplained.push(window);
  }

  setAside(dataset: string, bars: SetAsideBars): void {
    this.#of(dataset).setAside.push(bars);
  }

  withdrawn(dataset: string, bars: GoneBars): void {
    this.#of(dataset).withdrawn.push(bars);
  }

  hasSetAside(dataset: string, symbol: string, { start, end }: TimeRange): boolean {
    return this.#of(dataset).setAside.some(
      (one) =>
        one.symbol === symbol &&
        (one.window === undefined || (one.window.start < end && one.window.end > start)),
    );
  }

  tables(): TableCompleteness[] {
    return [...this.#tables].map(
      ([dataset, { symbols, sessions, start, bars, absent, unexplained, setAside, withdrawn }]) => ({
        dataset,
        asked: { symbols: symbols.size, sessions, start },
        received: { bars },
        absent: [...absent]
          .map(([reason, own]) => ({ reason, symbols: own.symbols.size, sessions: own.sessions }))
          .sort((a, b) => b.sessions - a.sessions),
        unexplained: unexplained.toSorted(bySymbol),
        setAside: setAside.toSorted(bySymbol),
        withdrawn: withdrawn.toSorted(bySymbol),
      }),
    );
  }

  #of(dataset: string): Tally {
    let tally = this.#tables.get(dataset);
    if (tally === undefined) {
      tally = {
        symbols: new Set(),
        sessions: 0,
        start: undefined,
        bars: 0,
        absent: new Map(),
        unexplained: [],
        setAside: [],
        withdrawn: [],
      };
      this.#tables.set(dataset, tally);
    }
    return tally;
  }
}
