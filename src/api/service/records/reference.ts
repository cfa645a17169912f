import type { RecordBatch } from "apache-arrow";
import type { z } from "zod";
import { recordBatch } from "../../../arrow/record-batch.js";
import { isEndpointRefusal } from "../../../client/response-error.js";
import type { Ask } from "../../../client/service-client.js";
import { ServiceError, UsageError } from "../../../core/errors.js";
import { isInstrumentOf, memberRows, receivedMembers } from "../../../jobs/ingest/received-lists.js";
import { listFault } from "../../../plan/absence/list-fault.js";
import type { Column, TableSchema } from "../../../schema/column.js";
import { QUOTE_COLUMNS } from "../../../schema/quotes.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../schema/reference.js";
import { ENDPOINTS, LIMITS } from "../../../wire/endpoints.js";
import { instrumentRow } from "../../../wire/instrument-row.js";
import type { PARAMETERS } from "../../../wire/parameters.js";
import {
  type ExchangeSummary,
  exchangeSummary,
  type Instrument,
  instrument,
  type ReceivedQuote,
  receivedQuote,
  type SymbolRecord,
  symbolRecord,
  type UniverseDetail,
  type UniverseSummary,
  universeDetail,
  universeSummary,
} from "../../../wire/resources.js";
import { requestedSymbols } from "../klines/kline-request.js";
import type { ServiceAccess } from "../service-access.js";
import { type AskOptions, askBatches, askRecords, type ReceivedRecords } from "./ask-records.js";
import { RecordTable } from "./record-table.js";

/** Kinds of instruments that a list can be limited to. */
export type InstrumentType = NonNullable<z.output<typeof PARAMETERS.exchangeInstruments>["type"]>;

const SYMBOL_COLUMNS: readonly Column[] = [
  ...["symbol", "code", "exchange", "region"].map((name): Column => ({ name, type: "string", doc: "" })),
  ...["name", "symbol_type"].map((name): Column => ({ name, type: "string", nullable: true, doc: "" })),
];

interface QuotesOf {
  readonly symbols?: readonly string[];
  readonly universes?: readonly string[];
}

/**
 * Quotes of symbols, and of the members of universes. The quotes do not say which universe they come of: unless they are of
 * a single one, the service's list of universes is asked for, too, to name those that it does not know.
 */
export async function askQuotes(
  access: ServiceAccess,
  of: readonly string[] | QuotesOf,
  options: AskOptions,
): Promise<RecordTable<ReceivedQuote>> {
  const { symbols = [], universes: ids = [] }: QuotesOf = isList(of) ? { symbols: of } : Object(of);
  const universes = [...new Set(ids)];
  if (symbols.length + universes.length === 0)
    throw new UsageError("quotes: neither symbols nor universes are given", {
      hint: 'give a list such as ["600519.SH"], or { universes: [...] }',
    });
  const shape = { shape: "list", element: receivedQuote } as const;
  const some = symbols.length === 0 ? [] : requestedSymbols("quotes", symbols);
  const own = await askBatches(access, some, LIMITS.symbolsPerRequest, quotesOf("symbols"), shape, options);
  const listed =
    universes.length === 0
      ? undefined
      : await askRecords(access, quotesOf("universes")(universes), shape, options);
  if (listed !== undefined) own.issues.addAll(listed.issues);
  const quotes = new Map(
    [...own.entries, ...(listed?.entries ?? [])].map(([, quote]) => [quote.symbol, quote]),
  );
  const rows = [...quotes.values()].map(({ ext, ...quote }) => ({ ...ext, ext_type: ext?.type, ...quote }));
  const isEachKnown = universes.length === 1 && (listed?.entries.length ?? 0) > 0;
  const unknown = [
    ...some.filter((symbol) => !quotes.has(symbol)),
    ...(isEachKnown ? [] : await unknownUniverses(access, universes, options)),
  ];
  return new RecordTable(recordBatch(QUOTE_COLUMNS, rows), [...quotes.values()], own.issues, unknown);
}

/** Those of some universes that the service does not list; none where the key may not ask for its list. */
export async function unknownUniverses(
  access: ServiceAccess,
  universes: readonly string[],
  options: AskOptions,
): Promise<string[]> {
  if (universes.length === 0) return [];
  try {
    const shape = { shape: "list", element: universeSummary } as const;
    const { entries } = await askRecords(access, { endpoint: ENDPOINTS.universes }, shape, options);
    const known = new Set(entries.map(([, { id }]) => id));
    return universes.filter((id) => !known.has(id));
  } catch (error) {
    if (!(error instanceof ServiceError) || !isEndpointRefusal(error)) throw error;
    return [];
  }
}

function isList(of: readonly string[] | QuotesOf): of is readonly string[] {
  return Array.isArray(of);
}

function quotesOf(member: "symbols" | "universes"): (some: readonly string[]) => Ask {
  return (some) => ({ endpoint: ENDPOINTS.quotes, body: { [member]: some } });
}

/** Metadata of symbols, in their order. */
export async function askInstruments(
  access: ServiceAccess,
  symbols: readonly string[],
  options: AskOptions,
): Promise<RecordTable<Instrument>> {
  const some = requestedSymbols("instruments", symbols);
  const asked = (part: readonly string[]): Ask => ({
    endpoint: ENDPOINTS.instrumentsBatch,
    body: { symbols: part },
  });
  const shape = { shape: "list", element: instrument } as const;
  const received = await askBatches(access, some, LIMITS.symbolsPerRequest, asked, shape, options);
  const { records, unknown } = inRequestedOrder(some, received);
  return new RecordTable(instrumentsBatch(records), records, received.issues, unknown);
}

function instrumentsBatch(records: readonly Instrument[]): RecordBatch {
  return recordBatch(currentColumns(INSTRUMENTS), records.map(instrumentRow));
}

/** Symbol records, in the order of the symbols. */
export async function askSymbols(
  access: ServiceAccess,
  symbols: readonly string[],
  options: AskOptions,
): Promise<RecordTable<SymbolRecord>> {
  const some = requestedSymbols("symbols", symbols);
  const asked = (part: readonly string[]): Ask => ({
    endpoint: ENDPOINTS.symbolsBatch,
    body: { symbols: part },
  });
  const shape = { shape: "list", element: symbolRecord } as const;
  const received = await askBatches(access, some, LIMITS.symbolsPerRequest, asked, shape, options);
  const { records, unknown } = inRequestedOrder(some, received);
  return new RecordTable(recordBatch(SYMBOL_COLUMNS, records), records, received.issues, unknown);
}

/** All instruments of an exchange. */
export async function askExchangeInstruments(
  access: ServiceAccess,
  exchange: string,
  { type, ...options }: AskOptions & { readonly type?: InstrumentType | undefined },
): Promise<RecordTable<Instrument>> {
  if (!/^[A-Za-z]{1,10}$/.test(exchange))
    throw new UsageError(`exchangeInstruments: exchange: ${JSON.stringify(exchange)} is no exchange`, {
      hint: "exchanges() lists them",
    });
  const ask = { endpoint: ENDPOINTS.exchangeInstruments, path: { exchange }, query: { type } };
  const received = await askRecords(access, ask, { shape: "list", element: instrument }, options);
  const { issues, count } = received;
  const rejected = issues.rejected;
  const own = received.entries.filter(([, { symbol }]) => isInstrumentOf(exchange, symbol, issues));
  const records = [...new Map(own.map(([, one]) => [one.symbol, one])).values()];
  const facts = { usable: records.length, rejected, repeats: own.length - records.length, count };
  const fault = listFault({ ...facts, current: 0, isKnownEmpty: false });
  if (fault !== undefined) {
    const message = `instruments of ${exchange}: the list may lack some: ${fault}`;
    issues.add({ rule: "incomplete_list", message, rejected: 0 });
  }
  return new RecordTable(instrumentsBatch(records), records, issues);
}

/** All universes. */
export function askUniverses(
  access: ServiceAccess,
  options: AskOptions,
): Promise<RecordTable<UniverseSummary>> {
  return askList(access, { endpoint: ENDPOINTS.universes }, universeSummary, UNIVERSES, options);
}

/** All exchanges. */
export function askExchanges(
  access: ServiceAccess,
  options: AskOptions,
): Promise<RecordTable<ExchangeSummary>> {
  return askList(access, { endpoint: ENDPOINTS.exchanges }, exchangeSummary, EXCHANGES, options);
}

async function askList<T extends Readonly<Record<string, unknown>>>(
  access: ServiceAccess,
  ask: Ask,
  element: z.ZodType<T>,
  table: TableSchema,
  options: AskOptions,
): Promise<RecordTable<T>> {
  const { entries, issues } = await askRecords(access, ask, { shape: "list", element }, options);
  const records = entries.map(([, record]) => record);
  return new RecordTable(recordBatch(currentColumns(table), records), records, issues);
}

/** The members of universes: a row for each, and as records the universes with their symbols. */
export async function askUniverseMembers(
  access: ServiceAccess,
  ids: readonly string[],
  options: AskOptions,
): Promise<RecordTable<UniverseDetail>> {
  if (!Array.isArray(ids) || ids.length === 0)
    throw new UsageError("universeMembers: ids is not a list of at least one id");
  const some = [...new Set(ids)];
  const asked = (part: readonly string[]): Ask => ({
    endpoint: ENDPOINTS.universesBatch,
    body: { ids: part },
  });
  const shape = { shape: "map", element: universeDetail } as const;
  const received = await askBatches(access, some, LIMITS.universesPerRequest, asked, shape, options);
  const { values } = receivedMembers({ ...received, bytes: 0 }, some);
  const came = new Set(values.map(({ id }) => id));
  const rows = values.flatMap(memberRows);
  const unknown = some.filter((id) => !came.has(id));
  return new RecordTable(
    recordBatch(currentColumns(UNIVERSE_MEMBERS), rows),
    values,
    received.issues,
    unknown,
  );
}

/** The columns of a dated table, without the dates that a lake gives. */
function currentColumns({ columns }: TableSchema): Column[] {
  return columns.filter(({ name }) => !name.startsWith("valid_") && name !== "source");
}

function inRequestedOrder<T extends { readonly symbol: string }>(
  symbols: readonly string[],
  { entries }: ReceivedRecords<T>,
): { readonly records: T[]; readonly unknown: string[] } {
  const bySymbol = new Map(entries.map(([, record]) => [record.symbol, record]));
  return {
    records: symbols.flatMap((symbol) => bySymbol.get(symbol) ?? []),
    unknown: symbols.filter((symbol) => !bySymbol.has(symbol)),
  };
}
