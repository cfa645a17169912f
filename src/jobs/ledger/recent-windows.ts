import type { TimeRange } from "../../core/time.js";
import { jsonParameter } from "../../db/session/named-values.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import type { ResponseVerdict } from "../../plan/absence/judge-response.js";
import { rowsBetween, symbolSpans } from "../../plan/absence/window-beginning.js";
import type { TableSchema } from "../../schema/column.js";
import type { KlineColumns } from "../../wire/kline-columns.js";

/** Bars of a symbol in a window that the lake has and the service no longer returns. */
export interface GoneBars {
  readonly symbol: string;
  readonly window: TimeRange;
  readonly bars: number;
}

/**
 * The number of bars of a symbol in each window with a full response. If the lake has more bars, the service has
 * withdrawn some. The windows of one symbol do not overlap.
 */
export class RecentWindows {
  readonly #since: number;
  /** The number of bars by symbol and window; the last response counts. */
  readonly #windows = new Map<
    string,
    { readonly symbol: string; readonly window: TimeRange; bars: number }
  >();

  /** @param since start of the windows that count, in epoch milliseconds. */
  constructor(since: number) {
    this.#since = since;
  }

  /**
   * Records the windows that a response settles. Symbols with bars that were set aside are left out: the service has
   * these bars.
   */
  add({ settled, lost }: Pick<ResponseVerdict, "settled" | "lost">, columns: KlineColumns): void {
    const spans = new Map(symbolSpans(columns).map((span) => [span.symbol, span]));
    const isLost = new Set(lost.map(({ symbol }) => symbol));
    for (const { symbols, window } of settled) {
      for (const symbol of symbols) {
        const span = spans.get(symbol);
        if (!isLost.has(symbol))
          this.#set(symbol, window, (recent) =>
            span === undefined ? 0 : rowsBetween(span, columns, recent),
          );
      }
    }
  }

  addEmpty(symbols: readonly string[], window: TimeRange): void {
    for (const symbol of symbols) this.#set(symbol, window, () => 0);
  }

  #set(symbol: string, whole: TimeRange, barsIn: (window: TimeRange) => number): void {
    const window = { start: Math.max(whole.start, this.#since), end: whole.end };
    if (window.start >= window.end) return;
    this.#windows.set(`${symbol} ${window.start} ${window.end}`, { symbol, window, bars: barsIn(window) });
  }

  async gone(session: Session, lake: Lake, table: TableSchema): Promise<GoneBars[]> {
    const windows = [...this.#windows.values()];
    if (windows.length === 0) return [];
    const bars = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
    const counts = await session.json<{ n: number; more: number }>(
      `WITH windows AS (
         SELECT unnest(from_json($1, '["VARCHAR"]')) AS symbol, unnest(from_json($2, '["BIGINT"]')) AS s,
           unnest(from_json($3, '["BIGINT"]')) AS e, unnest(from_json($4, '["BIGINT"]')) AS came,
           unnest(range($5::BIGINT)) AS n),
       recent AS (SELECT symbol, epoch_ms(timestamp) AS ms FROM (${bars}) WHERE timestamp >= make_timestamptz($6::BIGINT * 1000))
       SELECT n::DOUBLE AS n, (count(*) - any_value(came))::DOUBLE AS more
       FROM windows JOIN recent ON recent.symbol = windows.symbol AND ms >= s AND ms < e
       GROUP BY n HAVING more > 0 ORDER BY n`,
      [
        jsonParameter(windows.map(({ symbol }) => symbol)),
        jsonParameter(windows.map(({ window }) => window.start)),
        jsonParameter(windows.map(({ window }) => window.end)),
        jsonParameter(windows.map((one) => one.bars)),
        windows.length,
        Math.floor(this.#since),
      ],
    );
    return counts.map(({ n, more }) => {
      const { symbol, window } = windows[n] as (typeof windows)[number];
      return { symbol, window, bars: more };
    });
  }
}
