import type { Ask } from "../../../client/service-client.js";
import { UsageError } from "../../../core/errors.js";
import { freedAfterUse } from "../../../core/free-memory.js";
import { basePeriod, PERIODS, type Period } from "../../../market/period.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { regionOf } from "../../../market/symbol.js";
import { instantOf, localDate } from "../../../market/zone.js";
import { cutDay } from "../../../plan/absence/cut-day.js";
import { soundBars } from "../../../plan/absence/sound-bars.js";
import { symbolSpans } from "../../../plan/absence/window-beginning.js";
import { inBatches } from "../../../plan/request-units.js";
import { decodeKlines } from "../../../wire/decode/decode-klines.js";
import type { KlineExpectation } from "../../../wire/decode/kline-expectation.js";
import { ENDPOINTS, LIMITS } from "../../../wire/endpoints.js";
import type { KlineColumns, KlineRun } from "../../../wire/kline-columns.js";
import { unknownUniverses } from "../records/reference.js";
import type { ServiceAccess } from "../service-access.js";
import { GrowingReport } from "./kline-report.js";
import { type KlineOptions, requestedSymbols } from "./kline-request.js";
import { type KlineTable, klineTable } from "./kline-table.js";
import { nameMissing } from "./name-missing.js";

/** How minutes of the latest trading day are requested. */
export interface IntradayOptions extends Pick<KlineOptions, "strict" | "signal"> {
  /** A period of minutes. @default "1m" */
  readonly period?: Period | undefined;
  /** The newest so many bars of each symbol. @default all of the day */
  readonly count?: number | undefined;
}

/** The minutes of symbols on their latest trading day. */
export async function intradayOfSymbols(
  access: ServiceAccess,
  symbols: readonly string[],
  options: IntradayOptions,
): Promise<KlineTable> {
  const some = requestedSymbols("intraday", symbols);
  const { period, count } = checked(options);
  const [only] = some;
  const asks =
    some.length === 1 && only !== undefined
      ? [{ endpoint: ENDPOINTS.intraday, query: { symbol: only, period, count } }]
      : inBatches(some, access.limits.symbolsPerRequest("intraday")).map((batch) => ({
          endpoint: ENDPOINTS.intradayBatch,
          query: { symbols: batch.join(","), period, count },
        }));
  const shape = some.length === 1 ? "single" : "map";
  const { runs, report, signal } = await received(access, asks, { shape, symbols: some }, options);
  await nameMissing(access, some, report, { signal });
  if (options.strict) report.expectComplete();
  return klineTable(runs, { symbols: some, period, adjust: "none" }, report);
}

/**
 * The minutes of universes' members on their latest trading day. Unless they are of a single universe, the service's list of
 * universes is asked for, too, to name those that it does not know.
 */
export async function intradayOfUniverses(
  access: ServiceAccess,
  universes: readonly string[],
  options: IntradayOptions,
): Promise<KlineTable> {
  if (!Array.isArray(universes) || universes.length === 0)
    throw new UsageError("intraday: universes is not a list of at least one id");
  const { period, count } = checked(options);
  const query = { universes: [...new Set(universes)].join(","), period, count };
  const asks = [{ endpoint: ENDPOINTS.intradayUniverse, query }];
  const { runs, report, signal } = await received(access, asks, { shape: "map" }, options);
  // The bars do not say which universe they come of.
  const ids = [...new Set(universes)];
  if (ids.length > 1 || runs.length === 0) report.unknown = await unknownUniverses(access, ids, { signal });
  if (options.strict) report.expectComplete();
  const symbols = [...new Set(runs.map(({ symbol }) => symbol))].sort();
  return klineTable(runs, { symbols, period, adjust: "none" }, report);
}

function checked({ period = "1m", count }: IntradayOptions): { period: Period; count: number } {
  const minutes = PERIODS.filter((one) => basePeriod(one) === "1m");
  if (!minutes.includes(period))
    throw new UsageError(`intraday: period: ${JSON.stringify(period)} is not one of ${minutes.join(", ")}`);
  if (count !== undefined && !(Number.isInteger(count) && count >= 1 && count <= LIMITS.maxCount))
    throw new UsageError(`intraday: count: ${count} is not a whole number from 1 to ${LIMITS.maxCount}`);
  return { period, count: count ?? LIMITS.maxCount };
}

async function received(
  access: ServiceAccess,
  asks: readonly Ask[],
  expectation: KlineExpectation,
  options: IntradayOptions,
): Promise<{ runs: KlineRun[]; report: GrowingReport; signal: AbortSignal }> {
  const client = await access.client();
  const ends = [await access.lost(), ...(options.signal === undefined ? [] : [options.signal])];
  const signal = AbortSignal.any(ends);
  const report = new GrowingReport();
  const runs: KlineRun[] = [];
  for (const ask of asks) {
    report.requests += 1;
    const { value } = await client.ask(ask, (body) => decodeKlines(freedAfterUse(body), expectation), signal);
    const { columns, issues, unusable } = value;
    report.log.addAll(issues);
    for (const symbol of unusable)
      report.open.push({ symbol, window: dayBefore(symbol, access.use.clock.now()), reason: "set_aside" });
    if (options.count === undefined) reportCut(columns, report);
    const sound = soundBars(columns);
    for (const issue of sound.issues) report.log.add(issue);
    for (const run of sound.runs) report.came.add(run.symbol);
    runs.push(...sound.runs);
  }
  return { runs, report, signal };
}

/** Reports the symbols whose day seems to be cut: the time before their first bar is open. */
function reportCut(columns: KlineColumns, report: GrowingReport): void {
  const cut = cutDay(columns);
  if (cut === undefined) return;
  for (const { symbol, start, end } of symbolSpans(columns))
    if (end - start === cut.bars) {
      const first = Number(columns.timestamp[start]);
      report.open.push({ symbol, window: dayBefore(symbol, first), reason: "unexplained" });
    }
}

/** From the midnight of a symbol's exchange to an instant of that day. */
function dayBefore(symbol: string, ms: number): { start: number; end: number } {
  const { zone } = REGIONS[regionOf(symbol) as Region];
  return { start: instantOf(localDate(ms, zone), zone), end: ms };
}
