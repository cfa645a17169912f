import { join } from "node:path";
import { expect } from "vitest";
import { ident, literal } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session/session.js";
import type { TrinoEngine } from "../../../src/trino/trino-engine.js";

/** The same rows, as two engines are asked for them. */
export interface Comparison {
  readonly trino: string;
  readonly duckdb: string;
  /** Columns that identify a row. */
  readonly key: readonly string[];
  /**
   * Columns of doubles that two engines may compute with other last bits: sums, whose order is not defined, what is
   * divided by them, and logarithms. All other values must be equal. @default none
   */
  readonly inexact?: readonly string[];
}

/** Relative difference of inexact doubles: a sum of n values may be wrong by n halves of 2^-52, and n is below 10,000. */
const TOLERANCE = 1e-12;

let files = 0;

/** Compares all rows and all columns of DuckDB's result with Trino's. @returns the number of rows. */
export async function expectSameRows(
  {
    session,
    engine,
    folder,
  }: { readonly session: Session; readonly engine: TrinoEngine; readonly folder: string },
  { trino, duckdb, key, inexact = [] }: Comparison,
): Promise<number> {
  const file = literal(join(folder, `trino-${++files}.parquet`));
  await engine.withRows(trino, (local, query) => local.run(`COPY (${query}) TO ${file} (FORMAT parquet)`));
  await session.run(`CREATE OR REPLACE TEMP TABLE theirs AS FROM ${file}`);
  await session.run(`CREATE OR REPLACE TEMP TABLE ours AS ${duckdb}`);
  const typesOf = async (table: string): Promise<Record<string, string>> => {
    const rows = await session.json<{ column_name: string; column_type: string }>(`DESCRIBE ${table}`);
    return Object.fromEntries(rows.map((row) => [row.column_name, row.column_type]));
  };
  const columns = await typesOf("ours");
  expect(await typesOf("theirs"), trino).toEqual(columns);
  const differs = (name: string): string => {
    const [a, b] = [`a.${ident(name)}`, `b.${ident(name)}`];
    const isClose = `abs(${a} - ${b}) <= ${TOLERANCE} * greatest(abs(${a}), abs(${b}))`;
    const close = inexact.includes(name) ? ` AND NOT coalesce(${isClose}, false)` : "";
    return `count(*) FILTER (a.side AND b.side AND ${a} IS DISTINCT FROM ${b}${close}) AS ${ident(`${name} differs`)}`;
  };
  const same = key.map((name) => `a.${ident(name)} IS NOT DISTINCT FROM b.${ident(name)}`).join(" AND ");
  const [found] = await session.json<Record<string, bigint>>(
    `SELECT (SELECT count(*) FROM ours) AS ours, (SELECT count(*) FROM theirs) AS theirs, count(*) AS pairs,
       count(*) FILTER (b.side IS NULL) AS "only ours", count(*) FILTER (a.side IS NULL) AS "only theirs",
       ${Object.keys(columns).map(differs).join(", ")}
     FROM (SELECT *, true AS side FROM ours) AS a FULL JOIN (SELECT *, true AS side FROM theirs) AS b ON ${same}`,
  );
  const { ours = -1n, theirs, pairs, ...differences } = found ?? {};
  expect([theirs, pairs], trino).toEqual([ours, ours]);
  expect(
    Object.entries(differences).filter(([, count]) => count !== 0n),
    trino,
  ).toEqual([]);
  return Number(ours);
}
