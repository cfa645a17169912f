import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fiscalQuarterSql, twelveMonthsSql } from "../../src/db/market/statement-sql.js";
import { Session } from "../../src/db/session/session.js";
import { openReader } from "../../src/lake/open-reader.js";
import { CASH_FLOW } from "../../src/schema/statements.js";
import { IS_REPEAT } from "../once.js";
import { landFinancials, newLake } from "../serve/served-lake.js";
import { cases } from "../sweep.js";

const DATA = resolve(process.env.BARLAKE_REALDATA ?? "../shared/realdata");
const FLOWS = join(DATA, "financials_us_cash_flow.csv");
if (!existsSync(FLOWS)) console.warn(`skipped: no real data at ${DATA}; set BARLAKE_REALDATA to its folder`);

/** The twelve months of each of a company's periods, from the first on. */
async function twelveMonths(session: Session, flows: readonly (number | null)[]): Promise<(number | null)[]> {
  const ago = [0, 3, 6, 9, 12].map((months) => `lag(flow, ${months / 3}) OVER (ORDER BY n)`);
  const quarter = fiscalQuarterSql("'US'", "DATE '2024-12-31'", "a", "b", "c", "d", "e");
  const rows = await session.json<{ sum: number | null }>(
    `SELECT ${twelveMonthsSql(quarter, "a", "b", "c", "d", "e")} AS sum FROM (
       SELECT n, ${ago.map((sql, i) => `${sql} AS ${"abcde"[i]}`).join(", ")}
       FROM (SELECT unnest(CAST($flows AS DOUBLE[])) AS flow, unnest(range(${flows.length})) AS n)) ORDER BY n`,
    { flows: `[${flows.map((value) => value ?? "NULL").join(", ")}]` },
  );
  return rows.map(({ sum }) => sum);
}

test("of a flow that cumulates over any fiscal year, twelve months are the last four quarters, or unknown", async () => {
  using session = await Session.open({ threads: 1 });
  let known = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 50, max: 150 }), { minLength: 9, maxLength: 16 }),
      fc.integer({ min: 0, max: 3 }),
      fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }),
      async (quarters, start, gaps) => {
        const reports = quarters.map((_, n) => {
          const first = n - ((n + start) % 4);
          // A year that began before the history: its reports are not known.
          if (first < 0 || (gaps[n] === true && gaps[(n + 1) % 16] === true)) return null;
          return quarters.slice(first, n + 1).reduce((sum, one) => sum + one, 0);
        });
        for (const [n, sum] of (await twelveMonths(session, reports)).entries()) {
          if (sum === null) continue;
          expect(sum, `${reports.join()} at ${n}`).toBe(
            quarters.slice(n - 3, n + 1).reduce((all, one) => all + one, 0),
          );
          known += 1;
        }
      },
    ),
    { numRuns: cases({ few: 30, more: 400, all: 4000 }) },
  );
  expect(known).toBeGreaterThan(40);
});

test("flows of quarters alone, however they grow and whatever the season, have no twelve months", async () => {
  using session = await Session.open({ threads: 1 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.double({ min: 0.7, max: 1.6, noNaN: true }), { minLength: 4, maxLength: 4 }),
      fc.double({ min: 0.9, max: 1.2, noNaN: true }),
      async (seasons, growth) => {
        const flows = Array.from(
          { length: 12 },
          (_, n) => 100 * (seasons[n % 4] as number) * growth ** (n / 4),
        );
        expect(await twelveMonths(session, flows), String(flows)).toEqual(Array(12).fill(null));
      },
    ),
    { numRuns: cases({ few: 30, more: 400, all: 4000 }) },
  );
});

/** The newest value that the file has of a span that ends with a period. */
function reported(symbol: string, field: string, periodEnd: string, span: string): number {
  const rows = readFileSync(FLOWS, "utf8")
    .split("\n")
    .map((line) => line.split(","));
  const found = rows.filter(
    (row) => row[0] === symbol && row[1] === periodEnd && row[6] === field && row[7] === span,
  );
  return Number(found.at(-1)?.[8]);
}

test.skipIf(IS_REPEAT || !existsSync(FLOWS))(
  "twelve months of a company whose year of 52 weeks ends in September",
  async () => {
    // The file has of each span the newest report: of nine months and the year those before the quarter.
    const reports = [
      ["2013-03-30", "2013-12-28", "6M"],
      ["2013-06-29", "2013-12-28", "9M"],
      ["2013-09-28", "2013-12-28", "12M"],
      ["2013-12-28", "2013-12-28", "3M"],
      ["2014-03-29", "2014-03-29", "6M"],
    ] as const;
    const { lake, remove } = newLake();
    await landFinancials(
      lake,
      CASH_FLOW,
      reports.map(([period_end, file, span]) => ({
        symbol: "AAPL.US",
        period_end,
        announce_date: null,
        net_operating_cash_flow: reported("AAPL.US", "OperatingCashFlow", file, span),
        capex: reported("AAPL.US", "CapitalExpenditure", file, span),
      })),
    );
    const { session } = await openReader(lake, { threads: 1 });
    try {
      const rows = await session.json(
        `SELECT month::VARCHAR AS month, operating_cash_flow_quarter AS quarter, operating_cash_flow_ttm AS ttm
       FROM statements_asof() ORDER BY month DESC LIMIT 2`,
      );
      const [march, december] = ["2014-03-29", "2013-12-28"].map((end) =>
        reported("AAPL.US", "OperatingCashFlow", end, "3M"),
      ) as [number, number];
      const year = reported("AAPL.US", "OperatingCashFlow", "2013-12-28", "12M");
      const half = reported("AAPL.US", "OperatingCashFlow", "2013-12-28", "6M");
      expect(rows).toEqual([
        { month: "2014-03-31", quarter: march, ttm: march + december + year - half },
        { month: "2013-12-31", quarter: december, ttm: null },
      ]);
    } finally {
      session.close();
      remove();
    }
  },
);
