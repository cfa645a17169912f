import { ENDPOINTS, type EndpointName } from "../../wire/endpoints.js";
import {
  answerExFactors,
  answerIntraday,
  answerIntradayBatch,
  answerIntradayUniverse,
  answerKlines,
  answerKlinesBatch,
} from "../endpoints/klines.js";
import { answerQuotes, answerQuotesOf } from "../endpoints/quotes.js";
import {
  answerExchangeInstruments,
  answerExchanges,
  answerInstruments,
  answerInstrumentsBatch,
  answerSymbols,
  answerSymbolsBatch,
  answerUniverse,
  answerUniverses,
  answerUniversesBatch,
} from "../endpoints/reference.js";
import type { AnswerFunction } from "../endpoints/response.js";
import { answerBalanceSheet, answerCashFlow } from "../endpoints/statements.js";

import { PUBLIC_PATHS } from "./public-pages.js";

/** What answers each endpoint of the interface. */
export const ANSWERS: Readonly<Record<EndpointName, AnswerFunction>> = {
  intraday: answerIntraday,
  intradayUniverse: answerIntradayUniverse,
  intradayBatch: answerIntradayBatch,
  klinesBatch: answerKlinesBatch,
  klines: answerKlines,
  exFactors: answerExFactors,
  quotes: answerQuotes,
  quotesOf: answerQuotesOf,
  instruments: answerInstruments,
  instrumentsBatch: answerInstrumentsBatch,
  symbols: answerSymbols,
  symbolsBatch: answerSymbolsBatch,
  universes: answerUniverses,
  universe: answerUniverse,
  universesBatch: answerUniversesBatch,
  exchanges: answerExchanges,
  exchangeInstruments: answerExchangeInstruments,
  balanceSheet: answerBalanceSheet,
  cashFlow: answerCashFlow,
};

const PUBLIC = [...PUBLIC_PATHS].map((path) => ({ method: "GET", path }));
const PATHS = [...Object.values(ENDPOINTS), ...PUBLIC].map(({ method, path }) => ({
  method,
  path,
  pattern: new RegExp(`^${path.replaceAll(/:[a-z]+/g, "[^/]+")}$`),
}));

/** The methods that a path answers to; none for a path that the interface does not have. */
export function methodsOf(path: string): string[] {
  const exact = PATHS.filter((one) => one.path === path);
  const found = exact.length > 0 ? exact : PATHS.filter(({ pattern }) => pattern.test(path));
  const methods = found.map(({ method }) => method);
  return [...new Set(methods)];
}
