import { decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import { KlineBufferPool } from "../../../src/wire/decode/kline-buffers.js";
import { parseArrays } from "../../baselines/plain-json.js";
import { chunksOf, klineBody } from "../../body.js";
import type { Benchmark, Case, Outcome } from "../../measure/benchmark.js";
import { barChecks, columnChecks } from "../../measure/checksum.js";
import { collectGarbage } from "../../measure/garbage.js";

const FEW = 5;
const MANY = 50;

/** Responses one after the other: does the memory grow with their number? */
export const memory: Benchmark = {
  name: "memory",
  doc: "peak memory while responses are decoded one after the other; ratio of the peaks",
  async prepare(size) {
    const { bytes, columns } = klineBody(size);
    return {
      summary: `responses of ${columns.rows} bars, ${(bytes.length / 1e6).toFixed(1)} MB of JSON each; ratio: of the peaks`,
      work: {},
      cases: [streaming(bytes, FEW), streaming(bytes, MANY), parsing(bytes, FEW)],
    };
  },
};

function streaming(bytes: Uint8Array, responses: number): Case {
  const pool = new KlineBufferPool();
  return peakCase(`barlake: ${responses} responses`, responses, async (look, check) => {
    using response = await decodeKlines(lookedAt(chunksOf(bytes), look), { shape: "map" }, pool);
    return check(() => columnChecks(response.columns));
  });
}

function parsing(bytes: Uint8Array, responses: number): Case {
  return peakCase(`JSON.parse, typed arrays: ${responses} responses`, responses, async (_, check) => {
    const { symbols, columns } = parseArrays(bytes);
    return check(() => barChecks(symbols, columns));
  });
}

type Checks = Outcome["checks"];

/** Decodes the given number of responses; the figure is the peak resident set of the process. */
function peakCase(
  name: string,
  responses: number,
  decode: (look: () => void, check: (of: () => Checks) => Checks) => Promise<Checks>,
): Case {
  return {
    name,
    async run(timed) {
      collectGarbage();
      let peak = 0;
      const look = (): void => {
        peak = Math.max(peak, process.memoryUsage.rss());
      };
      const later = (): Checks => ({});
      await timed(async () => {
        for (let response = 1; response < responses; response++) {
          await decode(look, later);
          look();
        }
      });
      const checks = await decode(look, (of) => of());
      return { checks, figures: { "peak MB": peak / 1e6 } };
    },
  };
}

/** Samples the memory at each piece. */
function* lookedAt(chunks: Iterable<Uint8Array>, look: () => void): Generator<Uint8Array> {
  for (const chunk of chunks) {
    look();
    yield chunk;
  }
}
