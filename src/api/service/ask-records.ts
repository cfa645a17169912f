import type { RecordBatch } from "apache-arrow";
import type { z } from "zod";
import { RowTable } from "../../arrow/row-table.js";
import type { Ask } from "../../client/service-client.js";
import { type Issue, IssueLog } from "../../core/issue.js";
import { inOrder } from "../../core/permits.js";
import { CONCURRENCY } from "../../jobs/run/request/request-sender.js";
import { inBatches } from "../../plan/request-units.js";
import { decodeRecords } from "../../wire/decode/decode-records.js";
import type { ServiceAccess } from "./service-access.js";

/** Records of a service as an Arrow table, and as the response has them. */
export class RecordTable<T> extends RowTable<T> {
  readonly #records: readonly T[];
  /** Elements of the response that were set aside, because they break the interface, or an incomplete list. */
  readonly issues: readonly Issue[];
  /** Requested symbols, or ids, that the service does not know. */
  readonly unknown: readonly string[];

  constructor(batch: RecordBatch, records: readonly T[], issues: IssueLog, unknown: readonly string[] = []) {
    super([batch]);
    this.#records = records;
    this.issues = issues.stored;
    this.unknown = unknown;
  }

  /** The records as the service gave them. */
  override rows(): T[] {
    return [...this.#records];
  }
}

/** How a request for records ends early. */
export interface AskOptions {
  /** Ends the requests. */
  readonly signal?: AbortSignal | undefined;
}

/** Records by their key: in a map that of the response, in a list its index. */
export interface ReceivedRecords<T> {
  readonly entries: readonly (readonly [key: string, record: T])[];
  readonly issues: IssueLog;
  /** The number of elements, as the last response gives it. */
  readonly count: number | undefined;
}

interface RecordShape<T> {
  readonly shape: "list" | "map";
  readonly element: z.ZodType<T>;
}

/** Asks for the records of one request. @throws {ServiceError}, {@link TransportError} or {@link WireError} */
export async function askRecords<T>(
  access: ServiceAccess,
  ask: Ask,
  { shape, element }: RecordShape<T>,
  { signal }: AskOptions = {},
): Promise<ReceivedRecords<T>> {
  const client = await access.client();
  const ends = AbortSignal.any([...(signal === undefined ? [] : [signal]), await access.lost()]);
  const read = (body: AsyncIterable<Uint8Array>) => decodeRecords(body, shape, element);
  const { value } = await client.ask(ask, read, ends);
  return value;
}

/**
 * Asks for the records of symbols, or of ids, in requests of as many as the service permits.
 *
 * @param size most of them in a request, where the service has shown no lower limit.
 * @param askFor makes the request for some of them.
 */
export async function askBatches<T>(
  access: ServiceAccess,
  items: readonly string[],
  size: number,
  askFor: (some: readonly string[]) => Ask,
  shape: RecordShape<T>,
  options: AskOptions = {},
): Promise<ReceivedRecords<T>> {
  const { group } = askFor([]).endpoint;
  const sizeNow = (): number => Math.min(size, access.limits.symbolsPerRequest(group));
  const askOne = async (some: readonly string[]): Promise<readonly ReceivedRecords<T>[]> => {
    try {
      return [await askRecords(access, askFor(some), shape, options)];
    } catch (error) {
      if (!access.limits.takesFewer(group, error, some.length)) throw error;
      const parts: ReceivedRecords<T>[] = [];
      for (const part of inBatches(some, sizeNow())) parts.push(...(await askOne(part)));
      return parts;
    }
  };
  const issues = new IssueLog();
  const entries: (readonly [string, T])[] = [];
  let count: number | undefined;
  for await (const parts of inOrder(inBatches(items, sizeNow()), CONCURRENCY, askOne))
    for (const part of parts) {
      entries.push(...part.entries);
      issues.addAll(part.issues);
      count = part.count;
    }
  return { entries, issues, count };
}
