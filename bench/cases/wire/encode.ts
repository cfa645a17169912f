import { crc32 } from "node:zlib";
import { encodeKlines, klinePieces, runsOfColumns } from "../../../src/wire/encode/encode-klines.js";
import type { KlineColumns } from "../../../src/wire/kline-columns.js";
import type { BarArrays } from "../../baselines/plain-duckdb.js";
import { klineBody } from "../../body.js";
import type { Benchmark, Case } from "../../measure/benchmark.js";

/** One K-line response, from columns to its bytes. */
export const encode: Benchmark = {
  name: "encode",
  doc: "columns in memory -> bytes of one K-line response",
  async prepare(size) {
    const { columns, bytes } = klineBody(size);
    return {
      summary: `${columns.symbols.length} symbols, ${columns.rows} bars, ${(bytes.length / 1e6).toFixed(1)} MB of JSON`,
      work: { "bars/s": columns.rows, "MB/s": bytes.length / 1e6 },
      cases: [
        bytesCase("JSON.stringify of the columns", () => stringify(bodyOf(columns))),
        arraysAtHand(columns),
        bytesCase("barlake", () => encodeKlines(columns, "map")),
        piecesCase(columns),
      ],
    };
  },
};

/** Both write the shortest decimals that read back to the same doubles: without the fraction of whole ones, the bytes must be equal. */
export function bytesCase(name: string, write: () => Uint8Array): Case {
  return {
    name,
    async run(timed) {
      return { checks: checksOf(await timed(write)) };
    },
  };
}

/** The body as the service sends it: piece by piece, each of which is dropped once the socket has it. */
export function piecesCase(columns: KlineColumns): Case {
  return {
    name: "barlake, in pieces, as the service sends it",
    async run(timed) {
      await timed(async () => {
        for await (const _ of klinePieces([runsOfColumns(columns)], "map"));
      });
      const pieces: Uint8Array[] = [];
      for await (const piece of klinePieces([runsOfColumns(columns)], "map")) pieces.push(piece);
      return { checks: checksOf(Buffer.concat(pieces)) };
    },
  };
}

function checksOf(bytes: Uint8Array): Record<string, number> {
  const plain = withoutZeroFractions(bytes);
  return { bytes: plain.length, crc32: crc32(plain) };
}

/** The text with `13` for `13.0`. It makes no objects, whose collection would fall into a later run. */
function withoutZeroFractions(bytes: Uint8Array): Uint8Array {
  const plain = new Uint8Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const isFraction = bytes[at] === 0x2e && bytes[at + 1] === 0x30 && !isDigit(bytes[at + 2] as number);
    if (isFraction) at += 1;
    else plain[length++] = bytes[at] as number;
  }
  return plain.subarray(0, length);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

export function arraysAtHand(columns: KlineColumns): Case {
  const body = bodyOf(columns);
  return bytesCase("JSON.stringify alone, from arrays at hand", () => stringify(body));
}

function stringify(body: object): Uint8Array {
  return Buffer.from(JSON.stringify(body));
}

/** The columns as arrays for JSON.stringify. */
function bodyOf({ symbols, symbolIndex, timestamp, volume, doubles }: KlineColumns): object {
  const data: Record<string, BarArrays> = {};
  for (const [index, symbol] of symbols.entries()) {
    const [start, end] = [symbolIndex.indexOf(index), symbolIndex.lastIndexOf(index) + 1];
    const part = (name: "open" | "high" | "low" | "close" | "amount"): number[] =>
      Array.from(doubles[name].values.subarray(start, end));
    data[symbol] = {
      timestamp: Array.from(timestamp.subarray(start, end), Number),
      open: part("open"),
      high: part("high"),
      low: part("low"),
      close: part("close"),
      volume: Array.from(volume.subarray(start, end), Number),
      amount: part("amount"),
    };
  }
  return { data };
}
