import { UNIVERSE } from "../lakes/market-lake.js";
import type { Case } from "../measure/benchmark.js";
import type { LoadRequest } from "./load-connection.js";
import type { Serving } from "./serving.js";

/** What a universe is asked for first: when a service has started, and after a commit. */
const FIRST: readonly LoadRequest[] = [
  { method: "GET", path: `/v1/klines/intraday/universe?universes=${UNIVERSE}` },
  { method: "POST", path: "/v1/quotes", body: JSON.stringify({ universes: [UNIVERSE] }) },
];
/** The number of requests of {@link askFirst}. */
export const FIRST_REQUESTS = FIRST.length;

/**
 * Sends these requests one after the other.
 *
 * @returns the milliseconds that the first one took.
 * @throws {Error} for a status other than 200.
 */
export async function askFirst(serving: Serving, headers: Readonly<Record<string, string>>): Promise<number> {
  const begun = performance.now();
  let first: number | undefined;
  for (const { method, path, body } of FIRST) {
    const response = await fetch(serving.url + path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body }),
    });
    if (response.status !== 200) throw new Error(`${path} was answered ${response.status}`);
    await response.arrayBuffer();
    first ??= performance.now() - begun;
  }
  return first as number;
}

/** The first responses of a service that has just started. @param start starts one. */
export function firstResponses(
  start: () => Promise<Serving>,
  headers: Readonly<Record<string, string>>,
  name: string,
  baseline: string,
): Case {
  return {
    name,
    baseline,
    async run(timed) {
      const serving = await start();
      try {
        const begun = performance.now();
        const first = await timed(() => askFirst(serving, headers));
        const seconds = (performance.now() - begun) / 1000;
        return { checks: {}, figures: { "requests/s": FIRST_REQUESTS / seconds, "intraday ms": first } };
      } finally {
        await serving.close();
      }
    },
  };
}
