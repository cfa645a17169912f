import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { openLake } from "../../../src/api/lake/open-lake.js";
import { MemoryPool } from "../../../src/core/memory-pool.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { fixtureLake } from "../../lake/fixture-lake.js";
import { temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";
import { KEY, type LandedBar, landRows, serve } from "../served-lake.js";

const DAY_MS = 86_400_000;
const FIRST = Date.parse("2025-01-01T16:00:00Z");
const DAYS = 300;
const SYMBOLS = Array.from({ length: 60 }, (_, k) => `${600_510 + k}.SH`);

function bars(): LandedBar[] {
  return SYMBOLS.flatMap((symbol, k) =>
    Array.from({ length: DAYS }, (_, day) => {
      const open = 10 + k + day / 100;
      const prices = { open, high: open + 1, low: open - 1, close: open + 0.5 };
      return {
        symbol,
        timestamp: FIRST + day * DAY_MS,
        ...prices,
        volume: k * 1000 + day,
        amount: 100 + day,
      };
    }),
  );
}

/** A window of the past, of some symbols. */
const pathOf = (n: number, symbols: readonly string[], days: number): string =>
  `/v1/klines/batch?symbols=${symbols.join()}&period=1d&adjust=none&count=10000&start_time=${FIRST + n * DAY_MS}&end_time=${FIRST + (days + n) * DAY_MS}`;

/** Windows of other days each, with bodies of some 30 KB or more. */
const SHORT = Array.from({ length: 24 }, (_, n) => pathOf(n, SYMBOLS.slice(n % 3, 4 + (n % 3)), 250));
/** Responses of more bars than are sent in one piece. */
const LONG = Array.from({ length: 3 }, (_, n) => pathOf(n, SYMBOLS, 290));
const ACCEPT = ["application/json", "application/vnd.apache.arrow.stream"];
const ENCODINGS = ["identity", "gzip"];

/** Sends requests one after the other without waiting, and reads slowly. @param most bytes that are read, then it goes. */
function pipelined(
  port: number,
  asked: readonly string[],
  most = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    onTestFinished(() => void socket.destroy());
    for (const path of asked) socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${KEY}\r\n\r\n`);
    let text = "";
    const bodies: string[] = [];
    socket.on("error", reject).on("data", (piece) => {
      text += piece.toString("latin1");
      socket.pause();
      void wait(1).then(() => socket.resume());
      for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
        const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1]);
        if (text.length < end + 4 + length) break;
        bodies.push(text.slice(end + 4, end + 4 + length));
        text = text.slice(end + 4 + length);
      }
      if (bodies.length < asked.length && socket.bytesRead < most) return;
      socket.destroy();
      resolve(bodies);
    });
  });
}

/** A service over segments of the bars. @param hasSegments otherwise it reads the data files. */
async function serveBars(hasSegments: boolean) {
  const lake = await fixtureLake(
    temporaryLake().location,
    { filledBy: import.meta.url, name: "bars" },
    (empty) => landRows(empty, BARS_1D, bars()),
  );
  const folder = temporaryFolder();
  await using reader = openLake(lake.location, { segments: { folder } });
  await reader.buildSegments(["bars_1d"]);
  const { service, ask } = await serve(lake, { segments: hasSegments && { folder } });
  onTestFinished(() => service.close());
  return { service, ask };
}

test("a body is whole however slowly it is read, in a pipeline, and where other clients go in the middle of theirs", async () => {
  const { service, ask } = await serveBars(true);
  const expected = new Map<string, unknown>();
  for (const path of SHORT) expected.set(path, (await ask(path)).body);
  const clients = Array.from({ length: 10 }, (_, k) => {
    const asked = SHORT.map((_path, n) => SHORT[(n * 7 + k) % SHORT.length] as string);
    return { asked, bodies: pipelined(service.port, asked, k % 3 === 2 ? 100_000 : undefined) };
  });
  for (const { asked, bodies } of clients)
    for (const [n, body] of (await bodies).entries())
      expect(JSON.parse(body)).toEqual(expected.get(asked[n] as string));
});

test.each([true, false])(
  "responses of both formats, compressed or not, in one piece or many, do not mix (segments: %s)",
  async (hasSegments) => {
    const { service } = await serveBars(hasSegments);
    const read = async (path: string, accept: string, encoding: string): Promise<Buffer> => {
      const headers = { "x-api-key": KEY, accept, "accept-encoding": encoding };
      const response = await fetch(service.url + path, { headers });
      expect([response.status, response.headers.get("content-type")?.split(";")[0]]).toEqual([200, accept]);
      return Buffer.from(await response.arrayBuffer());
    };
    const all = [...SHORT.slice(0, 8), ...LONG].flatMap((path) => ACCEPT.map((accept) => ({ path, accept })));
    const expected = new Map<string, Buffer>();
    for (const { path, accept } of all) expected.set(path + accept, await read(path, accept, "identity"));
    await Promise.all(
      Array.from({ length: 6 }, async (_, k) => {
        for (let n = 0; n < all.length; n++) {
          // Some ask for the same at the same time.
          const { path, accept } = all[(n * 5 + (k >> 1)) % all.length] as (typeof all)[number];
          const body = await read(path, accept, ENCODINGS[(n + k) % 2] as string);
          expect(body.equals(expected.get(path + accept) as Buffer), path).toBe(true);
        }
      }),
    );
  },
);

test("blocks of a long response have memory of their own, which is free after each block", async () => {
  const { ask } = await serveBars(true);
  const takes = vi.spyOn(MemoryPool.prototype, "take");
  onTestFinished(() => takes.mockRestore());
  const taken = async (symbols: readonly string[]): Promise<number> => {
    takes.mockClear();
    expect((await ask(pathOf(0, symbols, 290))).status).toBe(200);
    return takes.mock.calls.length;
  };
  expect(await taken(SYMBOLS)).toBeGreaterThan(0);
  // With ten thousand bars each, these are more than are read at a time.
  expect(await taken([...SYMBOLS, ...Array.from({ length: 60 }, (_, k) => `${k + 1}.US`)])).toBe(0);
});
