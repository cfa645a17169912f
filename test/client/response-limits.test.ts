import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { bounded, RESPONSE_LIMITS, timely } from "../../src/client/response-limits.js";
import { ServiceClient, type ServiceClientOptions } from "../../src/client/service-client.js";
import { TransportError, WireError } from "../../src/core/errors.js";
import { ENDPOINTS } from "../../src/wire/endpoints.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { json, type Script, startScripted } from "../faults/service/scripted-service.js";

/** A body of so many pieces, each of which takes its time on the clock. */
async function* slowly(clock: ReturnType<typeof virtualClock>, pieces: number, bytes: number, ms: number) {
  for (let i = 0; i < pieces; i++) {
    clock.advance(ms);
    yield new Uint8Array(bytes);
  }
}

async function sizeOf(body: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const piece of body) bytes += piece.length;
  return bytes;
}

test.each([
  ["a slow line", 1200, 1200, 1000],
  ["a line that pauses for half a minute again and again", 40, 64_000, 30_000],
  ["a small response that takes its time", 50, 1, 1000],
  ["one of a hundred megabytes", 1600, 65_536, 100],
])("%s is waited for", async (_, pieces, bytes, ms) => {
  const clock = virtualClock(0);
  expect(await sizeOf(timely(slowly(clock, pieces, bytes, ms), RESPONSE_LIMITS, clock))).toBe(pieces * bytes);
});

test("a byte a second is given up after a minute, at any point at which it begins", async () => {
  const clock = virtualClock(0);
  const late = async function* () {
    yield* slowly(clock, 600, 10_000, 100);
    yield* slowly(clock, 1e6, 1, 1000);
  };
  await expect(sizeOf(timely(late(), RESPONSE_LIMITS, clock))).rejects.toThrow(
    /came at 60 s for 60 bytes, \d+ bytes so far; the minimum is 1024 bytes a second/,
  );
  expect(clock.now()).toBeLessThanOrEqual(121_000);
});

test("a body that never ends is given up after half an hour, or at its largest size", async () => {
  const clock = virtualClock(0);
  const endless = slowly(clock, Number.POSITIVE_INFINITY, 2048, 1000);
  await expect(sizeOf(timely(endless, RESPONSE_LIMITS, clock))).rejects.toThrow(TransportError);
  expect(clock.now()).toBe(30 * 60_000 + 1000);
  const limits = { ...RESPONSE_LIMITS, maxBodyBytes: 100_000 };
  const fast = slowly(clock, Number.POSITIVE_INFINITY, 1000, 0);
  const error: unknown = await sizeOf(bounded(fast, limits)).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(WireError);
  expect(error).toMatchObject({ kind: "limit", message: expect.stringMatching(/larger than 100000 bytes/) });
});

test("the time that the reader takes is not the service's", async () => {
  const clock = virtualClock(0);
  let pieces = 0;
  for await (const _ of timely(slowly(clock, 100, 10, 10), RESPONSE_LIMITS, clock)) {
    pieces++;
    clock.advance(60_000);
  }
  expect(pieces).toBe(100);
});

/** A service whose first response is scripted, and whose others are good. */
async function setUp(
  scriptOf: (clock: ReturnType<typeof virtualClock>) => Script,
  options: Partial<ServiceClientOptions> = {},
) {
  const clock = virtualClock(0);
  const first = scriptOf(clock);
  const service = await startScripted((seen, response, index) =>
    index === 0 ? first(seen, response, index) : json(response, 200, { data: [] }),
  );
  const client = new ServiceClient({ baseUrl: service.url, apiKey: "key", clock, backoffMs: 1, ...options });
  onTestFinished(() => client.close());
  const ask = () => client.ask({ endpoint: ENDPOINTS.exchanges }, sizeOf);
  return { service, ask };
}

/** Writes pieces until the connection is closed; each takes its time on the clock. */
function drip(clock: ReturnType<typeof virtualClock>, ms: number, piece: Uint8Array): Script {
  return (_, response) => {
    const next = (): void => {
      if (response.destroyed) return;
      clock.advance(ms);
      response.write(piece, () => setImmediate(next));
    };
    next();
  };
}

test.each([
  ["a byte a second", 1000, 1],
  ["an array that never ends", 10_000, 65_536],
])("over HTTP %s is a fault of the way: it is requested again", async (_, ms, bytes) => {
  const { ask, service } = await setUp((clock) => drip(clock, ms, new Uint8Array(bytes).fill(0x20)));
  const { attempts, value } = await ask();
  expect([attempts, value]).toEqual([2, 11]);
  expect(service.seen).toHaveLength(2);
});

test("the body of an error is waited for as long, and its status is what counts", async () => {
  const { ask } = await setUp((clock) => (seen, response, index) => {
    response.writeHead(503, { "content-type": "application/json" });
    drip(clock, 1000, new Uint8Array(1).fill(0x20))(seen, response, index);
  });
  expect((await ask()).attempts).toBe(2);
});

test("what is small as it is sent and large unpacked is not taken, and not requested again", async () => {
  const bomb = gzipSync(Buffer.alloc(10_000_000, 0x20));
  const { ask, service } = await setUp(
    () => (_, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(bomb),
    { limits: { maxBodyBytes: 1_000_000 } },
  );
  await expect(ask()).rejects.toThrow(/GET \/v1\/exchanges: response is larger than 1000000 bytes/);
  expect(service.seen).toHaveLength(1);
});

test.each([
  ["a header of a response that never ends", "HTTP/1.1 200 OK\r\nx-a: ", "a".repeat(64)],
  ["a head that only interim responses come before", "", "HTTP/1.1 103 Early Hints\r\n\r\n"],
])("%s is given up", async (_, head, piece) => {
  let requests = 0;
  const answer = (socket: Socket): void => {
    const next = (): void => void (socket.destroyed || socket.write(piece, () => setImmediate(next)));
    socket
      .on("error", () => {})
      .once("data", () => {
        requests += 1;
        socket.write(head, next);
      });
  };
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // Its size ends the response, without a bound of the machine's time.
  const client = new ServiceClient({
    baseUrl,
    apiKey: "key",
    clock: virtualClock(0),
    retries: 1,
    timeoutMs: 0,
  });
  onTestFinished(async () => {
    await client.close();
    server.close();
  });
  await expect(client.ask({ endpoint: ENDPOINTS.exchanges }, sizeOf)).rejects.toThrow(TransportError);
  expect(requests).toBe(2);
});
