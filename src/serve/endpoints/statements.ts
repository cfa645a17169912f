import type { z } from "zod";
import { ident } from "../../db/quote.js";
import { inBatches } from "../../plan/request-units.js";
import type { TableSchema } from "../../schema/column.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES } from "../../schema/statements.js";
import { jsonText } from "../../wire/encode/json-text.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import type { StatementRecord } from "../../wire/resources.js";
import { demandsOf, requestedSql } from "../klines/requested-bars.js";
import { addDerivedShares } from "../read/derived-shares.js";
import type { LakeView } from "../read/lake-reader.js";
import { landedSymbols } from "../read/landed-symbols.js";
import { type EndpointHandler, StreamedResponse } from "./response.js";

/** `GET /v1/financials/balance-sheet` */
export const serveBalanceSheet: EndpointHandler = (view, { query }) => statements(view, BALANCE_SHEET, query);

/** `GET /v1/financials/cash-flow` */
export const serveCashFlow: EndpointHandler = (view, { query }) => statements(view, CASH_FLOW, query);

/** `GET /v1/financials/income` */
export const serveIncome: EndpointHandler = (view, { query }) => statements(view, INCOME, query);

/** `GET /v1/financials/metrics` */
export const serveMetrics: EndpointHandler = (view, { query }) => statements(view, METRICS, query);

/** `GET /v1/financials/shares` */
export const serveShares: EndpointHandler = (view, { query }) => statements(view, SHARES, query);

const FIRST_DATE = "0000-00-00";
const LAST_DATE = "9999-99-99";

/** Symbols that are read at once: what their statements take as objects is bounded, however many are requested. */
const BLOCK_SYMBOLS = 200;
/** Rows of bars that take as much memory as the statements of a symbol: twenty years of quarters. */
const ROWS_OF_A_SYMBOL = 1200;

/** The newest version of each period's statement, ascending by period; an unknown symbol is left out. */
async function statements(view: LakeView, table: TableSchema, query: unknown): Promise<StreamedResponse> {
  const asked = parseParameters(PARAMETERS.financials, query);
  (await view.scope()).checkSymbols(asked.symbols);
  await view.acquireMemory(Math.min(asked.symbols.length, BLOCK_SYMBOLS) * ROWS_OF_A_SYMBOL);
  return StreamedResponse.of(statementPieces(view, table, asked));
}

/** The body in pieces, each with the statements of a block of symbols. */
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
    if (table === SHARES) await addDerivedShares(view.version, symbols, { first, last }, records);
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

/** The symbols with statements, or that the lake knows otherwise, in their order. */
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

async function readRecords(
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
  const own = ["symbol", "period_end", "announce_date", "first_seen_at", "region"];
  const fields = snapshot.columns.map((c) => c.name).filter((name) => !own.includes(name));
  const rows = await view.version.query(async (session) => {
    const relation = await view.version.relation(session, snapshot, files);
    // Dates are compared as texts, so that a year outside DATE's range is no error.
    const sql = `WITH ${requestedSql("$requested")}
      SELECT symbol, CAST(period_end AS VARCHAR) AS period_end, CAST(announce_date AS VARCHAR) AS announce_date,
        ${fields.map(ident).join(", ")}
      FROM (${relation}) JOIN requested USING (symbol)
      WHERE CAST(period_end AS VARCHAR) BETWEEN $first AND $last
      QUALIFY row_number() OVER (
        PARTITION BY symbol, period_end ORDER BY announce_date DESC NULLS LAST, first_seen_at DESC) = 1
      ORDER BY symbol, period_end`;
    return session.json<StatementRecord & { symbol: string }>(sql, {
      requested: JSON.stringify(requested),
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
