import { z } from "zod";
import { recordBatch } from "../../../arrow/record-batch.js";
import { compareText } from "../../../core/text-order.js";
import { StatementFields } from "../../../jobs/ingest/statements/statement-fields.js";
import { addDays } from "../../../market/sessions.js";
import type { Column, TableSchema } from "../../../schema/column.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES } from "../../../schema/statements.js";
import { ENDPOINTS, type Endpoint, LIMITS } from "../../../wire/endpoints.js";
import { type StatementRecord, statementRecord } from "../../../wire/resources.js";
import { dateOption } from "../../time-input.js";
import { requestedSymbols } from "../klines/kline-request.js";
import type { ServiceAccess } from "../service-access.js";
import { type AskOptions, askBatches } from "./ask-records.js";
import { RecordTable } from "./record-table.js";

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
