import { expect, test } from "vitest";
import { Session } from "../../src/db/session/session.js";
import { auditLake, readAudits } from "../../src/jobs/maintenance/audit-lake.js";
import type { Lake } from "../../src/lake/lake.js";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { landActions, landVersions } from "../../src/lake/land/land-versions.js";
import { upsert } from "../../src/lake/land/upsert.js";
import { SYMBOL_CHANGES } from "../../src/schema/actions.js";
import { BARS_1D, TRADING_DAYS } from "../../src/schema/bars.js";
import { INSTRUMENTS } from "../../src/schema/reference.js";
import { land, queryLake, T0, temporaryLake } from "../lake/temporary-lake.js";

const OPTIONS = { operation: "TEST", runId: "test", now: T0 };
/** Sessions; the last one of each year counts. */
const DAYS = ["2022-12-29", "2022-12-30", "2023-12-29", "2024-06-28"];
const [A, B, C] = ["600001.SH", "600002.SH", "600003.SH"];

/** A lake in which symbols have bars on some of the days. */
async function lakeOf(bars: Readonly<Record<string, readonly number[]>>): Promise<Lake> {
  const lake = temporaryLake();
  using session = await Session.open({ threads: 1 });
  const rows = Object.entries(bars).flatMap(([symbol, days]) =>
    days.map((n) => ({ symbol, at: `${DAYS[n]}T00:00:00+08:00` })),
  );
  await land(session, lake, BARS_1D, rows);
  const days = DAYS.map((trade_date) => ({ region: "CN", trade_date, source: "index" }));
  await stageObjects(session, "days", TRADING_DAYS.columns, days);
  await upsert(session, lake, TRADING_DAYS, "days", OPTIONS);
  return lake;
}

/** The whole list of instruments, as the lake sees it on a day. */
async function see(lake: Lake, symbols: readonly string[], day: string): Promise<void> {
  using session = await Session.open({ threads: 1 });
  const columns = INSTRUMENTS.columns.filter(({ name }) => !name.startsWith("valid_"));
  const rows = symbols.map((symbol) => ({
    symbol,
    code: symbol,
    exchange: "SH",
    type: "stock",
    region: "CN",
  }));
  await stageObjects(session, "list", columns, rows);
  const now = Date.parse(`${day}T12:00:00+08:00`);
  await landVersions(session, lake, INSTRUMENTS, "list", { ...OPTIONS, now, complete: "true" });
}

async function findings(lake: Lake): Promise<unknown[]> {
  const audits = readAudits().filter(({ name }) => name === "survivors");
  const { findings: found, errors } = await auditLake(lake, { audits });
  expect(errors).toEqual([]);
  return found.flatMap(({ columns, examples }) =>
    examples.map((row) => ["trade_date", "finding"].map((name) => row[columns.indexOf(name)])),
  );
}

test("a lake whose instruments of years ago are all listed has survivors only, until who left is there", async () => {
  const lake = await lakeOf({ [A]: [0, 1, 2, 3], [B]: [1, 2, 3] });
  expect(await findings(lake)).toEqual([]);
  await see(lake, [A, B], "2024-06-01");
  // The newest session is later than the list.
  expect(await findings(lake)).toEqual([
    ["2022-12-30", "survivors only"],
    ["2023-12-29", "survivors only"],
  ]);
  const whole = await lakeOf({ [A]: [0, 1, 2, 3], [B]: [1, 2, 3], [C]: [0, 1] });
  await see(whole, [A, B], "2024-06-01");
  expect(await findings(whole)).toEqual([
    ["2022-12-30", "in no list"],
    ["2023-12-29", "survivors only"],
  ]);
});

test("who left the lists later, and whose symbol is another company's since, is not still listed", async () => {
  const lake = await lakeOf({ [A]: [1, 2, 3], [B]: [1, 2], [C]: [1, 2, 3] });
  await see(lake, [A, B, C], "2024-01-15");
  await see(lake, [A, C], "2024-06-01");
  using session = await Session.open({ threads: 1 });
  const columns = SYMBOL_CHANGES.columns.filter(({ name }) => name !== "first_seen_at");
  const reuse = { symbol: C, source: "test", region: "CN", from_date: "2023-06-01", kind: "reuse" };
  await stageObjects(session, "changes", columns, [reuse]);
  await landActions(session, lake, SYMBOL_CHANGES, "changes", OPTIONS);
  const query = `SELECT trade_date::VARCHAR, traded::INT, still_listed::INT, round(share, 2), left_lists::INT, in_no_list::INT, first_list::VARCHAR
    FROM survivors ORDER BY 1`;
  expect((await queryLake<object>(lake, query)).map((row) => Object.values(row))).toEqual([
    ["2022-12-30", 3, 1, 0.33, 2, 0, "2024-01-15"],
    ["2023-12-29", 3, 2, 0.67, 1, 0, "2024-01-15"],
    ["2024-06-28", 2, 2, 1, 0, 0, "2024-01-15"],
  ]);
  expect(await findings(lake)).toEqual([]);
});
