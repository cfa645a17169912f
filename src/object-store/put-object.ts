import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import pMap from "p-map";
import { TransportError } from "../core/errors.js";
import { parseXml, textOf } from "./http/list-page.js";
import { isConditionFailed, isMissing, ObjectStoreError, parseErrorDocument } from "./http/store-error.js";
import { expectNothing, type RequestBody, readWhole, type StoreTransport } from "./http/store-transport.js";
import { readFacts, readStream, WRITE_ID } from "./read-object.js";

/** The condition that no object with the key exists. */
const IF_ABSENT = { "if-none-match": "*" } as const;

export function bytesBody(bytes: Uint8Array): RequestBody {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const open = (): Uint8Array | Readable =>
    bytes.length <= WHOLE_BYTES ? bytes : Readable.from(piecesOf(bytes), { objectMode: false });
  return { length: bytes.length, sha256, open };
}

/**
 * A body with more bytes is sent in pieces. The timeout of a request starts again with each piece that the connection
 * takes: it limits the wait for progress, and not the whole time.
 */
const WHOLE_BYTES = 1024 ** 2;
const PIECE_BYTES = 65_536;

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES)
    yield bytes.subarray(start, start + PIECE_BYTES);
}

export function putObject(transport: StoreTransport, key: string, body: RequestBody): Promise<void> {
  return transport.send(
    { kind: "put", method: "PUT", key, headers: { [WRITE_ID]: randomUUID() }, body },
    expectNothing,
  );
}

/** Creates an object unless one with the key exists. @returns whether this call created it. */
export async function createObject(
  transport: StoreTransport,
  key: string,
  body: RequestBody,
): Promise<boolean> {
  const writeId = randomUUID();
  try {
    const headers = { ...IF_ABSENT, [WRITE_ID]: writeId };
    await transport.send({ kind: "put", method: "PUT", key, headers, body }, expectNothing);
    return true;
  } catch (error) {
    if (!(error instanceof ObjectStoreError) || !isConditionFailed(error)) throw error;
    // An earlier attempt, or one that a proxy repeated, may have created the object. Equal content shows that only if
    // this process has sent it before, because another process may write the same content.
    return isOwnWrite(transport, key, writeId, error.attempts > 1 ? body : undefined);
  }
}

/** By the id of the write, or, where the store has none, by the content of `body`. */
async function isOwnWrite(
  transport: StoreTransport,
  key: string,
  writeId: string,
  body?: Pick<RequestBody, "length" | "sha256">,
): Promise<boolean> {
  try {
    const facts = await readFacts(transport, key);
    if (facts.writeId !== undefined || body === undefined) return facts.writeId === writeId;
    // The store does not store metadata.
    if (facts.size !== body.length) return false;
    const hash = createHash("sha256");
    for await (const piece of await readStream(transport, key)) hash.update(piece);
    return hash.digest("hex") === body.sha256;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Number of parts that are sent at the same time. */
const PARALLEL_PARTS = 4;

interface Part {
  readonly number: number;
  readonly etag: string;
}

/** Most uploads of one call. An upload is repeated if it conflicts with another write. */
const MAX_UPLOADS = 5;

/**
 * Creates an object from parts, each of at least 5 MiB but the last one, unless an object with the key exists. If that
 * fails, the parts that were sent are removed. @returns whether this call created the object.
 */
export async function createFromParts(
  transport: StoreTransport,
  key: string,
  bodies: readonly (() => Promise<RequestBody>)[],
): Promise<boolean> {
  // All uploads of this call have one id, because an upload that seemed to conflict may have created the object.
  const writeId = randomUUID();
  for (let upload = 1; ; upload++) {
    try {
      return await uploadParts(transport, key, writeId, bodies);
    } catch (error) {
      // Another write of the key was in flight. The parts of this upload can no longer be used.
      if (!isConflict(error) || upload === MAX_UPLOADS) throw error;
    }
  }
}

async function uploadParts(
  transport: StoreTransport,
  key: string,
  writeId: string,
  bodies: readonly (() => Promise<RequestBody>)[],
): Promise<boolean> {
  const uploadId = await beginUpload(transport, key, writeId);
  let isDone = false;
  try {
    let failure: unknown;
    const parts = await pMap(
      bodies,
      async (open, index): Promise<Part> => {
        const number = index + 1;
        if (failure !== undefined) return { number, etag: "" };
        try {
          return { number, etag: await uploadPart(transport, key, uploadId, number, await open()) };
        } catch (error) {
          failure ??= error;
          return { number, etag: "" };
        }
      },
      { concurrency: PARALLEL_PARTS },
    );
    // The parts in flight are awaited: if the upload were aborted before, the store might still receive them.
    if (failure !== undefined) throw failure;
    const isOwn = await completeUpload(transport, key, { uploadId, writeId, parts });
    isDone = isOwn;
    return isOwn;
  } finally {
    // An unfinished upload costs money. One that is complete, or no longer exists, cannot be aborted.
    if (!isDone) await abortUpload(transport, key, uploadId).catch(() => {});
  }
}

async function beginUpload(transport: StoreTransport, key: string, writeId: string): Promise<string> {
  const headers = { [WRITE_ID]: writeId };
  return transport.send(
    { kind: "beginUpload", method: "POST", key, query: { uploads: "" }, headers },
    async (response) => {
      const document = (await readWhole(response, 65_536)).toString("utf8");
      const uploadId = textOf(readDocument(document), "UploadId");
      if (!uploadId) throw new TransportError("the response names no upload");
      return uploadId;
    },
  );
}

function uploadPart(
  transport: StoreTransport,
  key: string,
  uploadId: string,
  number: number,
  body: RequestBody,
): Promise<string> {
  const query = { partNumber: String(number), uploadId };
  return transport.send({ kind: "uploadPart", method: "PUT", key, query, body }, async (response) => {
    await expectNothing(response);
    const { etag } = response.headers;
    if (!etag) throw new TransportError("the response names no tag of the part");
    return etag;
  });
}

/** Completes an upload. @returns whether the object was made by this upload; false where there is another object. */
async function completeUpload(
  transport: StoreTransport,
  key: string,
  upload: { readonly uploadId: string; readonly writeId: string; readonly parts: readonly Part[] },
): Promise<boolean> {
  const { uploadId, writeId, parts } = upload;
  const list = parts.map(
    ({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  );
  const document = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list.join("")}</CompleteMultipartUpload>`;
  const headers = { ...IF_ABSENT, "content-type": "application/xml" };
  const body = bytesBody(Buffer.from(document));
  try {
    await transport.send(
      { kind: "completeUpload", method: "POST", key, query: { uploadId }, headers, body },
      async (response) => expectCompleted((await readWhole(response, 65_536)).toString("utf8")),
    );
    return true;
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    const isLate = isConditionFailed(error) || error.code === "NoSuchUpload" || isConflict(error);
    if (!isLate) throw error;
    // The response to an earlier attempt, or to a request that a proxy repeated, may have been lost.
    if (await isOwnWrite(transport, key, writeId)) {
      // The object may come from an earlier upload of this call. Aborting a completed upload has no effect.
      await abortUpload(transport, key, uploadId).catch(() => {});
      return true;
    }
    if (isConditionFailed(error)) return false;
    throw error;
  }
}

/** A store may begin its response before it has joined the parts. An error then has status 200. */
function expectCompleted(document: string): void {
  const { code, message } = parseErrorDocument(document.trimStart());
  if (code !== "") {
    const status = code === "PreconditionFailed" ? 412 : code === "ConditionalRequestConflict" ? 409 : 500;
    throw new ObjectStoreError(`the parts were not joined: ${code}: ${message}`, { status, code });
  }
  if (readDocument(document).name !== "CompleteMultipartUploadResult")
    throw new TransportError("the response does not say whether the parts were joined");
}

function abortUpload(transport: StoreTransport, key: string, uploadId: string): Promise<void> {
  return transport.send({ kind: "abortUpload", method: "DELETE", key, query: { uploadId } }, expectNothing);
}

function isConflict(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.status === 409;
}

function readDocument(document: string): ReturnType<typeof parseXml> {
  try {
    return parseXml(document.trimStart());
  } catch (cause) {
    throw new TransportError(`the response is not readable: ${(cause as Error).message}`, { cause });
  }
}

function escapeXml(text: string): string {
  return text.replaceAll(/[<>&"']/g, (one) => `&#${one.charCodeAt(0)};`);
}

export interface PartOptions {
  /** Files larger than this number of bytes are sent in parts; undefined: no file is. @default 67108864 */
  readonly minBytes?: number | undefined;
  /** @default 16777216 */
  readonly partBytes?: number | undefined;
}

export interface PutFileOptions extends PartOptions {
  /** The hash of the file's content in hexadecimal digits. @default computed where it is needed */
  readonly sha256?: string | undefined;
}

/** Larger pieces than the 64 KiB that Node reads otherwise, because each takes processor time. */
const READ_BYTES = 256 * 1024;
const MIN_MULTIPART_BYTES = 64 * 1024 ** 2;
/** Bytes of a part. The last part may have any size, all others must have at least 5 MiB. */
const PART_BYTES = 16 * 1024 ** 2;
const MAX_PARTS = 10_000;
/**
 * Creates an object with the content of a local file, which must not change, unless one with the key exists. A large
 * file is sent in parts; where its hash is not known, or only as a whole, the file is read twice, so that the use of
 * memory does not depend on its size. @returns whether this call created the object.
 */
export async function createFromFile(
  transport: StoreTransport,
  key: string,
  file: string,
  { minBytes = MIN_MULTIPART_BYTES, partBytes = PART_BYTES, sha256 }: PutFileOptions = {},
): Promise<boolean> {
  const { size } = await stat(file);
  if (size <= minBytes) return createObject(transport, key, await bodyOf(file, 0, size, sha256));
  const length = Math.max(partBytes, Math.ceil(size / MAX_PARTS));
  const parts = Array.from(
    { length: Math.ceil(size / length) },
    (_, n) => () => bodyOf(file, n * length, Math.min(length, size - n * length)),
  );
  return createFromParts(transport, key, parts);
}

async function bodyOf(file: string, start: number, length: number, sha256?: string): Promise<RequestBody> {
  if (length === 0) return bytesBody(new Uint8Array());
  const range = { start, end: start + length - 1, highWaterMark: READ_BYTES };
  const open = (): Readable => createReadStream(file, range);
  if (sha256 !== undefined) return { length, sha256, open };
  const hash = createHash("sha256");
  for await (const piece of open()) hash.update(piece as Buffer);
  return { length, sha256: hash.digest("hex"), open };
}
