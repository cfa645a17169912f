import { subHours } from "date-fns/subHours";
import type { z } from "zod";
import { parquetRelation } from "../../db/parquet-relation.js";
import { literal } from "../../db/quote.js";
import { TempTable } from "../../db/temp-table.js";
import { landVersions } from "../../lake/land/land-versions.js";
import { stageObjects } from "../../lake/land/stage-objects.js";
import { exchangeOf, isSymbol } from "../../market/symbol.js";
import { inBatches } from "../../plan/request-units.js";
import type { Column, TableSchema } from "../../schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { type DecodedRecords, decodeRecords } from "../../wire/decode/decode-records.js";
import { ENDPOINTS, type Endpoint, LIMITS } from "../../wire/endpoints.js";
import { instrumentRow } from "../../wire/instrument-row.js";
import {
  exchangeSummary,
  instrument,
  type UniverseDetail,
  universeDetail,
  universeSummary,
} from "../../wire/resources.js";
import { lastResponses } from "../ledger/ledger.js";
import type { PendingResponse, Received } from "../run/request-records.js";
import type { Run } from "../run/run.js";
import { landOptions } from "../run/run-context.js";
import { leaseInTurn } from "./ask-beside-others.js";

/**
 * Takes a dated snapshot of exchanges, instruments, universes and members, where the last one is old enough. Each
 * response lands separately: the next run requests only what failed or was not requested.
 */
export async function ingestReference(run: Run, refreshHours: number): Promise<void> {
  const lease = await leaseInTurn(run, { dataset: INSTRUMENTS.name, symbols: [] });
  const oldest = subHours(run.context.clock.now(), refreshHours).getTime();
  await ingestInstruments(run, oldest);
  if (!run.requests.isHalted(UNIVERSES.name)) await ingestUniverses(run, oldest);
  await run.ledger.land();
  await lease.release();
}

async function ingestInstruments(run: Run, oldest: number): Promise<void> {
  run.progress.doing("exchanges");
  const listed = await ingestList(run, EXCHANGES, ENDPOINTS.exchanges, exchangeSummary, oldest);
  const isDue = await dueSince(run, INSTRUMENTS, ENDPOINTS.exchangeInstruments, oldest);
  const due = listed.filter(({ exchange }) => isDue(exchange));
  run.progress.plan(INSTRUMENTS.name, due.length);
  for (const { exchange, region } of due) {
    if (run.requests.isHalted(INSTRUMENTS.name)) return;
    run.progress.doing(`instruments of ${exchange}`);
    const got = await run.requests.ask(
      { endpoint: ENDPOINTS.exchangeInstruments, path: { exchange } },
      { dataset: INSTRUMENTS.name, symbols: [exchange] },
      async (body) => receivedRecords(await decodeRecords(body, "list", instrument)),
    );
    if (got === undefined) continue;
    const own = got.value.values.filter(({ symbol }) => isSymbol(symbol) && exchangeOf(symbol) === exchange);
    const rows = own.map((row) => ({ ...instrumentRow(row), region }));
    await land(run, INSTRUMENTS, got, rows, `c.exchange = ${literal(exchange)}`);
  }
}

async function ingestUniverses(run: Run, oldest: number): Promise<void> {
  run.progress.doing("universes");
  const listed = await ingestList(run, UNIVERSES, ENDPOINTS.universes, universeSummary, oldest);
  const isDue = await dueSince(run, UNIVERSE_MEMBERS, ENDPOINTS.universesBatch, oldest);
  const due = listed.map(({ id }) => id).filter(isDue);
  const batches = inBatches(due, LIMITS.universesPerRequest);
  run.progress.plan(UNIVERSE_MEMBERS.name, batches.length);
  for (const ids of batches) {
    if (run.requests.isHalted(UNIVERSE_MEMBERS.name)) return;
    run.progress.doing("members of universes");
    const got = await run.requests.ask(
      { endpoint: ENDPOINTS.universesBatch, body: { ids } },
      { dataset: UNIVERSE_MEMBERS.name, symbols: ids },
      async (body) => receivedRecords(await decodeRecords(body, "map", universeDetail), ids),
    );
    if (got === undefined) continue;
    const told = got.value.values.map((universe) => literal(universe.id));
    const complete = told.length > 0 ? `c.id IN (${told.join(", ")})` : "false";
    await land(run, UNIVERSE_MEMBERS, got, got.value.values.flatMap(memberRows), complete);
  }
}

/**
 * Requests a list and lands it, where the last one is old enough. @returns the current list; undefined where it failed.
 */
async function ingestList<T extends Readonly<Record<string, unknown>>>(
  run: Run,
  table: TableSchema,
  endpoint: Endpoint,
  element: z.ZodType<T>,
  oldest: number,
): Promise<readonly T[]> {
  const isDue = await dueSince(run, table, endpoint, oldest);
  if (!isDue("")) {
    const files = await parquetRelation(
      run.context.session,
      run.context.lake.filesOf(await run.context.lake.snapshot(table)),
    );
    const key = subjectOf(table);
    return run.context.session.json<T>(`SELECT * FROM (${files}) WHERE valid_to IS NULL ORDER BY ${key}`);
  }
  run.progress.plan(table.name, 1);
  const got = await run.requests.ask({ endpoint }, { dataset: table.name, symbols: [] }, async (body) =>
    receivedRecords(await decodeRecords(body, "list", element)),
  );
  if (got === undefined) return [];
  await land(run, table, got, got.value.values, "true");
  return got.value.values;
}

/** A function that says whether the last response about an id is too old; the id "" stands for the whole list. */
async function dueSince(
  run: Run,
  table: TableSchema,
  endpoint: Endpoint,
  oldest: number,
): Promise<(subject: string) => boolean> {
  const name = `${endpoint.method} ${endpoint.path}`;
  const answered = await lastResponses(run.context.session, run.context.lake, table.name, name);
  return (subject) => (answered.get(subject) ?? 0) <= oldest;
}

/** Lands one snapshot and its ledger rows; current rows that match `complete` and are not in it end. */
async function land(
  run: Run,
  table: TableSchema,
  { entry }: PendingResponse<unknown>,
  rows: readonly Readonly<Record<string, unknown>>[],
  complete: string,
): Promise<void> {
  const columns = table.columns.filter((c: Column) => !c.name.startsWith("valid_"));
  const { session, lake } = run.context;
  await using staged = new TempTable(session, "staged_versions");
  await stageObjects(session, staged.name, columns, rows);
  await staged.fill(`SELECT DISTINCT ON (${subjectOf(table)}) * FROM ${staged.name}`);
  const options = { ...landOptions(run.context), complete };
  run.log.landed(await landVersions(session, lake, table, staged.name, options));
  run.ledger.enter(entry);
  await run.ledger.land();
}

function subjectOf(table: TableSchema): string {
  return table.key.filter((name) => name !== "valid_from").join(", ");
}

/** The ledger's facts of a decoded response of rows, and the values themselves. */
export function receivedRecords<T>(
  { entries, issues, bytes }: DecodedRecords<T>,
  asked: readonly string[] = [],
): Received & { readonly values: readonly T[] } {
  const keys = new Set(entries.map(([key]) => key));
  const absent = asked.filter((key) => !keys.has(key));
  return {
    values: entries.map(([, value]) => value),
    rows: entries.length,
    rejected: issues.rejected,
    bytes,
    absent,
    issues: issues.kept,
  };
}

function memberRows({ id, region, symbols }: UniverseDetail): Record<string, unknown>[] {
  return [...new Set(symbols)].map((symbol) => ({ id, symbol, region }));
}
