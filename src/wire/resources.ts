import { z } from "zod";
import { SESSION_STATUSES } from "../market/sessions.js";
import type { TableSchema } from "../schema/column.js";
import {
  BALANCE_SHEET,
  CASH_FLOW,
  INCOME,
  METRICS,
  SHARES,
  statementFieldsOf,
} from "../schema/statements.js";

/** An extension object, whose form depends on `type`. Unknown members and variants remain unchanged. */
const ext = z.looseObject({ type: z.string().optional() });

export const instrument = z.looseObject({
  symbol: z.string(),
  code: z.string(),
  exchange: z.string(),
  region: z.string(),
  name: z.string().nullish(),
  type: z.string(),
  ext: ext.nullish(),
});
/** An instrument with its metadata, as the service returns it. */
export type Instrument = z.infer<typeof instrument>;

export const universeSummary = z.looseObject({
  id: z.string(),
  name: z.string(),
  category: z.string(),
  region: z.string(),
  symbol_count: z.int().nonnegative(),
  description: z.string().nullish(),
});
/** A universe without its members. */
export type UniverseSummary = z.infer<typeof universeSummary>;

export const universeDetail = z.looseObject({ ...universeSummary.shape, symbols: z.array(z.string()) });
/** A universe with the symbols of its members. */
export type UniverseDetail = z.infer<typeof universeDetail>;

export const exchangeSummary = z.looseObject({
  exchange: z.string(),
  region: z.string(),
  count: z.int().nonnegative(),
});
/** An exchange, and how many instruments it has. */
export type ExchangeSummary = z.infer<typeof exchangeSummary>;

const isoDate = z.iso.date();

export const statementRecord = z
  .object({ period_end: isoDate, announce_date: isoDate.nullish() })
  .catchall(z.unknown());
/** A financial statement: `period_end`, `announce_date` (null: unknown), and its items by name. */
export type StatementRecord = z.infer<typeof statementRecord>;

/** A record with the declared fields of its table; a delivery may have more. */
function recordOf(table: TableSchema) {
  const fields = statementFieldsOf(table).map(({ name, type, doc, unit }) => {
    const value = type === "string" ? z.string() : z.number();
    return [name, value.nullish().describe(unit === undefined ? doc : `${doc} [${unit}]`)] as const;
  });
  return z.looseObject({ ...statementRecord.shape, ...Object.fromEntries(fields) });
}

export const balanceSheetRecord = recordOf(BALANCE_SHEET);
export const cashFlowRecord = recordOf(CASH_FLOW);
export const incomeRecord = recordOf(INCOME);
export const metricsRecord = recordOf(METRICS);
export const sharesRecord = recordOf(SHARES);

const epochMs = z.int().meta({ description: "[epoch ms]", format: "int64" });
const nullable = z.number().nullable();

/** Parallel arrays, one entry per bar. The client does not use this schema: see `decode`. */
export const compactKlines = z.strictObject({
  timestamp: z.array(epochMs),
  open: z.array(z.number()),
  high: z.array(z.number()),
  low: z.array(z.number()),
  close: z.array(z.number()),
  volume: z
    .array(z.int().meta({ format: "int64" }))
    .describe("In the region's unit: lots of 100 shares in CN, else shares."),
  amount: z.array(z.number()),
  open_interest: z.array(nullable).optional(),
  prev_close: z.array(nullable).optional(),
  settlement_price: z.array(nullable).optional(),
});

/** The state of the market of a quote, by the clock of its exchange. */
const QUOTE_SESSIONS = [...SESSION_STATUSES, "halted"] as const;

export const quote = z.object({
  symbol: z.string(),
  region: z.string(),
  session: z.enum(QUOTE_SESSIONS),
  last_price: z.number(),
  open: z.number(),
  high: z.number(),
  low: z.number(),
  prev_close: z.number().describe("Close of the session before; 0 where it is not known."),
  volume: z.int().meta({ format: "int64" }),
  amount: z.number(),
  timestamp: epochMs,
  ext: z.object({
    type: z.string(),
    change_amount: z.number().optional(),
    change_pct: z.number().optional().describe("As a fraction: 0.01 is 1 %."),
    amplitude: z.number().optional().describe("As a fraction."),
    turnover_rate: z.number().optional().describe("As a fraction of the shares that trade freely."),
    name: z.string().optional(),
  }),
});
/** A quote. A ratio is left out if its inputs are not known. */
export type Quote = z.infer<typeof quote>;

/** A quote as the client accepts it. Services may add members, or leave out `region`, `session` and `ext`. */
export const receivedQuote = z.looseObject({
  ...quote.shape,
  open: nullable,
  high: nullable,
  low: nullable,
  region: z.string().nullish(),
  session: z.string().nullish(),
  volume: z.number(),
  ext: z
    .looseObject({
      type: z.string().nullish(),
      change_amount: z.number().nullish(),
      change_pct: z.number().nullish(),
      amplitude: z.number().nullish(),
      turnover_rate: z.number().nullish(),
      name: z.string().nullish(),
    })
    .nullish(),
});
/**
 * A quote, as the service returns it: prices in currency, times in epoch milliseconds. Outside a session `open`, `high`
 * and `low` may be null, or 0.
 */
export type ReceivedQuote = z.infer<typeof receivedQuote>;

export const symbolRecord = z.looseObject({
  symbol: z.string(),
  code: z.string(),
  exchange: z.string(),
  region: z.string(),
  name: z.string().optional(),
  symbol_type: z.string().optional(),
  ext: z.unknown().optional(),
});
/** A symbol with its code, exchange and region. */
export type SymbolRecord = z.infer<typeof symbolRecord>;

/** The ratio of one ex-event: the previous bar's close, divided by the previous close that the exchange states. */
export const exFactor = z.strictObject({ timestamp: epochMs, ex_factor: z.number() });

/** Envelopes of records. Elements are validated one by one, so that an invalid one does not reject the others. */
export const listEnvelope = z.looseObject({ data: z.array(z.unknown()) });
export const mapEnvelope = z.looseObject({ data: z.record(z.string(), z.unknown()) });
