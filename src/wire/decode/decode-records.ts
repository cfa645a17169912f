import { z } from "zod";
import { messageOf, ServiceError, WireError } from "../../core/errors.js";
import { IssueLog } from "../../core/issue.js";
import { parseErrorBody } from "../error-body.js";
import { listEnvelope, mapEnvelope } from "../resources.js";

/** Most bytes of a response with records. The instruments of the largest exchange take about 5 MB. */
const MAX_BODY_BYTES = 256 * 2 ** 20;

export interface DecodedRecords<T> {
  /** Elements that match the schema, with their key in a map, or their index in a list. */
  readonly entries: readonly (readonly [key: string, value: T])[];
  readonly issues: IssueLog;
  /** The body's member `count`: the number of elements that the service states. */
  readonly count: number | undefined;
  /** Size of the uncompressed body in bytes. */
  readonly bytes: number;
}

/**
 * Decodes a response whose `data` is a list or a map of elements. @throws {WireError} where the body is not JSON, is
 * cut short, or has no such `data`. @throws {ServiceError} where it is the interface's error body.
 */
export async function decodeRecords<T>(
  body: AsyncIterable<Uint8Array>,
  shape: "list" | "map",
  element: z.ZodType<T>,
): Promise<DecodedRecords<T>> {
  const { value, bytes } = await readJson(body);
  const { data, count } = openEnvelope(shape === "list" ? listEnvelope : mapEnvelope, value, bytes);
  const issues = new IssueLog();
  const entries: [string, T][] = [];
  for (const [key, item] of Object.entries(data)) {
    const result = element.safeParse(item);
    if (result.success) entries.push([key, result.data]);
    else {
      const symbol = shape === "map" ? key.slice(0, 64) : symbolOf(item);
      const message = `data[${shape === "map" ? JSON.stringify(symbol) : key}]: ${describe(result.error)}`;
      issues.add({ rule: "wrong_type", message, rejected: 1, ...(symbol === undefined ? {} : { symbol }) });
    }
  }
  return { entries, issues, count: Number.isInteger(count) ? (count as number) : undefined, bytes };
}

function openEnvelope(
  schema: typeof listEnvelope | typeof mapEnvelope,
  value: unknown,
  bytes: number,
): { data: object; count?: unknown } {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const error = parseErrorBody(JSON.stringify(value));
  if (error)
    throw new ServiceError(`service answered ${error.code}: ${error.message}`, {
      status: 200,
      code: error.code,
    });
  throw new WireError("wrong_shape", `response's ${describe(result.error)}`, bytes);
}

async function readJson(body: AsyncIterable<Uint8Array>): Promise<{ value: unknown; bytes: number }> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > MAX_BODY_BYTES)
      throw new WireError("limit", `response is longer than ${MAX_BODY_BYTES} bytes`, bytes);
    pieces.push(piece);
  }
  const text = Buffer.concat(pieces).toString("utf8");
  try {
    return { value: JSON.parse(text) as unknown, bytes };
  } catch (cause) {
    const kind = /^\s*\{/.test(text) && !/\}\s*$/.test(text) ? "truncated" : "not_json";
    throw new WireError(kind, `response is not JSON: ${messageOf(cause)}`, bytes, { cause });
  }
}

function describe(error: z.ZodError): string {
  const issue = error.issues[0];
  return `${issue?.path.join(".") || "value"}: ${issue?.message}`;
}

function symbolOf(item: unknown): string | undefined {
  const symbol = (item as { symbol?: unknown } | null)?.symbol;
  return typeof symbol === "string" ? symbol.slice(0, 64) : undefined;
}
