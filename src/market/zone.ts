import { tzOffset } from "@date-fns/tz";
import { DAY_MS, dateOfEpochDay, epochDay, MINUTE_MS, type TradingDate } from "../core/time.js";
import { REGIONS, type SteadyOffset } from "./regions.js";

/** A zone's offset from UTC, valid from `start` until the next span begins. */
interface OffsetSpan {
  readonly start: number;
  readonly offset: number;
}

/** Length of a block of time whose spans are computed together, in milliseconds. */
const BLOCK_MS = 256 * DAY_MS;
/** No zone changes its clocks twice within this time, in milliseconds. */
const SHORTEST_SPAN_MS = 16 * DAY_MS;

/** The offsets that no longer change, by zone. They need no look-up. */
const STEADY: ReadonlyMap<string, SteadyOffset> = new Map(
  Object.values(REGIONS).flatMap(({ zone, steady }) => (steady === undefined ? [] : [[zone, steady]])),
);

const blocksOfZone = new Map<string, Map<number, readonly OffsetSpan[]>>();

/**
 * How far a zone's wall clock is ahead of UTC at an instant, in milliseconds. A call to the platform takes about 40
 * microseconds, so the few changes of a zone are cached.
 */
export function offsetMs(zone: string, ms: number): number {
  if (!Number.isFinite(ms)) return Number.NaN;
  const steady = STEADY.get(zone);
  if (steady !== undefined && ms >= steady.sinceDay * DAY_MS - steady.offsetMs) return steady.offsetMs;
  let blocks = blocksOfZone.get(zone);
  if (blocks === undefined) blocksOfZone.set(zone, (blocks = new Map()));
  const block = Math.floor(ms / BLOCK_MS);
  let spans = blocks.get(block);
  if (spans === undefined) blocks.set(block, (spans = spansOf(zone, block * BLOCK_MS)));
  let last = spans.length - 1;
  while (last > 0 && (spans[last] as OffsetSpan).start > ms) last--;
  return (spans[last] as OffsetSpan).offset;
}

function spansOf(zone: string, start: number): readonly OffsetSpan[] {
  const spans: OffsetSpan[] = [{ start, offset: platformOffset(zone, start) }];
  for (let at = start; at < start + BLOCK_MS; at += SHORTEST_SPAN_MS) {
    const { offset } = spans.at(-1) as OffsetSpan;
    const next = platformOffset(zone, at + SHORTEST_SPAN_MS);
    if (next !== offset) spans.push({ start: changeBetween(zone, at, at + SHORTEST_SPAN_MS), offset: next });
  }
  return spans;
}

/** The instant at which the offset changes, to the second; it is after `low`, and at or before `high`. */
function changeBetween(zone: string, low: number, high: number): number {
  const before = platformOffset(zone, low);
  let [first, last] = [low, high];
  while (last - first > 1000) {
    const middle = Math.floor((first + last) / 2000) * 1000;
    if (platformOffset(zone, middle) === before) first = middle;
    else last = middle;
  }
  return last;
}

function platformOffset(zone: string, ms: number): number {
  return tzOffset(zone, new Date(ms)) * MINUTE_MS;
}

/** The calendar date that a clock in `zone` shows at an instant (epoch milliseconds). */
export function localDate(ms: number, zone: string): TradingDate {
  return dateOfEpochDay(localDay(ms, zone));
}

/** As {@link localDate}, in days since 1970-01-01. */
export function localDay(ms: number, zone: string): number {
  return Math.floor((ms + offsetMs(zone, ms)) / DAY_MS);
}

/**
 * The instant (epoch milliseconds) at which a clock in `zone` shows a date and a time of day.
 *
 * A time that is skipped by a change of clocks is interpreted as if the clocks had not changed yet: 02:30 becomes
 * 03:30.
 */
export function instantOf(date: TradingDate, zone: string, minuteOfDay = 0): number {
  return instantOfDay(epochDay(date), zone, minuteOfDay);
}

/** As {@link instantOf}, for a number of days since 1970-01-01. */
export function instantOfDay(day: number, zone: string, minuteOfDay = 0): number {
  const wall = day * DAY_MS + minuteOfDay * MINUTE_MS;
  const guess = wall - offsetMs(zone, wall);
  const instant = wall - offsetMs(zone, guess);
  const skipped = offsetMs(zone, instant) !== offsetMs(zone, guess);
  return skipped ? Math.max(guess, instant) : instant;
}
