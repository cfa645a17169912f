import { KEY, newLake, serve } from "../serve/served-lake.js";
import { fillHostileLake } from "./hostile-lake.js";

/** The process of a service that is attacked: says where it is, and how much memory it has whenever it is asked. */
const { lake, remove } = newLake();
process.once("exit", remove);
process.once("SIGINT", () => process.exit(130));
process.once("disconnect", () => process.exit());
await fillHostileLake(lake);
/** No line of the log may have a key: the process ends at the first one that has. */
const log = (facts: object, message: string): void => {
  if (!JSON.stringify([facts, message]).includes(KEY)) return;
  console.error(`the log has a key: ${message}`);
  process.exit(1);
};
const { service } = await serve(lake, { logger: { info: log, error: log } });
process.on("message", () => process.send?.({ rss: process.memoryUsage.rss() }));
process.send?.({ port: service.port });
