import {
  createChart,
  createSeriesMarkers,
  type IChartApi,
  type ISeriesApi,
  type Logical,
  PriceScaleMode,
  type SeriesMarker,
  type Time,
  type UTCTimestamp,
} from "lightweight-charts";
import { lowerBound } from "../../../core/lower-bound.js";
import {
  addCandles,
  addLine,
  addVolume,
  barChartOptions,
  type Colour,
  candleColours,
  colours,
  decimalsOf,
  priceFormatOf,
  VOLUME_PART,
  volumeColour,
} from "../../../notebook/browser/candles/candle-series.js";
import type { Bars } from "./bars-source.js";

/**
 * The closes of another instrument at the times of a chart: at each the newest one since the time before, else NaN. A
 * series with times of its own would have other positions than the bars.
 */
export function closesAt(
  times: Float64Array,
  { time, close }: { readonly time: Float64Array; readonly close: Float64Array },
): Float64Array {
  let next = 0;
  return times.map((at) => {
    let found = Number.NaN;
    for (; next < time.length && (time[next] as number) <= at; next++) found = close[next] as number;
    return found;
  });
}

/**
 * The times of a chart, followed by the newer ones of the compared series: markets whose newest days differ share the
 * newest of them. The positions of the chart's own bars are unchanged.
 */
export function sharedTimes(own: Float64Array, others: readonly Float64Array[]): Float64Array {
  const newest = own.at(-1) ?? Number.POSITIVE_INFINITY;
  const newer = new Set(
    others.flatMap((times) => [...times.subarray(times.findLastIndex((at) => at <= newest) + 1)]),
  );
  return newer.size === 0 ? own : Float64Array.from([...own, ...[...newer].sort((a, b) => a - b)]);
}

/** Lengths of time that a chart can show up to the newest bar. */
export const RANGES = ["1M", "3M", "YTD", "1Y", "all"] as const;
export type ChartRange = (typeof RANGES)[number];

/** The first time of a range that ends with the newest bar, on the axis of a chart; of `all`, minus infinity. */
export function rangeStart(range: ChartRange, newest: number): number {
  if (range === "all") return Number.NEGATIVE_INFINITY;
  const end = new Date(newest * 1000);
  const [year, month, day] = [end.getUTCFullYear(), end.getUTCMonth(), end.getUTCDate()];
  if (range === "YTD") return Date.UTC(year, 0, 1) / 1000;
  const first = month - { "1M": 1, "3M": 3, "1Y": 12 }[range];
  // The last day of a shorter month.
  return Math.min(Date.UTC(year, first, day), Date.UTC(year, first + 1, 0)) / 1000;
}

/** The mean of the last `length` values at each position; NaN where there are fewer values. */
export function movingAverage(values: Float64Array, length: number): Float64Array {
  const means = new Float64Array(values.length).fill(Number.NaN);
  for (let end = length - 1; end < values.length; end++) {
    // Each sum is computed separately, because a running sum would accumulate rounding errors.
    let sum = 0;
    for (let at = end - length + 1; at <= end; at++) sum += values[at] as number;
    means[end] = sum / length;
  }
  return means;
}

/** Moves labels of the time axis that an edge would cut: the library does so only at the ends of the data. */
function fitTimeLabels(element: HTMLElement): void {
  // The last row of the chart is the time axis. Its first canvas has the labels, the second one that of the pointer.
  const canvas = element.querySelector<HTMLCanvasElement>("tr:last-child td:nth-child(2) canvas");
  const context = canvas?.getContext("2d");
  if (canvas == null || context == null) return;
  const draw = context.fillText.bind(context);
  context.fillText = (text, x, y) => {
    const half = context.measureText(text).width / 2;
    const width = canvas.clientWidth;
    // A label of a bar outside of the view is left out.
    if (x >= 0 && x <= width) draw(text, Math.min(Math.max(x, half), width - half), y);
  };
}

/** A time on a chart's axis in the form of the address, in the exchange's local time. */
export function placeText(seconds: number, hasTimes: boolean): string {
  return new Date(seconds * 1000).toISOString().slice(0, hasTimes ? 16 : 10);
}

/** The time of a text in the address, in seconds of the axis; undefined for any other text. */
export function placeTime(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\d(T\d\d:\d\d)?$/.test(text)) return undefined;
  const ms = Date.parse(text.length === 10 ? `${text}T23:59:59Z` : `${text}Z`);
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/** The time of the last bar in view; undefined where that is the newest. @param to the right edge, maybe after it */
export function endOfView(time: ArrayLike<number>, to: number): number | undefined {
  const last = time.length - 1;
  return to >= last - 0.5 ? undefined : time[Math.max(0, Math.floor(to))];
}

export interface Mark {
  /** Seconds, on the same scale as the times of the bars. */
  readonly time: number;
  readonly kind: "ex" | "statement" | "question";
  /** Letters of an ex-date. */
  readonly text?: string;
}

interface Drawing {
  readonly bars: Bars;
  readonly hasTimes: boolean;
  readonly rising: "red" | "green";
  /** Lengths of the moving averages, which are not drawn in a comparison. */
  readonly averages: readonly number[];
  /** Without effect in a comparison, whose scale is in percent. */
  readonly isLog: boolean;
  readonly marks: readonly Mark[];
  readonly compared: readonly { readonly symbol: string; readonly bars: Bars }[];
  /** The times that are in view at first. @default the newest bars */
  readonly around?: { readonly first: number; readonly last: number };
  /** The time of the last bar in view at first. @default the newest bar */
  readonly end?: number | undefined;
  /** The time of the first bar in view at first; without effect where `end` is given. */
  readonly start?: number | undefined;
  /** The view moves to `end` or `start`, also where the bars are the same, when this number changes. */
  readonly jump?: number;
  readonly title?: string;
}

/** Width of a bar at first, in pixels: about as many bars are shown as can be distinguished. */
const BAR_PIXELS = 7;

/** Width below which the legend over the chart has three lines, and its height with its distance from the top (px). */
const NARROW = 600;
const LEGEND = { narrow: 72, wide: 34 } as const;

export class PriceChart {
  readonly #element: HTMLElement;
  readonly #onPoint: (index: number | undefined, marked: number | undefined) => void;
  readonly #onEarlier: () => void;
  readonly #onMoved: (end: number | undefined) => void;
  #chart: IChartApi | undefined;
  #drawn: Drawing | undefined;

  /**
   * @param onPoint called with the position of the bar under the pointer, and of that whose ex-dates are marked there.
   * @param onEarlier called when the view reaches bars before the loaded ones.
   * @param onMoved called with the time of the last bar in view; undefined: the newest.
   */
  constructor(
    element: HTMLElement,
    onPoint: (index: number | undefined, marked: number | undefined) => void,
    onEarlier: () => void,
    onMoved: (end: number | undefined) => void = () => {},
  ) {
    this.#element = element;
    this.#onPoint = onPoint;
    this.#onEarlier = onEarlier;
    this.#onMoved = onMoved;
  }

  /** Draws. The range in view does not change if the bars are the same, or are extended to earlier times. */
  draw(drawing: Drawing): void {
    const before = this.#drawn;
    const range = this.#chart?.timeScale().getVisibleLogicalRange() ?? null;
    this.remove();
    this.#drawn = drawing;
    const { bars, isLog, compared } = drawing;
    const colour = colours(this.#element);
    const chart = createChart(this.#element, { ...barChartOptions(this.#element, colour), autoSize: true });
    this.#chart = chart;
    fitTimeLabels(this.#element);
    chart.timeScale().applyOptions({
      timeVisible: drawing.hasTimes,
      secondsVisible: false,
      minBarSpacing: 0.05,
      // There is nothing to see before the first bar.
      fixLeftEdge: !bars.hasEarlier,
    });
    chart.applyOptions({ localization: { dateFormat: "yyyy-MM-dd" } });
    const markers = markersOf(drawing.marks, bars, colour);
    const candles = this.#fill(chart, drawing, markers);
    const marked = new Set(markers.flatMap(({ id }) => (id === undefined ? [] : [Number(id)])));
    const mode =
      compared.length > 0
        ? PriceScaleMode.Percentage
        : isLog
          ? PriceScaleMode.Logarithmic
          : PriceScaleMode.Normal;
    const { clientWidth, clientHeight } = this.#element;
    const top = (clientWidth < NARROW ? LEGEND.narrow : LEGEND.wide) / Math.max(clientHeight, 1);
    chart.priceScale("right").applyOptions({ mode, scaleMargins: { top, bottom: VOLUME_PART } });
    this.#show(chart, before, range);
    chart.subscribeCrosshairMove(({ time, seriesData, hoveredInfo }) => {
      const at = time === undefined ? -1 : bars.time.indexOf(Number(time));
      const index = at < 0 || !seriesData.has(candles) ? undefined : at;
      const hovered = hoveredInfo?.objectId;
      const near = index !== undefined && marked.has(index) ? index : undefined;
      this.#onPoint(index, typeof hovered === "string" ? Number(hovered) : near);
    });
    chart.timeScale().subscribeVisibleLogicalRangeChange((visible) => {
      if (visible === null) return;
      this.#onMoved(endOfView(bars.time, visible.to));
      if (visible.from < 10) this.#onEarlier();
    });
  }

  /** Distance of a bar from the left edge, in pixels; undefined where nothing is drawn. */
  leftOf(place: number): number | undefined {
    return this.#chart?.timeScale().logicalToCoordinate(place as Logical) ?? undefined;
  }

  /** Moves to the newest bars. */
  remove(): void {
    this.#chart?.remove();
    this.#chart = undefined;
  }

  #fill(
    chart: IChartApi,
    { bars, rising, averages, compared, title }: Drawing,
    markers: SeriesMarker<Time>[],
  ): ISeriesApi<"Candlestick"> {
    const colour = colours(this.#element);
    const pair = candleColours(rising, colour);
    const priceFormat = priceFormatOf(decimalsOf(bars.close));
    const { time, open, high, low, close, shares } = bars;
    const places = Array.from(time, (_, at) => at);
    addVolume(chart).setData(
      places.map((at) => ({
        time: time[at] as UTCTimestamp,
        value: shares[at] as number,
        color: volumeColour(pair, open[at] as number, close[at] as number),
      })),
    );
    const candles = addCandles(chart, pair, priceFormat);
    candles.setData(
      places.map((at) => ({
        time: time[at] as UTCTimestamp,
        open: open[at] as number,
        high: high[at] as number,
        low: low[at] as number,
        close: close[at] as number,
      })),
    );
    for (const [nth, length] of compared.length > 0 ? [] : averages.entries()) {
      const means = movingAverage(close, length);
      addLine(chart, { colour: colour(`--line-${(nth % 4) + 1}`), priceFormat }).setData(
        places.map((at) => pointOf(time[at] as number, means[at] as number)),
      );
    }
    const times = sharedTimes(
      time,
      compared.map((one) => one.bars.time),
    );
    for (const [nth, { symbol, bars: other }] of compared.entries()) {
      const series = addLine(chart, {
        colour: colour(`--line-${(nth % 4) + 1}`),
        title: symbol,
        priceFormat,
      });
      // The name is drawn beside the last value, at the end of the line.
      series.applyOptions({ lastValueVisible: true });
      const closes = closesAt(times, other);
      series.setData(Array.from(times, (at, place) => pointOf(at, closes[place] as number)));
    }
    if (compared.length > 0 && title !== undefined) candles.applyOptions({ title });
    createSeriesMarkers(candles, markers);
    return candles;
  }

  #show(chart: IChartApi, before: Drawing | undefined, range: { from: number; to: number } | null): void {
    const bars = this.#drawn?.bars as Bars;
    const { around, end: lastTime, start, jump, compared } = this.#drawn as Drawing;
    const isSame =
      before !== undefined &&
      before.bars.time.at(-1) === bars.time.at(-1) &&
      before.jump === jump &&
      sameStep(before.bars, bars);
    const scale = chart.timeScale();
    if (isSame && range !== null) {
      const added = bars.time.length - before.bars.time.length;
      scale.setVisibleLogicalRange({ from: range.from + added, to: range.to + added });
      return;
    }
    const shown = Math.max(40, Math.floor(this.#element.clientWidth / BAR_PIXELS));
    const count = bars.time.length;
    const end = sharedTimes(
      bars.time,
      compared.map((one) => one.bars.time),
    ).length;
    /** The given position the last one in view; not beyond the first bar. */
    const showUntil = (last: number, from = last - shown): void =>
      scale.setVisibleLogicalRange({ from: Math.max(from, -0.5), to: last });
    if (lastTime !== undefined && lastTime < (bars.time.at(-1) ?? 0)) {
      const place = bars.time.findLastIndex((time) => time <= lastTime);
      // Before the first bar: as many as usual, from the first one.
      return showUntil((place < 0 ? Math.min(shown, count - 1) : Math.max(place, 5)) + 0.4);
    }
    if (around !== undefined) {
      const [first, last] = [placeOf(bars, around.first), placeOf(bars, around.last)];
      const margin = Math.max(5, Math.floor((shown - Math.min(last - first, shown)) / 2));
      const to = Math.min(last + margin, count + 2);
      return showUntil(to, Math.min(first - 5, to - (last - first) - 2 * margin));
    }
    showUntil(end + 2, start === undefined ? undefined : placeOf(bars, start));
  }
}

function pointOf(time: number, value: number): { time: UTCTimestamp; value?: number } {
  return Number.isNaN(value) ? { time: time as UTCTimestamp } : { time: time as UTCTimestamp, value };
}

/** Whether two series have the same period. */
function sameStep(a: Bars, b: Bars): boolean {
  const steps = ({ time }: Bars): number => (time.at(-1) ?? 0) - (time.at(-2) ?? 0);
  return steps(a) === steps(b);
}

/** The position of the first bar at or after a time; the last position where there is none. */
function placeOf({ time }: Bars, at: number): number {
  const place = time.findIndex((one) => one >= at);
  return place < 0 ? time.length - 1 : place;
}

const MARKERS: Readonly<
  Record<Mark["kind"], Pick<SeriesMarker<Time>, "position" | "shape" | "size" | "color">>
> = {
  ex: { position: "belowBar", shape: "arrowUp", color: "--accent", size: 0.6 },
  statement: { position: "aboveBar", shape: "circle", color: "--muted", size: 0.5 },
  question: { position: "aboveBar", shape: "arrowDown", color: "--bad", size: 1 },
};

/** A mark is on the first bar on or after its day. A bar's letters are joined; the id is its position. */
function markersOf(marks: readonly Mark[], { time }: Bars, colour: Colour): SeriesMarker<Time>[] {
  const places = new Map<string, SeriesMarker<Time>>();
  const [first = Number.POSITIVE_INFINITY] = time;
  for (const { time: at, kind, text = "" } of marks) {
    if (at < first) continue;
    const place = lowerBound(0, time.length, (one) => (time[one] as number) >= at);
    if (place === time.length) continue;
    const marker = MARKERS[kind];
    const key = `${place} ${kind}`;
    const letters = [...new Set(`${places.get(key)?.text ?? ""}${text}`)].sort().join("");
    places.set(key, {
      ...marker,
      ...(letters !== "" && { text: letters, id: String(place) }),
      time: time[place] as UTCTimestamp,
      color: colour(marker.color),
    } as SeriesMarker<Time>);
  }
  return [...places.values()].sort((a, b) => Number(a.time) - Number(b.time));
}
