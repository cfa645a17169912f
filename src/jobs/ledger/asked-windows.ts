import { literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import type { Lake } from "../../lake/lake.js";
import { ASKED_AGAIN_SOON } from "../../plan/absence/absence.js";
import { REQUESTS } from "../../schema/requests.js";
import { ledgerSql } from "./ledger-sql.js";

/**
 * The requested windows of a dataset in one version of the ledger. Every night requests the same lists of symbols, so
 * windows are stored by list. With a row for each symbol and night, reading a year of them took most of the time of a
 * plan. A symbol has separate rows only where a response shows something about it that is not true of the rest of its
 * list.
 */
export class AskedWindows implements AsyncDisposable {
  /** One row for each list: its number `list`, and `symbols`. */
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
  /** The version of the ledger. */
  readonly version: number;

  private constructor(
    tables: Pick<AskedWindows, "lists" | "ofLists" | "ofSymbols">,
    facts: Pick<AskedWindows, "version" | "hasResponses" | "hasLosses" | "hasHoles">,
  ) {
    this.lists = tables.lists;
    this.ofLists = tables.ofLists;
    this.ofSymbols = tables.ofSymbols;
    this.version = facts.version;
    this.hasResponses = facts.hasResponses;
    this.hasLosses = facts.hasLosses;
    this.hasHoles = facts.hasHoles;
  }

  /** Reads the windows of a dataset that were requested, or whose bars were lost. */
  static async read(session: Session, lake: Lake, dataset: string): Promise<AskedWindows> {
    const tables = {
      lists: new TempTable(session, "asked_lists"),
      ofLists: new TempTable(session, "asked_windows_of_lists"),
      ofSymbols: new TempTable(session, "asked_windows_of_symbols"),
    };
    try {
      return new AskedWindows(tables, await fill(session, lake, dataset, tables));
    } catch (error) {
      await dropAll(tables);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await dropAll(this);
  }
}

async function dropAll(tables: Pick<AskedWindows, "lists" | "ofLists" | "ofSymbols">): Promise<void> {
  for (const table of [tables.lists, tables.ofLists, tables.ofSymbols]) await table[Symbol.asyncDispose]();
}

async function fill(
  session: Session,
  lake: Lake,
  dataset: string,
  { lists, ofLists, ofSymbols }: Pick<AskedWindows, "lists" | "ofLists" | "ofSymbols">,
): Promise<Pick<AskedWindows, "version" | "hasResponses" | "hasLosses" | "hasHoles">> {
  const ledger = await lake.snapshot(REQUESTS);
  // As `leavesHole` defines it. In ledgers without reasons, which earlier versions wrote, a response without any bar
  // explained nothing.
  await lists.fill(
    `SELECT row_number() OVER () AS list, symbols, windows FROM (
       SELECT symbols, list({s: window_start, e: least(window_end, final_end), asked_at: asked_at, is_lost: status = 'lost',
         absent: absent, hole: CASE WHEN list_contains(${literalList(ASKED_AGAIN_SOON)}, reason) THEN reason END,
         explains_nothing: reason IS NULL AND status = 'empty'}) AS windows
       FROM (${await ledgerSql(session, lake, ledger)})
       WHERE dataset = $1 AND status IN ('answered', 'empty', 'lost') AND window_start < least(window_end, final_end)
         AND len(symbols) > 0
       GROUP BY symbols)`,
    [dataset],
  );
  // If all symbols of a list are absent, they do not differ, so the row of the list suffices.
  await ofLists.fill(
    `SELECT list, "window".*, list_has_all("window".absent, symbols) AS is_absent
     FROM (SELECT list, symbols, unnest(windows) AS "window" FROM ${lists.name})`,
  );
  await ofSymbols.fill(
    `WITH differing AS (
       SELECT DISTINCT unnest(CASE WHEN w.is_lost OR w.hole IS NOT NULL THEN l.symbols ELSE w.absent END) AS symbol
       FROM ${ofLists.name} w JOIN ${lists.name} l ON w.list = l.list
       WHERE w.is_lost OR w.hole IS NOT NULL OR (len(w.absent) > 0 AND (w.explains_nothing OR NOT w.is_absent))),
     members AS (
       SELECT m.list, m.symbol FROM (SELECT list, unnest(symbols) AS symbol FROM ${lists.name}) m SEMI JOIN differing d ON m.symbol = d.symbol)
     SELECT m.symbol, w.s, w.e, w.asked_at, w.is_lost, list_contains(w.absent, m.symbol) AS is_absent,
       CASE WHEN w.hole IS NOT NULL THEN w.hole
         WHEN w.explains_nothing AND list_contains(w.absent, m.symbol) THEN 'unexplained' END AS hole
     FROM members m JOIN ${ofLists.name} w ON m.list = w.list`,
  );
  const [kinds] = await session.json<Record<"responses" | "losses" | "holes", boolean | null>>(
    `SELECT bool_or(NOT is_lost) AS responses, bool_or(is_lost) AS losses,
       EXISTS (FROM ${ofSymbols.name} WHERE hole IS NOT NULL) AS holes
     FROM ${ofLists.name}`,
  );
  return {
    version: ledger.version,
    hasResponses: kinds?.responses === true,
    hasLosses: kinds?.losses === true,
    hasHoles: kinds?.holes === true,
  };
}
