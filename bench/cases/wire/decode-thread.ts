import { parentPort } from "node:worker_threads";
import { decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import type { KlineColumns } from "../../../src/wire/kline-columns.js";

/** Messages to the decoding thread: the pieces of one body, then its end. */
export type DecodeMessage = Uint8Array | "end";

const port = parentPort;
if (port === null) throw new TypeError("this is the code of a thread");

let waiting: ((message: DecodeMessage) => void) | undefined;
const queue: DecodeMessage[] = [];
port.on("message", (message: DecodeMessage) => {
  if (waiting === undefined) queue.push(message);
  else waiting(message);
  waiting = undefined;
});

async function next(): Promise<DecodeMessage> {
  return queue.shift() ?? new Promise((resolve) => (waiting = resolve));
}

async function* body(): AsyncGenerator<Uint8Array> {
  for (let message = await next(); message !== "end"; message = await next()) yield message;
}

for (;;) {
  const { columns } = await decodeKlines(body(), { shape: "map" });
  port.postMessage(columns, buffersOf(columns));
}

/** The buffers of columns, to be transferred instead of copied. */
function buffersOf({ symbolIndex, timestamp, volume, doubles }: KlineColumns): ArrayBuffer[] {
  const arrays = [
    symbolIndex,
    timestamp,
    volume,
    ...Object.values(doubles).flatMap(({ values, validity }) => [values, ...(validity ? [validity] : [])]),
  ];
  return [...new Set(arrays.map((array) => array.buffer as ArrayBuffer))];
}
