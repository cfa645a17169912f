import fc from "fast-check";
import type { Session } from "../../src/db/session/session.js";
import { parquetRelation } from "../../src/db/views/parquet-relation.js";
import type { Lake } from "../../src/lake/lake.js";
import type { Snapshot } from "../../src/lake/log/snapshot.js";
import { BARS_1D } from "../../src/schema/bars.js";
import type { TestBar } from "./temporary-lake.js";

/** One bar of a model: a day of a symbol, and its close. */
export interface ModelBar {
  readonly symbol: string;
  /** Days after the first one; both years of the model are reached. */
  readonly n: number;
  readonly close: number;
}

/** The expected content of a table of daily bars: closes by symbol and day. */
export type Content = ReadonlyMap<string, number>;

const START = Date.parse("2024-06-01T16:00:00Z");
const DAY_MS = 86_400_000;

const keyOf = (symbol: string, at: number): string => `${symbol} ${new Date(at).toISOString().slice(0, 10)}`;
/** The time of a bar, in epoch milliseconds. */
export const timeOf = ({ n }: ModelBar): number => START + n * DAY_MS;

/** A delivery of bars, each key once. */
export const anyDelivery: fc.Arbitrary<readonly ModelBar[]> = fc
  .record({
    symbols: fc.subarray(["600519.SH", "000001.SZ", "AAPL.US", "00700.HK", "830799.BJ"], { minLength: 1 }),
    from: fc.constantFrom(0, 4, 9, 110, 205, 208),
    days: fc.integer({ min: 1, max: 12 }),
    step: fc.constantFrom(1, 1, 2, 17),
    cents: fc.integer({ min: 950, max: 954 }),
  })
  .map(({ symbols, from, days, step, cents }) =>
    symbols.flatMap((symbol) =>
      Array.from({ length: days }, (_, i) => ({ symbol, n: from + i * step, close: cents / 100 })),
    ),
  );

/** The bars in the form that a landing takes. */
export function testBars(delivery: readonly ModelBar[]): TestBar[] {
  return delivery.map((bar) => ({ symbol: bar.symbol, at: timeOf(bar), close: bar.close }));
}

/** The content of a table after a landing, and the expected report. */
export function landed(
  before: Content,
  delivery: readonly ModelBar[],
): { content: Content; inserted: number; updated: number; unchanged: number } {
  const content = new Map(before);
  const counts = { inserted: 0, updated: 0, unchanged: 0 };
  for (const bar of delivery) {
    const key = keyOf(bar.symbol, timeOf(bar));
    const known = before.get(key);
    counts[known === undefined ? "inserted" : known === bar.close ? "unchanged" : "updated"]++;
    content.set(key, bar.close);
  }
  return { content, ...counts };
}

/** The content of a version of the table. @throws if a key occurs twice. */
export async function contentOf(session: Session, lake: Lake, snapshot: Snapshot): Promise<Content> {
  const live = await parquetRelation(session, lake.filesOf(snapshot));
  const rows = await session.json<{ symbol: string; at: number; close: number }>(
    `SELECT symbol, CAST(epoch_ms(timestamp) AS DOUBLE) AS at, close FROM (${live})`,
  );
  const content = new Map(rows.map(({ symbol, at, close }) => [keyOf(symbol, at), close]));
  if (content.size !== rows.length) throw new Error(`${rows.length} rows have ${content.size} keys`);
  return content;
}

/** The content of the newest version of the table. */
export async function newestContent(session: Session, lake: Lake): Promise<Content> {
  return contentOf(session, lake, await lake.snapshot(BARS_1D));
}
