import { expect, test } from "vitest";
import { KEY, serveForTest } from "../served-lake.js";

const ORIGIN = "https://research.example";

async function preflight(url: string, origin: string): Promise<Response> {
  return fetch(`${url}/v1/klines/batch`, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "x-api-key",
    },
  });
}

test("a page of a permitted origin may call, with a preflight that has no key", async () => {
  const { service } = await serveForTest(async () => {}, { corsOrigins: [ORIGIN] });
  const { status, headers } = await preflight(service.url, ORIGIN);
  expect([status, headers.get("access-control-allow-origin")]).toEqual([204, ORIGIN]);
  expect(headers.get("access-control-allow-headers")).toContain("x-api-key");
  for (const [key, expected] of [
    [KEY, 200],
    ["wrong", 401],
  ] as const) {
    const reply = await fetch(`${service.url}/v1/universes`, {
      headers: { origin: ORIGIN, "x-api-key": key },
    });
    expect([reply.status, reply.headers.get("access-control-allow-origin")]).toEqual([expected, ORIGIN]);
    await reply.text();
  }
});

test("a page of another origin may not, and without origins no page may", async () => {
  const { service } = await serveForTest(async () => {}, { corsOrigins: [ORIGIN] });
  const other = await preflight(service.url, "https://elsewhere.example");
  expect(other.headers.get("access-control-allow-origin")).not.toBe("https://elsewhere.example");
  const closed = await serveForTest(async () => {});
  const reply = await preflight(closed.service.url, ORIGIN);
  expect([reply.status, reply.headers.get("access-control-allow-origin")]).toEqual([405, null]);
});
