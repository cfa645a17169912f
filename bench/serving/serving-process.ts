import { Lake } from "../../src/lake/lake.js";
import { startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
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
  if (command === "peak") tell({ kind: "peak", bytes: peak });
});
tell({ kind: "ready", url: await (kind === "plain" ? startPlainService(folder) : startBarlake()) });

async function startBarlake(): Promise<string> {
  const { url } = await startService(new Lake(folder), {
    port: 0,
    keys: plainKeys([apiKey]),
    clock: { now: () => Number(now) },
  });
  return url;
}

function tell(message: ServingMessage): void {
  process.send?.(message);
}
