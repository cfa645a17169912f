import { randomUUID } from "node:crypto";
import pMap from "p-map";
import { TransportError } from "../core/errors.js";
import { parseXml, textOf } from "./http/elements.js";
import { expectNothing, readWhole } from "./http/response-body.js";
import { isConditionFailed, ObjectStoreError, parseErrorDocument } from "./http/store-error.js";
import type { RequestBody, StoreTransport } from "./http/store-transport.js";
import { bytesBody, IF_ABSENT, isOwnWrite } from "./put-object.js";
import { WRITE_ID } from "./read-object.js";

/** Number of parts that are sent at the same time. */
const PARALLEL_PARTS = 4;

/** A part that the store has received. */
interface Part {
  readonly number: number;
  readonly etag: string;
}

/** Most uploads of one call. An upload is repeated if it conflicts with another write. */
const MAX_UPLOADS = 5;

/**
 * Creates an object from parts unless an object with the key exists. If that fails, the parts that were sent are
 * removed.
 *
 * @param bodies opens each part. Every part except the last one must have at least 5 MiB.
 * @returns whether this call created the object.
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
