import { join } from "node:path";
import { openLake } from "../../src/api/lake/open-lake.js";
import { Session } from "../../src/db/session/session.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { API_KEY_HEADER } from "../../src/wire/endpoints.js";
import { type MarketSpec, writeMarket } from "../lakes/market-lake.js";
import type { Benchmark, Case } from "../measure/benchmark.js";
import { temporaryFolder } from "../measure/temporary-folder.js";
import { afterCommit } from "../serving/after-commit.js";
import { firstResponses } from "../serving/first-responses.js";
import { load, percentile } from "../serving/http-load.js";
import type { LoadRequest } from "../serving/load-connection.js";
import { QUESTIONS, type Question } from "../serving/service-questions.js";
import { type Serving, startServing } from "../serving/serving.js";

const API_KEY = "benchmark-key";
/** A Saturday, after the last bar. */
const NOW = Date.UTC(2025, 1, 1);
const SYMBOLS_A_REQUEST = 100;
const HEADERS = { [API_KEY_HEADER]: API_KEY };

/** The service under load, compared with one written without barlake over the same files; clients share the cores. */
export const serve: Benchmark = {
  name: "serve",
  doc: "requests to the service over loopback; each kind against a plain handler over the same Parquet files",
  shared: true,
  lengthy: true,
  async prepare(size) {
    const full = size === "full";
    const spec = full ? { symbols: 5000, years: 10, months: 1 } : { symbols: 120, years: 1, months: 1 };
    const folder = temporaryFolder();
    const lake = new Lake(join(folder.path, "lake"));
    await fill(lake, spec);
    const [days, minutes] = [await lake.snapshot(BARS_1D), await lake.snapshot(BARS_1M)];
    const segments = join(folder.path, "segments");
    await buildSegments(lake, segments);
    const start = (kind: "barlake" | "warm" | "plain", place?: string): Promise<Serving> =>
      startServing(kind, lake.location, API_KEY, NOW, place);
    const [plain, barlake] = [await start("plain"), await start("barlake", segments)];
    const [second, unbuilt] = [await start("barlake", segments), await start("barlake")];
    const symbols = Array.from({ length: spec.symbols }, (_, s) => `${600_000 + s}.SH`);
    const durationMs = full ? 8000 : 40;
    return {
      summary: `${spec.symbols} symbols, ${rowCount(days)} daily bars, ${rowCount(minutes)} minutes; the clients share the cores`,
      work: {},
      cases: [
        ...QUESTIONS.flatMap((one) => {
          const baseline = `plain: ${one.name}`;
          const connections = full ? one.connections : 4;
          const asked = { ...one, connections, symbols, durationMs };
          return [
            ask([plain], asked, baseline, baseline),
            ask([barlake], asked, `barlake: ${one.name}`, baseline),
            ...(one.readsSegments
              ? [
                  ask([barlake, second], asked, `barlake, two services: ${one.name}`, baseline),
                  ask([unbuilt], asked, `barlake without segments: ${one.name}`, baseline),
                ]
              : []),
          ];
        }),
        ...(["plain", "barlake", "warm"] as const).map((kind) => {
          const name = (one: string): string =>
            `${one === "warm" ? "barlake, warmed up" : one}: the first intraday and quotes of a universe`;
          const place = kind === "plain" ? undefined : segments;
          return firstResponses(() => start(kind, place), HEADERS, name(kind), name("plain"));
        }),
        ...[plain, barlake].map((serving) => {
          const name = (kind: string): string => `${kind}: intraday and quotes of a universe after a commit`;
          const own = name(serving === plain ? "plain" : "barlake");
          return afterCommit(serving, lake, spec.symbols, HEADERS, own, name("plain"));
        }),
      ] as unknown as [Case, ...Case[]],
      async close() {
        await Promise.all([plain, barlake, second, unbuilt].map((one) => one.close()));
        folder[Symbol.dispose]();
      },
    };
  },
};

/** Builds the segments of all bars, as a service does in the background when they are first asked for. */
async function buildSegments(lake: Lake, folder: string): Promise<void> {
  await using open = openLake(lake.location, { segments: { folder } });
  await open.buildSegments(["bars_1d", "bars_1m"]);
}

async function fill(lake: Lake, spec: MarketSpec): Promise<void> {
  using session = await Session.open(writerSpillOptions(lake.work));
  await writeMarket(session, lake, spec);
}

function ask(
  services: readonly [Serving, ...Serving[]],
  {
    connections,
    requestOf,
    symbols,
    durationMs,
  }: Question & { symbols: readonly string[]; durationMs: number },
  name: string,
  baseline: string,
): Case {
  const requests = (number: number): LoadRequest => requestOf(number, symbols);
  return {
    name,
    baseline,
    async run(timed) {
      const checks = await sums(services[0], requests(0));
      // A running service has had most requests before.
      for (const serving of services)
        for (let start = 0; start < symbols.length; start += SYMBOLS_A_REQUEST)
          await sums(serving, everyDay(symbols.slice(start, start + SYMBOLS_A_REQUEST)));
      const spec = {
        urls: services.map(({ url }) => url),
        headers: HEADERS,
        requestOf: requests,
        connections,
      };
      await load({ ...spec, durationMs: durationMs / 4 });
      const report = await timed(() => load({ ...spec, durationMs }));
      const seconds = report.ms / 1000;
      return {
        checks,
        figures: {
          "requests/s": report.requests / seconds,
          "p50 ms": percentile(report.latencies, 0.5),
          "p99 ms": percentile(report.latencies, 0.99),
          "MB/s": report.bytes / 1e6 / seconds,
          "peak MB": Math.max(...(await Promise.all(services.map((one) => one.peak())))) / 1e6,
        },
      };
    },
  };
}

/** The newest days of symbols. */
function everyDay(symbols: readonly string[]): LoadRequest {
  return { method: "GET", path: `/v1/klines/batch?symbols=${symbols.join(",")}&count=100&adjust=none` };
}

/** Sums of a response's numbers, by member name. */
async function sums(serving: Serving, { method, path, body }: LoadRequest): Promise<Record<string, number>> {
  const response = await fetch(serving.url + path, {
    method,
    headers: body === undefined ? HEADERS : { ...HEADERS, "content-type": "application/json" },
    ...(body === undefined ? {} : { body }),
  });
  const found: Record<string, number> = {};
  const add = (name: string, value: unknown): void => {
    // It depends on the time of day, and the baseline does without it.
    if (name === "session") return;
    if (typeof value === "number") found[name] = (found[name] ?? 0) + value;
    else if (Array.isArray(value)) for (const one of value) add(name, one);
    else if (typeof value === "object" && value !== null)
      for (const [key, one] of Object.entries(value)) add(key, one);
    else if (typeof value === "string") found[name] = (found[name] ?? 0) + value.length;
  };
  add("response", await response.json());
  return found;
}
