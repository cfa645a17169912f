import { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { landKlines } from "../../src/lake/land/land-klines.js";
import { Rejects } from "../../src/lake/land/rejects.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { LAST_DAY, simulatedBars } from "../body.js";

/** What a process lands, and where. */
export interface LandingOrder {
  readonly location: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly bars: { readonly symbols: number; readonly barsPerSymbol: number };
  /** Number of the first symbol: each process has its own. */
  readonly first: number;
}

const NOW = Date.parse(LAST_DAY) + 2 * 86_400_000;

/** A process that makes bars by its parent's order, lands them when the parent says so, and ends with it. */
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("disconnect", () => process.exit());
process.once("message", (order: LandingOrder) => void prepare(order));

async function prepare({ location, environment, bars, first }: LandingOrder): Promise<void> {
  const [made] = simulatedBars(bars);
  if (made === undefined) throw new TypeError("no bars were made");
  const symbols = made.symbols.map((_, index) => `${600_000 + first + index}.SH`);
  const lake = new Lake(location, { environment, hasDatabase: false });
  const session = await Session.open({ ...writerSpillOptions(lake.work), ...lake.access });
  const land = async (): Promise<void> => {
    await landKlines(session, lake, BARS_1M, [{ columns: { ...made, symbols }, source: "benchmark" }], {
      operation: "BENCHMARK",
      runId: `benchmark-${first}`,
      now: NOW,
      finalEnd: { CN: NOW, HK: NOW, US: NOW },
      rejects: new Rejects(session, "benchmark"),
    });
    process.send?.("landed");
  };
  process.once("message", () => void land());
  process.send?.("ready");
}
