import { createHash } from "node:crypto";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { STATEMENTS } from "../../schema/statements.js";
import { ENDPOINTS, type EndpointName } from "../../wire/endpoints.js";
import type { BodyFormat } from "../../wire/media-type.js";
import type { Caller } from "../keys/key-ring.js";
import { EX_EVENT_TABLES } from "../klines/ex-events.js";
import type { LakeVersion } from "../read/lake-version.js";
import { REFERENCE_TABLES } from "../read/reference-data.js";

const TABLES_OF: Readonly<Record<(typeof ENDPOINTS)[EndpointName]["group"], readonly TableSchema[]>> = {
  klines: [...EX_EVENT_TABLES, BARS_1M, ...REFERENCE_TABLES],
  intraday: [BARS_1D, BARS_1M, ...REFERENCE_TABLES],
  quotes: [],
  reference: REFERENCE_TABLES,
  financials: [...Object.values(STATEMENTS), ...REFERENCE_TABLES],
};

/**
 * The strong validator (ETag) of a response that depends only on the request, the lake and the key's permissions;
 * undefined where the response also depends on the time of day, as a quote does.
 */
export async function responseTag(
  { name, url, format }: { readonly name: EndpointName; readonly url: string; readonly format: BodyFormat },
  { universes }: Caller,
  version: LakeVersion,
): Promise<string | undefined> {
  const { method, group } = ENDPOINTS[name];
  if (method !== "GET" || group === "quotes") return undefined;
  const snapshots = await Promise.all(TABLES_OF[group].map((table) => version.snapshot(table)));
  const parts = [
    url,
    format,
    universes === undefined ? null : [...universes].sort(),
    snapshots.map(({ table, commitId }) => [table.name, commitId]),
    version.visibleUntil,
    version.assumesReference,
  ];
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
  return `"${digest.slice(0, 22)}"`;
}

/** Whether an `if-none-match` header contains a tag. Weak and strong tags are compared as equal here (RFC 9110). */
export function namesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((one) => ["*", tag].includes(one.trim().replace(/^W\//, "")));
}
