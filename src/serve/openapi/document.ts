import { z } from "zod";
import { groupBy } from "../../core/group-by.js";
import { compareText } from "../../core/text-order.js";
import { API_KEY_HEADER, ENDPOINTS, type Endpoint, type EndpointName } from "../../wire/endpoints.js";
import { ERROR_STATUS, type ErrorCode, errorBody } from "../../wire/error-body.js";
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

interface Description {
  readonly summary: string;
  /** The schema of its query, or of its body if it is a POST. */
  readonly parameters?: z.ZodType;
  readonly response: z.ZodType;
  /** Errors in addition to those that every request can cause. */
  readonly errors?: readonly ErrorCode[];
}

const map = (entry: z.ZodType) => z.object({ data: z.record(z.string(), entry) });
const list = (element: z.ZodType) => z.object({ data: z.array(element) });
const one = (data: z.ZodType) => z.object({ data });
const statements = (summary: string, record: z.ZodType): Description => ({
  summary,
  parameters: PARAMETERS.financials,
  response: map(z.array(record)),
  errors: ["NOT_FOUND"],
});
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
  balanceSheet: statements(
    "Balance sheets by symbol, the newest version of each reporting period",
    balanceSheetRecord,
  ),
  cashFlow: statements(
    "Cash flow statements by symbol, the newest version of each reporting period",
    cashFlowRecord,
  ),
  income: statements(
    "Income statements by symbol, the newest version of each reporting period",
    incomeRecord,
  ),
  metrics: statements("Key figures of reporting periods by symbol, in their newest versions", metricsRecord),
  shares: statements(
    "Numbers of shares by symbol; derived from the instrument's metadata where none is reported",
    sharesRecord,
  ),
};

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly [keyword: string]: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly [string];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: true; readonly content: JsonContent };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: JsonContent }>
  >;
}

interface JsonContent {
  readonly "application/json": { readonly schema: JsonSchema };
}

export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly security: readonly [Readonly<Record<string, readonly string[]>>];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, unknown>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

const ANY_REQUEST: readonly ErrorCode[] = [
  "INVALID_PARAMETER",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "INTERNAL",
  "LAKE_UNAVAILABLE",
];

const MODELS: Readonly<Record<string, z.ZodType>> = {
  BalanceSheetRecord: balanceSheetRecord,
  CashFlowRecord: cashFlowRecord,
  CompactKlines: compactKlines,
  ExFactor: exFactor,
  ExchangeSummary: exchangeSummary,
  IncomeRecord: incomeRecord,
  Instrument: instrument,
  MetricsRecord: metricsRecord,
  Quote: quote,
  SharesRecord: sharesRecord,
  SymbolRecord: symbolRecord,
  UniverseDetail: universeDetail,
  UniverseSummary: universeSummary,
  Error: errorBody,
};

/** The OpenAPI document, built from the schemas with which the service validates requests. */
export function openApiDocument(): OpenApiDocument {
  const schemas = modelSchemas();
  const paths: Record<string, Record<string, Operation>> = {};
  for (const [name, endpoint] of Object.entries(ENDPOINTS) as [EndpointName, Endpoint][]) {
    const path = endpoint.path.replaceAll(/:([a-z]+)/g, "{$1}");
    (paths[path] ??= {})[endpoint.method.toLowerCase()] = operationOf(name, endpoint, DESCRIPTIONS[name]);
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Market data query service",
      version: "1.0.0",
      description: "Quotes, instruments, universes, exchanges, K-lines and financial statements.",
    },
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: "apiKey", in: "header", name: API_KEY_HEADER } },
      schemas,
    },
  };
}

const SCHEMAS = "#/components/schemas/";

function modelSchemas(): Readonly<Record<string, JsonSchema>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, model] of Object.entries(MODELS)) registry.add(model, { id });
  for (const [name, { response, parameters }] of Object.entries(DESCRIPTIONS) as [
    EndpointName,
    Description,
  ][]) {
    registry.add(response, { id: responseName(name) });
    if (ENDPOINTS[name].method === "POST" && parameters !== undefined)
      registry.add(parameters, { id: requestName(name) });
  }
  const { schemas } = z.toJSONSchema(registry, { ...CONVERSION, uri: (id) => `${SCHEMAS}${id}` });
  const sorted = Object.entries(schemas).sort(([a], [b]) => compareText(a, b));
  return Object.fromEntries(
    sorted.map(([id, { $schema: _schema, $id: _id, ...schema }]) => [id, schema as JsonSchema]),
  );
}

const titled = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
const responseName = (name: EndpointName): string => `${titled(name)}Response`;
const requestName = (name: EndpointName): string => `${titled(name)}Request`;
const refTo = (id: string): JsonSchema => ({ $ref: `${SCHEMAS}${id}` });

function operationOf(name: EndpointName, endpoint: Endpoint, description: Description): Operation {
  const { summary, parameters, errors = [] } = description;
  const isPost = endpoint.method === "POST";
  const refusal = endpoint.refusal === undefined ? [] : [endpoint.refusal];
  return {
    operationId: name,
    summary,
    tags: [endpoint.group],
    parameters: [
      ...pathParameters(endpoint),
      ...(isPost || parameters === undefined ? [] : queryParameters(schemaOf(parameters))),
    ],
    ...(isPost &&
      parameters !== undefined && {
        requestBody: { required: true, content: contentOf(refTo(requestName(name))) },
      }),
    responses: {
      200: { description: "Success", content: contentOf(refTo(responseName(name))) },
      304: { description: "As the ETag that was sent has it" },
      ...errorResponses([
        ...ANY_REQUEST,
        ...refusal,
        ...errors,
        ...(isPost ? (["PAYLOAD_TOO_LARGE"] as const) : []),
      ]),
    },
  };
}

function pathParameters({ path }: Endpoint): Parameter[] {
  return [...path.matchAll(/:([a-z]+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters({ properties = {}, required = [] }: JsonSchema): Parameter[] {
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

/** Error responses by status; codes with the same status share one. */
function errorResponses(codes: readonly ErrorCode[]): Operation["responses"] {
  const byStatus = groupBy(codes, (code) => ERROR_STATUS[code]);
  const content = contentOf(refTo("Error"));
  return Object.fromEntries(
    [...byStatus].map(([status, own]) => [status, { description: own.join(", "), content }]),
  );
}

function contentOf(schema: JsonSchema): JsonContent {
  return { "application/json": { schema } };
}

/** The JSON schema of what a client sends or receives. For types that a validation transforms, this is the input. */
function schemaOf(type: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(type, CONVERSION);
  return schema as JsonSchema;
}

const CONVERSION: Omit<z.core.RegistryToJSONSchemaParams, "uri"> = {
  io: "input",
  unrepresentable: "any",
  override: ({ zodSchema, jsonSchema }) => {
    const declared = z.globalRegistry.get(zodSchema as never);
    // A list in a query may be sent in several forms; the document shows only the usual one.
    if (declared !== undefined && "type" in declared) delete jsonSchema.anyOf;
    Object.assign(jsonSchema, declared);
    if (jsonSchema.format === "date") delete jsonSchema.pattern;
  },
};
