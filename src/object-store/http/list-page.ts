import sax from "sax";
import { messageOf, TransportError } from "../../core/errors.js";

/** An element of an XML document: the text directly in it, and its child elements. */
interface XmlElement {
  /** The name without a namespace prefix. */
  readonly name: string;
  readonly text: string;
  readonly children: readonly XmlElement[];
}

interface OpenElement extends XmlElement {
  text: string;
  readonly children: XmlElement[];
}

/** Deepest permitted nesting. Documents of object stores have at most 4 levels. */
const MAX_DEPTH = 16;

/**
 * Parses a whole XML document strictly. A document type is refused, because it can define further entities.
 * @throws {Error} where it is not well-formed, or is not complete.
 */
export function parseXml(document: string): XmlElement {
  const parser = sax.parser(true, { strictEntities: true } as sax.SAXOptions);
  const open: OpenElement[] = [];
  let root: XmlElement | undefined;
  const addText = (text: string): void => {
    const current = open.at(-1);
    if (current !== undefined) current.text += text;
  };
  const handlers: Partial<sax.SAXParser> = {
    onerror(error) {
      throw new Error(messageOf(error).replaceAll(/\s+/g, " "));
    },
    ondoctype() {
      throw new Error("it has a document type");
    },
    onopentag({ name }) {
      if (root !== undefined) throw new Error("it has elements after its end");
      if (open.length === MAX_DEPTH) throw new Error(`its elements are nested more than ${MAX_DEPTH} deep`);
      open.push({ name: name.replace(/^.*:/, ""), text: "", children: [] });
    },
    onclosetag() {
      const closed = open.pop();
      if (closed === undefined) return;
      const parent = open.at(-1);
      if (parent === undefined) root = closed;
      else parent.children.push(closed);
    },
    ontext: addText,
    oncdata: addText,
  };
  Object.assign(parser, handlers);
  parser.write(document.replace(/^\uFEFF/, "")).close();
  if (root === undefined) throw new Error("it has no element");
  return root;
}

export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name);
}

export function textOf(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

export interface ListedObject {
  readonly key: string;
  readonly size: number;
  /** Epoch milliseconds by the clock of the store, in whole seconds, as in all its responses. */
  readonly modifiedAt: number;
  /** A text that differs between contents; undefined where the list does not state it. */
  readonly etag?: string | undefined;
}

export interface ListPage {
  readonly objects: readonly ListedObject[];
  /** Prefixes of keys, up to and including the delimiter. */
  readonly prefixes: readonly string[];
  /** The token that continues the list; undefined for the last page. */
  readonly next: string | undefined;
}

/** Parses a response of ListObjectsV2. @throws {TransportError} where it is not complete: it can be requested again. */
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

/** Rounds a time down to whole seconds: times in lists have milliseconds, those in headers do not. */
export function wholeSeconds(time: number): number {
  return Math.floor(time / 1000) * 1000;
}
