import { encodeKlines } from "../../../src/wire/encode/encode-klines.js";
import { DOUBLE_COLUMNS, type KlineColumns, type NumberColumn } from "../../../src/wire/kline-columns.js";
import { klineBody } from "../../body.js";
import type { Benchmark } from "../../measure/benchmark.js";
import { arraysAtHand, bytesCase, piecesCase } from "./encode.js";

/** As `encode`, with prices that were multiplied by a factor: three of ten then have 16 or 17 digits, between others with few. */
export const encodeLong: Benchmark = {
  name: "encode-long",
  doc: "adjusted prices, three of ten with 16 or 17 digits, in memory -> bytes of one K-line response",
  async prepare(size) {
    const columns = adjusted(klineBody(size).columns);
    const { length } = encodeKlines(columns, "map");
    return {
      summary: `${columns.symbols.length} symbols, ${columns.rows} bars, ${(length / 1e6).toFixed(1)} MB of JSON`,
      work: { "bars/s": columns.rows, "MB/s": length / 1e6 },
      cases: [
        arraysAtHand(columns),
        bytesCase("barlake", () => encodeKlines(columns, "map")),
        piecesCase(columns),
      ],
    };
  },
};

function adjusted(columns: KlineColumns): KlineColumns {
  const doubles = DOUBLE_COLUMNS.map((name): [string, NumberColumn] => {
    const { values, validity } = columns.doubles[name];
    return [name, { values: values.map((value) => value * 0.9731), validity }];
  });
  return { ...columns, doubles: Object.fromEntries(doubles) as KlineColumns["doubles"] };
}
