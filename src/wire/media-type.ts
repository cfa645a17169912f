/** Media type of an Arrow IPC stream. */
export const ARROW_STREAM = "application/vnd.apache.arrow.stream";

/** The forms in which a service can write tables. */
export type BodyFormat = "json" | "arrow";

/**
 * The form that an `accept` header asks for (RFC 9110). Arrow must be named: `*` stands for JSON. Where both are named
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
  return arrow > 0 && arrow >= (weights.get("application/json") ?? 0) ? "arrow" : "json";
}

/** Whether a `content-type` header names an Arrow IPC stream; its parameters do not matter. */
export function isArrowStream(contentType: string | undefined): boolean {
  return contentType?.split(";")[0]?.trim().toLowerCase() === ARROW_STREAM;
}
