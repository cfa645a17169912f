import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Lake } from "../../../../src/lake/lake.js";
import { isDataFile } from "../../../../src/lake/maintenance/vacuum.js";
import { BARS_1D, BARS_1M } from "../../../../src/schema/bars.js";
import type { TableSchema } from "../../../../src/schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../../src/schema/reference.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../../../src/schema/statements.js";
import { TABLES } from "../../../../src/schema/tables.js";
import { barFindings } from "./bar-findings.js";
import { type LakeState, none, rowsOf, tableOf } from "./lake-state.js";

/** Errors of a lake: untrue content, content that it only claims to have, and content missing at the end. */
export async function lakeFindings(state: LakeState): Promise<string[]> {
  const { schedule, lake, isLast } = state;
  const findings: string[] = [];
  for (const pipeline of schedule.pipelines) {
    if (pipeline.kind === "bars")
      findings.push(...(await barFindings(state, pipeline.name, pipeline.period)));
    if (pipeline.kind === "statements") {
      findings.push(...(await statementFindings(state, BALANCE_SHEET)));
      findings.push(...(await statementFindings(state, CASH_FLOW)));
    }
    if (pipeline.kind === "reference" && isLast) findings.push(...(await referenceFindings(state)));
  }
  findings.push(...(await foreignFindings(state)));
  if (!isLast) return findings;
  const kept = await readdir(join(lake.location, "spool"), { recursive: true }).catch(() => []);
  if (kept.length > 0) findings.push(`spool/ still holds ${kept.join(", ")}`);
  return findings;
}

/** Rows that another engine added and that no longer exist. */
async function foreignFindings(state: LakeState): Promise<string[]> {
  const findings: string[] = [];
  for (const table of [BARS_1D, BARS_1M]) {
    for (const event of state.events) {
      if (event.kind !== "foreign" || event.table !== table.name || event.added === undefined) continue;
      const { symbol, rows } = event.added;
      await none(
        state.session,
        findings,
        `${table.name}: rows of another engine`,
        `SELECT count(*) AS n FROM (${await rowsOf(state, table)}) WHERE symbol = '${symbol}' HAVING n <> ${rows}`,
      );
    }
  }
  return findings;
}

/** Data files of tables that no version refers to, and leftovers of staged files. */
export async function strayFiles(lake: Lake): Promise<ReadonlySet<string>> {
  const stray = new Set<string>();
  for (const table of TABLES) {
    const { files, removed } = await lake.wholeSnapshot(table);
    for (const { path } of await lake.storage.walk(table.name)) {
      if (isDataFile(path) && !files.has(path) && !removed.has(path)) stray.add(`${table.name}/${path}`);
    }
  }
  for (const { path } of await lake.work.unfinished()) stray.add(`.staging/${path}`);
  return stray;
}

async function statementFindings(state: LakeState, table: TableSchema): Promise<string[]> {
  const { session, market, now, isLast } = state;
  const name = table.name as "balance_sheet" | "cash_flow";
  const field = name === "balance_sheet" ? "total_assets" : "capex";
  const rows = market.symbols.flatMap((symbol) =>
    (market.statements(name, symbol, now) ?? []).map((record) => ({
      symbol,
      ...record,
      value: record[field],
    })),
  );
  await tableOf(state, "truth", rows, {
    symbol: "VARCHAR",
    period_end: "DATE",
    announce_date: "DATE",
    value: "DOUBLE",
    version: "DOUBLE",
  });
  const { columns, files } = await state.lake.snapshot(table);
  if (files.size === 0 && !isLast) return [];
  const hasVersion = columns.some((column) => column.name === "version");
  const landed = `SELECT symbol, period_end, announce_date, ${field} AS value,
    ${hasVersion ? "version" : "CAST(NULL AS DOUBLE) AS version"}, first_seen_at FROM (${await rowsOf(state, table)})`;
  const findings: string[] = [];
  const compare = (what: string, sql: string): Promise<void> =>
    none(session, findings, `${table.name}: ${what}`, sql);
  const key = "symbol, period_end, announce_date";
  await compare(
    "versions out of order",
    `SELECT *, lag(version) OVER (PARTITION BY ${key} ORDER BY first_seen_at) AS before FROM (${landed})
     QUALIFY before >= version`,
  );
  if (!isLast) return findings;
  const newest = `SELECT ${key}, value, version FROM (${landed})
    QUALIFY row_number() OVER (PARTITION BY ${key} ORDER BY first_seen_at DESC) = 1`;
  const truth = `SELECT ${key}, value, version FROM truth`;
  await compare("lacks what is true", `(${truth}) EXCEPT (${newest})`);
  await compare("has what is not true", `(${newest}) EXCEPT (${truth})`);
  return findings;
}

async function referenceFindings(state: LakeState): Promise<string[]> {
  const { session, market, now } = state;
  const findings: string[] = [];
  const exchanges = ["SH", "SZ", "US"].map((exchange) => ({
    exchange,
    count: market.instruments(exchange, now).length,
  }));
  const instruments = exchanges
    .flatMap(({ exchange }) => market.instruments(exchange, now))
    .map((one) => {
      const ext = one.ext as { limit_up: number; listing_date?: string } | undefined;
      return { ...one, limit_up: ext?.limit_up ?? null, listing_date: ext?.listing_date ?? null };
    });
  const universes = market.universes.map((id) => ({ id, symbol_count: market.members(id, now).length }));
  const members = market.universes.flatMap((id) => market.members(id, now).map((symbol) => ({ id, symbol })));
  const tables: [TableSchema, object[], Record<string, string>][] = [
    [EXCHANGES, exchanges, { exchange: "VARCHAR", count: "BIGINT" }],
    [
      INSTRUMENTS,
      instruments,
      {
        symbol: "VARCHAR",
        exchange: "VARCHAR",
        name: "VARCHAR",
        type: "VARCHAR",
        limit_up: "DOUBLE",
        listing_date: "DATE",
      },
    ],
    [UNIVERSES, universes, { id: "VARCHAR", symbol_count: "BIGINT" }],
    [UNIVERSE_MEMBERS, members, { id: "VARCHAR", symbol: "VARCHAR" }],
  ];
  for (const [table, rows, columns] of tables) {
    await tableOf(state, "truth", rows, columns);
    const names = Object.keys(columns).join(", ");
    const all = await rowsOf(state, table);
    const current = `SELECT ${names} FROM (${all}) WHERE valid_to IS NULL`;
    const truth = `SELECT ${names} FROM truth`;
    const subject = table.key.filter((name) => name !== "valid_from").join(", ");
    await none(session, findings, `${table.name}: lacks what is true`, `(${truth}) EXCEPT ALL (${current})`);
    await none(
      session,
      findings,
      `${table.name}: has what is not true`,
      `(${current}) EXCEPT ALL (${truth})`,
    );
    await none(
      session,
      findings,
      `${table.name}: versions that meet`,
      `SELECT ${subject}, valid_from, valid_to, lead(valid_from) OVER (PARTITION BY ${subject} ORDER BY valid_from) AS next
       FROM (${all}) QUALIFY valid_to <= valid_from OR (next IS NOT NULL AND (valid_to IS NULL OR valid_to > next))`,
    );
  }
  return findings;
}
