import type { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import type { TableSchema } from "../../src/schema/column.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../src/schema/statements.js";
import { writeFiles } from "./write-files.js";

/** The number of statements to create. */
export interface StatementsSpec {
  readonly symbols: number;
  /** Number of years, with four quarters each. */
  readonly years: readonly number[];
}

/** Writes a balance sheet and a cash flow statement for each symbol and quarter, announced some weeks after its end. */
export async function writeStatements(session: Session, lake: Lake, spec: StatementsSpec): Promise<void> {
  for (const table of [BALANCE_SHEET, CASH_FLOW])
    await writeFiles(session, lake, table, [{ sql: statementsSql(table, spec), values: { region: "CN" } }]);
}

function statementsSql({ columns, partition }: TableSchema, { symbols, years }: StatementsSpec): string {
  const items = columns
    .filter(({ name, type }) => type === "double" && !partition.includes(name))
    .map(({ name }, index) => `(1e6 * (1 + hash(s, q, ${index}) % 10000))::DOUBLE AS ${name}`);
  return `SELECT symbol, period_end, period_end + 20 + CAST(hash(s, q) % 60 AS INTEGER) AS announce_date,
      make_timestamptz(0) AS first_seen_at, ${items.join(", ")}
    FROM (SELECT s, q, printf('%06d.SH', 600000 + s) AS symbol,
        last_day(make_date(y, q * 3, 1)) AS period_end
      FROM range(${symbols}) a(s), range(${Math.min(...years)}, ${Math.max(...years) + 1}) b(y), range(1, 5) c(q))`;
}
