/** Groups of endpoints that share a permission and a quota. */
export const ENDPOINT_GROUPS = ["klines", "intraday", "quotes", "reference", "financials"] as const;
export type EndpointGroup = (typeof ENDPOINT_GROUPS)[number];

/** One endpoint of the interface. `:name` in a path is a parameter. */
export interface Endpoint {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly group: EndpointGroup;
}

/**
 * Every endpoint, as data for both client and service. `intradayBatch`, `klines`, `exFactors`, `quotesOf` and
 * `universe` are extensions: a service may lack them.
 */
export const ENDPOINTS = {
  intraday: { method: "GET", path: "/v1/klines/intraday", group: "intraday" },
  intradayUniverse: { method: "GET", path: "/v1/klines/intraday/universe", group: "intraday" },
  intradayBatch: { method: "GET", path: "/v1/klines/intraday/batch", group: "intraday" },
  klinesBatch: { method: "GET", path: "/v1/klines/batch", group: "klines" },
  klines: { method: "GET", path: "/v1/klines", group: "klines" },
  exFactors: { method: "GET", path: "/v1/klines/ex-factors", group: "klines" },
  quotes: { method: "POST", path: "/v1/quotes", group: "quotes" },
  quotesOf: { method: "GET", path: "/v1/quotes", group: "quotes" },
  instruments: { method: "GET", path: "/v1/instruments", group: "reference" },
  instrumentsBatch: { method: "POST", path: "/v1/instruments", group: "reference" },
  symbols: { method: "GET", path: "/v1/symbols", group: "reference" },
  symbolsBatch: { method: "POST", path: "/v1/symbols", group: "reference" },
  universes: { method: "GET", path: "/v1/universes", group: "reference" },
  universe: { method: "GET", path: "/v1/universes/:id", group: "reference" },
  universesBatch: { method: "POST", path: "/v1/universes/batch", group: "reference" },
  exchanges: { method: "GET", path: "/v1/exchanges", group: "reference" },
  exchangeInstruments: { method: "GET", path: "/v1/exchanges/:exchange/instruments", group: "reference" },
  balanceSheet: { method: "GET", path: "/v1/financials/balance-sheet", group: "financials" },
  cashFlow: { method: "GET", path: "/v1/financials/cash-flow", group: "financials" },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof ENDPOINTS;

/** Request header that carries the API key. */
export const API_KEY_HEADER = "x-api-key";

/** Bounds of the interface. */
export const LIMITS = {
  /** Bars per symbol that `klines/batch` returns if no `count` is sent. */
  defaultCount: 100,
  /** Largest `count` of `klines/batch`. */
  maxCount: 10_000,
  /** Bars per symbol that `klines/intraday/universe` returns if no `count` is sent. */
  defaultIntradayCount: 2,
  /** Most symbols of one `klines/batch` or financials request. */
  symbolsPerRequest: 100,
  /** Most symbols of one `POST /v1/instruments`. */
  instrumentsPerRequest: 1000,
  /** Most ids of one `POST /v1/universes/batch`. */
  universesPerRequest: 100,
  /** Most `symbols` of one `POST /v1/quotes`; universes may add more. */
  quotesPerRequest: 1000,
} as const;

/** Fills the `:name` parameters of a path. */
export function pathOf(endpoint: Endpoint, parameters: Readonly<Record<string, string>> = {}): string {
  return endpoint.path.replaceAll(/:([a-z]+)/g, (_, name: string) =>
    encodeURIComponent(parameters[name] ?? ""),
  );
}
