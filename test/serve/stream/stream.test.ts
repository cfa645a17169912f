import { once } from "node:events";
import { connect } from "node:net";
import type { Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import type { Lake } from "../../../src/lake/lake.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import type { ServiceOptions } from "../../../src/serve/http/service.js";
import type { Caller } from "../../../src/serve/keys/key-ring.js";
import { KEY, landedBar, landReference, landRows, listed, NOW, serveForTest } from "../served-lake.js";
import { handClock } from "./hand-clock.js";
import { openStream } from "./stream-client.js";

const DAY = Date.parse("2026-11-19T00:00:00+08:00");
const bar = (symbol: string, close: number, timestamp = DAY) => landedBar(symbol, timestamp, close);
const fill = async (lake: Lake): Promise<void> => {
  await landRows(lake, BARS_1D, [bar("600000.SH", 10), bar("600001.SH", 20)]);
  await landReference(lake, INSTRUMENTS, [listed("600002.SH")]);
};

async function streaming(options: Partial<ServiceOptions> = {}, fillWith = fill) {
  const clock = handClock(NOW);
  const logged: string[] = [];
  const log = (facts: object, message: string): void => void logged.push(JSON.stringify([facts, message]));
  const served = await serveForTest(fillWith, { clock, logger: { info: log, error: log }, ...options });
  const open = async (path = `/v1/ws/stream?api_key=${KEY}`, headers = {}) => {
    const client = await openStream(served.service.url, path, headers);
    onTestFinished(() => client.socket.terminate());
    return client;
  };
  return { ...served, clock, logged, open };
}

/** Quotes that a client asks for without reading them: 24 MB, more than the buffers of a connection take. */
const UNREAD = { symbols: 400, commands: 200 };

test("a client that never reads is cut off; nothing is made for it in advance, and others do not wait for it", async () => {
  const symbols = Array.from({ length: UNREAD.symbols }, (_, k) => `${600_000 + k}.SH`);
  const { open, clock, logged } = await streaming({}, (lake) =>
    landRows(
      lake,
      BARS_1D,
      symbols.map((symbol) => bar(symbol, 10)),
    ),
  );
  const [other, silent] = [await open(), await open()];
  // The topics stay, so that their quotes are not made again.
  other.send(subscribe(...symbols));
  expect((await other.next()).total).toBe(UNREAD.symbols);
  silent.socket.pause();
  for (let k = 0; k < UNREAD.commands; k++)
    for (const op of ["subscribe", "unsubscribe"]) silent.send({ ...subscribe(...symbols), op });
  const end = (): string | undefined => logged.find((line) => line.includes("stream closed"));
  while (end() === undefined) {
    await clock.sleeper();
    clock.advance(1000);
  }
  other.send({ op: "unsubscribe", channel: "quotes", symbols: symbols.slice(1) });
  for (let message = await other.next(); message.op !== "subscribed"; message = await other.next());
  const [{ quotes }] = JSON.parse(end() as string) as [{ quotes: number }];
  expect(quotes).toBeLessThan(UNREAD.symbols * UNREAD.commands);
  silent.socket.terminate();
});

const subscribe = (...symbols: string[]) => ({ op: "subscribe", channel: "quotes", symbols });

test("quotes of subscribed symbols come at once, and are those of the endpoint", async () => {
  const { open, post } = await streaming();
  const { body } = await post<{ data: unknown }>("/v1/quotes", { symbols: ["600000.SH", "600001.SH"] });
  const client = await open();
  client.send(subscribe("600000.SH", "600001.SH", "600000.SH"));
  expect(await client.next()).toEqual({ op: "subscribed", channel: "quotes", total: 2 });
  expect(await client.next()).toEqual({ op: "quotes", data: body.data });
  client.send({ op: "unsubscribe", channel: "quotes", symbols: ["600001.SH", "600009.SH"] });
  expect(await client.next()).toEqual({ op: "subscribed", channel: "quotes", total: 1 });
  client.send(subscribe("600002.SH"));
  expect(await client.next()).toEqual({ op: "subscribed", channel: "quotes", total: 2 });
});

test("the older path has no channels", async () => {
  const { open } = await streaming();
  const client = await open("/v1/ws/quotes", { "x-api-key": KEY });
  client.send({ op: "subscribe", symbols: ["600000.SH"] });
  expect(await client.next()).toEqual({ op: "subscribed", total: 1 });
  expect((await client.next()).data?.[0]?.symbol).toBe("600000.SH");
});

test("what changed is pushed when a new version lands, and nothing else", async () => {
  const { open, clock, lake } = await streaming();
  const client = await open();
  client.send(subscribe("600000.SH", "600001.SH"));
  await client.next();
  await client.next();
  await landRows(lake, BARS_1D, [bar("600001.SH", 21, DAY + 24 * 3600_000)]);
  await clock.sleeper();
  clock.advance(1000);
  const { data } = await client.next();
  expect(data?.map(({ symbol, last_price }) => [symbol, last_price])).toEqual([["600001.SH", 21]]);
});

test("a message that cannot be carried out gets its reason", async () => {
  const { open } = await streaming({ maxSymbols: 3 });
  const client = await open();
  const messageOf = async (message: unknown): Promise<string | undefined> => {
    client.send(message);
    return (await client.next()).message;
  };
  expect(await messageOf("{")).toBe("message is not JSON");
  expect(await messageOf([])).toBe("message is not an object");
  expect(await messageOf({ op: "jump" })).toBe('op is not "subscribe" or "unsubscribe"');
  expect(await messageOf({ op: "subscribe", channel: "depth", symbols: ["600000.SH"] })).toBe(
    'channel "depth" is not served; the only one is "quotes"',
  );
  expect(await messageOf(subscribe())).toBe("symbols is empty");
  expect(await messageOf(subscribe("600000.SH", "600009.SH", "no symbol"))).toBe(
    'symbols "600009.SH", "no symbol" are not known; subscribed to the other 1, 1 in all',
  );
  expect((await client.next()).data?.length).toBe(1);
  expect(await messageOf(subscribe("600001.SH", "600002.SH", "600003.SH"))).toBe(
    "4 symbols are more than the 3 of one connection",
  );
  expect(await messageOf(subscribe(...Array.from({ length: 20_001 }, (_, k) => `${k}.SH`)))).toBe(
    "symbols has more than 20000 entries",
  );
});

test("a wrong key is refused with the error body, and no key is logged", async () => {
  const { service, open, logged, ask } = await streaming();
  for (const path of ["/v1/ws/stream", "/v1/ws/stream?api_key=wrong-key", "/v1/ws/quotes?api_key="]) {
    const socket = new WebSocket(service.url.replace("http", "ws") + path);
    const [, response] = await once(socket, "unexpected-response");
    const body = await textOf(response as Readable);
    expect((response as { statusCode: number }).statusCode).toBe(401);
    expect(JSON.parse(body)).toEqual({
      code: "UNAUTHORIZED",
      message: "api_key or x-api-key is missing or not a known key",
    });
  }
  const client = await open();
  client.send(subscribe("600000.SH"));
  await client.next();
  client.socket.close();
  await client.closed;
  const { status } = await ask(`/v1/ws/stream?api_key=${KEY}`);
  expect(status).toBe(400);
  // A path that is no stream, a message against the protocol, and one that is no command.
  const elsewhere = new WebSocket(`${service.url.replace("http", "ws")}/v1/ws/depth?api_key=${KEY}`);
  const [, notFound] = await once(elsewhere, "unexpected-response");
  expect((notFound as { statusCode: number }).statusCode).toBe(404);
  const wrong = await open();
  wrong.send(`{"op":"${KEY}"}`);
  await wrong.next();
  wrong.socket.send("x".repeat(2_000_000));
  await wrong.closed;
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toContain('barlake_service_requests_total{endpoint="GET /v1/ws/stream",status="401"} 2');
  expect(metrics).toContain('barlake_service_requests_total{endpoint="GET /v1/ws/stream",status="101"} 2');
  expect(logged.join("\n")).toContain('"status":401');
  for (const text of [logged.join("\n"), metrics]) expect(text).not.toMatch(/test-key|wrong-key/);
});

test("a request that offers another protocol is an ordinary request", async () => {
  const { service } = await streaming();
  const body = JSON.stringify({ symbols: ["600000.SH"] });
  const socket = connect(service.port, "127.0.0.1");
  socket.write(
    `POST /v1/quotes HTTP/1.1\r\nHost: x\r\nx-api-key: ${KEY}\r\nConnection: Upgrade, HTTP2-Settings, close\r\n` +
      `Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const text = await textOf(socket);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*"symbol":"600000\.SH"/);
});

test("a message that is too large closes the connection", async () => {
  const { open } = await streaming();
  const large = await open();
  large.send("x".repeat(2 * 1024 * 1024));
  expect((await large.closed).code).toBe(1009);
});

test("many messages at once are answered one after the other", async () => {
  const { open } = await streaming();
  const client = await open();
  for (let k = 0; k < 500; k++) client.send({ op: "unsubscribe", channel: "quotes", symbols: ["600000.SH"] });
  for (let k = 0; k < 500; k++)
    expect(await client.next()).toEqual({ op: "subscribed", channel: "quotes", total: 0 });
});

test("a key has at most 20 connections", async () => {
  const { open, service } = await streaming();
  for (let k = 0; k < 20; k++) await open();
  const refused = new WebSocket(`${service.url.replace("http", "ws")}/v1/ws/stream?api_key=${KEY}`);
  const [, response] = await once(refused, "unexpected-response");
  expect((response as { statusCode: number }).statusCode).toBe(429);
});

test("a client that answers no ping is cut off, one that does is not", async () => {
  const { open, clock } = await streaming();
  const silent = await open();
  silent.socket.pause();
  const other = await open();
  const ponged = once(other.socket, "ping");
  for (let k = 0; k < 61; k++) {
    await clock.sleeper();
    clock.advance(1000);
    if (k !== 31) continue;
    await ponged;
    other.send(subscribe("600000.SH"));
    await other.next();
  }
  await clock.sleeper();
  silent.socket.resume();
  expect((await silent.closed).code).toBe(1006);
  expect(other.socket.readyState).toBe(WebSocket.OPEN);
});

test("connections are closed with the service", async () => {
  const { open, service } = await streaming();
  const client = await open();
  await service.close();
  expect(await client.closed).toEqual({ code: 1001, reason: "the service ends" });
});

test("a client that repeatedly offers another protocol costs its connection nothing", async () => {
  const { service } = await streaming();
  const socket = connect(service.port, "127.0.0.1");
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  for (let k = 0; k < 30; k++) {
    socket.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 OK/);
  }
  socket.destroy();
  expect(warnings).toEqual([]);
});

test("a refused client that does not end its connection is cut off", async () => {
  const { service } = await streaming();
  const socket = connect({ port: service.port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.write("GET /v1/ws/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 401/);
  // Nothing waits for the client, which has not ended its side.
  await service.close();
});

/** A count of requests that answers when the test says so. */
function heldQuota() {
  const waiting: (() => void)[] = [];
  const watchers: (() => void)[] = [];
  return {
    isHeld: true,
    take(): number | Promise<number> {
      if (!this.isHeld) return 0;
      return new Promise((resolve) => {
        waiting.push(() => resolve(0));
        for (const watcher of watchers.splice(0)) watcher();
      });
    },
    async until(count: number): Promise<void> {
      while (waiting.length < count) await new Promise<void>((resolve) => watchers.push(resolve));
    },
    release(): void {
      this.isHeld = false;
      for (const answer of waiting.splice(0)) answer();
    },
  };
}

test("of many handshakes at the same time no more are accepted than a key may have", async () => {
  const quota = heldQuota();
  const { service, open } = await streaming({ quota, maxRequestsPerMinute: 1000 });
  const opened = Promise.allSettled(Array.from({ length: 25 }, () => open()));
  await quota.until(25);
  quota.release();
  expect((await opened).filter(({ status }) => status === "fulfilled")).toHaveLength(20);
  await service.close();
});

test("a handshake that waits while the service closes, or whose client leaves, holds nothing up", async () => {
  const quota = heldQuota();
  const { service, open } = await streaming({ quota, maxRequestsPerMinute: 1000 });
  const refused = open().then(
    () => "opened",
    () => "refused",
  );
  const left = new WebSocket(`${service.url.replace("http", "ws")}/v1/ws/stream?api_key=${KEY}`);
  left.on("error", () => {});
  await quota.until(2);
  left.terminate();
  const closed = service.close();
  // The service does not take handshakes any more once it refuses connections.
  await new Promise((resolve) => setImmediate(resolve));
  quota.release();
  expect(await refused).toBe("refused");
  await closed;
});

test("a command whose count is waited for holds up no other connection", async () => {
  const quota = heldQuota();
  quota.isHeld = false;
  const { open } = await streaming({ quota, maxRequestsPerMinute: 1000 });
  const [slow, other] = [await open(), await open()];
  quota.isHeld = true;
  slow.send(subscribe("600000.SH"));
  await quota.until(1);
  quota.isHeld = false;
  other.send(subscribe("600001.SH"));
  expect(await other.next()).toMatchObject({ op: "subscribed", total: 1 });
  quota.release();
  expect(await slow.next()).toMatchObject({ op: "subscribed", total: 1 });
});

test("thousands of unknown symbols leave nothing behind", async () => {
  const { open } = await streaming();
  const client = await open();
  const symbols = Array.from({ length: 20_000 }, (_, k) => `${700_000 + k}.SZ`);
  for (let k = 0; k < 2; k++) {
    client.send(subscribe("600000.SH", ...symbols.slice(1)));
    expect((await client.next()).message).toMatch(
      /and 1994 more are not known; subscribed to the other 1, 1 in all; the last 18000 were not looked up after so many unknown ones$/,
    );
    expect((await client.next()).data?.length).toBe(1);
    client.send({ ...subscribe("600000.SH"), op: "unsubscribe" });
    expect((await client.next()).total).toBe(0);
  }
});

test("a key that is revoked loses its connections", async () => {
  let isRevoked = false;
  const callerOf = () => (isRevoked ? undefined : { name: "alice" });
  const { open, clock } = await streaming({ keys: { callerOf } });
  const client = await open();
  await clock.sleeper();
  isRevoked = true;
  clock.advance(1000);
  expect(await client.closed).toEqual({ code: 1008, reason: "the key is no longer valid" });
});

test.each<[string, Partial<Caller>, string]>([
  ["endpoints", { allow: new Set(["klines"]) }, "alice may not ask for quotes"],
  ["symbols of a connection", { maxSymbols: 1 }, "2 symbols are more than the 1 of one connection"],
])("a key that loses %s loses its connections", async (_what, narrowed, reason) => {
  let caller: Caller = { name: "alice", maxSymbols: 2 };
  const { open, clock } = await streaming({ keys: { callerOf: () => caller } });
  const client = await open();
  client.send(subscribe("600000.SH", "600001.SH"));
  await client.next();
  caller = { name: "alice", ...narrowed };
  await clock.sleeper();
  clock.advance(1000);
  expect(await client.closed).toEqual({ code: 1008, reason });
});

const universes = (lake: Lake, members: Readonly<Record<string, readonly string[]>>, now = NOW) => {
  const rows = Object.keys(members).map((id) => ({ id, name: id, category: "c", region: "CN" }));
  const pairs = Object.entries(members).flatMap(([id, symbols]) =>
    symbols.map((symbol) => ({ id, symbol, region: "CN" })),
  );
  return landReference(lake, UNIVERSES, rows, { now }).then(() =>
    landReference(lake, UNIVERSE_MEMBERS, pairs, { now, complete: "TRUE" }),
  );
};

test("a connection loses the symbols that its key loses, and those that its universes lose", async () => {
  let caller: Caller = { name: "alice", universes: new Set(["one", "two"]) };
  const { open, clock, lake } = await streaming({ keys: { callerOf: () => caller } }, async (filled) => {
    await fill(filled);
    await universes(filled, { one: ["600000.SH", "600002.SH"], two: ["600001.SH"] });
  });
  const client = await open();
  client.send(subscribe("600000.SH", "600001.SH", "600002.SH"));
  expect((await client.next()).total).toBe(3);
  expect((await client.next()).data?.length).toBe(2);
  const tick = async (): Promise<void> => {
    await clock.sleeper();
    clock.advance(1000);
  };
  caller = { name: "alice", universes: new Set(["one"]) };
  await landRows(lake, BARS_1D, [
    bar("600000.SH", 11, DAY + 24 * 3600_000),
    bar("600001.SH", 21, DAY + 24 * 3600_000),
  ]);
  await tick();
  expect(await client.next()).toEqual({
    op: "error",
    message: 'alice may no longer ask for symbols "600001.SH": unsubscribed from them, 2 in all',
  });
  expect((await client.next()).data?.map(({ symbol }) => symbol)).toEqual(["600000.SH"]);
  client.send(subscribe("600001.SH"));
  expect((await client.next()).message).toBe('alice may not ask for symbol "600001.SH"');
  await universes(lake, { one: ["600002.SH"], two: ["600001.SH"] }, NOW + 1000);
  await tick();
  expect((await client.next()).message).toBe(
    'alice may no longer ask for symbols "600000.SH": unsubscribed from them, 1 in all',
  );
});
