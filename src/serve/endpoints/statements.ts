import { ident } from "../../db/quote.js";
import type { TableSchema } from "../../schema/column.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../schema/statements.js";
import { jsonText } from "../../wire/encode/json-text.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import type { StatementRecord } from "../../wire/resources.js";
import { demandsOf, requestedSql } from "../klines/requested-bars.js";
import type { LakeView } from "../read/lake-reader.js";
import { landedSymbols } from "../read/landed-symbols.js";
import { type EndpointHandler, TextResponse } from "./response.js";

/** `GET /v1/financials/balance-sheet` */
export const serveBalanceSheet: EndpointHandler = (view, { query }) => statements(view, BALANCE_SHEET, query);

/** `GET /v1/financials/cash-flow` */
export const serveCashFlow: EndpointHandler = (view, { query }) => statements(view, CASH_FLOW, query);

const FIRST_DATE = "0000-00-00";
const LAST_DATE = "9999-99-99";

/** Symbols that are read at once: what their statements take as objects is bounded, however many are requested. */
const BLOCK_SYMBOLS = 200;

/** The newest version of each period's statement, ascending by period; an unknown symbol is left out. */
async function statements(view: LakeView, table: TableSchema, query: unknown): Promise<TextResponse> {
  const asked = parseParameters(PARAMETERS.financials, query);
  (await view.scope()).checkSymbols(asked.symbols);
  const { start_date: first = FIRST_DATE, end_date: last = LAST_DATE } = asked;
  const members: string[] = [];
  for (let start = 0; start < asked.symbols.length; start += BLOCK_SYMBOLS) {
    const symbols = asked.symbols.slice(start, start + BLOCK_SYMBOLS);
    const records = await readRecords(view, table, symbols, first, last);
    for (const symbol of await knownSymbols(view, table, symbols, records)) {
      const list = records.get(symbol) ?? [];
      const text = jsonText(asked.latest ? list.slice(-1) : list, () => true);
      members.push(`${JSON.stringify(symbol)}:${text}`);
    }
  }
  return new TextResponse(`{"data":{${members.join()}}}`);
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
