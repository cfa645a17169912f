import { getHeapStatistics } from "node:v8";
import { decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import { KlineBufferPool } from "../../../src/wire/decode/kline-buffers.js";
import { encodeKlines } from "../../../src/wire/encode/encode-klines.js";
import { columnsOf } from "../any-kline-columns.js";

/*
 * Prints how many bytes of JavaScript objects the decoding of a response allocates, as JSON, for each number of bars that
 * its parameters have: the least of several readings, as a reading in which the engine compiles something has that too. It runs in a separate process, with one
 * thread, a young generation so large that nothing is collected between two readings, and --expose-gc.
 */

const SYMBOLS = 10;
const CHUNK_BYTES = 65_536;
/** Bars after which the engine has compiled what decodes them: counted, as their time is the machine's. */
const WARM_UP_BARS = 1_000_000;
const READINGS = 3;
const pool = new KlineBufferPool();
const found: object[] = [];
for (const bars of process.argv.slice(2).map(Number)) found.push(await probe(bars));
console.log(JSON.stringify(found));

async function probe(barsPerSymbol: number): Promise<object> {
  const body = makeBody(barsPerSymbol);
  for (let bars = 0; bars < WARM_UP_BARS; bars += SYMBOLS * barsPerSymbol) await decodeOnce(body);
  let [rows, allocated] = [0, Number.POSITIVE_INFINITY];
  for (let reading = 0; reading < READINGS; reading++) {
    globalThis.gc?.();
    const before = getHeapStatistics().used_heap_size;
    rows = await decodeOnce(body);
    allocated = Math.min(allocated, getHeapStatistics().used_heap_size - before);
  }
  return { rows, chunks: Math.ceil(body.length / CHUNK_BYTES), allocated };
}

async function decodeOnce(body: Uint8Array): Promise<number> {
  using response = await decodeKlines(chunksOf(body), { shape: "map" }, pool);
  return response.columns.rows;
}

function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

function makeBody(barsPerSymbol: number): Uint8Array {
  const bars = Object.fromEntries(
    Array.from({ length: SYMBOLS }, (_, symbol) => [
      `${600_000 + symbol}.SH`,
      Array.from({ length: barsPerSymbol }, (_row, k) => ({
        timestamp: 1_700_000_000_000 + k * 60_000,
        open: 10 + (k % 977) / 100,
        high: 20 + (k % 977) / 100,
        low: 5 + (k % 977) / 100,
        close: 11 + (k % 977) / 100,
        volume: BigInt(k * 100),
        amount: k * 1234.5,
        prev_close: k % 3 === 0 ? undefined : 10.5 + (k % 7) / 3,
      })),
    ]),
  );
  return encodeKlines(columnsOf(bars), "map");
}
