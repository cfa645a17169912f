import { Pool } from "undici";

/** The requests that clients send to a service, and for how long. */
export interface LoadSpec {
  /** The addresses of services of the same lake: each client asks one of them. */
  readonly urls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** The request with a given number, from 0. */
  readonly requestOf: (number: number) => LoadRequest;
  /** Number of clients; each has a connection and sends the next request as soon as the response is complete. */
  readonly connections: number;
  readonly durationMs: number;
}

export interface LoadRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
}

/** The result of a load test. */
export interface LoadReport {
  readonly requests: number;
  /** Bytes of response bodies. */
  readonly bytes: number;
  readonly ms: number;
  /** Milliseconds from each request to the last byte of its response, ascending. */
  readonly latencies: readonly number[];
}

/** Sends requests as fast as a service responds. @throws {Error} for a status other than 200. */
export async function load(spec: LoadSpec): Promise<LoadReport> {
  const { connections } = spec;
  const pools = spec.urls.map(
    (url) => new Pool(url, { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 }),
  );
  const latencies: number[] = [];
  let bytes = 0;
  let number = 0;
  const start = performance.now();
  const client = async (pool: Pool): Promise<void> => {
    while (performance.now() < start + spec.durationMs) {
      const asked = performance.now();
      const received = await ask(pool, spec, number++);
      bytes += received;
      latencies.push(performance.now() - asked);
    }
  };
  try {
    await Promise.all(
      Array.from({ length: connections }, (_, index) => client(pools[index % pools.length] as Pool)),
    );
    const ms = performance.now() - start;
    return { requests: latencies.length, bytes, ms, latencies: latencies.sort((a, b) => a - b) };
  } finally {
    await Promise.all(pools.map((pool) => pool.close()));
  }
}

/** @returns the number of bytes of the response's body. */
async function ask(pool: Pool, { headers, requestOf }: LoadSpec, number: number): Promise<number> {
  const { method, path, body } = requestOf(number);
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const response = await pool.request({ method, path, body: body ?? null, headers: { ...headers, ...type } });
  if (response.statusCode !== 200)
    throw new Error(
      `${method} ${path.slice(0, 80)} was answered ${response.statusCode}: ${await response.body.text()}`,
    );
  let bytes = 0;
  for await (const piece of response.body) bytes += (piece as Uint8Array).length;
  return bytes;
}

/** The latency that a given share of the requests did not exceed. */
export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN;
}
