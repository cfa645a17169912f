import { z } from "zod";
import { API_KEY_HEADER, ENDPOINTS, type Endpoint, type EndpointName } from "../../wire/endpoints.js";
import { ERROR_STATUS, type ErrorCode, errorBody } from "../../wire/error-body.js";
import { DESCRIPTIONS, type Description } from "./descriptions.js";

/** A JSON Schema, as OpenAPI 3.1 defines it. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly [keyword: string]: unknown;
}

/** A parameter of a path or a query. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly style?: "form";
  readonly explode?: false;
}

/** One method of one path. */
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

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly security: readonly [Readonly<Record<string, readonly string[]>>];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, unknown>>;
}

/** Errors that any request can cause. */
const ANY_REQUEST: readonly ErrorCode[] = [
  "INVALID_PARAMETER",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "RATE_LIMITED",
  "INTERNAL",
];

/** The OpenAPI document, built from the schemas that the service checks requests with. */
export function openApiDocument(): OpenApiDocument {
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
      schemas: { Error: schemaOf(errorBody) },
    },
  };
}

function operationOf(name: EndpointName, endpoint: Endpoint, description: Description): Operation {
  const { summary, parameters, response, errors = [] } = description;
  const schema = parameters === undefined ? undefined : schemaOf(parameters);
  const isPost = endpoint.method === "POST";
  return {
    operationId: name,
    summary,
    tags: [endpoint.group],
    parameters: [
      ...pathParameters(endpoint),
      ...(isPost || schema === undefined ? [] : queryParameters(schema)),
    ],
    ...(isPost && schema !== undefined && { requestBody: { required: true, content: contentOf(schema) } }),
    responses: {
      200: { description: "Success", content: contentOf(schemaOf(response)) },
      304: { description: "As the ETag that was sent has it" },
      ...errorResponses([...ANY_REQUEST, ...errors, ...(isPost ? (["PAYLOAD_TOO_LARGE"] as const) : [])]),
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
    ...(schema.type === "array" && { style: "form", explode: false }),
  }));
}

/** Error responses by status; codes with the same status share one. */
function errorResponses(codes: readonly ErrorCode[]): Operation["responses"] {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes)
    byStatus.set(ERROR_STATUS[code], [...(byStatus.get(ERROR_STATUS[code]) ?? []), code]);
  const content = contentOf({ $ref: "#/components/schemas/Error" });
  return Object.fromEntries(
    [...byStatus].map(([status, own]) => [status, { description: own.join(", "), content }]),
  );
}

function contentOf(schema: JsonSchema): JsonContent {
  return { "application/json": { schema } };
}

/** The schema of what a client sends or receives: the input form of types that a check transforms. */
function schemaOf(type: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(type, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      Object.assign(jsonSchema, z.globalRegistry.get(zodSchema as never));
      if (jsonSchema.format === "date") delete jsonSchema.pattern;
    },
  });
  return schema as JsonSchema;
}
