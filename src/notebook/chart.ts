import type { Shown } from "./view.js";

export const CHART_KINDS = ["line", "bar", "scatter", "heatmap", "histogram", "candlestick"] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

/** What a column does in a chart. */
export type Channel =
  | "x"
  | "y"
  | "color"
  | "low"
  | "high"
  | "open"
  | "close"
  | "volume"
  | "size"
  | "label"
  | "lines";

/** What a chart's channel takes. */
export interface ChannelRule {
  readonly channel: Channel;
  /** `default`: the column of the channel's name, without which there is no chart; `present`: likewise, if there is one. */
  readonly need: "required" | "optional" | "default" | "present";
  /** Takes several columns. */
  readonly isMany?: boolean;
  /** Its values must be numbers. */
  readonly isNumber?: boolean;
}

const X: ChannelRule = { channel: "x", need: "required" };
const Y: ChannelRule = { channel: "y", need: "required", isNumber: true };
const COLOR: ChannelRule = { channel: "color", need: "optional" };

/** The channels of each kind of chart. */
export const CHANNELS: Readonly<Record<ChartKind, readonly ChannelRule[]>> = {
  line: [
    X,
    { ...Y, isMany: true },
    COLOR,
    { channel: "low", need: "optional", isNumber: true },
    { channel: "high", need: "optional", isNumber: true },
  ],
  bar: [X, Y, COLOR],
  scatter: [
    { ...X, isNumber: true },
    Y,
    COLOR,
    { channel: "size", need: "optional", isNumber: true },
    { channel: "label", need: "optional" },
  ],
  heatmap: [X, { channel: "y", need: "required" }, { ...COLOR, need: "required", isNumber: true }],
  histogram: [{ ...X, isNumber: true }, COLOR],
  candlestick: [
    X,
    { channel: "open", need: "default", isNumber: true },
    { channel: "high", need: "default", isNumber: true },
    { channel: "low", need: "default", isNumber: true },
    { channel: "close", need: "default", isNumber: true },
    { channel: "volume", need: "present", isNumber: true },
    { channel: "lines", need: "optional", isMany: true, isNumber: true },
  ],
};

/** A chart as a directive asks for it. */
export interface Chart extends Shown {
  readonly kind: ChartKind;
  /** Columns of each channel that the directive names. */
  readonly columns: Readonly<Partial<Record<Channel, readonly string[]>>>;
  /** Height of the drawing. [pixels] */
  readonly height: number;
  /** Axes with a logarithmic scale. */
  readonly log: readonly ("x" | "y")[];
  /** Values of y at which a line is ruled. */
  readonly rule: readonly number[];
  /** Whether bars of one x stand one upon the other, not side by side. */
  readonly isStacked: boolean;
  /** The colour of a candle that closes no lower than it opened: East Asian charts have red. */
  readonly rising: "green" | "red";
  /** About how many bins a histogram has. */
  readonly bins: number;
}
