import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { unreachable } from "../../src/client/response-error.js";
import {
  type LearnedRate,
  ServiceClient,
  type ServiceClientOptions,
} from "../../src/client/service-client.js";
import { ServiceError, TransportError, UsageError, WireError } from "../../src/core/errors.js";
import { decodeKlines } from "../../src/wire/decode/decode-klines.js";
import { decodeRecords } from "../../src/wire/decode/decode-records.js";
import { ENDPOINTS } from "../../src/wire/endpoints.js";
import { exchangeSummary } from "../../src/wire/resources.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { closedAddress } from "../faults/service/closed-address.js";
import {
  cutAfter,
  html,
  json,
  type Script,
  startScripted,
  truncated,
} from "../faults/service/scripted-service.js";

const BARS = JSON.stringify({
  data: {
    "600519.SH": {
      timestamp: [1, 2],
      open: [1, 2],
      high: [1, 2],
      low: [1, 2],
      close: [1, 2],
      volume: [1, 2],
      amount: [1, 2],
    },
  },
});
const KEY = "a-very-secret-key";

async function setUp(script: Script, options: Partial<ServiceClientOptions> = {}) {
  const service = await startScripted(script);
  const clock = virtualClock("2026-11-21T00:00:00Z");
  const client = new ServiceClient({
    baseUrl: service.url,
    apiKey: KEY,
    clock,
    retries: 2,
    backoffMs: 1,
    timeoutMs: 0,
    ...options,
  });
  onTestFinished(() => client.close());
  const bars = () =>
    client.ask({ endpoint: ENDPOINTS.klinesBatch, query: { symbols: "600519.SH", count: 10 } }, (body) =>
      decodeKlines(body, { shape: "map" }),
    );
  return { service, clock, client, bars };
}

test("without a key none is sent; a service that needs one says what to set", async () => {
  const free = await setUp((_, response) => json(response, 200, JSON.parse(BARS)), { apiKey: "" });
  await free.bars();
  expect(free.service.seen[0]?.headers).not.toHaveProperty("x-api-key");
  const closed = await setUp(
    (_, response) => json(response, 401, { code: "UNAUTHORIZED", message: "no key" }),
    { apiKey: "" },
  );
  await expect(closed.bars()).rejects.toMatchObject({
    status: 401,
    hint: expect.stringContaining("set BARLAKE_API_KEY"),
  });
});

test("the key travels in its header alone, and parameters are encoded", async () => {
  const { service, client } = await setUp((_, response) => json(response, 200, { data: [] }));
  await client.ask(
    {
      endpoint: ENDPOINTS.exchangeInstruments,
      path: { exchange: "a/b?c" },
      query: { type: "x&y", none: undefined },
    },
    (body) => decodeRecords(body, "list", exchangeSummary),
  );
  const [seen] = service.seen;
  expect(seen?.headers["x-api-key"]).toBe(KEY);
  expect(seen?.path).toBe("/v1/exchanges/a%2Fb%3Fc/instruments");
  expect([...(seen?.query ?? [])]).toEqual([["type", "x&y"]]);
});

test.each([
  [401, "UNAUTHORIZED", /BARLAKE_API_KEY/],
  [403, "NO_KLINE_BATCH_PERMISSION", /several symbols at once/],
  [404, "SYMBOL_NOT_FOUND", undefined],
  [400, "INVALID_PERIOD", undefined],
  [503, "INTRADAY_UNAVAILABLE", /no intraday data/],
])("a %i with %s is refused at once, and says what to do", async (status, code, hint) => {
  const { service, bars } = await setUp((_, response) => json(response, status, { code, message: "no" }));
  const error = await bars().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ServiceError);
  expect(error).toMatchObject({
    status,
    code,
    message: `GET /v1/klines/batch: ${code} (status ${status}): no`,
  });
  if (hint) expect((error as ServiceError).hint).toMatch(hint);
  expect(service.seen).toHaveLength(1);
});

test("a wait stated in the message is obeyed to the millisecond and costs no retry", async () => {
  const { clock, bars, service } = await setUp((_, response, index) => {
    if (index < 5)
      json(response, 429, { code: "RATE_LIMITED", message: "slow down, retry in 39351ms please" });
    else json(response, 200, BARS);
  });
  const { value, attempts } = await bars();
  expect(value.columns.rows).toBe(2);
  expect(attempts).toBe(6);
  expect(service.seen).toHaveLength(6);
  expect(clock.slept).toEqual(Array.from({ length: 5 }, () => 39_351 + 16));
});

test("Retry-After counts where the message names no wait; 0 is no hint", async () => {
  const { clock, bars } = await setUp((_, response, index) => {
    if (index === 0) json(response, 429, { code: "RATE_LIMITED", message: "wait" }, { "retry-after": "2" });
    else if (index === 1)
      json(response, 429, { code: "RATE_LIMITED", message: "wait" }, { "retry-after": "0" });
    else json(response, 200, BARS);
  });
  await bars();
  expect(clock.slept).toEqual([2000, 1000]);
});

test("refusals without a hint pause the group for ever longer, and cost no retry", async () => {
  const { clock, bars } = await setUp((_, response, index) => {
    if (index < 12) json(response, 429, { code: "RATE_LIMITED", message: "slow down" });
    else json(response, 200, BARS);
  });
  expect((await bars()).attempts).toBe(13);
  // Every 8 seconds within the first minute, as a minute's quota may be given again at any time of it.
  const inMinute = [1000, 2000, 4001, ...Array.from({ length: 7 }, () => 8003)];
  expect(clock.slept).toEqual([...inMinute, 30_012, 30_012]);
});

test("refusals cost no retry, whether a retry is left or not, and have a separate limit", async () => {
  const mixed = await setUp((_, response, index) => {
    if (index % 2 === 0 && index < 4) html(response, 502);
    else if (index < 8) json(response, 429, { code: "RATE_LIMITED", message: "in 10ms" });
    else json(response, 200, BARS);
  });
  expect((await mixed.bars()).attempts).toBe(9);
  const never = await setUp(
    (_, response) => json(response, 429, { code: "RATE_LIMITED", message: "in 10ms" }),
    {
      retries: 0,
    },
  );
  await expect(never.bars()).rejects.toMatchObject({ status: 429 });
  expect(never.service.seen).toHaveLength(25);
  expect(never.client.quotaOf("klines")).toMatchObject({ limit: 1, learned: true, waits: 25 });
});

test("a request that got a 503 with a wait is sent again after it", async () => {
  const { clock, bars } = await setUp((_, response, index) => {
    if (index === 0) json(response, 503, { code: "DOWN", message: "later" }, { "retry-after": "7" });
    else json(response, 200, BARS);
  });
  await bars();
  expect(clock.slept).toEqual([7000]);
});

test("a wait for one endpoint group does not hold back another", async () => {
  const { clock, bars, client } = await setUp((seen, response, index) => {
    if (index === 0) json(response, 429, { code: "RATE_LIMITED", message: "in 5000ms" });
    else json(response, 200, seen.path.includes("klines") ? BARS : { data: [] });
  });
  const both = [
    bars(),
    client.ask({ endpoint: ENDPOINTS.exchanges }, (body) => decodeRecords(body, "list", exchangeSummary)),
  ];
  await Promise.all(both);
  expect(clock.slept).toEqual([5002]);
});

test("requests obey the quota, of all groups or of each", async () => {
  const each = { klines: 2, reference: 1 };
  for (const requestsPerMinute of [2, each]) {
    const { clock, bars } = await setUp((_, response) => json(response, 200, BARS), { requestsPerMinute });
    for (let i = 0; i < 4; i++) await bars();
    expect(clock.slept).toEqual([60_025]);
  }
});

test("a single refusal teaches nothing; what one client has sent, the next one knows", async () => {
  const learned: LearnedRate[] = [];
  const script: Script = (_, response, index) => {
    if (index === 2) json(response, 429, { code: "RATE_LIMITED", message: "in 50000ms" });
    else json(response, 200, BARS);
  };
  const first = await setUp(script, { onLearned: (one) => learned.push(one) });
  for (let i = 0; i < 3; i++) await first.bars();
  expect(learned).toEqual([]);
  const [sent, start] = [first.client.quota.sentLately, first.clock.now()];
  const { clock, client, bars } = await setUp((_, response) => json(response, 200, BARS), {
    requestsPerMinute: { klines: 2 },
  });
  clock.advance(start - clock.now());
  client.quota.setShare(1, { sent, died: [] });
  await bars();
  await bars();
  expect(client.quotaOf("klines")).toMatchObject({ limit: 2, learned: false, usedLastMinute: 2, waits: 0 });
  expect(clock.slept).toEqual([11_005, 50_020]);
  expect(client.quotaOf("reference")).toMatchObject({ limit: undefined, learned: false, usedLastMinute: 0 });
});

test.each<[string, Script]>([
  ["5xx with the error body", (_, response) => json(response, 503, { code: "DOWN", message: "later" })],
  ["502 with HTML", (_, response) => html(response, 502)],
  ["HTML with status 200", (_, response) => html(response, 200)],
  ["a connection that breaks in the body", (_, response) => cutAfter(response, BARS, 60)],
  ["a body that ends early", (_, response) => truncated(response, BARS, 60)],
  ["a reset before the response", (_, response) => void response.socket?.destroy()],
])("%s heals when the service does", async (_, fault) => {
  const { service, bars } = await setUp((seen, response, index) => {
    if (index < 2) fault(seen, response, index);
    else json(response, 200, BARS);
  });
  const { value, attempts } = await bars();
  expect(value.columns.rows).toBe(2);
  expect(attempts).toBe(3);
  expect(service.seen).toHaveLength(3);
});

test.each<[string, Script, new (...parameters: never[]) => Error, RegExp]>([
  [
    "502 with HTML",
    (_, response) => html(response, 502),
    ServiceError,
    /klines\/batch: status 502 with a body of text\/html/,
  ],
  [
    "HTML with status 200",
    (_, response) => html(response, 200),
    WireError,
    /klines\/batch: response is not JSON: "<" where a value belongs.*byte 0/,
  ],
  [
    "a body that ends early",
    (_, response) => truncated(response, BARS, 60),
    WireError,
    /klines\/batch: response ends before its JSON does.*byte 60/,
  ],
  ["a broken connection", (_, response) => cutAfter(response, BARS, 60), TransportError, /klines\/batch: /],
])(
  "%s that stays is an error that names the request, after the retries",
  async (_, script, type, message) => {
    const { service, bars } = await setUp(script);
    const error = (await bars().catch((caught: unknown) => caught)) as Error;
    expect(error).toBeInstanceOf(type);
    expect(error.message).toMatch(message);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(KEY);
    expect(service.seen).toHaveLength(3);
  },
);

test.each<[string, unknown, RegExp]>([
  ["another document", { rows: [] }, /no "data" object/],
  ["a list where a map belongs", { data: [] }, /"data" is an array/],
  ["an array", [1], /response is an array/],
])("a body that is %s is not requested again", async (_, body, message) => {
  const { service, bars } = await setUp((_seen, response) => json(response, 200, body));
  await expect(bars()).rejects.toThrow(message);
  expect(service.seen).toHaveLength(1);
});

test("an error body with status 200 is an error", async () => {
  const { bars } = await setUp((_, response) =>
    json(response, 200, { code: "SYMBOL_NOT_FOUND", message: "no such" }),
  );
  await expect(bars()).rejects.toThrow(/SYMBOL_NOT_FOUND: no such/);
});

test.each([
  ["a refusal", 403],
  ["an error body with status 200", 200],
])("a key that the service repeats is in no text of the error: %s", async (_, status) => {
  const { bars } = await setUp((_seen, response) =>
    json(response, status, { code: "UNAUTHORIZED", message: `invalid key ${KEY}, ${KEY}` }),
  );
  const error: unknown = await bars().catch((thrown: unknown) => thrown);
  expect((error as Error).message).toContain("invalid key [the key], [the key]");
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(KEY);
});

test("a connection that is refused after a response says nothing of the address", async () => {
  const server = createServer((_, response) => json(response, 200, { data: [] })).listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new ServiceClient({
    baseUrl,
    apiKey: KEY,
    clock: virtualClock(0),
    retries: 2,
    timeoutMs: 0,
  });
  onTestFinished(() => client.close());
  let attempts = 0;
  const ask = () =>
    client.ask(
      { endpoint: ENDPOINTS.exchanges },
      async () => 0,
      undefined,
      () => {
        attempts += 1;
      },
    );
  await ask();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
  await expect(ask()).rejects.toThrow(/GET \/v1\/exchanges: .*ECONNREFUSED/);
  expect(attempts).toBe(4);
});

test("a host that nobody knows is a wrong address; one that refuses connections, or whose name cannot be resolved now, may come back", () => {
  const errorOf = (code: string) => unreachable("x", Object.assign(new Error(code), { code }));
  expect(["ENOTFOUND", "ECONNREFUSED", "EAI_AGAIN"].map((code) => errorOf(code)?.isUnknownHost)).toEqual([
    true,
    false,
    undefined,
  ]);
});

test("a service that cannot be reached, or an invalid address, is a plain error", async () => {
  const clock = virtualClock(0);
  const baseUrl = `http://${await closedAddress()}`;
  const client = new ServiceClient({ baseUrl, apiKey: KEY, clock, timeoutMs: 0 });
  onTestFinished(() => client.close());
  const sent: number[] = [];
  const asked = client.ask(
    { endpoint: ENDPOINTS.exchanges },
    (body) => decodeRecords(body, "list", exchangeSummary),
    undefined,
    (attempt) => void sent.push(attempt),
  );
  await expect(asked).rejects.toMatchObject({
    name: "UnreachableError",
    message: `service ${new URL(baseUrl).host}: the connection is refused (ECONNREFUSED)`,
    hint: expect.stringMatching(/check the address.*whether the service runs/),
  });
  expect(sent).toEqual([1, 2, 3, 4, 5]);
  for (const [address, message] of [
    [KEY, /is not a URL/],
    [`ftp://user:${KEY}@x`, /neither http nor https/],
    [`https://user:${KEY}@x`, /must not contain a user/],
    [`https://x/?token=${KEY}`, /must not contain .* a part after \? or #/],
  ] as const) {
    const made = () => new ServiceClient({ baseUrl: address, apiKey: KEY, clock });
    expect(made).toThrow(UsageError);
    expect(made).toThrow(message);
    expect(made).not.toThrow(KEY);
  }
  for (const page of ["/docs", "/docs/", "/openapi.json"])
    expect(() => new ServiceClient({ baseUrl: `https://host/base${page}`, apiKey: KEY, clock })).toThrow(
      expect.objectContaining({
        message: `service address ends with ${page}, which is a page about the interface`,
        hint: "give the address without it: https://host/base",
      }),
    );
});

test.each([
  [
    "an hour behind",
    { date: "Fri, 20 Nov 2026 23:00:00 GMT" },
    /60 min ahead .* 2026-11-21T00:00:00.000Z here .* 2026-11-20T23:00:00.000Z there/,
  ],
  ["four minutes behind", { date: "Fri, 20 Nov 2026 23:56:00 GMT" }, undefined],
  ["ahead", { date: "Sun, 22 Nov 2026 00:00:00 GMT" }, undefined],
  [
    "an hour behind, as the response was in a cache",
    { date: "Fri, 20 Nov 2026 23:00:00 GMT", age: "3600" },
    undefined,
  ],
  ["not valid", { date: "yesterday" }, undefined],
])("a service's time that is %s", async (_, headers: Record<string, string>, message) => {
  const { service, bars } = await setUp((_seen, response) => json(response, 200, BARS, headers));
  if (message === undefined) expect((await bars()).value.columns.rows).toBe(2);
  else await expect(bars()).rejects.toThrow(message);
  expect(service.seen).toHaveLength(1);
});

test("a request whose caller took too long to permit it is sent only once the key may be used again", async () => {
  const [steps, state] = [[] as string[], { isReady: true }];
  const right = {
    get isReady() {
      return state.isReady;
    },
    async ready() {
      if (!state.isReady) steps.push("waited");
      state.isReady = true;
    },
  };
  const { service, client } = await setUp(
    (_, response) => {
      steps.push("sent");
      json(response, 200, { data: [] });
    },
    { right, requestsPerMinute: 1 },
  );
  const { attempts } = await client.ask(
    { endpoint: ENDPOINTS.exchanges },
    (body) => decodeRecords(body, "list", exchangeSummary),
    undefined,
    (attempt) => {
      steps.push(`permitted ${attempt}`);
      // The process is stopped here for longer than its part of the key is its own.
      if (steps.length === 1) state.isReady = false;
    },
  );
  expect(steps).toEqual(["permitted 1", "waited", "permitted 1", "sent"]);
  expect([attempts, service.seen.length]).toEqual([1, 1]);
});
