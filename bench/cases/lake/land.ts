import { statSync } from "node:fs";
import { join } from "node:path";
import { klineBatch } from "../../../src/arrow/kline-ipc.js";
import { literal } from "../../../src/db/quote.js";
import { Session } from "../../../src/db/session/session.js";
import { parquetRelation } from "../../../src/db/views/parquet-relation.js";
import { byteCount, Lake } from "../../../src/lake/lake.js";
import { landKlines } from "../../../src/lake/land/land-klines.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import type { KlineColumns } from "../../../src/wire/kline-columns.js";
import { writeParquet } from "../../baselines/parquet-wasm.js";
import { LAST_DAY, simulatedBars, windowsOf } from "../../body.js";
import type { Benchmark, Case } from "../../measure/benchmark.js";
import { sqlChecks } from "../../measure/checksum.js";
import { temporaryFolder } from "../../measure/temporary-folder.js";

const NATIVE = "native_bars";
const NOW = Date.parse(LAST_DAY) + 2 * 86_400_000;
const OPTIONS = {
  operation: "BENCHMARK",
  runId: "benchmark",
  now: NOW,
  finalEnd: { CN: NOW, HK: NOW, US: NOW },
} as const;

/** Number of responses that an ingest lands at once. */
type Group = readonly KlineColumns[];

/** From decoded responses to committed Parquet in a lake. */
export const land: Benchmark = {
  name: "land",
  doc: "columns of many responses -> committed, sorted Parquet in a lake",
  async prepare(size) {
    const groups =
      size === "full"
        ? groupsOf({ symbols: 400, barsPerSymbol: 25_000, symbolsPerBatch: 100 }, 5000)
        : groupsOf({ symbols: 20, barsPerSymbol: 960, symbolsPerBatch: 10 }, 480);
    const batches = groups.flat();
    const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
    const session = await Session.open();
    return {
      summary: `${batches.length} record batches, ${rows} bars, landed ${rows / groups.length} at a time`,
      work: { "bars/s": rows },
      cases: [
        copy(session, groups, "COPY of a native table in order", ""),
        copy(session, groups, "COPY of a native table, ORDER BY", "ORDER BY symbol, timestamp"),
        wasm(session, batches),
        landing(session, groups),
      ],
      async close() {
        session.close();
      },
    };
  },
};

/** Each group has all symbols, and a window of some bars of each, as in requests. */
function groupsOf(spec: Parameters<typeof simulatedBars>[0], barsPerResponse: number): Group[] {
  const groups: KlineColumns[][] = [];
  for (const columns of simulatedBars(spec)) {
    for (const [index, response] of windowsOf(columns, barsPerResponse).entries()) {
      const group = groups[index];
      if (group === undefined) groups[index] = [response];
      else group.push(response);
    }
  }
  return groups;
}

async function landAll(session: Session, lake: Lake, groups: readonly Group[]): Promise<void> {
  for (const group of groups) {
    const bars = group.map((columns) => ({ columns, source: "benchmark" }));
    await landKlines(session, lake, BARS_1M, bars, {
      ...OPTIONS,
      rejects: new Rejects(session, "benchmark"),
    });
  }
}

function landing(session: Session, groups: readonly Group[]): Case {
  return {
    name: "barlake: check, write, commit",
    async run(timed) {
      using folder = temporaryFolder();
      const lake = new Lake(join(folder.path, "lake"));
      await timed(() => landAll(session, lake, groups));
      const snapshot = await lake.snapshot(BARS_1M);
      const live = await parquetRelation(session, lake.filesOf(snapshot));
      const checks = await sqlChecks(session, `(${live})`);
      return { checks, figures: { "bytes/bar": byteCount(snapshot) / (checks.rows ?? Number.NaN) } };
    },
  };
}

/** Writes the record batches as they are, one after the other, without derived columns. */
function wasm(session: Session, batches: readonly KlineColumns[]): Case {
  return {
    name: "parquet-wasm",
    async run(timed) {
      using folder = temporaryFolder();
      const files = batches.map((_, index) => join(folder.path, `${index}.parquet`));
      await timed(() => {
        for (const [index, columns] of batches.entries())
          writeParquet(klineBatch(columns), files[index] as string);
      });
      const checks = await sqlChecks(session, `read_parquet([${files.map(literal).join(", ")}])`);
      const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
      return { checks, figures: { "bytes/bar": bytes / (checks.rows ?? Number.NaN) } };
    },
  };
}

/** Creates a native DuckDB table with the rows and columns of the lake's files, unless it exists. */
async function makeNative(session: Session, groups: readonly Group[]): Promise<void> {
  const [found] = await session.json(`SELECT 1 FROM duckdb_tables() WHERE table_name = '${NATIVE}'`);
  if (found !== undefined) return;
  using folder = temporaryFolder();
  const lake = new Lake(join(folder.path, "lake"));
  await landAll(session, lake, groups);
  const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1M)));
  await session.run(
    `CREATE TEMP TABLE ${NATIVE} AS SELECT * EXCLUDE (region, month) FROM (${live}) ORDER BY symbol, timestamp`,
  );
}

function copy(session: Session, groups: readonly Group[], name: string, order: string): Case {
  return {
    name,
    async run(timed) {
      await makeNative(session, groups);
      using folder = temporaryFolder();
      const file = join(folder.path, "bars.parquet");
      await timed(() =>
        session.run(
          `COPY (FROM ${NATIVE} ${order}) TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880, WRITE_BLOOM_FILTER false)`,
        ),
      );
      const checks = await sqlChecks(session, `read_parquet(${literal(file)})`);
      return { checks, figures: { "bytes/bar": statSync(file).size / (checks.rows ?? Number.NaN) } };
    },
  };
}
