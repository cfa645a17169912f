import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Float64, Int64, TimestampMillisecond, Utf8, type Vector, vectorFromArray } from "apache-arrow";
import { literal } from "../../../src/db/quote.js";
import { Session } from "../../../src/db/session/session.js";
import { decodeKlines } from "../../../src/wire/decode/decode-klines.js";
import { KlineBufferPool } from "../../../src/wire/decode/kline-buffers.js";
import { barRows } from "../../baselines/plain-duckdb.js";
import { parseArrays, parseBody } from "../../baselines/plain-json.js";
import { chunksOf, klineBody } from "../../body.js";
import type { Benchmark, Case } from "../../measure/benchmark.js";
import { barChecks, columnChecks, sqlChecks } from "../../measure/checksum.js";
import { temporaryFolder } from "../../measure/temporary-folder.js";

const NAMES = ["open", "high", "low", "close", "volume", "amount"] as const;

/** One K-line response, from its bytes to columns. */
export const decode: Benchmark = {
  name: "decode",
  doc: "bytes of one K-line response -> columns in memory",
  async prepare(size) {
    const { bytes, columns } = klineBody(size);
    const folder = temporaryFolder();
    const file = join(folder.path, "body.json");
    writeFileSync(file, bytes);
    const session = await Session.open();
    return {
      summary: `${columns.symbols.length} symbols, ${columns.rows} bars, ${(bytes.length / 1e6).toFixed(1)} MB of JSON`,
      work: { "bars/s": columns.rows, "MB/s": bytes.length / 1e6 },
      cases: [
        typedArrays(bytes),
        arrowVectors(bytes),
        readJson(session, file),
        streaming(bytes, columns.symbols),
      ],
      async close() {
        session.close();
        folder[Symbol.dispose]();
      },
    };
  },
};

function streaming(bytes: Uint8Array, symbols: readonly string[]): Case {
  const pool = new KlineBufferPool();
  return {
    name: "barlake, in chunks of 64 KiB",
    async run(timed) {
      using response = await timed(() => decodeKlines(chunksOf(bytes), { shape: "map", symbols }, pool));
      return { checks: columnChecks(response.columns) };
    },
  };
}

/** All columns as doubles: the quickest way with JSON.parse. */
function typedArrays(bytes: Uint8Array): Case {
  return {
    name: "JSON.parse, typed arrays",
    async run(timed) {
      const { symbols, columns } = await timed(() => parseArrays(bytes));
      return { checks: barChecks(symbols, columns) };
    },
  };
}

function arrowVectors(bytes: Uint8Array): Case {
  return {
    name: "JSON.parse, row objects, apache-arrow vectors",
    async run(timed) {
      const { symbol, timestamp, volume, doubles } = await timed(() => {
        const rows = barRows(parseBody(bytes));
        const doublesOf = (name: "open" | "high" | "low" | "close" | "amount"): Vector<Float64> =>
          vectorFromArray(
            rows.map((row) => row[name]),
            new Float64(),
          );
        return {
          symbol: vectorFromArray(
            rows.map((row) => row.symbol),
            new Utf8(),
          ),
          timestamp: vectorFromArray(
            rows.map((row) => row.timestamp),
            new TimestampMillisecond(),
          ),
          volume: vectorFromArray(
            rows.map((row) => BigInt(row.volume)),
            new Int64(),
          ),
          doubles: {
            open: doublesOf("open"),
            high: doublesOf("high"),
            low: doublesOf("low"),
            close: doublesOf("close"),
            amount: doublesOf("amount"),
          },
        };
      });
      const { open, high, low, close, amount } = doubles;
      const checks = barChecks(new Set(symbol).size, {
        timestamp: timestamp.toArray(),
        volume: volume.toArray(),
        open: open.toArray(),
        high: high.toArray(),
        low: low.toArray(),
        close: close.toArray(),
        amount: amount.toArray(),
      });
      return { checks };
    },
  };
}

/** DuckDB reads the whole body from a file in the page cache, and returns a table. */
function readJson(session: Session, file: string): Case {
  const members = [
    "timestamp BIGINT[]",
    ...NAMES.map((name) => `${name} ${name === "volume" ? "BIGINT" : "DOUBLE"}[]`),
  ];
  const lists = NAMES.map((name) => `unnest(bars.${name}) AS ${name}`).join(", ");
  return {
    name: "DuckDB read_json",
    async run(timed) {
      await timed(() =>
        session.run(
          `CREATE OR REPLACE TEMP TABLE decoded AS
           SELECT symbol, make_timestamp(unnest(bars.timestamp) * 1000) AS timestamp, ${lists}
           FROM (SELECT entry.key AS symbol, entry.value AS bars
             FROM (SELECT unnest(map_entries(data)) AS entry
               FROM read_json(${literal(file)}, format = 'unstructured', maximum_object_size = 1073741824,
                 columns = {data: 'MAP(VARCHAR, STRUCT(${members.join(", ")}))'})))`,
        ),
      );
      return { checks: await sqlChecks(session, "decoded") };
    },
  };
}
