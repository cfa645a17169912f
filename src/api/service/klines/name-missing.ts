import { isEndpointRefusal } from "../../../client/response-error.js";
import { ServiceError } from "../../../core/errors.js";
import { ENDPOINTS, LIMITS } from "../../../wire/endpoints.js";
import { instrument } from "../../../wire/resources.js";
import { type AskOptions, askBatches } from "../records/ask-records.js";
import type { ServiceAccess } from "../service-access.js";
import type { GrowingReport } from "./kline-report.js";

/**
 * Reports the symbols of which no bar came, and none was set aside: those that the service does not know, and those without a bar in the window.
 * Where the key may not ask for instruments, all of them count as without a bar.
 */
export async function nameMissing(
  access: ServiceAccess,
  symbols: readonly string[],
  report: GrowingReport,
  options: AskOptions,
): Promise<void> {
  const named = new Set([...report.open, ...report.counts].map(({ symbol }) => symbol));
  const missing = symbols.filter((symbol) => !report.came.has(symbol) && !named.has(symbol));
  if (missing.length === 0) return;
  try {
    const { entries } = await askBatches(
      access,
      missing,
      LIMITS.symbolsPerRequest,
      (some) => ({ endpoint: ENDPOINTS.instrumentsBatch, body: { symbols: some } }),
      { shape: "list", element: instrument },
      options,
    );
    const known = new Set(entries.map(([, { symbol }]) => symbol));
    report.unknown = missing.filter((symbol) => !known.has(symbol));
    report.empty = missing.filter((symbol) => known.has(symbol));
  } catch (error) {
    if (!(error instanceof ServiceError) || !isEndpointRefusal(error)) throw error;
    report.empty = missing;
  }
}
