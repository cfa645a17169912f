import { statSync } from "node:fs";
import { join } from "node:path";
import pMap from "p-map";
import { ServiceClient } from "../../src/client/service-client.js";
import { systemClock } from "../../src/client/system-clock.js";
import { parquetRelation } from "../../src/db/parquet-relation.js";
import { literal } from "../../src/db/quote.js";
import { Session } from "../../src/db/session.js";
import { CONCURRENCY } from "../../src/jobs/ingest/run.js";
import { planPipeline, runPipeline } from "../../src/jobs/ingest/run-pipeline.js";
import { definePipeline } from "../../src/jobs/pipeline.js";
import { byteCount, Lake } from "../../src/lake/lake.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { type Service, startService } from "../../src/serve/service.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { API_KEY_HEADER, ENDPOINTS, LIMITS } from "../../src/wire/endpoints.js";
import type { Benchmark, Case, Outcome, Size } from "../benchmark.js";
import { LAST_DAY } from "../body.js";
import { sqlChecks } from "../checksum.js";
import { appendRows, barRows, makeBarsTable, openPlainDatabase, type ParsedBody } from "../plain-duckdb.js";
import { temporaryFolder } from "../temporary-folder.js";

const KEY = "benchmark-key";
const NOW = Date.parse(LAST_DAY) + 2 * 86_400_000;
const CLOCK = { ...systemClock, now: () => NOW };

/** What the cases ask for. */
interface Demand {
  readonly symbols: readonly string[];
  readonly from: string;
}

/** From requests over loopback to Parquet; the service, on the same cores, is a part of every case. */
export const ingest: Benchmark = {
  name: "ingest",
  doc: "requests to a service over loopback -> committed Parquet in an empty lake, end to end",
  async prepare(size) {
    const folder = temporaryFolder();
    const market = new Lake(join(folder.path, "market"));
    const demand = await fill(market, size);
    const service = await startService(market, { port: 0, apiKeys: [KEY], clock: CLOCK });
    const urls = await requestUrls(service, demand);
    const { rows, bytes } = await sizeOf(urls);
    return {
      summary: `${urls.length} requests, ${rows} bars, ${(bytes / 1e6).toFixed(1)} MB of JSON; the service shares the cores`,
      work: { "bars/s": rows, "MB/s": bytes / 1e6 },
      cases: [straightforward(urls), pipeline(service, demand)],
      async close() {
        await service.close();
        folder[Symbol.dispose]();
      },
    };
  },
};

/** Fills the lake that is served, and says what there is to ask for. */
async function fill(lake: Lake, size: Size): Promise<Demand> {
  const { symbols, minuteDays } =
    size === "full" ? { symbols: 600, minuteDays: 20 } : { symbols: 12, minuteDays: 2 };
  const market = simulateMarket({ seed: 7, symbols, days: 30, end: LAST_DAY });
  await fillLake(lake, market, { minuteDays, runId: "benchmark", now: NOW });
  const [from = LAST_DAY] = market.tradingDays("CN").slice(-minuteDays);
  const chinese = market.instruments.filter(
    ({ region, delisted }) => region === "CN" && delisted === undefined,
  );
  return { symbols: chinese.map(({ symbol }) => symbol), from };
}

const MINUTES = definePipeline({ name: "minute", kind: "bars", period: "1m", from: "-1d", regions: ["CN"] });

/** The addresses that the pipeline asks. */
async function requestUrls(service: Service, demand: Demand): Promise<string[]> {
  using folder = temporaryFolder();
  const units = await planPipeline(MINUTES, demand, { lake: new Lake(folder.path), clock: CLOCK });
  return (units ?? []).map(({ symbols, window }) => {
    const url = new URL(ENDPOINTS.klinesBatch.path, service.url);
    const query = {
      symbols: symbols.join(","),
      period: "1m",
      count: String(LIMITS.maxCount),
      start_time: String(window.start),
      end_time: String(window.end - 1),
      adjust: "none",
    };
    url.search = new URLSearchParams(query).toString();
    return url.href;
  });
}

async function fetchText(url: string): Promise<string> {
  const answer = await fetch(url, { headers: { [API_KEY_HEADER]: KEY } });
  if (answer.status !== 200) throw new Error(`service answered ${answer.status}: ${await answer.text()}`);
  return answer.text();
}

async function sizeOf(urls: readonly string[]): Promise<{ rows: number; bytes: number }> {
  let [rows, bytes] = [0, 0];
  for (const url of urls) {
    const text = await fetchText(url);
    bytes += text.length;
    for (const bars of Object.values((JSON.parse(text) as ParsedBody).data)) rows += bars.timestamp.length;
  }
  return { rows, bytes };
}

function pipeline(service: Service, demand: Demand): Case {
  return {
    name: "barlake: runPipeline",
    async run(timed) {
      using folder = temporaryFolder();
      const lake = new Lake(join(folder.path, "lake"));
      const report = await timed(async () => {
        const client = new ServiceClient({ baseUrl: service.url, apiKey: KEY, clock: CLOCK });
        try {
          return await runPipeline(MINUTES, demand, { lake, client, clock: CLOCK });
        } finally {
          await client.close();
        }
      });
      const snapshot = await lake.snapshot(BARS_1M);
      using session = await Session.open();
      const live = await parquetRelation(session, lake.filesOf(snapshot));
      return await outcome(session, `(${live})`, byteCount(snapshot), report.requests.sent);
    },
  };
}

/** What one would write first: fetch, JSON.parse, row objects, the appender, COPY. No commit, no checks, no ledger. */
function straightforward(urls: readonly string[]): Case {
  return {
    name: "fetch, JSON.parse, row objects, appender, COPY",
    async run(timed) {
      using folder = temporaryFolder();
      const file = join(folder.path, "bars.parquet");
      await timed(async () => {
        using database = await openPlainDatabase();
        const { connection } = database;
        await makeBarsTable(connection);
        await pMap(
          urls,
          async (url) => appendRows(connection, barRows(JSON.parse(await fetchText(url)) as ParsedBody)),
          { concurrency: CONCURRENCY },
        );
        await connection.run(
          `COPY (FROM bars ORDER BY symbol, timestamp) TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd)`,
        );
      });
      using session = await Session.open();
      return await outcome(session, `read_parquet(${literal(file)})`, statSync(file).size, urls.length);
    },
  };
}

async function outcome(session: Session, from: string, bytes: number, requests: number): Promise<Outcome> {
  const checks = await sqlChecks(session, from);
  return { checks: { ...checks, requests }, figures: { "bytes/bar": bytes / (checks.rows ?? Number.NaN) } };
}
