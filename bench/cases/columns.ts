import { spawnSync } from "node:child_process";
import { tableFromIPC } from "apache-arrow";
import { request } from "undici";
import { decodeKlines } from "../../src/wire/decode/decode-klines.js";
import { API_KEY_HEADER } from "../../src/wire/endpoints.js";
import { ARROW_STREAM } from "../../src/wire/media-type.js";
import { type Command, pandasCommand, startWaiting } from "../baselines/waiting-program.js";
import type { Benchmark, Case } from "../measure/benchmark.js";
import { API_KEY, type MinuteService, startMinuteService } from "../serving/minute-service.js";
import { startReadyResponses } from "../serving/ready-responses.js";

/** Requests of a run: the first one fills the cache, and the others are timed. */
const TIMED_REQUESTS = 4;

/** The same minutes as JSON and as an Arrow stream: what the service sends, and how soon a Python client has a frame. */
export const columns: Benchmark = {
  name: "columns",
  doc: "minutes over loopback as JSON and as an Arrow stream; and from a request to a polars frame",
  shared: true,
  async prepare(size) {
    const [symbols, count] = size === "full" ? [100, 5000] : [5, 300];
    const service = await startMinuteService({ symbols, months: 1 });
    const path = `/v1/klines/batch?symbols=${service.symbols.join(",")}&period=1m&count=${count}&adjust=none`;
    const json = served("barlake: JSON", service.url, "application/json", path);
    const headers = { [API_KEY_HEADER]: API_KEY, accept: ARROW_STREAM };
    const plain = await startReadyResponses({ url: service.url, paths: [path], headers });
    return {
      summary: `${symbols} symbols x ${count} minutes, one client; the client shares the cores`,
      work: { "bars/s": symbols * count * TIMED_REQUESTS },
      cases: [
        json,
        served("barlake: Arrow stream", service.url, ARROW_STREAM, path),
        served("plain server: the bytes of that stream from memory", plain.url, ARROW_STREAM, path),
        ...frames(service, count),
      ],
      async close() {
        plain.close();
        service.close();
      },
    };
  },
};

function served(name: string, url: string, accept: string, path: string): Case {
  const ask = async (read: (body: AsyncIterable<Uint8Array>) => Promise<void>): Promise<void> => {
    const headers = { [API_KEY_HEADER]: API_KEY, accept };
    const { statusCode, body } = await request(url + path, { headers });
    if (statusCode !== 200) throw new Error(`${path.slice(0, 80)} was answered ${statusCode}`);
    await read(body);
  };
  let bytes = 0;
  return {
    name,
    baseline: "barlake: JSON",
    async run(timed) {
      const pieces: Uint8Array[] = [];
      await ask(async (body) => {
        for await (const piece of body) pieces.push(piece);
      });
      const checks = await sums(pieces, accept);
      await timed(async () => {
        for (let n = 0; n < TIMED_REQUESTS; n++) {
          bytes = 0;
          await ask(async (body) => {
            for await (const piece of body) bytes += piece.length;
          });
        }
      });
      return { checks, figures: { MB: bytes / 1e6 } };
    },
  };
}

async function sums(pieces: readonly Uint8Array[], accept: string): Promise<Record<string, number>> {
  if (accept !== ARROW_STREAM) {
    const { columns: read } = await decodeKlines(pieces, { shape: "map" });
    return { bars: read.rows, volume: sum(read.volume) };
  }
  const table = tableFromIPC(Buffer.concat(pieces));
  return { bars: table.numRows, volume: sum(table.getChild("volume")?.toArray() as BigInt64Array) };
}

function sum(values: BigInt64Array): number {
  return Number(values.reduce((total, value) => total + value, 0n));
}

const SDK = "Python: the public client, its lists to a polars frame";

/** Python's way from a request to a frame, where the packages are installed. */
function frames(service: MinuteService, count: number): Case[] {
  const command = pandasCommand("polars_frame.py");
  if (command === undefined || !has(command, "polars, tickflow")) return [];
  return [
    frame([...command, "sdk"], service, count, SDK),
    frame(
      [...command, "sdk-frames"],
      service,
      count,
      "Python: the public client, its frames to a polars frame",
    ),
    frame([...command, "arrow"], service, count, "Python: Arrow stream to a polars frame"),
    frame([...command, "package"], service, count, "Python: barlake's package, to a polars frame"),
    frame(
      [...command, "arrow-httpx"],
      service,
      count,
      "Python: Arrow stream, read by httpx, to a polars frame",
    ),
  ];
}

function has([program]: Command, modules: string): boolean {
  return spawnSync(program, ["-c", `import ${modules}`]).status === 0;
}

function frame(command: Command, service: MinuteService, count: number, name: string): Case {
  return {
    name,
    baseline: SDK,
    async run(timed) {
      const order = {
        url: service.url,
        key: API_KEY,
        symbols: service.symbols,
        count,
        times: TIMED_REQUESTS,
      };
      const program = await startWaiting(command, order);
      const volume = await timed(() => program.run());
      return { checks: { bars: service.symbols.length * count, volume } };
    },
  };
}
