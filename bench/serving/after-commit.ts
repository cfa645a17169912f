import { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { writeFiles } from "../lakes/write-files.js";
import type { Case } from "../measure/benchmark.js";
import { askFirst, FIRST_REQUESTS } from "./first-responses.js";
import type { Serving } from "./serving.js";

/** Commits before the measured one: they compile code, and what other requests have needed leaves the cache. */
const FIRST_COMMITS = 2;

/** The first responses after one more minute of each symbol was committed, as while a market is open. */
export function afterCommit(
  serving: Serving,
  lake: Lake,
  symbols: number,
  headers: Readonly<Record<string, string>>,
  name: string,
  baseline: string,
): Case {
  const ask = (): Promise<number> => askFirst(serving, headers);
  return {
    name,
    baseline,
    async run(timed) {
      await ask();
      for (let commit = 0; commit < FIRST_COMMITS; commit++) {
        await commitMinute(lake, symbols);
        await ask();
      }
      await commitMinute(lake, symbols);
      const start = performance.now();
      const first = await timed(ask);
      const seconds = (performance.now() - start) / 1000;
      return { checks: {}, figures: { "requests/s": FIRST_REQUESTS / seconds, "intraday ms": first } };
    },
  };
}

let committed = 0;

async function commitMinute(lake: Lake, symbols: number): Promise<void> {
  using session = await Session.open(writerSpillOptions(lake.work));
  committed += 1;
  const sql = `SELECT printf('%06d.SH', 600000 + s) AS symbol,
      TIMESTAMPTZ '2025-01-31 07:00:00+00' + INTERVAL ${committed} MINUTE AS "timestamp", DATE '2025-01-31' AS trade_date,
      10.0::DOUBLE AS open, 10.5::DOUBLE AS high, 9.5::DOUBLE AS low, 10.0::DOUBLE AS close, 5::BIGINT AS volume,
      5000.0::DOUBLE AS amount, NULL::DOUBLE AS open_interest, NULL::DOUBLE AS prev_close,
      NULL::DOUBLE AS settlement_price, 100::INTEGER AS lot, true AS is_final
    FROM range(${symbols}) a(s)`;
  await writeFiles(session, lake, BARS_1M, [{ sql, values: { region: "CN", month: "2025-01-01" } }]);
}
