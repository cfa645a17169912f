import { subHours } from "date-fns";
import { exchangeOf, isSymbol } from "../../core/symbol.js";
import { literal } from "../../db/quote.js";
import { landVersions } from "../../lake/land-versions.js";
import { stageRows } from "../../lake/stage-rows.js";
import { inBatches } from "../../plan/request-units.js";
import type { Column, TableSchema } from "../../schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { type DecodedRecords, decodeRecords } from "../../wire/decode/decode-records.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { instrumentRow } from "../../wire/instrument-row.js";
import {
  exchangeSummary,
  instrument,
  type UniverseDetail,
  universeDetail,
  universeSummary,
} from "../../wire/resources.js";
import { lastAnswers } from "./ledger.js";
import type { Received } from "./request-records.js";
import type { Answer, Run } from "./run.js";

const STAGED = "staged_versions";

/** Takes a dated snapshot of exchanges, instruments, universes and members, where the last one is old enough. */
export async function ingestReference(run: Run, refreshHours: number): Promise<void> {
  const oldest = subHours(run.clock.now(), refreshHours).getTime();
  await ingestInstruments(run, oldest);
  if (!run.isHalted(UNIVERSES.name)) await ingestUniverses(run, oldest);
  await run.landLedger();
}

async function ingestInstruments(run: Run, oldest: number): Promise<void> {
  const { path } = ENDPOINTS.exchangeInstruments;
  const answered = await lastAnswers(run.session, run.lake, INSTRUMENTS.name, `GET ${path}`);
  if ([...answered.values()].some((at) => at > oldest) && [...answered.values()].every((at) => at > oldest))
    return;
  run.progress.doing("exchanges");
  run.progress.plan(EXCHANGES.name, 1);
  const exchanges = await run.ask(
    { endpoint: ENDPOINTS.exchanges },
    { dataset: EXCHANGES.name, symbols: [] },
    async (body) => receivedRecords(await decodeRecords(body, "list", exchangeSummary)),
  );
  if (exchanges === undefined) return;
  await land(run, EXCHANGES, exchanges, exchanges.value.values, "true");
  for (const { exchange, region } of exchanges.value.values) {
    if (run.isHalted(INSTRUMENTS.name)) return;
    run.progress.doing(`instruments of ${exchange}`);
    run.progress.plan(INSTRUMENTS.name, 1);
    const got = await run.ask(
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
  const { path } = ENDPOINTS.universesBatch;
  const answered = await lastAnswers(run.session, run.lake, UNIVERSE_MEMBERS.name, `POST ${path}`);
  if ([...answered.values()].some((at) => at > oldest) && [...answered.values()].every((at) => at > oldest))
    return;
  run.progress.doing("universes");
  run.progress.plan(UNIVERSES.name, 1);
  const universes = await run.ask(
    { endpoint: ENDPOINTS.universes },
    { dataset: UNIVERSES.name, symbols: [] },
    async (body) => receivedRecords(await decodeRecords(body, "list", universeSummary)),
  );
  if (universes === undefined) return;
  await land(run, UNIVERSES, universes, universes.value.values, "true");
  for (const batch of inBatches(universes.value.values, LIMITS.universesPerRequest)) {
    if (run.isHalted(UNIVERSE_MEMBERS.name)) return;
    run.progress.doing("members of universes");
    run.progress.plan(UNIVERSE_MEMBERS.name, 1);
    const ids = batch.map((universe) => universe.id);
    const got = await run.ask(
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

/** Lands one snapshot, and what the ledger is told of it; current rows that meet `complete` and are not in it end. */
async function land(
  run: Run,
  table: TableSchema,
  { entry }: Answer<unknown>,
  rows: readonly Readonly<Record<string, unknown>>[],
  complete: string,
): Promise<void> {
  const columns = table.columns.filter((c: Column) => !c.name.startsWith("valid_"));
  await stageRows(run.session, STAGED, columns, rows);
  await run.session.run(
    `CREATE OR REPLACE TEMP TABLE ${STAGED} AS SELECT DISTINCT ON (${subjectOf(table)}) * FROM ${STAGED}`,
  );
  run.landed.push(
    await landVersions(run.session, run.lake, table, STAGED, { ...run.landOptions(), complete }),
  );
  run.enter(entry);
}

function subjectOf(table: TableSchema): string {
  return table.key.filter((name) => name !== "valid_from").join(", ");
}

/** What the ledger is told of a decoded row-like answer, and the values themselves. */
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
