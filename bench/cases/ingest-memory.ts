import { join } from "node:path";
import { Session } from "../../src/db/session/session.js";
import { parquetRelation } from "../../src/db/views/parquet-relation.js";
import { runPipeline } from "../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../src/lake/lake.js";
import { BARS_1M } from "../../src/schema/bars.js";
import type { Benchmark, Case } from "../measure/benchmark.js";
import { sqlChecks } from "../measure/checksum.js";
import { watchingMemory } from "../measure/peak-memory.js";
import { temporaryFolder } from "../measure/temporary-folder.js";
import { environment, MINUTES, type MinuteService, startMinuteService } from "../serving/minute-service.js";

/** Few bars and many: does the memory of a run grow with their number? */
export const ingestMemory: Benchmark = {
  name: "ingest-memory",
  doc: "peak memory of a run from requests to committed Parquet; ratio of the peaks",
  lengthy: true,
  async prepare(size) {
    const [few, many] = [size === "full" ? 3 : 1, size === "full" ? 10 : 2];
    const service = await startMinuteService({ symbols: size === "full" ? 400 : 12, months: many });
    return {
      summary: "the service runs in a separate process; ratio: of the peaks",
      work: {},
      cases: [running(service, few, few), running(service, many, few)],
      async close() {
        service.close();
      },
    };
  },
};

/** Runs the pipeline for the last given months; the last `checked` of them are compared. */
function running(service: MinuteService, months: number, checked: number): Case {
  return {
    name: `barlake: ${months} months`,
    async run(timed) {
      using folder = temporaryFolder();
      const lake = new Lake(join(folder.path, "lake"));
      const client = service.client();
      const { symbols } = service;
      const peak = await watchingMemory(() =>
        timed(() =>
          runPipeline(MINUTES, { symbols, from: service.since(months) }, environment(lake, client)),
        ),
      );
      await client.close();
      using session = await Session.open();
      const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1M)));
      const last = `(SELECT * FROM (${live}) WHERE trade_date >= DATE '${service.since(checked)}')`;
      const [all] = await session.json<{ rows: number }>(
        `SELECT count(*)::DOUBLE / 1e6 AS rows FROM (${live})`,
      );
      const checks = await sqlChecks(session, last);
      return { checks, figures: { "peak MB": peak / 1e6, "million bars": all?.rows ?? Number.NaN } };
    },
  };
}
