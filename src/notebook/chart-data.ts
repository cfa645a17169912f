import { BarlakeError } from "../core/errors.js";
import type { ResultColumn, StatementResult, ValueKind } from "../db/result/statement-result.js";
import { type Named, risingColour } from "../market/symbol.js";
import {
  CHANNELS,
  type Channel,
  type ChannelRule,
  type Chart,
  type DrawnChart,
  type ShownNames,
} from "./notebook.js";

/** A column of a chart, with its name and texts as they are shown. Numbers that are not finite become null. */
export interface ChartColumn {
  readonly name: string;
  readonly kind: ValueKind;
  readonly isPercent: boolean;
  readonly values: readonly (number | string | null)[];
}

export interface ChartData {
  readonly chart: DrawnChart;
  readonly channels: Readonly<Partial<Record<Channel, readonly ChartColumn[]>>>;
  /** The number of drawn rows, and the total number of rows. */
  readonly drawn: number;
  readonly rows: number;
}

/**
 * Selects a chart's columns from a result. The colours of candles are those of the region or the symbol in the first
 * row, or else in the notebook's parameters.
 *
 * @param parameter returns a parameter of the notebook as text, by name.
 * @throws {BarlakeError} for a column that is missing, or that the chart cannot use.
 */
export function chartData(
  chart: Chart,
  result: StatementResult,
  parameter: Named = () => undefined,
): ChartData {
  const channels: Partial<Record<Channel, readonly ChartColumn[]>> = {};
  for (const rule of CHANNELS[chart.kind]) {
    const names = namesFor(rule, chart, result);
    if (names.length > 0) channels[rule.channel] = names.map((name) => columnFor(name, rule, chart, result));
  }
  if (chart.kind === "candlestick") checkTimes(channels.x?.[0]);
  const rising = chart.rising ?? risingColour((name) => firstText(result, name) ?? parameter(name));
  return {
    chart: { ...chart, rising },
    channels,
    drawn: result.columns[0]?.values.length ?? 0,
    rows: result.rows,
  };
}

function firstText({ columns }: StatementResult, name: string): string | undefined {
  const value = columns.find((column) => column.name === name)?.values[0];
  return typeof value === "string" ? value : undefined;
}

function namesFor({ channel, need }: ChannelRule, chart: Chart, result: StatementResult): readonly string[] {
  const given = chart.columns[channel];
  if (given !== undefined) return given;
  if (need === "default") return [channel];
  if (need === "present" && result.columns.some(({ name }) => name === channel)) return [channel];
  return [];
}

function columnFor(name: string, rule: ChannelRule, chart: Chart, { columns }: StatementResult): ChartColumn {
  const what = `chart ${chart.kind}: ${rule.channel}`;
  const column = columns.find((one) => one.name === name);
  if (column === undefined) {
    throw new BarlakeError(`${what}: the result has no column ${name}`, {
      hint: `it has ${columns.map((one) => one.name).join(", ")}`,
    });
  }
  if (rule.isNumber && column.kind !== "number") {
    throw new BarlakeError(`${what}: column ${name} has no numbers, but ${column.kind} values`, {
      hint: "cast it, or name another column",
    });
  }
  return {
    name: chart.names?.get(name) ?? name,
    kind: column.kind,
    isPercent: chart.percent.includes(name),
    values: drawable(column, chart.names),
  };
}

function drawable({ kind, values }: ResultColumn, names: ShownNames | undefined): (number | string | null)[] {
  const isNumber = kind === "number" || kind === "date" || kind === "time";
  return values.map((value) => {
    if (value === null) return null;
    if (!isNumber) return names?.get(String(value)) ?? String(value);
    const number = Number(value);
    return Number.isFinite(number) ? number : null;
  });
}

/** Checks that the column of a candlestick chart has dates or times, without nulls or repeats. */
function checkTimes(column: ChartColumn | undefined): void {
  if (column === undefined) return;
  if (column.kind !== "date" && column.kind !== "time") {
    throw new BarlakeError(`chart candlestick: x: column ${column.name} has no dates or times`, {
      hint: "name a DATE or TIMESTAMP column",
    });
  }
  if (column.values.includes(null) || new Set(column.values).size < column.values.length) {
    throw new BarlakeError(`chart candlestick: x: column ${column.name} has a value twice, or none`, {
      hint: "a chart shows the bars of one instrument: filter by symbol",
    });
  }
}
