import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { openLake } from "../../../src/api/lake/open-lake.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { KEY, type LandedBar, landRows, newLake, serve } from "../served-lake.js";

const DAY_MS = 86_400_000;
const FIRST = Date.parse("2025-01-01T16:00:00Z");
const DAYS = 300;
const SYMBOLS = Array.from({ length: 6 }, (_, k) => `60051${k}.SH`);

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

/** Windows of the past, each of other days, with bodies of some 30 KB or more. */
function paths(): string[] {
  return Array.from({ length: 24 }, (_, n) => {
    const symbols = SYMBOLS.slice(n % 3, 4 + (n % 3)).join();
    const window = `start_time=${FIRST + n * DAY_MS}&end_time=${FIRST + (250 + n) * DAY_MS}`;
    return `/v1/klines/batch?symbols=${symbols}&period=1d&adjust=none&${window}`;
  });
}

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

test("the memory of bars and bodies is used for others only when the client has got them: slow clients, pipelines, and clients that go", async () => {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  await landRows(lake, BARS_1D, bars());
  const folder = temporaryFolder();
  await using reader = openLake(lake.location, { segments: { folder } });
  await reader.buildSegments(["bars_1d"]);
  const { service, ask } = await serve(lake, { segments: { folder } });
  onTestFinished(() => service.close());
  const all = paths();
  const expected = new Map<string, unknown>();
  for (const path of all) expected.set(path, (await ask(path)).body);
  const clients = Array.from({ length: 10 }, (_, k) => {
    const asked = all.map((_path, n) => all[(n * 7 + k) % all.length] as string);
    // Every third one goes in the middle of a body.
    return { asked, bodies: pipelined(service.port, asked, k % 3 === 2 ? 100_000 : undefined) };
  });
  for (const { asked, bodies } of clients)
    for (const [n, body] of (await bodies).entries())
      expect(JSON.parse(body)).toEqual(expected.get(asked[n] as string));
});
