import { expect, onTestFinished, test } from "vitest";
import { openPanel } from "../../src/dataset/panel/lake-panel.js";
import { defineDataset } from "../../src/dataset/spec.js";
import { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { upsert } from "../../src/lake/land/upsert.js";
import { openReader } from "../../src/lake/open-reader.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { queryLake, T0, temporaryLake } from "../lake/temporary-lake.js";
import { serveForTest } from "../serve/served-lake.js";

const SYMBOL = "600519.SH";
/** Stated previous closes that older versions landed. They are of no day on which the close before differs. */
const STATED = ["'nan'", "'inf'", "'-inf'", "0", "-1", "NULL"] as const;

/** A lake whose daily bars state previous closes in vain, as landings before this one permitted. */
async function fillOld(lake: Lake): Promise<void> {
  using session = await Session.open({ threads: 1 });
  await session.run(`CREATE TEMP TABLE old AS
    SELECT '${SYMBOL}' AS symbol, timezone('Asia/Shanghai', day::TIMESTAMP) AS timestamp, day AS trade_date,
      10 + n % 7 / 10.0::DOUBLE AS open, 11::DOUBLE AS high, 9::DOUBLE AS low, 10 + n % 7 / 10.0::DOUBLE AS close,
      100::BIGINT AS volume, 105000::DOUBLE AS amount, 'nan'::DOUBLE AS open_interest,
      [${STATED.map((value) => `${value}::DOUBLE`).join(", ")}][n % ${STATED.length} + 1] AS prev_close, '-inf'::DOUBLE AS settlement_price,
      100::INTEGER AS lot, true AS is_final, 'CN' AS region, 2024::INTEGER AS year
    FROM (SELECT n::INTEGER AS n, DATE '2024-01-02' + n::INTEGER AS day FROM range(60) t(n))`);
  await upsert(session, lake, BARS_1D, "old", { operation: "TEST", runId: "test", now: T0 });
}

test("views take a previous close that is no price for none", async () => {
  const lake = temporaryLake();
  await fillOld(lake);
  const [found] = await queryLake<Record<string, number>>(
    lake,
    `SELECT (SELECT count(*)::INT FROM returns WHERE simple_return IS NOT NULL AND isfinite(simple_return)) AS returns,
       (SELECT count(*)::INT FROM returns WHERE NOT isfinite(base)) AS bases,
       (SELECT count(*)::INT FROM ex_events) AS events,
       (SELECT count(*)::INT FROM adjusted('1d', 'backward') WHERE close BETWEEN 9 AND 11) AS adjusted,
       (SELECT count(*)::INT FROM daily_status WHERE NOT suspended) AS days,
       (SELECT count(*)::INT FROM quality_outliers) AS outliers`,
  );
  expect(found).toEqual({ returns: 59, bases: 0, events: 0, adjusted: 60, days: 60, outliers: 0 });
});

test("a dataset is built, with its masks", async () => {
  const lake = temporaryLake();
  await fillOld(lake);
  const { session } = await openReader(lake);
  onTestFinished(() => session.close());
  for (const adjustment of ["none", "backward", "forward"] as const) {
    const definition = { name: "old", universe: [SYMBOL], from: "2024-01-02", adjustment };
    const panel = await openPanel(session, defineDataset({ ...definition, fields: ["close"] }));
    const closes: number[] = [];
    for await (const { fields } of panel.blocks()) closes.push(...(fields[0] ?? []));
    expect(closes.filter((close) => close >= 9 && close <= 11)).toHaveLength(60);
  }
});

test("a service leaves out what is no number", async () => {
  const served = await serveForTest(fillOld);
  const expected = Array.from({ length: 60 }, (_, n) => {
    const text = STATED[n % STATED.length] as string;
    return text === "0" || text === "-1" ? Number(text) : null;
  });
  for (const adjust of ["none", "backward"]) {
    const query = `symbol=${SYMBOL}&period=1d&count=60&adjust=${adjust}`;
    const { status, body } = await served.ask<{ data: Record<string, unknown> }>(`/v1/klines?${query}`);
    expect(status).toBe(200);
    const nothing = expected.map(() => null);
    expect(body.data).toMatchObject({
      prev_close: expected,
      open_interest: nothing,
      settlement_price: nothing,
    });
  }
  const factors = await served.ask(`/v1/klines/ex-factors?symbols=${SYMBOL}`);
  expect([factors.status, factors.body]).toEqual([200, { data: {} }]);
});
