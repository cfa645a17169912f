import { decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import { KlineBufferPool } from "../../../src/wire/decode/kline-buffers.js";
import { parseArrays } from "../../baselines/plain-json.js";
import { chunksOf, shortBody } from "../../body.js";
import type { Benchmark } from "../../measure/benchmark.js";
import { barChecks, columnChecks } from "../../measure/checksum.js";

/** Responses of one run: a single one takes milliseconds. */
const RESPONSES = 20;

/** Responses with one bar of each symbol: keys and the checks of each symbol, not numbers. */
export const decodeShort: Benchmark = {
  name: "decode-short",
  doc: "bytes of responses with a bar of each symbol -> columns in memory",
  async prepare(size) {
    const { bytes, columns } = shortBody(size);
    const pool = new KlineBufferPool();
    const expectation = { shape: "map", symbols: columns.symbols } as const;
    return {
      summary: `${RESPONSES} responses of ${columns.symbols.length} symbols with a bar each, ${(bytes.length / 1e6).toFixed(1)} MB of JSON`,
      work: { "responses/s": RESPONSES, "MB/s": (RESPONSES * bytes.length) / 1e6 },
      cases: [
        {
          name: "JSON.parse, typed arrays",
          async run(timed) {
            const { symbols, columns: read } = await timed(() => {
              for (let n = 1; n < RESPONSES; n++) parseArrays(bytes);
              return parseArrays(bytes);
            });
            return { checks: barChecks(symbols, read) };
          },
        },
        {
          name: "barlake, in chunks of 64 KiB",
          async run(timed) {
            using response = await timed(async () => {
              for (let n = 1; n < RESPONSES; n++)
                (await decodeKlines(chunksOf(bytes), expectation, pool))[Symbol.dispose]();
              return decodeKlines(chunksOf(bytes), expectation, pool);
            });
            return { checks: columnChecks(response.columns) };
          },
        },
      ],
    };
  },
};
