import { z } from "zod";
import type { EndpointName } from "../../wire/endpoints.js";
import type { ErrorCode } from "../../wire/error-body.js";
import { PARAMETERS } from "../../wire/parameters.js";
import {
  balanceSheetRecord,
  cashFlowRecord,
  compactKlines,
  exchangeSummary,
  exFactor,
  incomeRecord,
  instrument,
  metricsRecord,
  quote,
  sharesRecord,
  symbolRecord,
  universeDetail,
  universeSummary,
} from "../../wire/resources.js";

/** The description of an endpoint, in addition to its method, path and group. */
export interface Description {
  readonly summary: string;
  /** The schema of its query, or of its body if it is a POST. */
  readonly parameters?: z.ZodType;
  /** The body of a successful response. */
  readonly response: z.ZodType;
  /** Errors in addition to those that every request can cause. */
  readonly errors?: readonly ErrorCode[];
}

const map = (entry: z.ZodType) => z.object({ data: z.record(z.string(), entry) });
const list = (element: z.ZodType) => z.object({ data: z.array(element) });
const one = (data: z.ZodType) => z.object({ data });
const NO_MINUTES = ["INTRADAY_UNAVAILABLE"] as const;

/** The description of every endpoint, built from the schemas with which its requests are validated. */
export const DESCRIPTIONS: Readonly<Record<EndpointName, Description>> = {
  intraday: {
    summary: "Minutes of one symbol on its region's latest trading day",
    parameters: PARAMETERS.intraday,
    response: one(compactKlines),
    errors: ["INVALID_PERIOD", "SYMBOL_NOT_FOUND", ...NO_MINUTES],
  },
  intradayUniverse: {
    summary: "Minutes of universes' members on their regions' latest trading days; by symbol",
    parameters: PARAMETERS.intradayUniverse,
    response: map(compactKlines),
    errors: ["INVALID_PERIOD", ...NO_MINUTES],
  },
  intradayBatch: {
    summary: "Minutes of several symbols on their regions' latest trading days; by symbol",
    parameters: PARAMETERS.intradayBatch,
    response: map(compactKlines),
    errors: ["INVALID_PERIOD", ...NO_MINUTES],
  },
  klinesBatch: {
    summary: "K-lines of several symbols; by symbol, an unknown one is absent",
    parameters: PARAMETERS.klinesBatch,
    response: map(compactKlines),
    errors: ["INVALID_PERIOD"],
  },
  klines: {
    summary: "K-lines of one symbol",
    parameters: PARAMETERS.klines,
    response: one(compactKlines),
    errors: ["INVALID_PERIOD", "SYMBOL_NOT_FOUND"],
  },
  exFactors: {
    summary: "The ratio of each ex-event (dividend, split, rights issue), by symbol; not cumulative",
    parameters: PARAMETERS.exFactors,
    response: map(z.array(exFactor)),
  },
  quotes: {
    summary: "Quotes of symbols, of universes' members, or both, from the newest bars",
    parameters: PARAMETERS.quotes,
    response: list(quote),
  },
  quotesOf: {
    summary: "Quotes of symbols, of universes' members, or both, from the newest bars",
    parameters: PARAMETERS.quotesOf,
    response: list(quote),
  },
  instruments: {
    summary: "Metadata of symbols",
    parameters: PARAMETERS.instruments,
    response: list(instrument),
  },
  instrumentsBatch: {
    summary: "Metadata of up to 1000 symbols",
    parameters: PARAMETERS.instrumentsBatch,
    response: list(instrument),
  },
  symbols: { summary: "Symbol records", parameters: PARAMETERS.symbols, response: list(symbolRecord) },
  symbolsBatch: {
    summary: "Symbol records",
    parameters: PARAMETERS.symbolsBatch,
    response: list(symbolRecord),
  },
  universes: { summary: "Every universe", response: list(universeSummary) },
  universe: { summary: "A universe with its members", response: one(universeDetail), errors: ["NOT_FOUND"] },
  universesBatch: {
    summary: "Universes with their members, by id; an unknown one is absent",
    parameters: PARAMETERS.universesBatch,
    response: map(universeDetail),
  },
  exchanges: { summary: "Every exchange", response: list(exchangeSummary) },
  exchangeInstruments: {
    summary: "The instruments of an exchange",
    parameters: PARAMETERS.exchangeInstruments,
    response: z.object({ count: z.int(), exchange: z.string(), data: z.array(instrument) }),
    errors: ["NOT_FOUND"],
  },
  balanceSheet: {
    summary: "Balance sheets by symbol, the newest version of each reporting period",
    parameters: PARAMETERS.financials,
    response: map(z.array(balanceSheetRecord)),
    errors: ["NOT_FOUND"],
  },
  cashFlow: {
    summary: "Cash flow statements by symbol, the newest version of each reporting period",
    parameters: PARAMETERS.financials,
    response: map(z.array(cashFlowRecord)),
    errors: ["NOT_FOUND"],
  },
  income: {
    summary: "Income statements by symbol, the newest version of each reporting period",
    parameters: PARAMETERS.financials,
    response: map(z.array(incomeRecord)),
    errors: ["NOT_FOUND"],
  },
  metrics: {
    summary: "Key figures of reporting periods by symbol, in their newest versions",
    parameters: PARAMETERS.financials,
    response: map(z.array(metricsRecord)),
    errors: ["NOT_FOUND"],
  },
  shares: {
    summary: "Numbers of shares by symbol; derived from the instrument's metadata where none is reported",
    parameters: PARAMETERS.financials,
    response: map(z.array(sharesRecord)),
    errors: ["NOT_FOUND"],
  },
};
