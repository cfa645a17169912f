import type { RecordBatch } from "apache-arrow";
import { z } from "zod";
import { type BatchColumn, columnBatch } from "../../arrow/column-batch.js";
import { isEndpointRefusal } from "../../client/response-error.js";
import type { Ask } from "../../client/service-client.js";
import { ServiceError, UsageError } from "../../core/errors.js";
import { IssueLog } from "../../core/issue.js";
import { compareText } from "../../core/text-order.js";
import { epochDay, type TradingDate } from "../../core/time.js";
import { isInstrumentOf, memberRows, receivedMembers } from "../../jobs/ingest/counted-lists.js";
import { StatementFields } from "../../jobs/ingest/statements/statement-fields.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { addDays } from "../../market/sessions.js";
import { instantOf } from "../../market/zone.js";
import { listFault } from "../../plan/absence/list-fault.js";
import type { Column, TableSchema } from "../../schema/column.js";
import {
  EXCHANGES,
  INSTRUMENTS,
  QUOTE_COLUMNS,
  UNIVERSE_MEMBERS,
  UNIVERSES,
} from "../../schema/reference.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES } from "../../schema/statements.js";
import { ENDPOINTS, type Endpoint, LIMITS } from "../../wire/endpoints.js";
import { instrumentRow } from "../../wire/instrument-row.js";
import type { PARAMETERS } from "../../wire/parameters.js";
import {
  type ExchangeSummary,
  exchangeSummary,
  exFactor,
  type Instrument,
  instrument,
  type ReceivedQuote,
  receivedQuote,
  type StatementRecord,
  type SymbolRecord,
  statementRecord,
  symbolRecord,
  type UniverseDetail,
  type UniverseSummary,
  universeDetail,
  universeSummary,
} from "../../wire/resources.js";
import { dateOption } from "../inputs.js";
import { type AskOptions, askBatches, askRecords, type ReceivedRecords, RecordTable } from "./ask-records.js";
import { requestedSymbols, symbolsByRegion } from "./kline-request.js";
import type { ServiceAccess } from "./service-access.js";

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

export function askUniverses(
  access: ServiceAccess,
  options: AskOptions,
): Promise<RecordTable<UniverseSummary>> {
  return askList(access, { endpoint: ENDPOINTS.universes }, universeSummary, UNIVERSES, options);
}

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

/** Which statements are requested. */
export interface StatementOptions extends AskOptions {
  /** Reporting periods that end on this date `YYYY-MM-DD` or later. @default all */
  readonly from?: string | undefined;
  /** Reporting periods that end before this date. @default all */
  readonly to?: string | undefined;
  /** The latest period of each symbol alone. @default false */
  readonly latest?: boolean | undefined;
}

/** A statement with its symbol; its fields are numbers, null where they are not known. */
export type Statement = StatementRecord & { readonly symbol: string };

/** Statements of symbols, ordered by symbol, as in the request, and period. */
export type AskStatements = (
  symbols: readonly string[],
  options?: StatementOptions,
) => Promise<RecordTable<Statement>>;

/** The statements of a service. Income, metrics and shares are extensions: a service may lack them. */
export interface Financials {
  readonly balanceSheet: AskStatements;
  readonly cashFlow: AskStatements;
  readonly income: AskStatements;
  readonly metrics: AskStatements;
  readonly shares: AskStatements;
}

export function financialsOf(access: ServiceAccess): Financials {
  const of =
    (table: TableSchema, endpoint: Endpoint): AskStatements =>
    (symbols, options = {}) =>
      askStatements(access, table, endpoint, symbols, options);
  return {
    balanceSheet: of(BALANCE_SHEET, ENDPOINTS.balanceSheet),
    cashFlow: of(CASH_FLOW, ENDPOINTS.cashFlow),
    income: of(INCOME, ENDPOINTS.income),
    metrics: of(METRICS, ENDPOINTS.metrics),
    shares: of(SHARES, ENDPOINTS.shares),
  };
}

async function askStatements(
  access: ServiceAccess,
  table: TableSchema,
  endpoint: Endpoint,
  symbols: readonly string[],
  options: StatementOptions,
): Promise<RecordTable<Statement>> {
  const what = table.name;
  const some = requestedSymbols(what, symbols);
  const [from, to] = [options.from, options.to].map((date, n) =>
    date === undefined ? undefined : dateOption(`${what}: ${n === 0 ? "from" : "to"}`, date),
  );
  const { entries, issues } = await askBatches(
    access,
    some,
    LIMITS.symbolsPerRequest,
    (part) => ({
      endpoint,
      query: {
        symbols: part.join(","),
        start_date: from,
        end_date: to === undefined ? undefined : addDays(to, -1),
        latest: options.latest ? "true" : undefined,
      },
    }),
    { shape: "map", element: z.array(statementRecord) },
    options,
  );
  const asked = new Set(some);
  const bySymbol = new Map(entries.filter(([symbol]) => asked.has(symbol)));
  const fields = new StatementFields(table, table.columns);
  const rows: Record<string, unknown>[] = [];
  const statements: Statement[] = [];
  for (const symbol of some) {
    const list = bySymbol.get(symbol) ?? [];
    for (const record of list.toSorted((a, b) => compareText(a.period_end, b.period_end))) {
      const taken = fields.rowOf(symbol, record);
      if ("issue" in taken) {
        issues.add(taken.issue);
        continue;
      }
      rows.push(taken.row);
      statements.push({ ...record, symbol });
    }
  }
  const named = new Set(issues.counts.map(({ symbol }) => symbol));
  const unknown = some.filter((symbol) => !bySymbol.has(symbol) && !named.has(symbol));
  return new RecordTable(recordBatch(columnsOf(table, fields), rows), statements, issues, unknown);
}

/** The columns of the table, and those that the response has in addition. */
function columnsOf(table: TableSchema, fields: StatementFields): Column[] {
  const own = table.columns
    .filter(({ name }) => !["region", "first_seen_at"].includes(name))
    .map((column) =>
      ["symbol", "period_end"].includes(column.name) ? column : { ...column, nullable: true },
    );
  const known = new Set([...own.map(({ name }) => name), "source", "line"]);
  return [...own, ...fields.columns.filter(({ name }) => !known.has(name))];
}

/** The window of ex-events. */
export interface ExFactorOptions extends AskOptions {
  /** First trading date `YYYY-MM-DD`, of each exchange's own calendar. @default all */
  readonly from?: string | undefined;
  /** Date after the last one. @default all */
  readonly to?: string | undefined;
}

/** The ratio of one ex-event: the close of the bar before, divided by the exchange's previous close. */
export interface ExFactor {
  readonly symbol: string;
  /** Midnight of the exchange on the ex-date, epoch milliseconds. */
  readonly timestamp: number;
  readonly ex_factor: number;
}

/** Services permit fewer symbols here than elsewhere. */
const MOST_SYMBOLS = 50;

const COLUMNS: readonly Column[] = [
  { name: "symbol", type: "string", doc: "" },
  { name: "timestamp", type: "timestamp", unit: "UTC", doc: "" },
  { name: "ex_factor", type: "double", unit: "ratio", doc: "" },
];

/** The ex-events of symbols, ordered by symbol, as in the request, and time. */
export async function askExFactors(
  access: ServiceAccess,
  symbols: readonly string[],
  options: ExFactorOptions,
): Promise<RecordTable<ExFactor>> {
  const some = requestedSymbols("exFactors", symbols);
  const [from, to] = [edgeOf("from", options.from), edgeOf("to", options.to)];
  const byRegion = symbolsByRegion(some);
  const factors = new Map<string, ExFactor[]>();
  const issues = new IssueLog();
  for (const [region, own] of byRegion) {
    const query = { start_time: from?.(region), end_time: to === undefined ? undefined : to(region) - 1 };
    const received = await askBatches(
      access,
      own,
      MOST_SYMBOLS,
      (part) => ({ endpoint: ENDPOINTS.exFactors, query: { symbols: part.join(","), ...query } }),
      { shape: "map", element: z.array(exFactor) },
      options,
    );
    issues.addAll(received.issues);
    for (const [symbol, list] of received.entries)
      factors.set(
        symbol,
        list.toSorted((a, b) => a.timestamp - b.timestamp).map((one) => ({ symbol, ...one })),
      );
  }
  const rows = some.flatMap((symbol) => factors.get(symbol) ?? []);
  const unknown = some.filter((symbol) => !factors.has(symbol));
  return new RecordTable(
    recordBatch(
      COLUMNS,
      rows.map((row) => ({ ...row })),
    ),
    rows,
    issues,
    unknown,
  );
}

function edgeOf(name: string, date: string | undefined): ((region: Region) => number) | undefined {
  if (date === undefined) return undefined;
  const parsed = dateOption(`exFactors: ${name}`, date);
  return (region) => instantOf(parsed, REGIONS[region].zone);
}

/**
 * Makes one record batch of objects with declared columns. A value that is absent is null; a timestamp is epoch
 * milliseconds. A text that is no date is null in a column of dates.
 */
function recordBatch(
  columns: readonly Column[],
  rows: readonly Readonly<Record<string, unknown>>[],
): RecordBatch {
  return columnBatch(
    columns.map((column) => batchColumn(column, rows)),
    rows.length,
  );
}

function batchColumn(
  { name, type, unit, nullable }: Column,
  rows: readonly Readonly<Record<string, unknown>>[],
): BatchColumn {
  const described = { name, isRequired: nullable !== true, unit };
  const values = rows.map((row) => row[name] ?? null);
  const integers = (): (bigint | null)[] =>
    values.map((value) => (value === null ? null : BigInt(value as number)));
  switch (type) {
    case "double":
      return { ...described, kind: "double", values: values as (number | null)[] };
    case "int32":
    case "int64":
      return { ...described, kind: "int64", values: integers() };
    case "timestamp":
      return { ...described, kind: "milliseconds", values: integers() };
    case "date":
      return { ...described, kind: "date", values: values.map(dateOf) };
    case "string":
      return { ...described, kind: "text", values: values as (string | null)[] };
    case "boolean":
    case "string[]":
      return {
        ...described,
        kind: "text",
        values: values.map((value) => (value === null ? null : JSON.stringify(value))),
      };
  }
}

function dateOf(value: unknown): TradingDate | null {
  const isDate = typeof value === "string" && Number.isInteger(epochDay(value as TradingDate));
  return isDate ? (value as TradingDate) : null;
}
