import type { RecordBatch } from "apache-arrow";
import type { z } from "zod";
import { type BatchColumn, columnBatch, wordList } from "../../arrow/column-batch.js";
import type { TradingDate } from "../../core/time.js";
import { ident } from "../../db/quote.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { inBatches } from "../../plan/request-units.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS } from "../../schema/reference.js";
import { SHARES, statementFieldsOf } from "../../schema/statements.js";
import { jsonText } from "../../wire/encode/json-text.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import type { StatementRecord } from "../../wire/resources.js";
import { RequestError } from "../http/request-error.js";
import { demandsOf, requestedSql } from "../klines/requested-bars.js";
import { addDerivedShares, canDeriveShares, landedSymbols } from "../read/derived-shares.js";
import type { LakeView } from "../read/lake-reader.js";
import { versionsText } from "../read/lake-version.js";
import { ArrowResponse, type Asked, type EndpointHandler, StreamedResponse } from "./response.js";

/** `GET /v1/financials/...`: the records of a table of statements. */
export const serveStatements =
  (table: TableSchema): EndpointHandler =>
  (view, asked) =>
    statements(view, table, asked);

const FIRST_DATE = "0000-00-00";
const LAST_DATE = "9999-99-99";

/** Number of symbols whose statements are read at the same time. It limits memory, however many are requested. */
const BLOCK_SYMBOLS = 200;
/** Number of bars that take as much memory as the statements of a symbol: twenty years of quarters. */
const ROWS_OF_A_SYMBOL = 1200;

/**
 * The newest version of each period's statement, ascending by period; an unknown symbol is left out. @throws
 * {RequestError} where the lake has no row of the table: an empty response would mean that no symbol has statements.
 */
async function statements(
  view: LakeView,
  table: TableSchema,
  { query, format }: Asked,
): Promise<ArrowResponse | StreamedResponse> {
  const asked = parseParameters(PARAMETERS.financials, query);
  (await view.scope()).checkSymbols(asked.symbols);
  if (!(await isOffered(view, table)))
    throw new RequestError("NOT_FOUND", `this service has no ${table.name}: its lake has none`);
  await view.acquireMemory(Math.min(asked.symbols.length, BLOCK_SYMBOLS) * ROWS_OF_A_SYMBOL);
  if (format === "arrow") return ArrowResponse.ofBatches(statementBatches(view, table, asked));
  return StreamedResponse.of(statementPieces(view, table, asked));
}

/** Whether a table has rows, or its records can be derived. Who takes a killed run over commits to tables that never landed. */
async function isOffered(view: LakeView, table: TableSchema): Promise<boolean> {
  if ((await view.version.snapshot(table)).files.size > 0) return true;
  return table === SHARES && canDeriveShares((await view.reference()).instruments.values());
}

async function* statementBatches(
  view: LakeView,
  table: TableSchema,
  asked: z.output<typeof PARAMETERS.financials>,
): AsyncGenerator<RecordBatch> {
  const { start_date: first = FIRST_DATE, end_date: last = LAST_DATE } = asked;
  const snapshot = await view.version.snapshot(table);
  const fields = statementFieldsOf(snapshot);
  const tables = table === SHARES ? [SHARES, INSTRUMENTS] : [table];
  const words = wordList(asked.symbols);
  const indexes = new Map(asked.symbols.map((symbol, index) => [symbol, index]));
  const metadata = new Map([["versions", await versionsText(view.version, tables)]]);
  for (const symbols of inBatches(asked.symbols, BLOCK_SYMBOLS)) {
    const records = await readRecords(view, table, symbols, first, last);
    const rows = symbols.flatMap((symbol) => {
      const list = (records.get(symbol) ?? []) as readonly Readonly<Record<string, unknown>>[];
      const index = indexes.get(symbol) as number;
      return (asked.latest ? list.slice(-1) : list).map((record) => ({ index, record }));
    });
    const values = (name: string): unknown[] => rows.map(({ record }) => record[name] ?? null);
    const dates = (name: string) => values(name) as (TradingDate | null)[];
    const items = fields.map(
      ({ name, type, unit }): BatchColumn =>
        type === "string"
          ? { name, kind: "text", values: values(name) as (string | null)[] }
          : { name, kind: "double", unit, values: values(name) as (number | null)[] },
    );
    const columns: BatchColumn[] = [
      { name: "symbol", kind: "word", isRequired: true, words, values: rows.map(({ index }) => index) },
      { name: "period_end", kind: "date", isRequired: true, values: dates("period_end") },
      { name: "announce_date", kind: "date", values: dates("announce_date") },
      ...items,
    ];
    yield columnBatch(columns, rows.length, metadata);
  }
}

/** The body in pieces, each with the statements of one block of symbols. */
async function* statementPieces(
  view: LakeView,
  table: TableSchema,
  asked: z.output<typeof PARAMETERS.financials>,
): AsyncGenerator<string> {
  const { start_date: first = FIRST_DATE, end_date: last = LAST_DATE } = asked;
  let piece = '{"data":{';
  let separator = "";
  for (const symbols of inBatches(asked.symbols, BLOCK_SYMBOLS)) {
    const records = await readRecords(view, table, symbols, first, last);
    for (const symbol of await knownSymbols(view, table, symbols, records)) {
      const list = records.get(symbol) ?? [];
      const text = jsonText(asked.latest ? list.slice(-1) : list, () => true);
      piece += `${separator}${JSON.stringify(symbol)}:${text}`;
      separator = ",";
    }
    yield piece;
    piece = "";
  }
  yield "}}";
}

/** The symbols that have statements or are otherwise known to the lake, in their order. */
async function knownSymbols(
  view: LakeView,
  table: TableSchema,
  symbols: readonly string[],
  records: ReadonlyMap<string, unknown>,
): Promise<string[]> {
  const { instruments } = await view.reference();
  const isKnown = (symbol: string): boolean => records.has(symbol) || instruments.has(symbol);
  const unknown = symbols.filter((symbol) => !isKnown(symbol));
  const landed = await landedSymbols(view.version, await view.version.snapshot(table), unknown);
  return symbols.filter((symbol) => isKnown(symbol) || landed.has(symbol));
}

/** The records of each symbol in the table. For numbers of shares, records are derived where the table has none. */
async function readRecords(
  view: LakeView,
  table: TableSchema,
  symbols: readonly string[],
  first: string,
  last: string,
): Promise<Map<string, StatementRecord[]>> {
  const records = await landedRecords(view, table, symbols, first, last);
  if (table === SHARES) await addDerivedShares(view.version, symbols, { first, last }, records);
  return records;
}

async function landedRecords(
  view: LakeView,
  table: TableSchema,
  symbols: readonly string[],
  first: string,
  last: string,
): Promise<Map<string, StatementRecord[]>> {
  const records = new Map<string, StatementRecord[]>();
  const snapshot = await view.version.snapshot(table);
  const { files, requested } = demandsOf(snapshot, symbols);
  if (files.length === 0) return records;
  const fields = statementFieldsOf(snapshot).map(({ name }) => name);
  const rows = await view.version.query(async (session) => {
    const relation = await view.version.relation(session, snapshot, files);
    // Dates are compared as texts, so that a year outside the range of DATE is not an error.
    const sql = `WITH ${requestedSql("$requested")}
      SELECT symbol, CAST(period_end AS VARCHAR) AS period_end, CAST(announce_date AS VARCHAR) AS announce_date,
        ${fields.map(ident).join(", ")}
      FROM (${relation}) JOIN requested USING (symbol)
      WHERE CAST(period_end AS VARCHAR) BETWEEN $first AND $last
      QUALIFY row_number() OVER (
        PARTITION BY symbol, period_end ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST) = 1
      ORDER BY symbol, period_end`;
    return session.json<StatementRecord & { symbol: string }>(sql, {
      requested: jsonParameter(requested),
      first,
      last,
    });
  });
  for (const { symbol, ...record } of rows) {
    const list = records.get(symbol);
    if (list === undefined) records.set(symbol, [record]);
    else list.push(record);
  }
  return records;
}
