import { statSync } from "node:fs";
import { join } from "node:path";
import { parquetRelation } from "../../src/db/parquet-relation.js";
import { literal } from "../../src/db/quote.js";
import { Session } from "../../src/db/session.js";
import { byteCount, Lake } from "../../src/lake/lake.js";
import { landBars, stageBars } from "../../src/lake/land-bars.js";
import { openRejects } from "../../src/lake/rejects.js";
import { stageKlines } from "../../src/lake/stage-klines.js";
import { BARS_1M } from "../../src/schema/bars.js";
import type { KlineColumns } from "../../src/wire/kline-columns.js";
import type { Benchmark, Case } from "../benchmark.js";
import { LAST_DAY, simulatedBars } from "../body.js";
import { sqlChecks } from "../checksum.js";
import { temporaryFolder } from "../temporary-folder.js";

const STAGED = "staged_bars";
const NATIVE = "native_bars";
const NOW = Date.parse(LAST_DAY) + 2 * 86_400_000;
const OPTIONS = {
  operation: "BENCHMARK",
  runId: "benchmark",
  now: NOW,
  finalEnd: { CN: NOW, HK: NOW, US: NOW },
} as const;

/** Decoded answers, to committed Parquet in a lake. */
export const land: Benchmark = {
  name: "land",
  doc: "columns of several answers -> committed, sorted Parquet in a lake",
  async prepare(size) {
    const batches = simulatedBars(
      size === "full"
        ? { symbols: 400, barsPerSymbol: 5000, symbolsPerBatch: 100 }
        : { symbols: 20, barsPerSymbol: 480, symbolsPerBatch: 10 },
    );
    const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
    const session = await Session.open();
    await openRejects(session);
    await makeNative(session, batches);
    return {
      summary: `${batches.length} record batches, ${rows} bars`,
      work: { "bars/s": rows },
      cases: [
        copy(session, "COPY of a native table in order", `FROM ${NATIVE}`),
        copy(session, "COPY of a native table, ORDER BY", `FROM ${NATIVE} ORDER BY symbol, timestamp`),
        landing(session, batches),
      ],
      async close() {
        session.close();
      },
    };
  },
};

async function landAll(session: Session, lake: Lake, batches: readonly KlineColumns[]): Promise<void> {
  await stageBars(session, STAGED);
  for (const batch of batches) await stageKlines(session, STAGED, batch, "benchmark");
  await landBars(session, lake, BARS_1M, STAGED, OPTIONS);
}

function landing(session: Session, batches: readonly KlineColumns[]): Case {
  return {
    name: "barlake: stage, check, write, commit",
    async run(timed) {
      using folder = temporaryFolder();
      const lake = new Lake(join(folder.path, "lake"));
      await timed(() => landAll(session, lake, batches));
      const snapshot = await lake.snapshot(BARS_1M);
      const live = await parquetRelation(session, lake.filesOf(snapshot));
      const checks = await sqlChecks(session, `(${live})`);
      return { checks, figures: { "bytes/bar": byteCount(snapshot) / (checks.rows ?? Number.NaN) } };
    },
  };
}

/** A table of DuckDB's own with the rows and columns that the lake's files have. */
async function makeNative(session: Session, batches: readonly KlineColumns[]): Promise<void> {
  using folder = temporaryFolder();
  const lake = new Lake(join(folder.path, "lake"));
  await landAll(session, lake, batches);
  const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1M)));
  await session.run(
    `CREATE TEMP TABLE ${NATIVE} AS SELECT * EXCLUDE (region, month) FROM (${live}) ORDER BY symbol, timestamp`,
  );
}

function copy(session: Session, name: string, from: string): Case {
  return {
    name,
    async run(timed) {
      using folder = temporaryFolder();
      const file = join(folder.path, "bars.parquet");
      await timed(() =>
        session.run(
          `COPY (${from}) TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)`,
        ),
      );
      const checks = await sqlChecks(session, `read_parquet(${literal(file)})`);
      return { checks, figures: { "bytes/bar": statSync(file).size / (checks.rows ?? Number.NaN) } };
    },
  };
}
