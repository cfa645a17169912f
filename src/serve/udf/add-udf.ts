import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { DAY_MS, MINUTE_MS, type TimeRange } from "../../core/time.js";
import { nameRank } from "../../market/name-rank.js";
import { ADJUSTMENTS, type Adjustment, PERIODS, type Period } from "../../market/period.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { midnightOf, SESSION_HOURS } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { localDay, offsetMs } from "../../market/zone.js";
import { BARS_1M } from "../../schema/bars.js";
import { STATEMENTS } from "../../schema/statements.js";
import type { EndpointGroup } from "../../wire/endpoints.js";
import { ParameterError } from "../../wire/parameters.js";
import type { Instrument } from "../../wire/resources.js";
import { RequestError } from "../http/request-error.js";
import { disconnectStalled } from "../http/request-lifetime.js";
import { readKlines } from "../klines/read-klines.js";
import { ALL_TIME, type KlinesRequest, seriesOf } from "../klines/requested-bars.js";
import type { LakeView } from "../read/lake-reader.js";

const LONG: Partial<Record<Period, string>> = { "1d": "1D", "1w": "1W", "1M": "1M", "1Q": "3M", "1Y": "12M" };
/** Period by the protocol's name of a resolution: minutes as a number, or a number of days, weeks or months. */
const RESOLUTIONS = new Map(PERIODS.map((period) => [LONG[period] ?? period.slice(0, -1), period]));
const INTRADAY = [...RESOLUTIONS.keys()].filter((name) => /^\d+$/.test(name));

export const UDF_PATH = "/udf";
const MOST_BARS = 10_000;
const MOST_FOUND = 100;
const DAY_SECONDS = DAY_MS / 1000;

const text = z.string().max(64).default("");
/** Seconds since 1970-01-01, within the years 1 to 9999. */
const seconds = z.coerce.number().min(-62_135_596_800).max(253_402_300_799);
/** The parameters of every path. The end of a window is exclusive. */
const QUERY = z.object({
  symbol: text,
  query: text,
  type: text,
  exchange: text,
  limit: z.coerce.number().int().min(1).default(30),
  resolution: text,
  from: seconds.default(-62_135_596_800),
  to: seconds.default(253_402_300_799),
  countback: z.coerce.number().int().min(1).max(MOST_BARS).optional(),
});

/** An answer of the protocol. @param adjustment that of prices. */
type Answer = (view: LakeView, query: z.output<typeof QUERY>, adjustment: Adjustment) => Promise<unknown>;

const config: Answer = async (view) => {
  const { instruments } = await view.reference();
  const scope = await view.scope();
  const permitted = [...instruments.values()].filter(({ symbol }) => scope.hasSymbol(symbol));
  const [exchanges, types] = (["exchange", "type"] as const).map((name) =>
    [...new Set(permitted.map((one) => one[name]))].sort(),
  ) as [string[], string[]];
  return {
    supported_resolutions: [...RESOLUTIONS.keys()],
    supports_group_request: false,
    supports_search: true,
    supports_marks: true,
    supports_timescale_marks: false,
    supports_time: true,
    exchanges: ["", ...exchanges].map((value) => ({ value, name: value || "All", desc: value })),
    symbols_types: ["", ...types].map((value) => ({ value, name: value || "All" })),
  };
};

/** Whole steps of a price in 1: by the tick size of the metadata, else that of the region's stocks, and of funds in China. */
function priceScale(region: Region, known: Instrument | undefined): number {
  const { tick_size: tick } = (known?.ext ?? {}) as { readonly tick_size?: unknown };
  if (typeof tick === "number" && tick > 0) return Math.max(1, Math.round(1 / tick));
  return region === "HK" || (region === "CN" && known !== undefined && known.type !== "stock") ? 1000 : 100;
}

const clockText = (minute: number): string =>
  String(Math.floor(minute / 60) * 100 + (minute % 60)).padStart(4, "0");

function unknownSymbol(symbol: string): RequestError {
  const message = `unknown_symbol ${JSON.stringify(symbol)}: symbols look like 600519.SH`;
  return new RequestError("SYMBOL_NOT_FOUND", message);
}

/** @throws {RequestError} for a text that is no symbol, or one that the caller may not request. */
async function regionFor(view: LakeView, symbol: string): Promise<Region> {
  (await view.scope()).checkSymbols([symbol]);
  const region = regionOf(symbol);
  if (region === undefined) throw unknownSymbol(symbol);
  return region;
}

type BarsRequest = Pick<KlinesRequest, "adjustment" | "count"> & { period: Period; range: TimeRange };

/** The newest bars of a symbol. @throws {RequestError} for an unknown one. */
async function bars(view: LakeView, symbol: string, { period, range, ...parts }: BarsRequest) {
  const { instruments } = await view.reference();
  const isKnown = (): boolean => instruments.has(symbol);
  const request = { ...parts, symbols: [symbol], series: seriesOf(period), rangeOf: () => range, isKnown };
  const [run] = await readKlines(view, { ...request, memory: view.memory });
  if (run === undefined) throw unknownSymbol(symbol);
  return run;
}

const symbols: Answer = async (view, { symbol }) => {
  const region = await regionFor(view, symbol);
  const known = (await view.reference()).instruments.get(symbol);
  if (known === undefined)
    await bars(view, symbol, { period: "1d", adjustment: "none", count: 1, range: ALL_TIME });
  const minutes = [...(await view.version.snapshot(BARS_1M)).files.values()];
  const hasIntraday = minutes.some(({ partitionValues }) => partitionValues.region === region);
  const exchange = symbol.slice(symbol.lastIndexOf(".") + 1);
  return {
    name: symbol,
    ticker: symbol,
    description: known?.name ?? symbol,
    type: known?.type ?? "stock",
    exchange,
    listed_exchange: exchange,
    timezone: REGIONS[region].zone,
    session: SESSION_HOURS[region].parts.map((part) => part.map(clockText).join("-")).join(","),
    minmov: 1,
    pricescale: priceScale(region, known),
    has_intraday: hasIntraday,
    has_weekly_and_monthly: true,
    intraday_multipliers: INTRADAY,
    supported_resolutions: [...RESOLUTIONS.keys()].filter((name) => hasIntraday || !INTRADAY.includes(name)),
    data_status: "endofday",
  };
};

const search: Answer = async (view, { query: sought, type, exchange, limit }) => {
  const { instruments } = await view.reference();
  const scope = await view.scope();
  const ranked: (readonly [rank: number, instrument: Instrument])[] = [];
  for (const one of instruments.values()) {
    if ((type !== "" && one.type !== type) || (exchange !== "" && one.exchange !== exchange)) continue;
    const { name_en: nameEn = "" } = (one.ext ?? {}) as { readonly name_en?: string };
    const texts = [one.symbol, one.name ?? "", nameEn].map((name) => name.toLowerCase());
    const rank = nameRank(texts as [string, string, string], sought.trim().toLowerCase());
    if (rank !== undefined && scope.hasSymbol(one.symbol)) ranked.push([rank, one]);
  }
  // The instruments are in the order of their symbols, which sorting keeps among equals.
  ranked.sort(([a], [b]) => a - b);
  return ranked.slice(0, Math.min(limit, MOST_FOUND)).map(([, { symbol, name = symbol, ...one }]) => {
    return { symbol, ticker: symbol, description: name, exchange: one.exchange, type: one.type };
  });
};

/**
 * When the bar with a label begins. The protocol labels minutes by their begin, the lake by their end; the last bar of a
 * part of the session may be shorter than the others.
 */
function minuteBegin(label: number, minutes: number, region: Region): number {
  const at = Math.floor((label + offsetMs(REGIONS[region].zone, label)) / MINUTE_MS) % 1440;
  const [open] = SESSION_HOURS[region].parts.find(([first, last]) => at > first && at <= last) ?? [];
  return label - (open === undefined ? minutes : ((at - open - 1) % minutes) + 1) * MINUTE_MS;
}

const history: Answer = async (view, { symbol, resolution, from, to, countback }, adjustment) => {
  const period = RESOLUTIONS.get(/^[DWM]$/.test(resolution) ? `1${resolution}` : resolution);
  if (period === undefined)
    throw new ParameterError("INVALID_PERIOD", `resolution is none of ${[...RESOLUTIONS.keys()].join(", ")}`);
  const region = await regionFor(view, symbol);
  const minutes = period.endsWith("m") ? Number(period.slice(0, -1)) : 0;
  // Bars of days and longer are at midnight UTC of their date, whatever the zone of the exchange.
  const labelOf = (second: number): number =>
    minutes > 0 ? second * 1000 : midnightOf(region, Math.ceil(second / DAY_SECONDS));
  const timeOf = (label: bigint): number =>
    minutes > 0
      ? minuteBegin(Number(label), minutes, region) / 1000
      : localDay(Number(label), REGIONS[region].zone) * DAY_SECONDS;
  const most = countback ?? MOST_BARS;
  const end = Math.min(labelOf(to) + minutes * MINUTE_MS, ALL_TIME.end);
  const start =
    countback === undefined ? Math.min(Math.max(labelOf(from), ALL_TIME.start), end) : ALL_TIME.start;
  // The labels of two bars more are in the window of labels: those that begin just before it, and at its end.
  const { values, ...run } = await bars(view, symbol, {
    period,
    adjustment,
    count: most + 2,
    range: { start, end },
  });
  const times = Array.from(values.timestamp.subarray(run.start, run.end), timeOf);
  const isIn = (time: number): boolean => time < to && (countback !== undefined || time >= from);
  const rows = times.flatMap((time, at) => (isIn(time) ? [at] : []));
  if (countback === undefined && rows.length > most)
    throw new ParameterError("INVALID_PARAMETER", `more than ${most} bars: shorten the window`);
  const shown = rows.slice(-most);
  if (shown.length === 0) {
    if (countback !== undefined || start <= ALL_TIME.start) return { s: "no_data" };
    const range = { start: ALL_TIME.start, end: start };
    const before = await bars(view, symbol, { period, adjustment: "none", count: 1, range });
    const [last] = before.values.timestamp.subarray(before.start, before.end);
    return { s: "no_data", ...(last === undefined ? {} : { nextTime: timeOf(last) }) };
  }
  const pick = (column: ArrayLike<number | bigint>): number[] =>
    shown.map((at) => Number(column[run.start + at]));
  const { open, high, low, close } = values.doubles;
  const [o, h, l, c] = [open, high, low, close].map((column) => pick(column.values));
  return { s: "ok", t: shown.map((at) => times[at]), o, h, l, c, v: pick(values.volume) };
};

const marks: Answer = async (view, { symbol, from, to }) => {
  await regionFor(view, symbol);
  const [events = []] = await view.exEvents([symbol]);
  const found = events.map(({ day, factor }) => {
    return { time: day * DAY_SECONDS, label: "E", text: `ex-date, factor ${factor.toPrecision(6)}` };
  });
  const announced = await view.version.query(async (session) => {
    const parts: string[] = [];
    for (const table of Object.values(STATEMENTS)) {
      const snapshot = await view.version.snapshot(table);
      const relation = await view.version.relation(session, snapshot, snapshot.files.values());
      parts.push(`SELECT '${table.name}' AS kind, symbol, period_end, announce_date FROM (${relation})`);
    }
    return session.json<{ readonly time: number; readonly text: string }>(
      `SELECT epoch(announce_date)::DOUBLE AS "time",
         string_agg(DISTINCT replace(kind, '_', ' ') || ' of ' || period_end, ', ') AS text
       FROM (${parts.join(" UNION ALL ")}) WHERE symbol = $symbol AND announce_date IS NOT NULL GROUP BY 1`,
      { symbol },
    );
  });
  found.push(...announced.map((one) => ({ ...one, label: "R" })));
  const shown = found.filter(({ time }) => time >= from && time < to).sort((a, b) => a.time - b.time);
  return {
    id: shown.map(({ time, label }) => `${label}${time}`),
    time: shown.map(({ time }) => time),
    color: shown.map(({ label }) => (label === "E" ? "red" : "blue")),
    text: shown.map((one) => one.text),
    label: shown.map(({ label }) => label),
    labelFontColor: shown.map(() => "white"),
  };
};

const time: Answer = async (view) => String(Math.floor(view.now / 1000));

const ANSWERS = { config, symbols, search, history, marks, time };

/**
 * Adds the paths of TradingView's UDF protocol, on which chart pages can run: `/udf/config`, `symbols`, `search`,
 * `history`, `marks` and `time`. Prices are as traded; `/udf/forward/history` and so on have adjusted ones.
 *
 * @param read reads the lake for a request. @see https://www.tradingview.com/charting-library-docs/latest/connecting_data/UDF
 */
export function addUdf(
  app: FastifyInstance,
  read: (
    request: FastifyRequest,
    reply: FastifyReply,
    group: EndpointGroup,
    answer: (view: LakeView) => Promise<unknown>,
  ) => Promise<unknown>,
): void {
  for (const [name, answer] of Object.entries(ANSWERS)) {
    const group = answer === history || answer === marks ? "klines" : "reference";
    for (const [begin, adjustment] of [["", "none"], ...ADJUSTMENTS.map((one) => [`/${one}`, one])] as const)
      app.get(`${UDF_PATH}${begin}/${name}`, (request, reply) => {
        disconnectStalled(reply.raw);
        const { data, error } = QUERY.safeParse(request.query);
        const [issue] = error?.issues ?? [];
        if (data === undefined)
          throw new ParameterError("INVALID_PARAMETER", `${issue?.path.join(".")}: ${issue?.message}`);
        return read(request, reply, group, (view) => answer(view, data, adjustment as Adjustment));
      });
  }
}
