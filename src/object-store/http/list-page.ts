import { TransportError } from "../../core/errors.js";
import { childrenOf, parseXml, textOf, type XmlElement } from "./elements.js";

/** An object in a list. */
export interface ListedObject {
  readonly key: string;
  readonly size: number;
  /** Epoch milliseconds by the clock of the store, in whole seconds, as in all its responses. */
  readonly modifiedAt: number;
  /** A text that differs between contents; undefined where the list does not state it. */
  readonly etag?: string | undefined;
}

/** A page of a list of objects. */
export interface ListPage {
  readonly objects: readonly ListedObject[];
  /** Prefixes of keys, up to and including the delimiter. */
  readonly prefixes: readonly string[];
  /** The token that continues the list; undefined for the last page. */
  readonly next: string | undefined;
}

/**
 * Parses a response of ListObjectsV2. @throws {TransportError} where it is not complete: the page can be requested
 * again.
 */
export function parseListPage(document: string): ListPage {
  try {
    return pageOf(parseXml(document));
  } catch (cause) {
    throw new TransportError(`the list of objects is not readable: ${(cause as Error).message}`, {
      cause,
      hint: "see whether AWS_ENDPOINT_URL_S3 is the address of an S3 interface",
    });
  }
}

function pageOf(root: XmlElement): ListPage {
  if (root.name !== "ListBucketResult") throw new Error(`its element is ${root.name}, not ListBucketResult`);
  const isEncoded = textOf(root, "EncodingType") === "url";
  const keyOf = (text: string): string => (isEncoded ? decodeURIComponent(text.replaceAll("+", " ")) : text);
  const isTruncated = textOf(root, "IsTruncated") === "true";
  const next = textOf(root, "NextContinuationToken") || undefined;
  if (isTruncated && next === undefined) throw new Error("it is truncated and names no continuation");
  return {
    objects: childrenOf(root, "Contents").map((element) => {
      const size = Number(required(element, "Size"));
      const modifiedAt = wholeSeconds(Date.parse(required(element, "LastModified")));
      if (!Number.isSafeInteger(size) || size < 0) throw new Error("an object has no valid size");
      if (Number.isNaN(modifiedAt)) throw new Error("an object has no valid time");
      const etag = textOf(element, "ETag");
      return { key: keyOf(required(element, "Key")), size, modifiedAt, ...(etag !== undefined && { etag }) };
    }),
    prefixes: childrenOf(root, "CommonPrefixes").map((element) => keyOf(required(element, "Prefix"))),
    next: isTruncated ? next : undefined,
  };
}

function required(element: XmlElement, name: string): string {
  const text = textOf(element, name);
  if (text === undefined) throw new Error(`its element ${element.name} has no ${name}`);
  return text;
}

/**
 * Rounds a time down to whole seconds. Times in lists have milliseconds and those in headers do not, so they become
 * equal.
 */
export function wholeSeconds(time: number): number {
  return Math.floor(time / 1000) * 1000;
}
