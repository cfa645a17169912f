import { isChinese } from "./texts.js";

const LOCALE = "en-US";

export function count(value: number): string {
  return value.toLocaleString(LOCALE, { maximumFractionDigits: 0 });
}

/** A number in short form, as in 12.3M; in Chinese 1230万. */
export function compactNumber(value: number): string {
  return value.toLocaleString(isChinese ? "zh-CN" : LOCALE, {
    notation: "compact",
    maximumFractionDigits: 2,
  });
}

/** A number of bytes, with a unit in powers of 1000. */
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, value < 1 ? 0 : Math.floor(Math.log10(value) / 3));
  return `${(value / 1000 ** power).toLocaleString(LOCALE, { maximumFractionDigits: power === 0 ? 0 : 1 })} ${units[power]}`;
}

export function change(ratio: number | null): string {
  if (ratio === null) return "·";
  const text = (ratio * 100).toFixed(2);
  return `${ratio > 0 ? "+" : ""}${text}%`;
}

/** A ratio as a percentage. */
export function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)}%`;
}

/** A price, with as many decimals as are useful. */
export function price(value: number): string {
  return value.toLocaleString(LOCALE, {
    minimumFractionDigits: value < 10 ? 3 : 2,
    maximumFractionDigits: value < 10 ? 3 : 2,
  });
}

/** An instant in UTC, to the minute. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

/** A duration with its unit. @param ms milliseconds */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 90_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 5_400_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}
