import { newLake, serve } from "../serve/served-lake.js";
import { fillHostileLake } from "./hostile-lake.js";

/** The process of a service that is attacked: says where it is, and how much memory it has whenever it is asked. */
const { lake, remove } = newLake();
process.once("exit", remove);
process.once("SIGINT", () => process.exit(130));
process.once("disconnect", () => process.exit());
await fillHostileLake(lake);
const { service } = await serve(lake);
process.on("message", () => process.send?.({ rss: process.memoryUsage.rss() }));
process.send?.({ port: service.port });
