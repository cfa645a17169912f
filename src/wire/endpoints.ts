/** Groups of endpoints that share a permission and a quota. */
export const ENDPOINT_GROUPS = ["klines", "intraday", "quotes", "reference", "financials"] as const;
/** A group of endpoints that share a permission and a quota. */
export type EndpointGroup = (typeof ENDPOINT_GROUPS)[number];

/** Codes of a 403 with which clients of the public service recognise what the plan of a key lacks. */
export const PERMISSION_CODES = {
  NO_KLINE_BATCH_PERMISSION: "the key may not ask for K-lines of several symbols at once",
  NO_INTRADAY_PERMISSION: "the key may not ask for intraday K-lines",
  NO_INTRADAY_BATCH_PERMISSION: "the key may not ask for intraday K-lines of several symbols at once",
  NO_EX_FACTORS_PERMISSION: "the key may not ask for ex-factors",
  NO_FINANCIAL_PERMISSION: "the key may not ask for financial statements",
  NO_DEPTH_PERMISSION: "the key may not ask for order books",
  FREE_TIER_RESTRICTED: "the key's free tier does not include this",
} as const;
/** The code of a 403 that names what a key may not do. */
export type PermissionCode = keyof typeof PERMISSION_CODES;

/** One endpoint of the interface. `:name` in a path is a parameter. */
export interface Endpoint {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly group: EndpointGroup;
  /** Code of the 403 for a key that may not use the endpoint. @default FORBIDDEN */
  readonly refusal?: PermissionCode;
}

/**
 * Every endpoint, as data for both client and service. `intradayBatch`, `klines`, `exFactors`, `quotesOf`, `universe`,
 * `income`, `metrics` and `shares` are extensions, which a service may lack.
 */
export const ENDPOINTS = {
  intraday: {
    method: "GET",
    path: "/v1/klines/intraday",
    group: "intraday",
    refusal: "NO_INTRADAY_PERMISSION",
  },
  intradayUniverse: {
    method: "GET",
    path: "/v1/klines/intraday/universe",
    group: "intraday",
    refusal: "NO_INTRADAY_BATCH_PERMISSION",
  },
  intradayBatch: {
    method: "GET",
    path: "/v1/klines/intraday/batch",
    group: "intraday",
    refusal: "NO_INTRADAY_BATCH_PERMISSION",
  },
  klinesBatch: {
    method: "GET",
    path: "/v1/klines/batch",
    group: "klines",
    refusal: "NO_KLINE_BATCH_PERMISSION",
  },
  klines: { method: "GET", path: "/v1/klines", group: "klines" },
  exFactors: {
    method: "GET",
    path: "/v1/klines/ex-factors",
    group: "klines",
    refusal: "NO_EX_FACTORS_PERMISSION",
  },
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
  balanceSheet: {
    method: "GET",
    path: "/v1/financials/balance-sheet",
    group: "financials",
    refusal: "NO_FINANCIAL_PERMISSION",
  },
  cashFlow: {
    method: "GET",
    path: "/v1/financials/cash-flow",
    group: "financials",
    refusal: "NO_FINANCIAL_PERMISSION",
  },
  income: {
    method: "GET",
    path: "/v1/financials/income",
    group: "financials",
    refusal: "NO_FINANCIAL_PERMISSION",
  },
  metrics: {
    method: "GET",
    path: "/v1/financials/metrics",
    group: "financials",
    refusal: "NO_FINANCIAL_PERMISSION",
  },
  shares: {
    method: "GET",
    path: "/v1/financials/shares",
    group: "financials",
    refusal: "NO_FINANCIAL_PERMISSION",
  },
} as const satisfies Record<string, Endpoint>;

/** The name of an endpoint in {@link ENDPOINTS}. */
export type EndpointName = keyof typeof ENDPOINTS;

/** Requests for which a most number of symbols is learned: of a group of endpoints, or of one that permits fewer. */
export type SizedRequests = EndpointGroup | "exFactors";

/** Paths of order books, which a lake does not have: the service refuses them, as for a plan without order books. */
export const DEPTH_PATHS = ["/v1/depth", "/v1/depth/batch"] as const;

export const API_KEY_HEADER = "x-api-key";

export const LIMITS = {
  /** Bars per symbol that `klines/batch` returns if no `count` is sent. */
  defaultCount: 100,
  /** Largest `count` of `klines/batch`. */
  maxCount: 10_000,
  /** Bars per symbol that `klines/intraday/universe` returns if no `count` is sent. */
  defaultIntradayCount: 2,
  /** Most symbols that the client puts into one request, unless it learned that a service permits fewer. */
  symbolsPerRequest: 100,
  /** Most ids that the client puts into one `POST /v1/universes/batch`. */
  universesPerRequest: 100,
} as const;

/** The path of an endpoint with its `:name` parameters filled in. */
export function pathOf(endpoint: Endpoint, parameters: Readonly<Record<string, string>> = {}): string {
  return endpoint.path.replaceAll(/:([a-z]+)/g, (_, name: string) =>
    encodeURIComponent(parameters[name] ?? ""),
  );
}
