import { createChart, type IChartApi, PriceScaleMode, type UTCTimestamp } from "lightweight-charts";
import type { PackedChart, PackedColumn } from "../pack-charts.js";
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
    ...barChartOptions(element, colour),
    width: element.clientWidth,
    height: packed.chart.height,
  });
  chart.priceScale("right").applyOptions({
    mode: packed.chart.log.includes("y") ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal,
  });
  chart.timeScale().applyOptions({ timeVisible: packed.channels.x?.[0]?.kind === "time" });
  fill(chart, packed, element, colour);
  chart.timeScale().fitContent();
  return () => {
    chart.remove();
    element.replaceChildren();
  };
};

function fill(chart: IChartApi, packed: PackedChart, element: HTMLElement, colour: Colour): void {
  const { times, order } = timesOf(packed.channels.x?.[0]);
  const numbers = (column: PackedColumn | undefined): Numbers =>
    order.map((row) => column?.values[row] ?? null);
  const [open, high, low, close, volume] = (["open", "high", "low", "close", "volume"] as const).map(
    (channel) => numbers(packed.channels[channel]?.[0]),
  ) as [Numbers, Numbers, Numbers, Numbers, Numbers];
  const digits = decimalsOf(close);
  const priceFormat = priceFormatOf(digits);
  const pair = candleColours(packed.chart.rising, colour);
  if (packed.channels.volume !== undefined)
    addVolume(chart).setData(
      times.map((time, i) => ({
        time,
        value: volume[i] ?? 0,
        color: volumeColour(pair, open[i] ?? 0, close[i] ?? 0),
      })),
    );
  const candles = addCandles(chart, pair, priceFormat);
  candles.setData(
    times.flatMap((time, i) => {
      const [o, h, l, c] = [open[i], high[i], low[i], close[i]];
      const isWhole = o != null && h != null && l != null && c != null;
      return isWhole ? [{ time, open: o, high: h, low: l, close: c }] : [];
    }),
  );
  for (const [index, column] of (packed.channels.lines ?? []).entries()) {
    const line = addLine(chart, {
      colour: colour(`--line-${(index % 4) + 1}`),
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
