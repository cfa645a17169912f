import { systemClock } from "../../src/client/system-clock.js";
import { Lake } from "../../src/lake/lake.js";
import { type ServiceOptions, startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { replayRange } from "../../src/serve/replay/add-replay.js";
import { ReplayClock } from "../../src/serve/replay/replay-clock.js";
import { startPlainService } from "../baselines/plain-service.js";
import type { ServingCommand, ServingMessage } from "./serving.js";

/** The process of a service over an existing lake: reports its memory, and ends with its parent. */
const [kind, folder = "", apiKey = "", now] = process.argv.slice(2);

/** How often the memory is sampled. */
const LOOK_MS = 5;

let peak = 0;
const look = (): void => {
  peak = Math.max(peak, process.memoryUsage.rss());
};
setInterval(look, LOOK_MS).unref();

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("disconnect", () => process.exit());
process.on("message", (command: ServingCommand) => {
  look();
  if (command === "peak") send({ kind: "peak", bytes: peak });
});
send({ kind: "ready", url: await (kind === "plain" ? startPlainService(folder) : startBarlake()) });

async function startBarlake(): Promise<string> {
  const lake = new Lake(folder);
  const keys = plainKeys([apiKey]);
  if (kind !== "replay") {
    const options = { port: 0, keys, clock: { now: () => Number(now) } };
    return kind === "warm" ? startWarm(lake, options) : (await startService(lake, options)).url;
  }
  const { range, regions } = await replayRange(lake, {});
  const clock = new ReplayClock(systemClock, range, { time: Number(now), speed: 0 });
  const replay = { clock, regions, assumesReference: true };
  const { url } = await startService(lake, { port: 0, keys, clock: systemClock, replay });
  return url;
}

/** Starts a service, and waits until it is warmed up. @throws {Error} where that fails. */
function startWarm(lake: Lake, options: ServiceOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const service = startService(lake, {
      ...options,
      warmUp: true,
      logger: {
        info: (_, message) => {
          if (message === "warmed up") service.then(({ url }) => resolve(url), reject);
        },
        error: (_, message) => reject(new Error(message)),
      },
    });
    service.catch(reject);
  });
}

function send(message: ServingMessage): void {
  process.send?.(message);
}
