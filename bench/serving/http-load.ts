import { LoadConnection, type LoadRequest } from "./load-connection.js";

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
  const connections = Array.from(
    { length: spec.connections },
    (_, index) => new LoadConnection(spec.urls[index % spec.urls.length] as string, spec.headers),
  );
  const latencies: number[] = [];
  let bytes = 0;
  let number = 0;
  const start = performance.now();
  const client = async (connection: LoadConnection): Promise<void> => {
    while (performance.now() < start + spec.durationMs) {
      const asked = performance.now();
      const received = await connection.ask(spec.requestOf(number++));
      bytes += received;
      latencies.push(performance.now() - asked);
    }
  };
  try {
    await Promise.all(connections.map(client));
    const ms = performance.now() - start;
    return { requests: latencies.length, bytes, ms, latencies: latencies.sort((a, b) => a - b) };
  } finally {
    for (const connection of connections) connection[Symbol.dispose]();
  }
}

/** The latency that a given share of the requests did not exceed. */
export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN;
}
