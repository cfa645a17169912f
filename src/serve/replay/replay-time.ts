import { parseISO } from "date-fns/parseISO";
import { UsageError } from "../../core/errors.js";
import { parseTradingDate } from "../../core/time.js";
import { REGIONS } from "../../market/regions.js";
import { instantOf } from "../../market/zone.js";
import type { ReplayRange } from "./replay-range.js";

const LOCAL = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?)?$/;
const TIME_OF_DAY = /^(\d{2}:\d{2})((?::\d{2}(?:\.\d{1,3})?)?)([+-]\d{2}:?\d{2})?$/;
const HINT =
  "write it like 2026-11-20T09:25, like 09:25 for the newest day, or with a zone like 2026-11-20T09:25+08:00 or 2026-11-20T01:25Z";

/**
 * Reads a time of a replay. A time without a zone is a local time at the exchanges of the lake. A time of day is of the
 * newest day of the lake, with a zone of the newest day of the exchanges in that zone.
 *
 * @param regions regions of the lake, and the newest day of each.
 * @returns epoch milliseconds.
 * @throws {UsageError} for a text that is not a time, or has no zone although the exchanges of the lake have different
 *   zones.
 */
export function parseReplayTime(given: string, regions: ReplayRange["regions"]): number {
  const text = withDay(given, regions);
  const local = LOCAL.exec(text);
  if (local === null) {
    const hasZone = /T.*(?:Z|[+-]\d{2}:?\d{2})$/i.test(text);
    const ms = hasZone ? parseISO(text).getTime() : Number.NaN;
    if (Number.isFinite(ms)) return ms;
    throw new UsageError(`time ${JSON.stringify(text.slice(0, 64))} is no time`, { hint: HINT });
  }
  const [, date = "", hours = "00", minutes = "00", seconds = "00", fraction = "0"] = local;
  const zones = [...new Set([...regions.keys()].map((region) => REGIONS[region].zone))];
  const [zone] = zones;
  const [hour, minute, second] = [Number(hours), Number(minutes), Number(seconds)];
  if (hour > 23 || minute > 59 || second > 59)
    throw new UsageError(`time ${JSON.stringify(text)} is no time of day`, { hint: HINT });
  const day = parseTradingDate(date);
  const within = (second + Number(`0.${fraction}`)) * 1000;
  const instants = zones.map((one) => instantOf(day, one, hour * 60 + minute) + within);
  if (zone === undefined || new Set(instants).size > 1)
    throw new UsageError(`time ${text} has no zone, and the lake has exchanges in ${zones.join(" and ")}`, {
      hint: `add the zone: ${text.includes(":") ? text : `${date}T00:00`}+08:00, or Z for UTC`,
    });
  return instants[0] as number;
}

/** Puts the newest day in front of a time of day; other texts stay as they are. @throws {UsageError} for a zone of no exchange */
function withDay(text: string, regions: ReplayRange["regions"]): string {
  const match = TIME_OF_DAY.exec(text);
  if (match === null) return text;
  const [, minute = "", rest = "", offset] = match;
  const days = [...regions].flatMap(([region, day]) => {
    if (offset === undefined) return [day];
    const local = instantOf(day, REGIONS[region].zone);
    return parseISO(`${day}T00:00${offset}`).getTime() === local ? [day] : [];
  });
  const newest = days.sort().at(-1);
  if (newest === undefined)
    throw new UsageError(`time ${text}: no exchange of the lake is in this zone`, { hint: HINT });
  return `${newest}T${minute}${rest}${offset ?? ""}`;
}
