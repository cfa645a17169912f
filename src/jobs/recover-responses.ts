import { messageOf } from "../core/errors.js";
import { laterErrors, releaseAfter } from "../core/release-after.js";
import type { TimeRange, TradingDate } from "../core/time.js";
import { unlanded } from "../lake/land/upsert.js";
import { ResponseSpool, type SpooledResponse } from "../lake/requests/response-spool.js";
import { REGIONS, type Region } from "../market/regions.js";
import { dayRange } from "../market/sessions.js";
import { regionOf } from "../market/symbol.js";
import { instantOf, localDate } from "../market/zone.js";
import { filteredBars } from "../plan/filtered-bars.js";
import type { TableSchema } from "../schema/column.js";
import { tableNamed } from "../schema/tables.js";
import { klinesOf } from "../wire/kline-bytes.js";
import {
  type BarsNote,
  type DeliveredResponse,
  GROUP_BARS,
  landResponses,
} from "./ingest/bars/landing-bars.js";
import { landRecordNotes, type RecordsNote } from "./ingest/landing-records.js";
import { type RequestRecord, responsesSince } from "./ledger/ledger.js";
import type { Run } from "./run/run.js";
import type { RunContext } from "./run/run-context.js";

/** Landed responses to later requests. Where they overlap an older response, the older response is out of date. */
interface LaterResponses {
  /**
   * Whether a later response covers an instant of a symbol, with or without a bar. @param timestamp epoch milliseconds.
   */
  covers(symbol: string, timestamp: number): boolean;
  hasSymbol(symbol: string): boolean;
}

/** Reads the ledger's responses to requests that were sent after an older one; undefined where there are none. */
async function laterResponses(
  { session, lake }: Pick<RunContext, "session" | "lake">,
  { dataset, askedAt, endpoint, symbols }: RequestRecord,
): Promise<LaterResponses | undefined> {
  const later = await responsesSince(session, lake, dataset, askedAt);
  if (later.length === 0) return undefined;
  const windows = new Map<string, TimeRange[]>();
  const snapshots: number[] = [];
  for (const one of later) {
    if (one.window !== undefined) windows.set(one.symbol, [...(windows.get(one.symbol) ?? []), one.window]);
    else if (one.endpoint === endpoint && symbols.includes(one.symbol)) snapshots.push(one.askedAt);
  }
  const isInDayOf = (at: number, symbol: string, timestamp: number): boolean => {
    const region = regionOf(symbol);
    if (region === undefined) return false;
    const { start, end } = dayRange(region, localDate(at, REGIONS[region].zone));
    return timestamp >= start && timestamp < end;
  };
  return {
    covers: (symbol, timestamp) =>
      (windows.get(symbol) ?? []).some(({ start, end }) => timestamp >= start && timestamp < end) ||
      // A snapshot of a universe contains the bars of its day.
      snapshots.some((at) => isInDayOf(at, symbol, timestamp)),
    hasSymbol: (symbol) => later.some((one) => one.symbol === symbol),
  };
}

/**
 * Lands the responses that ended runs received but did not land, because they were paid for. Rows that later responses
 * have replaced are left out. A damaged response is set aside and reported as a failure. The ledger does not record it,
 * so its data is requested again. A response that cannot be landed for another reason remains on disk, and is also
 * reported.
 */
export async function recoverResponses(run: Run): Promise<void> {
  const { lake, runId, clock } = run.context;
  for (const store of await ResponseSpool.takeOver(lake, runId, clock)) {
    run.progress.doing("landing what an earlier run had received");
    try {
      await releaseAfter(
        () => recoverStore(run, store),
        () => store.close(),
      );
    } catch (error) {
      for (const one of [error, ...laterErrors(error)]) fail(run, messageOf(one));
    }
  }
}

interface RecoveredBars extends DeliveredResponse {
  readonly id: string;
  readonly note: BarsNote;
}

async function recoverStore(run: Run, store: ResponseSpool): Promise<void> {
  let group: RecoveredBars[] = [];
  let rows = 0;
  for (const id of await store.ids()) {
    const response = await readable(run, store, id);
    if (response === undefined) continue;
    if ("records" in response) {
      await recoverRecords(run, response.records);
      await store.forget([id]);
      continue;
    }
    group.push(response);
    rows += response.columns?.rows ?? 0;
    if (rows < GROUP_BARS) continue;
    await recoverBars(run, store, group);
    [group, rows] = [[], 0];
  }
  await recoverBars(run, store, group);
}

/** Reads a response, or sets it aside if it cannot be read. */
async function readable(
  run: Run,
  store: ResponseSpool,
  id: string,
): Promise<RecoveredBars | { readonly records: RecordsNote } | undefined> {
  try {
    const { note, body } = await store.read(id);
    return isBarsNote(note) ? await barsOf(id, note, body) : { records: note as RecordsNote };
  } catch (error) {
    const hint = `it is in ${await store.setAside(id)} now, and its content is requested again`;
    fail(run, `${messageOf(error)}; ${hint}`);
    return undefined;
  }
}

function isBarsNote(note: unknown): note is BarsNote {
  return typeof note === "object" && note !== null && "finalEnds" in note;
}

/** The bars of a response. Arrow is loaded for those that an earlier version stored. */
async function barsOf(id: string, note: BarsNote, body: SpooledResponse["body"]): Promise<RecoveredBars> {
  const { source, entry, layout } = note;
  if (body === undefined) return { id, note, source, entry, columns: undefined };
  if (layout !== undefined) return { id, note, source, entry, columns: klinesOf(layout, body) };
  const { klinesFromIpc } = await import("../arrow/kline-ipc.js");
  return { id, note, source, entry, columns: klinesFromIpc(body) };
}

async function recoverBars(run: Run, store: ResponseSpool, group: readonly RecoveredBars[]): Promise<void> {
  for (const dataset of new Set(group.map(({ note }) => note.dataset))) {
    const table = tableOf(dataset);
    const own = group.filter(({ note }) => note.dataset === dataset);
    const sources = own.map(({ source }) => source);
    const left = new Set(unlanded(await run.context.lake.snapshot(table), sources));
    const responses: RecoveredBars[] = [];
    for (const one of own) {
      responses.push({ ...(await withoutReplaced(run, one)), hasLanded: !left.has(one.source) });
    }
    await landResponses(run, table, responses, own[0]?.note.finalEnds ?? run.context.finalEnds);
    await store.forget(own.map(({ id }) => id));
  }
}

async function withoutReplaced(run: Run, response: RecoveredBars): Promise<RecoveredBars> {
  const later = await laterResponses(run.context, recordOf(response));
  if (later === undefined || response.columns === undefined) return response;
  const columns = filteredBars(response.columns, (symbol, timestamp) => !later.covers(symbol, timestamp));
  return { ...response, columns };
}

async function recoverRecords(run: Run, note: RecordsNote): Promise<void> {
  const record = recordOf(note);
  const later = await laterResponses(run.context, record);
  const isReplaced = ({ symbol, ex_date }: RecordsNote["rows"][number]): boolean =>
    record.window === undefined
      ? later?.hasSymbol(String(symbol)) === true
      : later?.covers(String(symbol), midnightOf(String(symbol), ex_date as TradingDate)) === true;
  const rows = note.rows.filter((row) => !isReplaced(row));
  await landRecordNotes(run, tableOf(note.dataset), note.columns, [{ ...note, rows }]);
}

/** Midnight of a date at the exchange of a symbol, in epoch milliseconds. */
function midnightOf(symbol: string, date: TradingDate): number {
  return instantOf(date, REGIONS[regionOf(symbol) as Region].zone);
}

function recordOf({ entry }: Pick<RecordsNote, "entry">): RequestRecord {
  return entry.records[0] as RequestRecord;
}

function fail(run: Run, reason: string): void {
  run.log.failure({ dataset: undefined, request: "responses of an earlier run", reason, symbols: 0 });
}

function tableOf(name: string): TableSchema {
  const table = tableNamed(name);
  if (table === undefined) throw new TypeError(`response of an unknown table ${name}`);
  return table;
}
