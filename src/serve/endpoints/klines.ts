import { type BatchColumn, columnBatch, wordList } from "../../arrow/column-batch.js";
import type { StreamFacts } from "../../arrow/stream/kline-stream.js";
import { parseTradingDate, type TimeRange } from "../../core/time.js";
import type { Period } from "../../market/period.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { addDays, SESSION_HOURS } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { instantOf } from "../../market/zone.js";
import { jsonText } from "../../wire/encode/json-text.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import type { BodyFormat } from "../../wire/media-type.js";
import { PARAMETERS, parseParameters } from "../../wire/parameters.js";
import { RequestError } from "../http/request-error.js";
import { EX_EVENT_TABLES } from "../klines/ex-events.js";
import type { DaysOf } from "../klines/latest-days.js";
import { BLOCK_ROWS, isOneBlock, klineBlocks, readKlines } from "../klines/read-klines.js";
import { ALL_TIME, type KlinesRequest, seriesOf } from "../klines/requested-bars.js";
import type { LakeView } from "../read/lake-reader.js";
import { versionsText } from "../read/lake-version.js";
import { ArrowResponse, type EndpointHandler, KlineResponse, only, TextResponse } from "./response.js";

const EPOCH = parseTradingDate("1970-01-01");
const NO_TIME: TimeRange = { start: 0, end: 0 };
/** Most minute bars that a symbol can have on a trading day. */
const MOST_MINUTES = Math.max(...Object.values(SESSION_HOURS).map(({ barsPerDay }) => barsPerDay));

/** The window of a request, both ends inclusive, as a range with an exclusive end. */
function rangeOfWindow(startTime: number | undefined, endTime: number | undefined): TimeRange {
  const start = Math.max(startTime ?? ALL_TIME.start, ALL_TIME.start);
  const end = Math.min((endTime ?? ALL_TIME.end) + 1, ALL_TIME.end);
  return start < end ? { start, end } : NO_TIME;
}

function intersection(a: TimeRange, b: TimeRange): TimeRange {
  const range = { start: Math.max(a.start, b.start), end: Math.min(a.end, b.end) };
  return range.start < range.end ? range : NO_TIME;
}

/** What to read for some symbols; those without bars count as known where the lake has their metadata. */
async function requestOf(
  view: LakeView,
  symbols: readonly string[],
  { period, count }: Pick<KlinesRequest, "count"> & { readonly period: Period },
  rangeOf: KlinesRequest["rangeOf"],
  adjustment: KlinesRequest["adjustment"] = "none",
): Promise<KlinesRequest> {
  const { instruments } = await view.reference();
  const isKnown = (symbol: string): boolean => instruments.has(symbol);
  return { symbols, series: seriesOf(period), adjustment, count, rangeOf, isKnown };
}

/** K-lines of several symbols: `GET /v1/klines/batch`. */
export const serveKlinesBatch: EndpointHandler = async (view, { query, format }) => {
  const asked = parseParameters(PARAMETERS.klinesBatch, query);
  (await view.scope()).checkSymbols(asked.symbols);
  const range = rangeOfWindow(asked.start_time, asked.end_time);
  const request = await requestOf(view, asked.symbols, asked, () => range, asked.adjust);
  return klinesOf(view, request, { format, period: asked.period });
};

/** K-lines of one symbol: `GET /v1/klines`. */
export const serveKlines: EndpointHandler = async (view, { query, format }) => {
  const asked = parseParameters(PARAMETERS.klines, query);
  (await view.scope()).checkSymbols([asked.symbol]);
  const range = rangeOfWindow(asked.start_time, asked.end_time);
  const request = await requestOf(view, [asked.symbol], asked, () => range, asked.adjust);
  return klinesOfOne(view, request, { format, period: asked.period });
};

/** Number of bars that take as much memory as the ex-events of a symbol: those of twenty years. */
const ROWS_OF_EX_FACTORS = 30;

/** The ratio of each ex-event of the symbols in a window: `GET /v1/klines/ex-factors`. */
export const serveExFactors: EndpointHandler = async (view, { query, format }) => {
  const asked = parseParameters(PARAMETERS.exFactors, query);
  (await view.scope()).checkSymbols(asked.symbols);
  const range = rangeOfWindow(asked.start_time, asked.end_time);
  const symbols = asked.symbols.filter((symbol) => regionOf(symbol) !== undefined);
  await view.acquireMemory(symbols.length * ROWS_OF_EX_FACTORS);
  const events = await view.exEvents(symbols);
  const { instruments } = await view.reference();
  const data = symbols.flatMap((symbol, index) => {
    const { zone } = REGIONS[regionOf(symbol) as Region];
    const factors = (events[index] ?? [])
      .map(({ day, factor }) => ({ timestamp: instantOf(addDays(EPOCH, day), zone), ex_factor: factor }))
      .filter(({ timestamp }) => timestamp >= range.start && timestamp < range.end);
    return factors.length > 0 || instruments.has(symbol) ? [[symbol, factors] as const] : [];
  });
  if (format === "arrow") return exFactorsArrow(data, await versionsText(view.version, EX_EVENT_TABLES));
  return new TextResponse(jsonText({ data: Object.fromEntries(data) }, (member) => member === "ex_factor"));
};

function exFactorsArrow(
  data: readonly (readonly [string, readonly { timestamp: number; ex_factor: number }[]])[],
  versions: string,
): Promise<ArrowResponse> {
  const rows = data.flatMap(([, factors], symbol) => factors.map((factor) => ({ symbol, ...factor })));
  const words = wordList(data.map(([symbol]) => symbol));
  const columns: BatchColumn[] = [
    { name: "symbol", kind: "word", isRequired: true, words, values: rows.map(({ symbol }) => symbol) },
    {
      name: "timestamp",
      kind: "milliseconds",
      isRequired: true,
      values: rows.map(({ timestamp }) => BigInt(timestamp)),
    },
    {
      name: "ex_factor",
      kind: "double",
      isRequired: true,
      unit: "ratio",
      values: rows.map(({ ex_factor }) => ex_factor),
    },
  ];
  const batch = columnBatch(columns, rows.length, new Map([["versions", versions]]));
  return ArrowResponse.ofBatches(only(batch), rows.length);
}

/** Minutes of one symbol on the latest trading day of its region: `GET /v1/klines/intraday`. */
export const serveIntraday: EndpointHandler = async (view, { query, format }) => {
  const asked = parseParameters(PARAMETERS.intraday, query);
  (await view.scope()).checkSymbols([asked.symbol]);
  const days = await latestMinuteDays(view);
  const request = await requestOf(view, [asked.symbol], asked, (region) => days.get(region) ?? NO_TIME);
  return klinesOfOne(view, request, { format, period: asked.period });
};

/** Minutes of several symbols on the latest trading days of their regions: `GET /v1/klines/intraday/batch`. */
export const serveIntradayBatch: EndpointHandler = async (view, { query, format }) => {
  const asked = parseParameters(PARAMETERS.intradayBatch, query);
  (await view.scope()).checkSymbols(asked.symbols);
  const days = await latestMinuteDays(view);
  const request = await requestOf(view, asked.symbols, asked, (region) => days.get(region) ?? NO_TIME);
  return klinesOf(view, request, { format, period: asked.period }, MOST_MINUTES);
};

/** Minutes of the members of universes on their regions' latest trading days: `GET /v1/klines/intraday/universe`. */
export const serveIntradayUniverse: EndpointHandler = async (view, { query, format }) => {
  const asked = parseParameters(PARAMETERS.intradayUniverse, query);
  (await view.scope()).checkUniverses(asked.universes);
  const days = await latestMinuteDays(view);
  const window = rangeOfWindow(asked.start_time, asked.end_time);
  const members = await view.members();
  const symbols = [...new Set(asked.universes.flatMap((id) => members.get(id) ?? []))];
  const request: KlinesRequest = {
    symbols,
    series: seriesOf(asked.period),
    adjustment: "none",
    count: asked.count,
    rangeOf: (region) => intersection(days.get(region) ?? NO_TIME, window),
    isKnown: () => true,
  };
  return klinesOf(view, request, { format, period: asked.period }, MOST_MINUTES);
};

interface Form {
  readonly format: BodyFormat;
  readonly period: Period;
}

/** The bars of several symbols, in blocks where there are many. @param most most bars that a symbol can have. */
async function klinesOf(
  view: LakeView,
  request: KlinesRequest,
  form: Form,
  most?: number,
): Promise<ArrowResponse | KlineResponse> {
  if (isOneBlock(request, most)) {
    const runs = await readKlines(view, { ...request, memory: view.memory });
    return form.format === "arrow"
      ? ArrowResponse.ofRuns(runs, await streamFacts(view, request, form, runs))
      : KlineResponse.of(runs, "map");
  }
  await view.acquireMemory(BLOCK_ROWS);
  const blocks = klineBlocks(view, request, most);
  return form.format === "arrow"
    ? ArrowResponse.ofBlocks(blocks, await streamFacts(view, request, form))
    : KlineResponse.ofBlocks(blocks);
}

/** The bars of one symbol. @throws {RequestError} where the lake does not know it. */
async function klinesOfOne(
  view: LakeView,
  request: KlinesRequest,
  form: Form,
): Promise<ArrowResponse | KlineResponse> {
  const runs = known(
    await readKlines(view, { ...request, memory: view.memory }),
    request.symbols[0] as string,
  );
  return form.format === "arrow"
    ? ArrowResponse.ofRuns(runs, await streamFacts(view, request, form, runs))
    : KlineResponse.of(runs, "single");
}

/** The facts about the bars in an Arrow stream: symbols, meaning of the numbers, and origin. */
async function streamFacts(
  view: LakeView,
  { symbols, series, adjustment }: KlinesRequest,
  { period }: Form,
  runs?: readonly KlineRun[],
): Promise<StreamFacts> {
  const tables = adjustment === "none" ? [series.table] : [...new Set([series.table, ...EX_EVENT_TABLES])];
  const metadata = new Map([
    ["period", period],
    ["adjust", adjustment],
    ["versions", await versionsText(view.version, tables)],
  ]);
  return { symbols: runs?.map(({ symbol }) => symbol) ?? symbols, metadata };
}

/** @throws {RequestError} where there is no run, because the lake does not know the symbol. */
function known(runs: readonly KlineRun[], symbol: string): readonly KlineRun[] {
  if (runs.length > 0) return runs;
  throw new RequestError("SYMBOL_NOT_FOUND", `symbol ${JSON.stringify(symbol.slice(0, 64))} is not known`);
}

async function latestMinuteDays(view: LakeView): Promise<DaysOf> {
  const days = await view.latestDays();
  if (days.size === 0) throw new RequestError("INTRADAY_UNAVAILABLE", "the lake has no minute bars");
  return days;
}
