import { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { UNIVERSE } from "../lakes/market-lake.js";
import { writeFiles } from "../lakes/write-files.js";
import type { Case } from "../measure/benchmark.js";
import type { LoadRequest } from "./http-load.js";
import type { Serving } from "./serving.js";

/** What a universe is asked for first after a commit. */
const FIRST: readonly LoadRequest[] = [
  { method: "GET", path: `/v1/klines/intraday/universe?universes=${UNIVERSE}` },
  { method: "POST", path: "/v1/quotes", body: JSON.stringify({ universes: [UNIVERSE] }) },
];

/** The first responses of a service after one more minute of each symbol was committed, as while a market is open. */
export function afterCommit(
  serving: Serving,
  lake: Lake,
  symbols: number,
  headers: Readonly<Record<string, string>>,
  name: string,
  baseline: string,
): Case {
  const ask = async (): Promise<void> => {
    for (const { method, path, body } of FIRST) {
      const response = await fetch(serving.url + path, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body }),
      });
      if (response.status !== 200) throw new Error(`${path} was answered ${response.status}`);
      await response.arrayBuffer();
    }
  };
  return {
    name,
    baseline,
    async run(timed) {
      await ask();
      await commitMinute(lake, symbols);
      const start = performance.now();
      await timed(ask);
      return { checks: {}, figures: { "requests/s": (FIRST.length * 1000) / (performance.now() - start) } };
    },
  };
}

let committed = 0;

async function commitMinute(lake: Lake, symbols: number): Promise<void> {
  using session = await Session.open({ spillUnder: lake.work.staging });
  committed += 1;
  const sql = `SELECT printf('%06d.SH', 600000 + s) AS symbol,
      TIMESTAMPTZ '2025-01-31 07:00:00+00' + INTERVAL ${committed} MINUTE AS "timestamp", DATE '2025-01-31' AS trade_date,
      10.0::DOUBLE AS open, 10.5::DOUBLE AS high, 9.5::DOUBLE AS low, 10.0::DOUBLE AS close, 5::BIGINT AS volume,
      5000.0::DOUBLE AS amount, NULL::DOUBLE AS open_interest, NULL::DOUBLE AS prev_close,
      NULL::DOUBLE AS settlement_price, 100::INTEGER AS lot, true AS is_final
    FROM range(${symbols}) a(s)`;
  await writeFiles(session, lake, BARS_1M, [{ sql, values: { region: "CN", month: "2025-01-01" } }]);
}
