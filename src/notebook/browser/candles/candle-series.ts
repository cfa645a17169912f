import {
  CandlestickSeries,
  CrosshairMode,
  type DeepPartial,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  LineSeries,
  LineStyle,
  type PriceFormatBuiltIn,
  type TimeChartOptions,
} from "lightweight-charts";

export type Colour = (name: string) => string;

export function colours(element: HTMLElement): Colour {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
}

interface CandleColours {
  readonly up: string;
  readonly down: string;
}

export function candleColours(rising: "green" | "red", colour: Colour): CandleColours {
  const [green, red] = [colour("--green"), colour("--red")];
  return rising === "red" ? { up: red, down: green } : { up: green, down: red };
}

export function barChartOptions(element: HTMLElement, colour: Colour): DeepPartial<TimeChartOptions> {
  return {
    layout: {
      background: { color: "transparent" },
      textColor: colour("--muted"),
      fontFamily: getComputedStyle(element).fontFamily,
      attributionLogo: false,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: colour("--grid") } },
    crosshair: { mode: CrosshairMode.Normal },
    // Without the labels at the edges, of which a half would be cut off.
    rightPriceScale: { borderVisible: false, entireTextOnly: true },
    timeScale: { borderVisible: false },
  };
}

/** The number of decimals of prices: three where all prices are small. */
export function decimalsOf(closes: Iterable<number | null>): number {
  let most = 0;
  for (const close of closes) most = Math.max(most, close ?? 0);
  return most < 10 ? 3 : 2;
}

export function priceFormatOf(decimals: number): PriceFormatBuiltIn {
  return { type: "price", precision: decimals, minMove: 10 ** -decimals };
}

export function addCandles(
  chart: IChartApi,
  { up, down }: CandleColours,
  priceFormat: PriceFormatBuiltIn,
): ISeriesApi<"Candlestick"> {
  return chart.addSeries(CandlestickSeries, {
    upColor: up,
    downColor: down,
    wickUpColor: up,
    wickDownColor: down,
    borderVisible: false,
    priceFormat,
  });
}

/** The part of the height below the prices, for the columns of volume. */
export const VOLUME_PART = 0.22;

/** Adds volume as columns at the bottom, in a fifth of the height. */
export function addVolume(chart: IChartApi): ISeriesApi<"Histogram"> {
  const bars = chart.addSeries(HistogramSeries, {
    priceScaleId: "volume",
    priceFormat: { type: "volume" },
    lastValueVisible: false,
    priceLineVisible: false,
  });
  chart.priceScale("volume").applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
  chart.priceScale("right").applyOptions({ scaleMargins: { top: 0.06, bottom: VOLUME_PART } });
  return bars;
}

/** The colour of a column of volume: a paler form of the colour of its candle. */
export function volumeColour({ up, down }: CandleColours, open: number, close: number): string {
  return `${close >= open ? up : down}66`;
}

export function addLine(
  chart: IChartApi,
  options: { readonly colour: string; readonly title?: string; readonly priceFormat: PriceFormatBuiltIn },
): ISeriesApi<"Line"> {
  return chart.addSeries(LineSeries, {
    color: options.colour,
    lineWidth: 2,
    lineStyle: LineStyle.Solid,
    priceLineVisible: false,
    lastValueVisible: false,
    crosshairMarkerVisible: false,
    ...(options.title !== undefined && { title: options.title }),
    priceFormat: options.priceFormat,
  });
}
