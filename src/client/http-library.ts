import type { Agent } from "undici";

/** The library of HTTP, with the connections of one client. */
export interface Http {
  readonly request: typeof import("undici").request;
  readonly agent: Agent;
}

/** Loads it when it is needed: many runs send no request. @param timeout in milliseconds; 0 waits for ever. */
export async function loadHttp(timeout = 60_000): Promise<Http> {
  const { Agent, request } = (await import("undici")).default;
  const agent = new Agent({ headersTimeout: timeout, bodyTimeout: timeout, connect: { timeout } });
  return { request, agent };
}
