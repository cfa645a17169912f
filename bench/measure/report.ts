import { count, table } from "../../src/cli/text.js";
import type { BenchmarkReport, CaseReport } from "./harness.js";
import { median } from "./median.js";

/** A benchmark's figures as a table for people; `ratio` is the speed relative to the baseline's. */
export function reportTable({ name, summary, cases }: BenchmarkReport): string {
  const units = [...new Set(cases.flatMap((one) => one.figures.map((figure) => figure.unit)))];
  const head = ["case", "ms", "fastest to slowest", "least processor ms", ...units, "ratio"];
  const rows = cases.map((one) => [
    one.name,
    count(median(one.times)),
    `${count(one.times[0] ?? Number.NaN)} to ${count(one.times.at(-1) ?? Number.NaN)}`,
    count(one.processorTimes[0] ?? Number.NaN),
    ...units.map((unit) => figureText(one, unit)),
    `${one.figures[0]?.ratio.toFixed(2)}`,
  ]);
  const runs = cases[0]?.times.length ?? 0;
  return `${name}: ${summary}; ${runs === 1 ? "one run" : `medians of ${runs} runs`}\n${table(head, rows)}\n`;
}

/** A benchmark's figures as one line of JSON for machines. */
export function reportJson({ name, cases }: BenchmarkReport, machine: string): string {
  const figures = cases.flatMap((one) =>
    one.figures.map(({ unit, value, ratio }) => ({
      case: one.name,
      unit,
      value: rounded(value),
      ratio: rounded(ratio),
    })),
  );
  const times = cases.map((one) => ({
    case: one.name,
    ms: one.times.map(rounded),
    processorMs: one.processorTimes.map(rounded),
  }));
  return JSON.stringify({ name, machine, cases: figures, times });
}

function figureText(one: CaseReport, unit: string): string | undefined {
  const value = one.figures.find((figure) => figure.unit === unit)?.value;
  if (value === undefined) return undefined;
  return value < 100 ? value.toFixed(1) : count(value);
}

/** Four significant digits: more would be noise. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
