import { createHash, randomBytes, randomUUID } from "node:crypto";
import { ObjectStoreError } from "./http/store-error.js";
import { parseObjectUrl } from "./object-address.js";
import { type ObjectStore, type ObjectStoreOptions, openObjectStore } from "./object-store.js";
import type { PartOptions } from "./put-object.js";

export interface WriteAbility {
  /** For large files: stores differ in whether the condition of a write applies to uploads in parts. */
  readonly parts: PartOptions;
}

/** The result of a probe, in the form that is stored in the probed place. */
interface ProbeRecord {
  readonly format: typeof FORMAT;
  readonly probedAt: string;
  /** Whether exactly one of several concurrent uploads in parts creates the object. */
  readonly isMultipartSafe: boolean;
}

const FORMAT = 1;
const RACERS = 8;
const ROUNDS = 5;
/** Content of this size takes time to send, which shows a store that checks the condition before it has the content. */
const RACE_BYTES = 65_536;

/**
 * Makes sure that a store has the guarantees that commits depend on. The result is stored in the place, as
 * one object for each address of the store, so a place that was copied to another store is probed again.
 * @throws {ObjectStoreError} naming the guarantee that the store lacks.
 */
export async function probeOnce(store: ObjectStore, keyOf: (path: string) => string): Promise<WriteAbility> {
  const { bucket, endpoint } = store;
  const id = createHash("sha256").update(`${endpoint.url} ${bucket}`).digest("hex").slice(0, 16);
  const recordKey = keyOf(`probes/${id}.json`);
  const known = parseRecord((await store.get(recordKey))?.toString("utf8") ?? "");
  const record = known ?? (await probeStore(store, keyOf(`probes/${randomUUID()}`)));
  if (known === undefined) await store.put(recordKey, Buffer.from(`${JSON.stringify(record)}\n`));
  return { parts: record.isMultipartSafe ? {} : { minBytes: Number.POSITIVE_INFINITY } };
}

function parseRecord(text: string): ProbeRecord | undefined {
  try {
    const record = JSON.parse(text) as ProbeRecord;
    return record.format === FORMAT && typeof record.isMultipartSafe === "boolean" ? record : undefined;
  } catch {
    return undefined;
  }
}

async function probeStore(store: ObjectStore, folder: string): Promise<ProbeRecord> {
  for (let round = 0; round < ROUNDS; round++) await race(store, folder, `${folder}/${round}`);
  return {
    format: FORMAT,
    probedAt: new Date(store.clock.now()).toISOString(),
    isMultipartSafe: await isMultipartSafe(store, `${folder}/parts`),
  };
}

/** Sends concurrent conditional writes of one key, and checks whether reads and lists show the result at once. */
async function race(store: ObjectStore, folder: string, key: string): Promise<void> {
  const contents = Array.from({ length: RACERS }, () => randomBytes(RACE_BYTES));
  const isListed = async (): Promise<boolean> => {
    for await (const { objects } of store.list({ prefix: `${folder}/` }))
      if (objects.some((one) => one.key === key)) return true;
    return false;
  };
  try {
    const won = await allSettled(contents.map((content) => store.putIfAbsent(key, content)));
    const winners = won.filter(Boolean).length;
    if (winners !== 1)
      throw lacks(store, CONDITION, `of ${RACERS} writes at the same time ${winners} created the object`);
    const winner = contents[won.indexOf(true)] as Buffer;
    const isWinners = async (): Promise<boolean> => (await store.get(key))?.equals(winner) ?? false;
    if (!(await isWinners())) throw lacks(store, READ, "a read shows something else than what was written");
    if (!(await isListed())) throw lacks(store, LIST, "a list lacks an object that was written before");
    if (await store.putIfAbsent(key, contents[0] as Buffer))
      throw lacks(store, CONDITION, "a write replaced an object that was there before");
    if (!(await isWinners())) throw lacks(store, CONDITION, "a write that was refused replaced the object");
  } finally {
    await store.delete(key);
  }
  if ((await store.get(key)) !== undefined) throw lacks(store, READ, "a deleted object can still be read");
  if (await isListed()) throw lacks(store, LIST, "a list shows an object that was deleted before");
}

/** Whether the condition also applies to uploads in parts. If not, large files are sent in one request. */
async function isMultipartSafe(store: ObjectStore, key: string): Promise<boolean> {
  const uploads = Array.from({ length: RACERS }, (_, n) => Buffer.from(`upload ${n}`));
  try {
    const won = await allSettled(uploads.map((bytes) => store.uploadIfAbsent(key, bytes)));
    if (won.filter(Boolean).length !== 1) return false;
    return (await store.get(key))?.equals(uploads[won.indexOf(true)] as Buffer) ?? false;
  } catch (error) {
    if (error instanceof ObjectStoreError && (error.status === 501 || error.status === 400)) return false;
    throw error;
  } finally {
    await store.delete(key);
  }
}

/** Waits for all writes, so that none is still running after the first failure is handled. */
async function allSettled(writes: readonly Promise<boolean>[]): Promise<boolean[]> {
  await Promise.allSettled(writes);
  return Promise.all(writes);
}

const CONDITION = "conditional writes (PUT with If-None-Match: *)";
const READ = "reads that show every write and deletion at once";
const LIST = "lists that show every write and deletion at once";

function lacks({ bucket, endpoint }: ObjectStore, guarantee: string, seen: string): ObjectStoreError {
  return new ObjectStoreError(
    `s3://${bucket} at ${endpoint.url}: the store lacks ${guarantee}: ${seen}`,
    { status: 200, code: "MissingGuarantee" },
    { hint: "commits would be lost there: use a store that has it; docs/beyond-one-machine.md names some" },
  );
}

/** A place in a store: a prefix of a bucket, under which a lake, or other data that processes share, is stored. */
export interface StorePlace {
  /** `s3://bucket/prefix`. */
  readonly url: string;
  readonly store: ObjectStore;
  /** The key of an object, from its path relative to the place. For an empty path, it is the prefix of all keys. */
  keyOf(path: string): string;
  /**
   * Makes sure, once for each place and store, that the store has the guarantees that commits depend on. Every writer
   * calls it before it writes. @throws {ObjectStoreError} naming the guarantee that the store lacks.
   */
  expectWritable(): Promise<WriteAbility>;
}

/**
 * Opens `s3://bucket/prefix`. No request is sent yet. @throws {UsageError} for an invalid address, or invalid settings
 * for the store.
 */
export async function openStorePlace(
  url: string,
  options: Omit<ObjectStoreOptions, "bucket">,
): Promise<StorePlace> {
  const { bucket, prefix } = parseObjectUrl(url);
  return storePlace(await openObjectStore({ ...options, bucket }), prefix);
}

/** A place in an opened bucket. @param known the result of a probe of the same store. @default it is probed */
export function storePlace(store: ObjectStore, prefix: string, known?: Promise<WriteAbility>): StorePlace {
  const keyOf = (path: string): string => (prefix === "" ? path : `${prefix}/${path}`);
  let ability = known;
  return {
    url: prefix === "" ? `s3://${store.bucket}` : `s3://${store.bucket}/${prefix}`,
    store,
    keyOf,
    expectWritable() {
      if (ability !== undefined) return ability;
      const probing = probeOnce(store, keyOf);
      // If a probe could not be finished, the next write probes again.
      probing.catch(() => {
        ability = undefined;
      });
      ability = probing;
      return probing;
    },
  };
}
