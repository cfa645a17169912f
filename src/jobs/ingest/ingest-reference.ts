import { subHours } from "date-fns/subHours";
import type { z } from "zod";
import { ident, literal, literalList } from "../../db/quote.js";
import { TempTable } from "../../db/session/session.js";
import { stageObjects } from "../../lake/land/clear-values.js";
import { landVersions } from "../../lake/land/land-versions.js";
import { isSymbol } from "../../market/symbol.js";
import { type ListFacts, listFault } from "../../plan/absence/list-fault.js";
import { inBatches } from "../../plan/request-units.js";
import type { Column, TableSchema } from "../../schema/column.js";
import { EXCHANGES, INSTRUMENTS, subjectOf, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { decodeRecords } from "../../wire/decode/decode-records.js";
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
import { type PendingResponse, withFailed } from "../run/request/request-records.js";
import type { Run } from "../run/run.js";
import { landOptions } from "../run/run-context.js";
import {
  countFault,
  currentRows,
  isInstrumentOf,
  mayLackRows,
  memberRows,
  noteRepeats,
  receivedMembers,
  receivedRecords,
} from "./counted-lists.js";

/**
 * Takes a dated snapshot of exchanges, instruments, universes and members, if the last one is old enough. Each response
 * lands separately, so that the next run requests only what failed or was not requested. The ledger has the responses about
 * instruments in one commit, and those about universes in another: a run that is killed repeats at most these.
 */
export async function ingestReference(run: Run, refreshHours: number): Promise<void> {
  const oldest = subHours(run.context.marketClock.now(), refreshHours).getTime();
  await ingestInstruments(run, oldest);
  await run.ledger.land();
  if (!run.requests.isHalted(UNIVERSES.name)) await ingestUniverses(run, oldest);
  await run.ledger.land();
}

async function ingestInstruments(run: Run, oldest: number): Promise<void> {
  run.progress.doing("exchanges");
  const listed = await ingestList(run, EXCHANGES, ENDPOINTS.exchanges, exchangeSummary, oldest);
  const isDue = await dueSince(run, INSTRUMENTS, ENDPOINTS.exchangeInstruments, oldest);
  const due = listed.filter(({ exchange }) => isDue(exchange));
  run.progress.plan(INSTRUMENTS.name, due.length);
  for (const { exchange, region, count } of due) {
    if (run.requests.isHalted(INSTRUMENTS.name)) return;
    run.progress.doing(`instruments of ${exchange}`);
    const got = await run.requests.ask(
      { endpoint: ENDPOINTS.exchangeInstruments, path: { exchange } },
      { dataset: INSTRUMENTS.name, symbols: [exchange] },
      async (body) => {
        const decoded = await decodeRecords(body, "list", instrument);
        const own = decoded.entries.filter(([, { symbol }]) =>
          isInstrumentOf(exchange, symbol, decoded.issues),
        );
        const repeats = noteRepeats(exchange, own, decoded.issues);
        return { ...receivedRecords({ ...decoded, entries: own }), repeats };
      },
    );
    if (got === undefined) continue;
    const { values, rejected, repeats, count: stated } = got.value;
    const rows = values.map((row) => ({ ...instrumentRow(row), region }));
    const symbols = new Set(values.map(({ symbol }) => symbol));
    const where = `exchange = ${literal(exchange)}`;
    const facts = { usable: symbols.size, rejected: rejected - repeats, repeats, count: stated };
    const fault =
      (await faultOf(run, INSTRUMENTS, where, { ...facts, isKnownEmpty: count === 0 })) ??
      (await countFault(run, {
        table: INSTRUMENTS,
        name: exchange,
        where,
        symbols,
        repeats,
        counted: count,
        countedBy: "exchanges",
      }));
    const faults = new Map(fault === undefined ? [] : [[exchange, fault]]);
    await land(run, INSTRUMENTS, got, rows, { subject: "exchange", whole: [exchange], faults });
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
      async (body) => receivedMembers(await decodeRecords(body, "map", universeDetail), ids),
    );
    if (got === undefined) continue;
    const came = new Map(got.value.values.map((universe) => [universe.id, universe]));
    const faults = new Map<string, string>();
    for (const id of ids) {
      const counted = listed.find((one) => one.id === id)?.symbol_count ?? 0;
      const fault = await faultOfMembers(run, id, came.get(id), counted);
      if (fault !== undefined) faults.set(id, fault);
    }
    await land(run, UNIVERSE_MEMBERS, got, got.value.values.flatMap(memberRows), {
      subject: "id",
      whole: [...came.keys()],
      faults,
    });
  }
}

/**
 * Why a response about a universe may lack members; undefined where it seems complete. @param counted the number of
 * members in the list of universes.
 */
async function faultOfMembers(
  run: Run,
  id: string,
  universe: UniverseDetail | undefined,
  counted: number,
): Promise<string | undefined> {
  if (universe === undefined) return counted === 0 ? undefined : "it did not come";
  const members = universe.symbols.filter(isSymbol);
  const symbols = new Set<string>(members);
  const repeats = members.length - symbols.size;
  const where = `id = ${literal(id)}`;
  const fault = await faultOf(run, UNIVERSE_MEMBERS, where, {
    usable: symbols.size,
    repeats,
    rejected: new Set(universe.symbols).size - symbols.size,
    count: universe.symbol_count,
    isKnownEmpty: counted === 0 && universe.symbol_count === 0,
  });
  const list = { table: UNIVERSE_MEMBERS, name: id, where, symbols, repeats, counted };
  return fault ?? (await countFault(run, { ...list, countedBy: "universes" }));
}

/**
 * Why a list may lack elements; undefined where it seems complete. @param where a condition on the current rows of the
 * list.
 */
async function faultOf(
  run: Run,
  table: TableSchema,
  where: string,
  facts: Omit<ListFacts, "current">,
): Promise<string | undefined> {
  const current = facts.usable > 0 ? 0 : (await currentRows(run, table, where)).length;
  return listFault({ ...facts, current });
}

/**
 * Requests a list and lands it, if the last one is old enough. @returns the current list; undefined where the request
 * failed.
 */
async function ingestList<T extends Readonly<Record<string, unknown>>>(
  run: Run,
  table: TableSchema,
  endpoint: Endpoint,
  element: z.ZodType<T>,
  oldest: number,
): Promise<readonly T[]> {
  const isDue = await dueSince(run, table, endpoint, oldest);
  if (isDue("")) {
    run.progress.plan(table.name, 1);
    const got = await run.requests.ask({ endpoint }, { dataset: table.name, symbols: [] }, async (body) =>
      receivedRecords(await decodeRecords(body, "list", element)),
    );
    if (got === undefined) return [];
    const { values, rows, rejected } = got.value;
    const facts = { usable: rows, rejected, repeats: 0, count: undefined, isKnownEmpty: false };
    const fault = await faultOf(run, table, "true", facts);
    const faults = new Map(fault === undefined ? [] : [["", fault]]);
    await land(run, table, got, values, { subject: undefined, whole: [""], faults });
  }
  return currentRows(run, table);
}

/** Makes a function that returns whether the last response about an id is too old. The id "" means the whole list. */
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

interface SnapshotParts {
  /** The column that names the parts; undefined where the snapshot is of the whole table. */
  readonly subject: string | undefined;
  readonly whole: readonly string[];
  /** Why parts may lack rows, by part. */
  readonly faults: ReadonlyMap<string, string>;
}

/**
 * Lands one snapshot, and enters its ledger rows. Current rows of its parts that the snapshot does not contain end. In a part
 * that may lack rows no row ends, and the next run requests the part again.
 */
async function land(
  run: Run,
  table: TableSchema,
  { requestId, entry }: PendingResponse<unknown>,
  rows: readonly Readonly<Record<string, unknown>>[],
  { subject, whole, faults }: SnapshotParts,
): Promise<void> {
  const reasons = new Map<string, string>();
  for (const [part, fault] of faults) {
    const reason = `${mayLackRows(part, fault)}; nothing ends, and it is requested again`;
    reasons.set(part, reason);
    run.log.failure({ dataset: table.name, request: `${table.name} ${requestId}`, reason, symbols: 0 });
  }
  const sound = whole.filter((part) => !faults.has(part));
  const ofParts =
    subject === undefined ? "true" : `c.${ident(subject)} IN (SELECT unnest(${literalList(sound)}))`;
  const complete = sound.length > 0 ? ofParts : "false";
  const columns = table.columns.filter((c: Column) => !c.name.startsWith("valid_"));
  const { session, lake } = run.context;
  await using staged = new TempTable(session, "staged_versions");
  await stageObjects(session, staged.name, columns, rows);
  await staged.fill(`SELECT DISTINCT ON (${subjectOf(table).join(", ")}) * FROM ${staged.name}`);
  const options = { ...landOptions(run.context), complete };
  run.log.landed(await landVersions(session, lake, table, staged.name, options));
  run.ledger.enter(withFailed(entry, reasons));
}
