import { Session } from "../../src/db/session/session.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { writeYear } from "../lakes/year-of-minutes.js";
import { temporaryFolder } from "../measure/temporary-folder.js";
import type { ServiceOrder, ServiceStarted } from "./minute-service.js";

/** The process of a service: fills a lake by its parent's order, serves it, and ends with its parent. */
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("disconnect", () => process.exit());
process.once("message", (order: ServiceOrder) => void serve(order));

async function serve({ symbols, months, apiKey, now }: ServiceOrder): Promise<void> {
  const folder = temporaryFolder();
  const lake = new Lake(folder.path);
  {
    using session = await Session.open(writerSpillOptions(lake.work));
    await writeYear(session, lake, { symbols, months });
  }
  const { url } = await startService(lake, { port: 0, keys: plainKeys([apiKey]), clock: { now: () => now } });
  const rows = rowCount(await lake.snapshot(BARS_1M));
  process.send?.({ url, rows } satisfies ServiceStarted);
}
