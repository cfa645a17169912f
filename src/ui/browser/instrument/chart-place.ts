/**
 * A time on a chart's axis in the form of the address: a date, or a date and a time of day, in the exchange's local
 * time.
 */
export function placeText(seconds: number, hasTimes: boolean): string {
  return new Date(seconds * 1000).toISOString().slice(0, hasTimes ? 16 : 10);
}

/** The time of a text in the address, in seconds of the axis; undefined for any other text. */
export function placeTime(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\d(T\d\d:\d\d)?$/.test(text)) return undefined;
  const ms = Date.parse(text.length === 10 ? `${text}T23:59:59Z` : `${text}Z`);
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/**
 * The time of the last bar in view; undefined where that is the newest bar. @param to position of the right edge, which
 * may be after the last bar
 */
export function endOfView(time: ArrayLike<number>, to: number): number | undefined {
  const last = time.length - 1;
  return to >= last - 0.5 ? undefined : time[Math.max(0, Math.floor(to))];
}
