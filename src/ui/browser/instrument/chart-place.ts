/** A time of a chart's axis as the address has it: a date, or a date and a time of day of the exchange's own clock. */
export function placeText(seconds: number, hasTimes: boolean): string {
  return new Date(seconds * 1000).toISOString().slice(0, hasTimes ? 16 : 10);
}

/** The time that a text of the address means, in seconds of the axis; undefined for another text. */
export function placeTime(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\d(T\d\d:\d\d)?$/.test(text)) return undefined;
  const ms = Date.parse(text.length === 10 ? `${text}T23:59:59Z` : `${text}Z`);
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/** The time of the last bar in view; undefined where the newest bar is. @param to place of the right edge, which may lie behind the bars */
export function endOfView(time: ArrayLike<number>, to: number): number | undefined {
  const last = time.length - 1;
  return to >= last - 0.5 ? undefined : time[Math.max(0, Math.floor(to))];
}
