import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { literal } from "../../../../src/db/quote.js";
import type { Session } from "../../../../src/db/session/session.js";
import { parquetRelation } from "../../../../src/db/views/parquet-relation.js";
import type { Lake } from "../../../../src/lake/lake.js";
import type { TableSchema } from "../../../../src/schema/column.js";
import type { Event } from "../chronicle.js";
import type { Schedule } from "../fault-schedule.js";
import type { TrueMarket } from "../upstream/true-market.js";

/** A lake after a life, and the truth at that time. */
export interface LakeState {
  readonly session: Session;
  readonly lake: Lake;
  readonly market: TrueMarket;
  readonly schedule: Schedule;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether the undisturbed life is over: then the lake must equal the truth. */
  readonly isLast: boolean;
  /** The events so far. */
  readonly events: readonly Event[];
  /** Counts an outcome. */
  readonly met: (what: string, times: number) => void;
}

/** Creates a table of true values. */
export async function tableOf(
  { session, lake }: Pick<LakeState, "session" | "lake">,
  name: string,
  rows: readonly object[],
  columns: Readonly<Record<string, string>>,
): Promise<void> {
  const file = join(lake.location, "..", "truth.ndjson");
  await writeFile(file, rows.map((row) => JSON.stringify(row)).join("\n"));
  const types = Object.entries(columns).map(([column, type]) => `${column}: ${literal(type)}`);
  await session.run(`CREATE OR REPLACE TEMP TABLE ${name} AS
    FROM read_json(${literal(file)}, format = 'newline_delimited', columns = {${types.join(", ")}})`);
}

/** The live rows of a table, as SQL. */
export async function rowsOf({ session, lake }: LakeState, table: TableSchema): Promise<string> {
  return parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
}

/** Adds a finding if a query returns rows: their number, and the first of them. */
export async function none(session: Session, findings: string[], what: string, sql: string): Promise<void> {
  const rows = await session.json(`SELECT *, count(*) OVER () AS found FROM (${sql}) LIMIT 1`);
  if (rows.length > 0) {
    const text = JSON.stringify(rows[0], (_, value: unknown) =>
      typeof value === "bigint" ? Number(value) : value,
    );
    findings.push(`${what}: ${text}`);
  }
}
