/** The form that every service of the interface writes. */
export const JSON_TYPE = "application/json";

/** Media type of an Arrow IPC stream. */
export const ARROW_STREAM = "application/vnd.apache.arrow.stream";

/** The forms in which a service can write tables. */
export type BodyFormat = "json" | "arrow";

/**
 * The form that an `accept` header asks for (RFC 9110). Arrow must be named: `*` means JSON. Where both are named
 * with the same weight, it is Arrow; a header that permits neither gets JSON.
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
 * Value of a `link` header (RFC 8288) with which a service says that it also writes this response as an Arrow stream.
 * A client that has seen it may ask for one; another service of the interface might refuse a form that it does not know.
 */
export const ARROW_LINK = `<>; rel="alternate"; type="${ARROW_STREAM}"`;

/** Whether a `link` header has {@link ARROW_LINK}. */
export function offersArrow(link: string | undefined): boolean {
  return (link ?? "").split(/,\s*(?=<)/).includes(ARROW_LINK);
}

/** Value of an `accept` header that asks for an Arrow stream, and takes JSON. */
export const ARROW_OR_JSON = `${ARROW_STREAM}, ${JSON_TYPE};q=0.9`;

/** Whether a `content-type` header names an Arrow IPC stream; its parameters do not matter. */
export function isArrowStream(contentType: string | undefined): boolean {
  return contentType?.split(";")[0]?.trim().toLowerCase() === ARROW_STREAM;
}
