import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/client/system-clock.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { startService } from "../../../src/serve/http/service.js";
import { plainKeys } from "../../../src/serve/keys/key-ring.js";
import { ENDPOINTS, pathOf } from "../../../src/wire/endpoints.js";
import { retryAfterMs } from "../../../src/wire/error-body.js";
import {
  KEY,
  landedBar,
  landReference,
  landRows,
  listed,
  newLake,
  serve,
  serveForFile,
  serveForTest,
} from "../served-lake.js";

const bar = landedBar("600000.SH", "2024-01-01T16:00:00Z");
const KLINES = "/v1/klines/batch?symbols=600000.SH";
const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

const served = serveForFile(async (lake) => {
  await landRows(lake, BARS_1D, [bar]);
  await landRows(lake, BARS_1M, [bar]);
  await landReference(lake, INSTRUMENTS, [listed("600000.SH")]);
});

describe("keys", () => {
  test("are asked for by every endpoint", async () => {
    for (const endpoint of Object.values(ENDPOINTS)) {
      for (const headers of [{ "x-api-key": "" }, { "x-api-key": `${KEY}x` }]) {
        const reply = await served.ask(pathOf(endpoint, { exchange: "SH" }), {
          method: endpoint.method,
          headers,
        });
        expect(reply.status).toBe(401);
        expect(reply.body).toEqual({
          code: "UNAUTHORIZED",
          message: "x-api-key is missing or not a known key",
        });
      }
    }
    const missing = await fetch(served.service.url + KLINES);
    expect(missing.status).toBe(401);
  });

  test("may be several", async () => {
    const { ask } = await serveForTest(async () => {}, { keys: plainKeys(["first", "second"]) });
    for (const key of ["first", "second"]) {
      expect((await ask("/v1/universes", { headers: { "x-api-key": key } })).status).toBe(200);
    }
    expect((await ask("/v1/universes", { headers: { "x-api-key": "third" } })).status).toBe(401);
  });

  test("are in no log", async () => {
    const lines: string[] = [];
    const write = (facts: object, message: string): void => void lines.push(JSON.stringify([message, facts]));
    const { ask, lake: own } = await serveForTest((empty) => landRows(empty, BARS_1D, [bar]), {
      keys: plainKeys(["a-secret-key"]),
      logger: { info: write, error: write },
    });
    const headers = { "x-api-key": "a-secret-key" };
    await ask(`${KLINES}&x=a-secret-key`, { headers });
    await ask(KLINES, { headers: { "x-api-key": "another-secret" } });
    rmSync(join(own.location, "bars_1d", "region=CN"), { recursive: true });
    await ask(`${KLINES}&count=3`, { headers });
    expect(lines.length).toBeGreaterThanOrEqual(3);
    expect(lines.join()).not.toContain("secret");
  });
});

test("the health check needs no key", async () => {
  const response = await fetch(`${served.service.url}/healthz`);
  expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
});

test("every response has a different request id", async () => {
  const ids = new Set<string>();
  for (const path of [KLINES, "/healthz", "/nowhere", "/v1/klines/batch", "/%zz"]) {
    const { headers } = await served.ask(path, { headers: { "x-request-id": "mine", "request-id": "mine" } });
    expect(headers.get("x-request-id")).toMatch(UUID);
    ids.add(headers.get("x-request-id") ?? "");
  }
  expect(ids.size).toBe(5);
});

test("a key that has used its quota gets the time to wait", async () => {
  let now = 1_000_000;
  const options = { maxRequestsPerMinute: 2, keys: plainKeys(["a", "b"]), clock: { now: () => now } };
  const { ask } = await serveForTest(async () => {}, options);
  const by = (key: string) =>
    ask<{ code: string; message: string }>("/v1/universes", { headers: { "x-api-key": key } });
  expect((await by("a")).status).toBe(200);
  now += 20_000;
  expect((await by("a")).status).toBe(200);
  now += 649;
  const refused = await by("a");
  expect([refused.status, refused.body]).toEqual([
    429,
    { code: "RATE_LIMITED", message: "more than 2 requests in a minute; ask again in 39351ms" },
  ]);
  expect(refused.headers.get("retry-after")).toBe("40");
  expect(retryAfterMs(refused.body.message, undefined, now)).toBe(39_351);
  expect((await by("b")).status).toBe(200);
  expect((await ask("/healthz")).status).toBe(200);
  now += 39_350;
  expect((await by("a")).status).toBe(429);
  now += 1;
  expect((await by("a")).status).toBe(200);
  expect((await by("a")).status).toBe(429);
});

test("a failure shows the client nothing but the request's id, and the log its cause", async () => {
  const errors: { requestId?: string; err?: Error }[] = [];
  const { ask, lake: own } = await serveForTest((empty) => landRows(empty, BARS_1D, [bar]), {
    logger: { info: () => {}, error: (facts) => void errors.push(facts) },
  });
  rmSync(join(own.location, "bars_1d", "region=CN"), { recursive: true });
  const { status, headers, body } = await ask(KLINES);
  const id = headers.get("x-request-id");
  expect(status).toBe(500);
  expect(body).toEqual({
    code: "INTERNAL",
    message: `request ${id} failed; the service's log has the cause`,
  });
  expect(errors).toHaveLength(1);
  expect(errors[0]?.requestId).toBe(id);
  expect(errors[0]?.err?.message).toContain("parquet");
});

test("a port that is taken is refused with what to do", async () => {
  const { port } = served.service;
  const options = { port, keys: plainKeys([KEY]), clock: systemClock };
  await expect(startService(served.lake, options)).rejects.toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/^service: cannot listen on 127\.0\.0\.1, port \d+: .*EADDRINUSE/),
      hint: expect.stringMatching(/`port`/),
    }),
  );
});

test("closing finishes what is running, and frees the port", async () => {
  const { lake: own, remove: removeOwn } = newLake();
  await landRows(own, BARS_1D, [bar]);
  const known = plainKeys([KEY]);
  const arrived: string[] = [];
  let goOn = (): void => {};
  const waiting = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const keys = {
    callerOf: (key: string) => known.callerOf(key),
    refresh: async (): Promise<void> => {
      arrived.push("request");
      await waiting;
    },
  };
  // A separate address, where there are several: nobody else takes the port while it is free.
  const host = process.platform === "linux" ? "127.0.0.2" : "127.0.0.1";
  const { service, ask } = await serve(own, { connections: 1, keys, host });
  const running = Promise.all(Array.from({ length: 6 }, () => ask(KLINES)));
  while (arrived.length < 6) await setImmediate();
  const closing = service.close();
  const isOpen = (): Promise<boolean> => fetch(`${service.url}/healthz`).then(Boolean, () => false);
  while (await isOpen()) await setImmediate();
  goOn();
  expect((await running).map((reply) => reply.status)).toEqual([200, 200, 200, 200, 200, 200]);
  await closing;
  await expect(fetch(`${service.url}/healthz`)).rejects.toThrow("fetch failed");
  const again = await serve(own, { port: service.port, host });
  expect((await again.ask(KLINES)).status).toBe(200);
  await again.service.close();
  removeOwn();
});

test("closing finishes a response that is written, and that the network has not taken yet", async () => {
  const { service, ask } = await serveForTest((own) => landRows(own, BARS_1D, [bar]));
  let goOn = (): void => {};
  const isTaken = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const slow: Socket[] = [];
  const onSocket = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    if (slow.length > 0) return;
    slow.push(socket);
    for (const name of ["_write", "_writev"]) {
      const send = Reflect.get(socket, name) as (...parameters: unknown[]) => void;
      const later = (...parameters: unknown[]): void =>
        void isTaken.then(() => send.apply(socket, parameters));
      Reflect.set(socket, name, later);
    }
  };
  subscribe("net.server.socket", onSocket);
  onTestFinished(() => void unsubscribe("net.server.socket", onSocket));
  const running = ask(KLINES).then(
    ({ status }) => status,
    (error: unknown) => error,
  );
  while ((slow[0]?.writableLength ?? 0) === 0) await setImmediate();
  const closing = service.close();
  const isOpen = (): Promise<boolean> => fetch(`${service.url}/healthz`).then(Boolean, () => false);
  while (await isOpen()) await setImmediate();
  goOn();
  expect(await running).toBe(200);
  await closing;
});
