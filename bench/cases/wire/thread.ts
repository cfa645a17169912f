import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import { KlineBufferPool } from "../../../src/wire/decode/kline-buffers.js";
import type { KlineColumns } from "../../../src/wire/kline-columns.js";
import { chunksOf, klineBody } from "../../body.js";
import type { Benchmark, Case } from "../../measure/benchmark.js";
import { columnChecks } from "../../measure/checksum.js";
import type { DecodeMessage } from "./decode-thread.js";

/** Is it worth decoding in a separate thread? */
export const thread: Benchmark = {
  name: "thread",
  doc: "decode on the main thread, and in a separate thread",
  async prepare(size) {
    const { bytes, columns } = klineBody(size);
    const worker = startThread(new URL("./decode-thread.ts", import.meta.url));
    return {
      summary: `${columns.symbols.length} symbols, ${columns.rows} bars, ${(bytes.length / 1e6).toFixed(1)} MB of JSON`,
      work: { "bars/s": columns.rows },
      cases: [onMainThread(bytes), inThread(bytes, worker)],
      async close() {
        await worker.terminate();
      },
    };
  },
};

/** A thread does not inherit the loader that the main thread was started with. */
function startThread(module: URL): Worker {
  const code = `import("tsx/esm/api").then(({ register }) => { register(); return import("${module.href}"); })`;
  return new Worker(code, { eval: true });
}

function onMainThread(bytes: Uint8Array): Case {
  const pool = new KlineBufferPool();
  return busyCase("main thread", async () => {
    using response = await decodeKlines(chunksOf(bytes), { shape: "map" }, pool);
    return response.columns;
  });
}

/** Pieces are copied, because a socket's buffer belongs to the socket; columns are transferred. */
function inThread(bytes: Uint8Array, worker: Worker): Case {
  return busyCase("a separate thread: pieces copied, columns handed over", async () => {
    const decoded = once(worker, "message") as Promise<[KlineColumns]>;
    for (const chunk of chunksOf(bytes)) {
      const piece = chunk.slice();
      worker.postMessage(piece satisfies DecodeMessage, [piece.buffer]);
    }
    worker.postMessage("end" satisfies DecodeMessage, []);
    const [columns] = await decoded;
    return columns;
  });
}

/** The figure is the time for which the main thread was blocked. */
function busyCase(name: string, decode: () => Promise<KlineColumns>): Case {
  return {
    name,
    async run(timed) {
      const before = performance.eventLoopUtilization();
      const columns = await timed(decode);
      const { active } = performance.eventLoopUtilization(before);
      return { checks: columnChecks(columns), figures: { "main thread ms": active } };
    },
  };
}
