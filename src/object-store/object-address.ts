import { UsageError } from "../core/errors.js";

interface ObjectAddress {
  readonly bucket: string;
  /** Without slashes at its ends; empty for the whole bucket. */
  readonly prefix: string;
}

/** The form of names of buckets. Some stores also permit capitals and underscores. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
/**
 * At least one of the programs that read a lake treats any other character of a path as part of a pattern, a query or a
 * fragment.
 */
const SEGMENT = /^[\w.~!$&'()+,;=:@ -]+$/u;

export function isObjectUrl(location: string): boolean {
  return /^s3:\/\//i.test(location);
}

/** Parses `s3://bucket/prefix`. @throws {UsageError} where a lake cannot be at the address. */
export function parseObjectUrl(url: string): ObjectAddress {
  const [, bucket = "", path = ""] = /^s3:\/\/([^/]*)(?:\/(.*))?$/is.exec(url) ?? [];
  if (bucket === "") throw notAnAddress(url, "names no bucket");
  if (bucket.includes("@"))
    throw notAnAddress("s3://...@...", "must not contain a key or password", KEY_HINT);
  if (!BUCKET.test(bucket)) throw notAnAddress(url, `has a bucket name that no store permits: "${bucket}"`);
  const prefix = path.replace(/\/$/, "");
  const segments = prefix === "" ? [] : prefix.split("/");
  for (const segment of segments) {
    if (segment === "") throw notAnAddress(url, "has two slashes in a row");
    if (segment === "." || segment === "..") throw notAnAddress(url, `has a folder "${segment}"`);
    if (!SEGMENT.test(segment))
      throw notAnAddress(url, `has characters in "${segment}" that are not safe in the address of a lake`);
  }
  if (Buffer.byteLength(prefix) > 512) throw notAnAddress("s3://...", "has a prefix of more than 512 bytes");
  return { bucket, prefix };
}

const KEY_HINT = "give the key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in a profile";

function notAnAddress(url: string, why: string, hint = "write it like s3://bucket/prefix"): UsageError {
  return new UsageError(`address ${url} ${why}`, { hint });
}

/** Encodes all characters except the unreserved ones of RFC 3986. */
export function encodePart(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * @throws {UsageError} for a key with a segment that is empty, `.` or `..`: HTTP clients and proxies would change it.
 */
export function encodeKey(key: string): string {
  const segments = key.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === ".."))
    throw new UsageError(`object key "${key}" has an empty segment, "." or ".."`);
  return segments.map(encodePart).join("/");
}
