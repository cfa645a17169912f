import {
  CandlestickSeries,
  CrosshairMode,
  createChart,
  HistogramSeries,
  type IChartApi,
  LineSeries,
  LineStyle,
  PriceScaleMode,
  type UTCTimestamp,
} from "lightweight-charts";
import type { PackedChart, PackedColumn } from "../pack-charts.js";
import { drawers, spaced } from "./drawing.js";

interface Candle {
  readonly time: UTCTimestamp;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
}

type Numbers = readonly (number | null)[];

drawers().candles = (packed, element) => {
  const colour = colours(element);
  const chart = createChart(element, {
    width: element.clientWidth,
    height: packed.chart.height,
    layout: {
      background: { color: "transparent" },
      textColor: colour("--muted"),
      fontFamily: getComputedStyle(element).fontFamily,
      attributionLogo: false,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: colour("--grid") } },
    crosshair: { mode: CrosshairMode.Normal },
    rightPriceScale: {
      borderVisible: false,
      mode: packed.chart.log.includes("y") ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal,
    },
    timeScale: {
      borderVisible: false,
      timeVisible: packed.channels.x?.[0]?.kind === "time",
    },
  });
  fill(chart, packed, element, colour);
  chart.timeScale().fitContent();
  return () => {
    chart.remove();
    element.replaceChildren();
  };
};

function fill(
  chart: IChartApi,
  packed: PackedChart,
  element: HTMLElement,
  colour: (name: string) => string,
): void {
  const { times, order } = timesOf(packed.channels.x?.[0]);
  const numbers = (column: PackedColumn | undefined): Numbers =>
    order.map((row) => column?.values[row] ?? null);
  const [open, high, low, close, volume] = (["open", "high", "low", "close", "volume"] as const).map(
    (channel) => numbers(packed.channels[channel]?.[0]),
  ) as [Numbers, Numbers, Numbers, Numbers, Numbers];
  const digits = Math.max(...close.map((price) => price ?? 0)) < 10 ? 3 : 2;
  const priceFormat = { type: "price", precision: digits, minMove: 10 ** -digits } as const;
  const [green, red] = [colour("--green"), colour("--red")];
  const [up, down] = packed.chart.rising === "red" ? [red, green] : [green, red];
  if (packed.channels.volume !== undefined) {
    const bars = chart.addSeries(HistogramSeries, {
      priceScaleId: "volume",
      priceFormat: { type: "volume" },
      lastValueVisible: false,
      priceLineVisible: false,
    });
    bars.setData(
      times.map((time, i) => ({
        time,
        value: volume[i] ?? 0,
        color: `${(close[i] ?? 0) >= (open[i] ?? 0) ? up : down}66`,
      })),
    );
    chart.priceScale("volume").applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    chart.priceScale("right").applyOptions({ scaleMargins: { top: 0.06, bottom: 0.22 } });
  }
  const candles = chart.addSeries(CandlestickSeries, {
    upColor: up,
    downColor: down,
    wickUpColor: up,
    wickDownColor: down,
    borderVisible: false,
    priceFormat,
  });
  candles.setData(
    times.flatMap((time, i) => {
      const [o, h, l, c] = [open[i], high[i], low[i], close[i]];
      const isWhole = o != null && h != null && l != null && c != null;
      return isWhole ? [{ time, open: o, high: h, low: l, close: c }] : [];
    }),
  );
  for (const [index, column] of (packed.channels.lines ?? []).entries()) {
    const line = chart.addSeries(LineSeries, {
      color: colour(`--line-${(index % 4) + 1}`),
      lineWidth: 2,
      lineStyle: LineStyle.Solid,
      priceLineVisible: false,
      lastValueVisible: false,
      crosshairMarkerVisible: false,
      title: spaced(column.name),
      priceFormat,
    });
    const values = numbers(column);
    line.setData(times.map((time, i) => (values[i] == null ? { time } : { time, value: values[i] })));
  }
  const legend = element.appendChild(document.createElement("div"));
  legend.className = "legend";
  const last = times.length - 1;
  const show = (candle: Candle | undefined, index: number): void => {
    const day = times[index];
    if (day === undefined || candle === undefined) return;
    const text = (price: number): string => price.toFixed(digits);
    const traded = volume[index];
    legend.textContent = [
      timeText(day, packed.channels.x?.[0]?.kind === "time"),
      `O ${text(candle.open)}  H ${text(candle.high)}  L ${text(candle.low)}  C ${text(candle.close)}`,
      ...(traded == null ? [] : [`V ${traded.toLocaleString("en-US")}`]),
    ].join("   ");
  };
  const newest = candles.data().at(-1) as Candle | undefined;
  show(newest, last);
  chart.subscribeCrosshairMove(({ time, seriesData }) => {
    const candle = seriesData.get(candles) as Candle | undefined;
    if (time === undefined || candle === undefined) show(newest, last);
    else show(candle, times.indexOf(time as UTCTimestamp));
  });
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

function timeText(seconds: number, hasTime: boolean): string {
  return new Date(seconds * 1000)
    .toISOString()
    .slice(0, hasTime ? 16 : 10)
    .replace("T", " ");
}

/** Colours of the page's style, by the names of its custom properties. */
function colours(element: HTMLElement): (name: string) => string {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
}
