import { dateOfEpochDay } from "../../core/time.js";
import type { ResultColumn, ResultValue } from "../../db/result/statement-result.js";

/** The values of a column as texts with the same number of decimals. Null remains null. Times are in UTC. */
export function formatValues(
  { kind, values }: Pick<ResultColumn, "kind" | "values">,
  isPercent = false,
): (string | null)[] {
  switch (kind) {
    case "number":
      return formatNumbers(values, isPercent);
    case "date":
      return values.map((value) => (value === null ? null : dateText(Number(value))));
    case "time":
      return formatTimes(values);
    case "boolean":
    case "text":
      return values.map((value) => (value === null ? null : String(value)));
  }
}

function formatNumbers(values: readonly ResultValue[], isPercent: boolean): (string | null)[] {
  const scaled = values.map((value) => (isPercent && value !== null ? Number(value) * 100 : value));
  const finite = scaled.filter((value) => typeof value === "number").filter(Number.isFinite);
  const most = scaled.reduce<number>((max, value) => {
    const size = Math.abs(Number(value));
    return size > max && Number.isFinite(size) ? size : max;
  }, 0);
  const isSmall = most > 0 && most < 0.001;
  const decimals = isPercent ? 2 : Math.min(mostDecimals(most), decimalsOf(finite));
  const format = new Intl.NumberFormat("en-US", {
    useGrouping: most >= 10_000 || decimals > 0 || isPercent,
    ...(isSmall && !isPercent
      ? { minimumSignificantDigits: 3, maximumSignificantDigits: 3 }
      : { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
  });
  return scaled.map((value) => {
    if (value === null) return null;
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    const text = format.format(Number(value) === 0 ? 0 : (value as number | bigint));
    return isPercent ? `${text}%` : text;
  });
}

/** Most decimals that are useful for numbers up to this size. */
function mostDecimals(most: number): number {
  if (most >= 1e6) return 0;
  if (most >= 100) return 2;
  return most >= 1 ? 3 : 4;
}

/** Number of decimals of the numbers, at most four. */
function decimalsOf(values: readonly number[]): number {
  let decimals = 0;
  for (const value of values) {
    while (decimals < 4 && Math.abs(value - Number(value.toFixed(decimals))) > 1e-9 * Math.abs(value))
      decimals++;
    if (decimals === 4) break;
  }
  return decimals;
}

/** The last day that ECMAScript can represent, in days since 1970-01-01. DuckDB's infinity is after it. */
const LAST_DAY = 1e8;

function dateText(day: number): string {
  if (Math.abs(day) > LAST_DAY) return day > 0 ? "infinity" : "-infinity";
  return dateOfEpochDay(day);
}

function formatTimes(values: readonly ResultValue[]): (string | null)[] {
  const texts = values.map((value) => (value === null ? null : timeText(Number(value))));
  const whole = texts.every((text) => text === null || text.endsWith(":00.000"));
  const seconds = texts.every((text) => text === null || text.endsWith(".000"));
  return texts.map((text) => text?.slice(0, whole ? -7 : seconds ? -4 : undefined) ?? null);
}

function timeText(ms: number): string {
  if (Math.abs(ms) > LAST_DAY * 86_400_000) return ms > 0 ? "infinity" : "-infinity";
  return new Date(ms).toISOString().slice(0, -1).replace("T", " ");
}
