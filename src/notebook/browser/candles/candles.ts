import {
  createChart,
  type IChartApi,
  type ISeriesApi,
  PriceScaleMode,
  TickMarkType,
  type Time,
  type UTCTimestamp,
} from "lightweight-charts";
import type { Language } from "../../../core/language.js";
import { notebookTexts } from "../../notebook-texts.js";
import type { PackedChart, PackedColumn } from "../../page/pack-charts.js";
import { drawers, element, spaced } from "../drawing.js";
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
  volumeColour,
} from "./candle-series.js";

/** Whether a chart's bars are shorter than days, so that their labels are times. */
export function hasTimes({ channels }: PackedChart): boolean {
  return channels.x?.[0]?.kind === "time";
}

/** The date of a bar, or its time with the zone. */
export function timeText(seconds: UTCTimestamp, isTime: boolean): string {
  const text = new Date(seconds * 1000).toISOString();
  return isTime ? `${text.slice(0, 16).replace("T", " ")} UTC` : text.slice(0, 10);
}

/** A label on the time axis. Its form depends on whether it marks a year, a month, a day or a time. */
export function tickText(time: Time, kind: TickMarkType, language: Language | undefined): string {
  const at = new Date((time as UTCTimestamp) * 1000);
  const said = notebookTexts(language);
  switch (kind) {
    case TickMarkType.Year:
      return said.year(at.getUTCFullYear());
    case TickMarkType.Month:
      return said.month(at.getUTCFullYear(), at.getUTCMonth());
    case TickMarkType.DayOfMonth:
      return said.day(at.getUTCMonth(), at.getUTCDate());
    case TickMarkType.Time:
    case TickMarkType.TimeWithSeconds:
      return at.toISOString().slice(11, 16);
  }
}

export interface LegendEntry {
  readonly name: string;
  readonly text: string;
  readonly color?: string;
}

/** A line above a chart that shows one bar and its values. It may wrap; its height never decreases. */
export class CandleLegend {
  readonly #place: HTMLElement;
  #height = 0;

  constructor(parent: HTMLElement) {
    this.#place = element(parent, "div", "legend");
  }

  /** @param when the date or time of the bar. */
  show(when: string, entries: readonly LegendEntry[]): void {
    this.#place.replaceChildren();
    element(this.#place, "b", "when", when);
    for (const { name, text, color } of entries) {
      const entry = element(this.#place, "span", "entry");
      const label = element(entry, "i", "", name);
      if (color !== undefined) label.style.color = color;
      entry.append(` ${text}`);
    }
    this.#height = Math.max(this.#height, this.#place.offsetHeight);
    this.#place.style.minHeight = `${this.#height}px`;
  }
}

type Numbers = readonly (number | null)[];

/** The bars of a chart in ascending order of time, with their formats. */
interface Bars {
  readonly times: readonly UTCTimestamp[];
  readonly prices: Readonly<Record<"open" | "high" | "low" | "close", Numbers>>;
  readonly volume: Numbers;
  readonly lines: readonly { readonly name: string; readonly color: string; readonly values: Numbers }[];
  /** Number of decimals of prices. */
  readonly digits: number;
}

drawers().candles = (packed, figure) => {
  const colour = colours(figure);
  const bars = barsOf(packed, colour);
  const legend = new CandleLegend(figure);
  const place = element(figure, "div", "candles");
  const common = barChartOptions(figure, colour);
  const chart = createChart(place, {
    ...common,
    width: figure.clientWidth,
    height: packed.chart.height,
    localization: { dateFormat: "yyyy-MM-dd" },
    rightPriceScale: {
      ...common.rightPriceScale,
      mode: packed.chart.log.includes("y") ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal,
    },
    // Fixed edges ensure that the labels at both ends are drawn within the chart.
    timeScale: {
      ...common.timeScale,
      timeVisible: hasTimes(packed),
      fixLeftEdge: true,
      fixRightEdge: true,
      tickMarkFormatter: (time: Time, kind: TickMarkType) => tickText(time, kind, packed.chart.language),
    },
  });
  const candles = draw(chart, packed, bars, colour);
  chart.timeScale().fitContent();
  const show = (index: number): void => {
    const when = bars.times[index];
    if (when !== undefined)
      legend.show(timeText(when, hasTimes(packed)), entriesOf(bars, index, packed.chart.language));
  };
  const newest = bars.prices.close.findLastIndex((close) => close !== null);
  show(newest);
  chart.subscribeCrosshairMove(({ time, seriesData }) => {
    show(seriesData.has(candles) ? bars.times.indexOf(time as UTCTimestamp) : newest);
  });
  const printed = printedAs(place, () => chart.takeScreenshot());
  return () => {
    printed.end();
    chart.remove();
    figure.replaceChildren();
  };
};

/**
 * When a page is printed, shows a picture of the chart, which shrinks to the width of the paper. The chart itself has
 * the width of the screen, and would extend beyond the margin.
 */
function printedAs(place: HTMLElement, take: () => HTMLCanvasElement): { end(): void } {
  let picture: HTMLCanvasElement | undefined;
  const toScreen = (): void => {
    picture?.remove();
    place.hidden = false;
  };
  const toPaper = (): void => {
    toScreen();
    picture = take();
    picture.style.width = `${place.clientWidth}px`;
    picture.style.maxWidth = "100%";
    place.after(picture);
    place.hidden = true;
  };
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", toScreen);
  return {
    end: () => {
      removeEventListener("beforeprint", toPaper);
      removeEventListener("afterprint", toScreen);
    },
  };
}

function barsOf(packed: PackedChart, colour: Colour): Bars {
  const { x, open, high, low, close, volume, lines = [] } = packed.channels;
  const { times, order } = timesOf(x?.[0]);
  const numbers = (column: PackedColumn | undefined): Numbers =>
    order.map((row) => column?.values[row] ?? null);
  const [opens, highs, lows, closes] = [open, high, low, close].map((columns) => numbers(columns?.[0]));
  const prices = { open: opens ?? [], high: highs ?? [], low: lows ?? [], close: closes ?? [] };
  return {
    times,
    prices,
    volume: volume === undefined ? [] : numbers(volume[0]),
    lines: lines.map((column, index) => ({
      name: spaced(column.name),
      color: colour(`--line-${(index % 4) + 1}`),
      values: numbers(column),
    })),
    digits: decimalsOf(prices.close),
  };
}

/** Draws the bars. @returns the series of candles. */
function draw(
  chart: IChartApi,
  packed: PackedChart,
  { times, prices: { open, high, low, close }, volume, lines, digits }: Bars,
  colour: Colour,
): ISeriesApi<"Candlestick"> {
  const priceFormat = priceFormatOf(digits);
  const pair = candleColours(packed.chart.rising, colour);
  if (volume.length > 0) {
    addVolume(chart).setData(
      times.map((time, i) => ({
        time,
        value: volume[i] ?? 0,
        color: volumeColour(pair, open[i] ?? 0, close[i] ?? 0),
      })),
    );
  }
  const candles = addCandles(chart, pair, priceFormat);
  candles.setData(
    times.flatMap((time, i) => {
      const [o, h, l, c] = [open[i], high[i], low[i], close[i]];
      const isWhole = o != null && h != null && l != null && c != null;
      return isWhole ? [{ time, open: o, high: h, low: l, close: c }] : [];
    }),
  );
  for (const { color, values } of lines)
    addLine(chart, { colour: color, priceFormat }).setData(
      times.map((time, i) => (values[i] == null ? { time } : { time, value: values[i] })),
    );
  return candles;
}

function entriesOf(
  { prices, volume, lines, digits }: Bars,
  index: number,
  language: Language | undefined,
): LegendEntry[] {
  const [o, h, l, c, v] = notebookTexts(language).bar;
  const text = (price: number | null | undefined): string => price?.toFixed(digits) ?? "·";
  const { open, high, low, close } = prices;
  const traded = volume[index];
  return [
    { name: o, text: text(open[index]) },
    { name: h, text: text(high[index]) },
    { name: l, text: text(low[index]) },
    { name: c, text: text(close[index]) },
    ...(traded == null ? [] : [{ name: v, text: traded.toLocaleString("en-US") }]),
    ...lines.map(({ name, color, values }) => ({ name, color, text: text(values[index]) })),
  ];
}

/** Times in seconds, ascending, and the row index of each. */
function timesOf(column: PackedColumn | undefined): {
  readonly times: readonly UTCTimestamp[];
  readonly order: readonly number[];
} {
  const second = column?.kind === "date" ? 86_400 : 0.001;
  const values = column?.values ?? [];
  const order = [...values.keys()].sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  return { times: order.map((row) => ((values[row] ?? 0) * second) as UTCTimestamp), order };
}
