import type { Clock } from "../core/time.js";
import { type Credentials, credentialSource, type Environment } from "./access/credential-source.js";
import { findEndpoint, type StoreEndpoint } from "./access/store-endpoint.js";
import { type ListPage, parseListPage } from "./http/list-page.js";
import { isMissing } from "./http/store-error.js";
import {
  expectNothing,
  readWhole,
  type StoreTransport,
  storeTransport,
  type TransportOptions,
} from "./http/store-transport.js";
import {
  bytesBody,
  createFromFile,
  createFromParts,
  createObject,
  type PutFileOptions,
  putObject,
} from "./put-object.js";
import { type ObjectFacts, type ObjectRange, readFacts, readRange, readStream } from "./read-object.js";

export interface ListOptions {
  readonly prefix: string;
  /** Groups keys by their text up to this one: each group is listed once, as a prefix. */
  readonly delimiter?: string;
  /** Lists only keys after this one, in the order of their bytes. */
  readonly startAfter?: string;
}

/**
 * The objects of a bucket, over the S3 interface. A request is repeated if a repetition can help. Each call uses at
 * most a few megabytes of memory, apart from the bytes that it returns.
 *
 * A write is either unconditional, or creates an object unless one with the key exists; of several such writes at most
 * one succeeds. Conditions on ETags (If-Match) are not used: Ceph refuses all of them, other stores ignore some.
 *
 * @throws {ObjectStoreError} where the store refuses a request, with its code and a hint; {@link TransportError} where
 *   there is no response.
 */
export interface ObjectStore {
  readonly bucket: string;
  readonly endpoint: StoreEndpoint;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** The credentials that are valid now, for other clients in this process, such as DuckDB. */
  credentials(): Promise<Credentials>;
  /** @returns undefined where there is none. */
  get(key: string): Promise<Buffer | undefined>;
  /** The result is shorter, or empty, where the object ends before. @returns undefined where there is no object. */
  getRange(key: string, range: ObjectRange): Promise<Buffer | undefined>;
  /**
   * Opens an object to read it piece by piece. If a connection breaks, the rest is requested over a new one.
   *
   * @returns undefined where there is none.
   */
  getStream(key: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** @returns undefined where there is none. */
  head(key: string): Promise<ObjectFacts | undefined>;
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** @returns whether this call created it: not where one with the key exists. */
  putIfAbsent(key: string, bytes: Uint8Array): Promise<boolean>;
  /** As {@link putIfAbsent}, with the content of a local file. */
  putFileIfAbsent(key: string, file: string, options?: PutFileOptions): Promise<boolean>;
  /** As {@link putIfAbsent}, but as an upload of one part. */
  uploadIfAbsent(key: string, bytes: Uint8Array): Promise<boolean>;
  delete(key: string): Promise<void>;
  list(options: ListOptions): AsyncIterable<ListPage>;
  close(): Promise<void>;
}

export interface ObjectStoreOptions extends Omit<TransportOptions, "endpoint" | "credentials"> {
  readonly env: Environment;
}

/** Most bytes of an object that can be read as a whole. */
const MAX_WHOLE_BYTES = 1024 ** 3;
const MAX_PAGE_BYTES = 16 * 1024 ** 2;

/** Opens a bucket. No request is sent yet. @throws {UsageError} where the settings for the store are not valid. */
export async function openObjectStore(options: ObjectStoreOptions): Promise<ObjectStore> {
  const { bucket, env, clock } = options;
  const endpoint = await findEndpoint(env, bucket);
  const credentials = credentialSource(env, clock.now);
  const transport = storeTransport({ ...options, endpoint, credentials });
  return {
    bucket,
    endpoint,
    clock,
    credentials: () => credentials.current(),
    get: (key) =>
      unlessMissing(
        transport.send({ kind: "get", method: "GET", key }, (response) =>
          readWhole(response, MAX_WHOLE_BYTES),
        ),
      ),
    getRange: (key, range) => unlessMissing(readRange(transport, key, range)),
    getStream: (key) => unlessMissing(readStream(transport, key)),
    head: (key) => unlessMissing(readFacts(transport, key)),
    put: (key, bytes) => putObject(transport, key, bytesBody(bytes)),
    putIfAbsent: (key, bytes) => createObject(transport, key, bytesBody(bytes)),
    putFileIfAbsent: (key, file, put) => createFromFile(transport, key, file, put),
    uploadIfAbsent: (key, bytes) => createFromParts(transport, key, [async () => bytesBody(bytes)]),
    delete: async (key) => {
      await unlessMissing(transport.send({ kind: "delete", method: "DELETE", key }, expectNothing));
    },
    list: (list) => pagesOf(transport, list),
    close: () => transport.close(),
  };
}

async function* pagesOf(transport: StoreTransport, list: ListOptions): AsyncGenerator<ListPage> {
  let token: string | undefined;
  do {
    const query = {
      "list-type": "2",
      "encoding-type": "url",
      prefix: list.prefix,
      ...(list.delimiter === undefined ? {} : { delimiter: list.delimiter }),
      ...(token === undefined ? {} : { "continuation-token": token }),
      ...(token !== undefined || list.startAfter === undefined ? {} : { "start-after": list.startAfter }),
    };
    const page = await transport.send({ kind: "list", method: "GET", query }, async (response) =>
      parseListPage((await readWhole(response, MAX_PAGE_BYTES)).toString("utf8")),
    );
    yield page;
    token = page.next;
  } while (token !== undefined);
}

async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
