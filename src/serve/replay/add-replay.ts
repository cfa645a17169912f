import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { UsageError } from "../../core/errors.js";
import { RequestError } from "../http/errors/request-error.js";
import type { Caller } from "../keys/key-ring.js";
import { instantText, type ReplayClock } from "./replay-clock.js";
import type { ReplayRange } from "./replay-range.js";
import { parseReplayTime } from "./replay-time.js";

/** The path that shows and sets the time of a replay. */
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
