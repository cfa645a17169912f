import { parseISO } from "date-fns/parseISO";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { LakeError, UsageError } from "../../core/errors.js";
import { type Clock, parseTradingDate, type TimeRange, type TradingDate } from "../../core/time.js";
import type { Known } from "../../db/market/known-sql.js";
import { fileRange } from "../../lake/files/prune.js";
import type { Lake, PointInTime } from "../../lake/lake.js";
import { knownDates } from "../../market/known-at.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { dayRange } from "../../market/sessions.js";
import { instantOf, localDate } from "../../market/zone.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { RequestError } from "../http/request-error.js";
import type { Caller } from "../keys/key-ring.js";
import { instantText, ReplayClock } from "./replay-clock.js";

interface ReplayRange {
  /** From the first day with a bar to the end of the last one, epoch milliseconds. */
  readonly range: TimeRange;
  /** Regions with bars, and the newest day of each one, by the calendar of its exchanges. */
  readonly regions: ReadonlyMap<Region, TradingDate>;
}

/** Finds the times for which a lake has bars until now (@default all). @throws {LakeError} for a lake without bars. */
export async function replayRange(
  lake: Lake,
  pointInTime: PointInTime,
  now = Number.POSITIVE_INFINITY,
): Promise<ReplayRange> {
  const read = lake.reader(pointInTime);
  const range = { start: Number.POSITIVE_INFINITY, end: Number.NEGATIVE_INFINITY };
  const regions = new Map<Region, TradingDate>();
  for (const table of [BARS_1D, BARS_1M]) {
    for (const file of (await read(table)).files.values()) {
      const region = Object.values(REGIONS).find((one) => one.region === file.partitionValues.region);
      const { start, end } = fileRange(file);
      if (region === undefined || !Number.isFinite(start) || !Number.isFinite(end)) continue;
      if (start > now) continue;
      const [first, last] = [localDate(start, region.zone), localDate(Math.min(end - 1, now), region.zone)];
      const newest = regions.get(region.region);
      if (newest === undefined || last > newest) regions.set(region.region, last);
      range.start = Math.min(range.start, dayRange(region.region, first).start);
      range.end = Math.max(range.end, dayRange(region.region, last).end);
    }
  }
  if (regions.size === 0)
    throw new LakeError(`lake ${lake.location} has no bars to replay`, {
      hint: "run the pipeline daily first",
    });
  return { range, regions };
}

const LOCAL = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?)?$/;
const TIME_OF_DAY = /^(\d{2}:\d{2})((?::\d{2}(?:\.\d{1,3})?)?)([+-]\d{2}:?\d{2})?$/;
const HINT =
  "write it like 2026-11-20T09:25, like 09:25 for the newest day, or with a zone like 2026-11-20T09:25+08:00 or 2026-11-20T01:25Z";

/**
 * Reads a time of a replay as epoch milliseconds. Without a zone it is a local time at the exchanges of the lake; a
 * time of day is of the newest day of the lake, with a zone of the newest day of the exchanges in that zone. @throws
 * {UsageError} for a text that is not a time, or has no zone although the exchanges have different ones.
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

export const REPLAY_PATH = "/replay";
/** Header of each response: the replayed time, ISO 8601 in UTC. */
export const REPLAY_TIME_HEADER = "x-replay-time";

/** A service that replays a lake. */
export interface Replay {
  readonly clock: ReplayClock;
  /** Regions of the lake and the newest day of each. A time without a zone is a local time of their exchanges. */
  readonly regions: ReplayRange["regions"];
  /** Whether the first version of reference data counts as known before the lake first saw it. @default false */
  readonly assumesReference?: boolean;
  /** Whether its time cannot be set. @default false */
  readonly isFixed?: boolean;
}

/**
 * The replay that stands still at a time, which need not have bars. @throws {UsageError} for a date that ends at different
 * times at the exchanges of the lake: the responses of a service have one clock.
 */
export async function fixedReplay(
  lake: Lake,
  pointInTime: PointInTime,
  { knownAt, assumesReference = false }: Known,
  real: Pick<Clock, "now" | "monotonic">,
): Promise<Replay> {
  const { range, regions } = await replayRange(lake, pointInTime, real.now());
  const ends = new Set([...regions.keys()].map((region) => knownDates(knownAt, region).until));
  const [until = 0, ...others] = ends;
  if (others.length > 0)
    throw new UsageError(
      `the date ${knownAt} ends at different times in ${[...regions.keys()].join(" and ")}, and a service has one clock`,
      { hint: `give an instant, such as ${[...ends].map((end) => instantText(end + 1)).join(" or ")}` },
    );
  // The midnight that ends a date: what was announced on it is known.
  const time = typeof knownAt === "number" ? until : until + 1;
  const wide = { start: Math.min(range.start, time), end: Math.max(range.end, time + 1) };
  return { clock: new ReplayClock(real, wide, { time, speed: 0 }), regions, assumesReference, isFixed: true };
}

const change = z.strictObject({
  time: z.union([z.string(), z.int()]).optional(),
  speed: z.number().optional(),
});

/** Adds `GET /replay` and `POST /replay`. A service without a replay responds with 404. */
export function addReplay(
  app: FastifyInstance,
  replay: Replay | undefined,
  callerOf: (request: FastifyRequest) => Caller | undefined,
): void {
  const running = (): Replay => {
    if (replay === undefined)
      throw new RequestError(
        "NOT_FOUND",
        "the service does not replay; start it with barlake serve --replay TIME",
      );
    return replay;
  };
  const stateOf = ({ clock }: Replay): object => {
    const { time, speed } = clock.state;
    return { data: { time, speed, start: clock.range.start, end: clock.range.end } };
  };
  app.get(REPLAY_PATH, () => stateOf(running()));
  app.post(REPLAY_PATH, (request) => {
    const own = running();
    const caller = callerOf(request);
    if (own.isFixed === true)
      throw new RequestError("FORBIDDEN", "the time of the service is fixed: it shows what was known then");
    if (caller?.mayReplay !== true)
      throw new RequestError("FORBIDDEN", `${caller?.name ?? "the key"} may not set the time of the replay`);
    setReplay(own, request.body);
    return stateOf(own);
  });
  if (replay === undefined) return;
  app.addHook("onSend", async (_request, reply) => {
    if (!reply.hasHeader(REPLAY_TIME_HEADER))
      void reply.header(REPLAY_TIME_HEADER, instantText(replay.clock.now()));
  });
}

/** Sets the time or speed. @throws {RequestError} INVALID_PARAMETER; then nothing is changed. */
function setReplay({ clock, regions }: Replay, body: unknown): void {
  const parsed = change.safeParse(body);
  if (!parsed.success || (parsed.data.time === undefined && parsed.data.speed === undefined))
    throw new RequestError(
      "INVALID_PARAMETER",
      'body is not {"time": epoch milliseconds or a text such as 09:25 or 2026-11-20T09:25, "speed": number}, with one of them or both',
    );
  const { time, speed } = parsed.data;
  try {
    const at = typeof time === "string" ? parseReplayTime(time, regions) : time;
    clock.set({ ...(at === undefined ? {} : { time: at }), ...(speed === undefined ? {} : { speed }) });
  } catch (error) {
    if (error instanceof UsageError)
      throw new RequestError("INVALID_PARAMETER", [error.message, error.hint ?? []].flat().join("; "));
    throw error;
  }
}
