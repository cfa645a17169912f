import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { literal } from "../../../src/db/quote.js";
import { Session } from "../../../src/db/session/session.js";
import { parquetRelation } from "../../../src/db/views/parquet-relation.js";
import { runImport } from "../../../src/jobs/import/run-import.js";
import { Lake } from "../../../src/lake/lake.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import type { Benchmark, Case } from "../../measure/benchmark.js";
import { watchingMemory } from "../../measure/peak-memory.js";
import { temporaryFolder } from "../../measure/temporary-folder.js";

const CLOCK = { now: () => Date.parse("2026-11-28T00:00:00Z"), sleep: async () => {} };
const FIRST_DAY = "2005-01-03";
/** Files of one symbol each, with this many rows. */
const SMALL_ROWS = 20;

/** A file of bars, and how DuckDB's own reader is called for it. */
interface BarFile {
  readonly name: string;
  readonly format: string;
  readonly reader: (path: string) => string;
}

const FORMATS: readonly BarFile[] = [
  { name: "bars.csv", format: "FORMAT csv, HEADER", reader: (path) => `read_csv(${literal(path)})` },
  { name: "bars.ndjson", format: "FORMAT json", reader: (path) => `read_json(${literal(path)})` },
  { name: "bars.parquet", format: "FORMAT parquet", reader: (path) => `read_parquet(${literal(path)})` },
];

/** Files of a user's own: read, judged, and landed, against DuckDB's own reader into one sorted file. */
export const importFiles: Benchmark = {
  name: "import",
  doc: "CSV, newline-delimited JSON and Parquet -> a lake; against DuckDB's own reader -> one sorted Parquet file",
  shared: true,
  lengthy: true,
  async prepare(size) {
    const [symbols, days, small] = size === "full" ? [3500, 3715, 2000] : [20, 50, 10];
    const folder = temporaryFolder();
    await writeBars(folder.path, symbols, days);
    const files = writeSmallFiles(join(folder.path, "small"), small);
    const cases = FORMATS.flatMap((file): Case[] => {
      const path = join(folder.path, file.name);
      const baseline = `DuckDB: ${file.name}`;
      return [
        { ...plain(baseline, file.reader(path)), baseline },
        { ...landing(`barlake: ${file.name}`, [path]), baseline },
      ];
    });
    const many = `DuckDB: ${small} files of ${SMALL_ROWS} rows`;
    const list = `[${files.map(literal).join(", ")}]`;
    return {
      summary: `${symbols * days} daily bars of ${symbols} symbols; ${small} files of ${SMALL_ROWS} rows`,
      work: { "bars/s": symbols * days },
      cases: [
        ...cases,
        { ...plain(many, `read_csv(${list})`), baseline: many },
        { ...landing(`barlake: ${small} files of ${SMALL_ROWS} rows`, files), baseline: many },
      ] as unknown as readonly [Case, ...Case[]],
      async close() {
        folder[Symbol.dispose]();
      },
    };
  },
};

/** Writes the same bars in each format: prices of two decimals, amounts of about price x volume. */
async function writeBars(folder: string, symbols: number, days: number): Promise<void> {
  using session = await Session.open();
  await session.run(`CREATE TEMP TABLE bars AS
    SELECT symbol, date, open, greatest(open, close) + 0.15 AS high, least(open, close) - 0.15 AS low, close, volume,
      round(volume * (open + close) / 2, 2) AS amount
    FROM (SELECT CAST(600000 + s AS VARCHAR) || '.SH' AS symbol, CAST(DATE '${FIRST_DAY}' + CAST(7 * (d // 5) + d % 5 AS INTEGER) AS DATE) AS date,
        10 + (hash(s * 7919 + d) % 1000) / 100 AS open, 10 + (hash(s * 11 + d * 5) % 1000) / 100 AS close,
        CAST(hash(s * 13 + d) % 1000000 AS BIGINT) * 7 + 1 AS volume
      FROM range(${symbols}) AS a(s), range(${days}) AS b(d))`);
  for (const { name, format } of FORMATS)
    await session.run(`COPY (FROM bars ORDER BY symbol, date) TO ${literal(join(folder, name))} (${format})`);
}

function writeSmallFiles(folder: string, count: number): string[] {
  mkdirSync(folder);
  const rows = Array.from({ length: SMALL_ROWS }, (_, i) => {
    const date = new Date(Date.UTC(2024, 0, 1 + 7 * Math.floor(i / 5) + (i % 5))).toISOString().slice(0, 10);
    return `${date},10,11,9,10.5,${1000 + i},${10_500 + i}`;
  });
  const text = `date,open,high,low,close,volume,amount\n${rows.join("\n")}\n`;
  return Array.from({ length: count }, (_, i) => {
    const path = join(folder, `${600_000 + i}.SH.csv`);
    writeFileSync(path, text);
    return path;
  });
}

function plain(name: string, reader: string): Case {
  return {
    name,
    async run(timed) {
      using folder = temporaryFolder();
      using session = await Session.open();
      const out = literal(join(folder.path, "sorted.parquet"));
      const order = reader.includes("small") ? "ALL" : "symbol, date";
      await timed(() =>
        session.run(`COPY (FROM ${reader} ORDER BY ${order}) TO ${out} (FORMAT parquet, COMPRESSION zstd)`),
      );
      return { checks: await checksOf(session, `read_parquet(${out})`) };
    },
  };
}

function landing(name: string, files: readonly string[]): Case {
  return {
    name,
    async run(timed) {
      using folder = temporaryFolder();
      const lake = new Lake(join(folder.path, "lake"), { hasDatabase: false });
      const peak = await watchingMemory(() =>
        timed(() => runImport(lake, "bars_1d", files, { runId: "benchmark" }, CLOCK)),
      );
      using session = await Session.open();
      const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1D)));
      const checks = await checksOf(session, `(${live})`);
      return { checks, figures: { "peak MB": peak / 1e6 } };
    },
  };
}

async function checksOf(session: Session, from: string): Promise<Record<string, number>> {
  const [row] = await session.json<Record<string, number>>(
    `SELECT count(*)::DOUBLE AS rows, round(sum(close), 2)::DOUBLE AS closes, sum(volume)::DOUBLE AS volumes FROM ${from}`,
  );
  return row ?? {};
}
