import { systemClock } from "../../client/system-clock.js";
import { type Clock, ticksOf } from "../../core/time.js";
import type { ServiceLogger } from "../http/service-logger.js";
import type { KeyRing } from "../keys/key-ring.js";
import { REPLAY_TIME_HEADER, type Replay } from "../replay/add-replay.js";
import { nextMinute } from "../replay/next-minute.js";
import { instantText } from "../replay/replay-clock.js";
import type { StreamOptions } from "./add-stream.js";

/** Time between two reads of a lake that is not replayed, in milliseconds. */
const READ_EVERY_MS = 1000;

/** The options of a service that its stream depends on. */
interface ServiceParts {
  readonly keys: KeyRing;
  readonly clock: Pick<Clock, "now"> & Partial<Clock>;
  readonly logger?: ServiceLogger;
  readonly maxSymbols?: number;
  readonly replay?: Replay;
}

/** The options of a stream that follow from the options of its service. */
export function streamOptions({
  keys,
  clock,
  logger,
  maxSymbols,
  replay,
}: ServiceParts): Omit<StreamOptions, "reader" | "budgets" | "metrics" | "takeQuota"> {
  const sleep: Clock["sleep"] = (ms, signal) =>
    clock.sleep === undefined ? systemClock.sleep(ms, signal) : clock.sleep(ms, signal);
  return {
    keys,
    clock: { now: () => clock.now(), monotonic: () => ticksOf(clock), sleep },
    logger,
    maxSymbols,
    isReplayed: replay !== undefined,
    onSetBack: (listener) =>
      replay?.clock.onSet((isBack) => {
        if (isBack) listener();
      }) ?? (() => {}),
    nextChange: (signal) =>
      replay === undefined ? sleep(READ_EVERY_MS, signal) : nextMinute(replay.clock, sleep, signal),
    headers: () =>
      replay === undefined ? [] : [`${REPLAY_TIME_HEADER}: ${instantText(replay.clock.now())}`],
  };
}
