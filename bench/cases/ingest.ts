import { statSync } from "node:fs";
import { join } from "node:path";
import pMap from "p-map";
import type { ServiceClient } from "../../src/client/service-client.js";
import { freedAfterUse } from "../../src/core/memory-pool.js";
import { literal } from "../../src/db/quote.js";
import { Session } from "../../src/db/session/session.js";
import { parquetRelation } from "../../src/db/views/parquet-relation.js";
import { klinesQuery } from "../../src/jobs/ingest/bars/kline-requester.js";
import { CONCURRENCY } from "../../src/jobs/run/request/request-sender.js";
import { runPipeline } from "../../src/jobs/run/run-pipeline.js";
import { byteCount, Lake } from "../../src/lake/lake.js";
import type { RequestUnit } from "../../src/plan/request-units.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { decodeKlines } from "../../src/wire/decode/decode-klines.js";
import { KlineBufferPool } from "../../src/wire/decode/kline-buffers.js";
import { API_KEY_HEADER, ENDPOINTS } from "../../src/wire/endpoints.js";
import {
  appendRows,
  barRows,
  makeBarsTable,
  openPlainDatabase,
  type ParsedBody,
} from "../baselines/plain-duckdb.js";
import type { Benchmark, Case } from "../measure/benchmark.js";
import { sqlChecks } from "../measure/checksum.js";
import { watchingMemory } from "../measure/peak-memory.js";
import { temporaryFolder } from "../measure/temporary-folder.js";
import {
  API_KEY,
  environment,
  MINUTES,
  type MinuteService,
  madeReady,
  plannedUnits,
  startMinuteService,
} from "../serving/minute-service.js";

/**
 * From requests over loopback to Parquet. The responses are ready in the memory of another process, as a service computes
 * them on another machine. The times of the requests alone, and of the requests with decoding, show where the time goes.
 */
export const ingest: Benchmark = {
  name: "ingest",
  doc: "requests over loopback -> committed Parquet in an empty lake, end to end",
  lengthy: true,
  async prepare(size) {
    const spec = size === "full" ? { symbols: 400, months: 10 } : { symbols: 12, months: 1 };
    const own = await startMinuteService(spec);
    const units = await plannedUnits(own.symbols);
    const service = await madeReady(own, units.map(pathOf));
    return {
      summary: `${units.length} requests, ${service.rows} bars`,
      work: { "bars/s": service.rows },
      cases: [
        straightforward(service, units),
        pipeline(service),
        requests("of that: the requests alone", service, units, () => async (body) => {
          for await (const _ of body);
        }),
        requests("of that: the requests, decoded", service, units, () => {
          const pool = new KlineBufferPool();
          return async (body) => {
            const response = await decodeKlines(freedAfterUse(body), { shape: "map" }, pool);
            response[Symbol.dispose]();
          };
        }),
      ],
      async close() {
        service.close();
      },
    };
  },
};

type Body = AsyncIterable<Uint8Array>;

/** Requests units as the pipeline does. */
async function askAll(
  service: MinuteService,
  units: readonly RequestUnit[],
  read: (body: Body) => Promise<void>,
): Promise<void> {
  const client = service.client();
  try {
    await pMap(units, (unit) => ask(client, unit, read), { concurrency: CONCURRENCY });
  } finally {
    await client.close();
  }
}

async function ask<T>(
  client: ServiceClient,
  unit: RequestUnit,
  read: (body: Body) => Promise<T>,
): Promise<T> {
  const { value } = await client.ask(
    { endpoint: ENDPOINTS.klinesBatch, query: queryOf(unit) },
    read,
    new AbortController().signal,
  );
  return value;
}

function queryOf({ symbols, window }: RequestUnit) {
  return klinesQuery(symbols, window, "1m");
}

/** Path and query of a request, as the client writes them. */
function pathOf(unit: RequestUnit): string {
  const url = new URL(ENDPOINTS.klinesBatch.path, "http://service");
  for (const [name, value] of Object.entries(queryOf(unit))) url.searchParams.set(name, String(value));
  return url.pathname + url.search;
}

/** Only of the requests, and compared with nothing. */
function requests(
  name: string,
  service: MinuteService,
  units: readonly RequestUnit[],
  reader: () => (body: Body) => Promise<void>,
): Case {
  return {
    name,
    baseline: name,
    async run(timed) {
      const read = reader();
      await timed(() => askAll(service, units, read));
      return { checks: { requests: units.length } };
    },
  };
}

function pipeline(service: MinuteService): Case {
  return {
    name: "barlake: runPipeline",
    async run(timed) {
      using folder = temporaryFolder();
      const lake = new Lake(join(folder.path, "lake"));
      const peak = await watchingMemory(() =>
        timed(async () => {
          const client = service.client();
          try {
            return await runPipeline(MINUTES, { symbols: service.symbols }, environment(lake, client));
          } finally {
            await client.close();
          }
        }),
      );
      const snapshot = await lake.snapshot(BARS_1M);
      using session = await Session.open();
      const checks = await sqlChecks(session, `(${await parquetRelation(session, lake.filesOf(snapshot))})`);
      return { checks, figures: figuresOf(checks.rows, byteCount(snapshot), peak) };
    },
  };
}

/** The simplest implementation: fetch, JSON.parse, row objects, the appender, COPY. No commit, no checks, no ledger. */
function straightforward(service: MinuteService, units: readonly RequestUnit[]): Case {
  const urls = units.map((unit) => service.url + pathOf(unit));
  return {
    name: "fetch, JSON.parse, row objects, appender, COPY",
    async run(timed) {
      using folder = temporaryFolder();
      const file = join(folder.path, "bars.parquet");
      const peak = await watchingMemory(() =>
        timed(async () => {
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
        }),
      );
      using session = await Session.open();
      const checks = await sqlChecks(session, `read_parquet(${literal(file)})`);
      return { checks, figures: figuresOf(checks.rows, statSync(file).size, peak) };
    },
  };
}

function figuresOf(rows: number | undefined, bytes: number, peak: number) {
  return { "bytes/bar": bytes / (rows ?? Number.NaN), "peak MB": peak / 1e6 };
}

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url, { headers: { [API_KEY_HEADER]: API_KEY } });
  if (response.status !== 200)
    throw new Error(`service answered ${response.status}: ${await response.text()}`);
  return response.text();
}
