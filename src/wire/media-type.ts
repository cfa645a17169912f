/** The media type of JSON, which every service of the interface can write. */
export const JSON_TYPE = "application/json";

/** Media type of an Arrow IPC stream. */
export const ARROW_STREAM = "application/vnd.apache.arrow.stream";

/** The formats in which a service can write tables. */
export type BodyFormat = "json" | "arrow";

/**
 * The format that an `accept` header requests (RFC 9110). Arrow must be named: `*` means JSON. If both are named with
 * the same weight, it is Arrow. A header that permits neither gets JSON.
 */
export function acceptedFormat(header: string | undefined): BodyFormat {
  const weights = new Map<string, number>();
  for (const range of (header ?? "").toLowerCase().split(",")) {
    const [type = "", ...parameters] = range.split(";").map((text) => text.trim());
    const weight = Number(parameters.find((text) => text.startsWith("q="))?.slice(2) ?? 1);
    weights.set(type, Math.max(weights.get(type) ?? 0, weight >= 0 && weight <= 1 ? weight : 0));
  }
  const arrow = weights.get(ARROW_STREAM) ?? 0;
  return arrow > 0 && arrow >= (weights.get(JSON_TYPE) ?? 0) ? "arrow" : "json";
}

/**
 * The value of a `link` header (RFC 8288) with which a service states that it can also write this response as an Arrow
 * stream. A client requests a stream only after it has seen this header, since another service of the interface might
 * refuse an unknown format.
 */
export const ARROW_LINK = `<>; rel="alternate"; type="${ARROW_STREAM}"`;

/** Whether a `link` header has {@link ARROW_LINK}. */
export function offersArrow(link: string | undefined): boolean {
  return (link ?? "").split(/,\s*(?=<)/).includes(ARROW_LINK);
}

/** The value of an `accept` header that requests an Arrow stream, and also accepts JSON. */
export const ARROW_OR_JSON = `${ARROW_STREAM}, ${JSON_TYPE};q=0.9`;

/** Whether a `content-type` header names an Arrow IPC stream; its parameters do not matter. */
export function isArrowStream(contentType: string | undefined): boolean {
  return contentType?.split(";")[0]?.trim().toLowerCase() === ARROW_STREAM;
}
