import { join } from "node:path";
import pMap from "p-map";
import { ServiceClient } from "../../src/client/service-client.js";
import { systemClock } from "../../src/client/system-clock.js";
import { literal } from "../../src/db/quote.js";
import { Session } from "../../src/db/session/session.js";
import { parquetRelation } from "../../src/db/views/parquet-relation.js";
import { klinesQuery } from "../../src/jobs/ingest/bars/kline-requester.js";
import { definePipeline } from "../../src/jobs/pipeline/definition.js";
import { CONCURRENCY } from "../../src/jobs/run/request/request-sender.js";
import { planPipeline, runPipeline } from "../../src/jobs/run/run-pipeline.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { API_KEY_HEADER, ENDPOINTS, LIMITS } from "../../src/wire/endpoints.js";
import {
  appendRows,
  barRows,
  makeBarsTable,
  openPlainDatabase,
  type ParsedBody,
} from "../baselines/plain-duckdb.js";
import { writeDays, writeReference } from "../lakes/market-lake.js";
import type { Benchmark } from "../measure/benchmark.js";
import { sqlChecks } from "../measure/checksum.js";
import { temporaryFolder } from "../measure/temporary-folder.js";
import { API_KEY } from "../serving/minute-service.js";
import { startServing } from "../serving/serving.js";

const NOW = Date.UTC(2026, 0, 5);
const CLOCK = { ...systemClock, now: () => NOW };
const DAILY = definePipeline({
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "1990-01-01",
  regions: ["CN"],
});
const LEARNED = { requestsPerMinute: {}, symbolsPerRequest: {}, rowCap: { "1d": LIMITS.maxCount } };
const limits = { limits: LEARNED, learn: () => {} };

/** The first run of a lake of daily bars: all of many symbols' days. The service shares the cores. */
export const history: Benchmark = {
  name: "history",
  doc: "the whole history of daily bars of many symbols, from a service over loopback to an empty lake",
  lengthy: true,
  async prepare(size) {
    const folder = temporaryFolder();
    const count = size === "full" ? 500 : 20;
    const years = size === "full" ? Array.from({ length: 10 }, (_, n) => 2016 + n) : [2025];
    const market = new Lake(join(folder.path, "market"));
    {
      using session = await Session.open(writerSpillOptions(market.work));
      await writeReference(session, market, count);
      await writeDays(session, market, { symbols: count, years, end: "2026-01-01" });
    }
    const serving = await startServing("barlake", market.location, API_KEY, NOW);
    const symbols = Array.from({ length: count }, (_, s) => `${600_000 + s}.SH`);
    const parts = { lake: new Lake(join(folder.path, "empty")), clock: CLOCK, limits };
    const units = (await planPipeline(DAILY, { symbols }, parts)) ?? [];
    const rows = rowCount(await market.snapshot(BARS_1D));
    return {
      summary: `${units.length} requests, ${rows} bars of ${count} symbols; the service shares the cores`,
      work: { "bars/s": rows },
      cases: [
        {
          name: "fetch, JSON.parse, row objects, appender, COPY",
          async run(timed) {
            using own = temporaryFolder();
            const file = join(own.path, "bars.parquet");
            await timed(async () => {
              using database = await openPlainDatabase();
              const { connection } = database;
              await makeBarsTable(connection);
              const load = async (url: URL): Promise<void> => {
                const response = await fetch(url, { headers: { [API_KEY_HEADER]: API_KEY } });
                if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
                await appendRows(connection, barRows((await response.json()) as ParsedBody));
              };
              const urls = units.map(({ symbols: some, window }) => {
                const url = new URL(ENDPOINTS.klinesBatch.path, serving.url);
                for (const [name, value] of Object.entries(klinesQuery(some, window, "1d")))
                  url.searchParams.set(name, String(value));
                return url;
              });
              await pMap(urls, load, { concurrency: CONCURRENCY });
              await connection.run(
                `COPY (FROM bars ORDER BY symbol, timestamp) TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd)`,
              );
            });
            using session = await Session.open();
            return { checks: await sqlChecks(session, `read_parquet(${literal(file)})`) };
          },
        },
        {
          name: "barlake: runPipeline",
          async run(timed) {
            using own = temporaryFolder();
            const lake = new Lake(join(own.path, "lake"));
            await timed(async () => {
              const client = new ServiceClient({ baseUrl: serving.url, apiKey: API_KEY, clock: CLOCK });
              try {
                await runPipeline(DAILY, { symbols }, { lake, client, clock: CLOCK, limits });
              } finally {
                await client.close();
              }
            });
            using session = await Session.open();
            const bars = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1D)));
            return { checks: await sqlChecks(session, `(${bars})`) };
          },
        },
      ],
      async close() {
        await serving.close();
        folder[Symbol.dispose]();
      },
    };
  },
};
