import type { Agent } from "undici";

/** The library of HTTP, and its connections to one service. */
export interface HttpConnections {
  readonly request: typeof import("undici").request;
  readonly agent: Agent;
}

/** Loads the library of HTTP, which takes longer than all else of a run that has nothing to ask. */
export async function httpConnections(timeoutMs = 60_000): Promise<HttpConnections> {
  const { Agent, request } = (await import("undici")).default;
  const timeouts = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect: { timeout: timeoutMs } };
  return { request, agent: new Agent(timeouts) };
}
