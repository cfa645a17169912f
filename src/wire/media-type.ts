/** The media type of JSON, which every service of the interface can write. */
export const JSON_TYPE = "application/json";

export const ARROW_STREAM = "application/vnd.apache.arrow.stream";

export type BodyFormat = "json" | "arrow";

/**
 * The format that an `accept` header requests (RFC 9110). Arrow must be named: `*` means JSON. Of the same weight it is
 * Arrow. A header that permits neither gets JSON.
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
 * stream. Another service of the interface might refuse an unknown format.
 */
export const ARROW_LINK = `<>; rel="alternate"; type="${ARROW_STREAM}"`;
