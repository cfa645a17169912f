import type { TimeRange } from "../../core/time.js";
import { parquetRelation } from "../../db/parquet-relation.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import type { SettledPart } from "../../plan/older-bars.js";
import type { TableSchema } from "../../schema/column.js";

/** Bars of a symbol that the lake has in a window, and the service has no more. */
export interface GoneBars {
  readonly symbol: string;
  readonly window: TimeRange;
  readonly bars: number;
}

/** How many bars came of windows that were answered in full: where the lake has more, some were withdrawn. */
export class RecentWindows {
  readonly #windows = new Map<string, { readonly window: TimeRange; readonly rows: Map<string, number> }>();

  /** @param rows good bars of each symbol of the response. */
  add(parts: readonly SettledPart[], rows: ReadonlyMap<string, number>): void {
    for (const { symbols, window } of parts) {
      const key = `${window.start} ${window.end}`;
      const known = this.#windows.get(key) ?? { window, rows: new Map<string, number>() };
      this.#windows.set(key, known);
      for (const symbol of symbols) known.rows.set(symbol, rows.get(symbol) ?? 0);
    }
  }

  /** Compares with what the lake has, once what came has landed. @param since windows that begin earlier do not count. */
  async gone(session: Session, lake: Lake, table: TableSchema, since: number): Promise<GoneBars[]> {
    const found: GoneBars[] = [];
    for (const { window, rows } of this.#windows.values()) {
      if (window.start < since) continue;
      const bars = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
      const counts = await session.json<{ symbol: string; n: number }>(
        `SELECT symbol, count(*)::DOUBLE AS n FROM (${bars})
         WHERE timestamp >= make_timestamptz($1::BIGINT * 1000) AND timestamp < make_timestamptz($2::BIGINT * 1000)
         GROUP BY symbol ORDER BY symbol`,
        [window.start, window.end],
      );
      for (const { symbol, n } of counts) {
        const came = rows.get(symbol);
        if (came !== undefined && n > came) found.push({ symbol, window, bars: n - came });
      }
    }
    return found;
  }
}
