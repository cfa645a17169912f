import type { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landActions } from "../../../src/lake/land/land-versions.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../../../src/schema/actions.js";

const KEY = { symbol: "600519.SH", source: "test", region: "CN" };

/** Lands an action of each form, one of them corrected, a factor and a merger. @param now epoch milliseconds of the first sight. */
export async function landSomeActions(session: Session, lake: Lake, now: number): Promise<void> {
  const dividend = { ...KEY, ex_date: "2026-06-19", kind: "cash_dividend", announce_date: "2026-04-20" };
  const versions = [
    [
      { ...dividend, cash: 1.5, currency: "CNY" },
      { ...KEY, ex_date: "2026-06-19", kind: "stock_dividend", ratio: 0.3 },
      { ...KEY, ex_date: "2026-09-10", kind: "rights", ratio: 0.2, price: 4.5, record_date: "2026-09-09" },
    ],
    [{ ...dividend, cash: 1.45, pay_date: "2026-06-22" }],
  ];
  const columns = CORPORATE_ACTIONS.columns.filter(({ name }) => name !== "first_seen_at");
  for (const [i, rows] of versions.entries()) {
    await stageObjects(session, "some_actions", columns, rows);
    const options = { operation: "IMPORT", runId: `actions-${i}`, now: now + i };
    await landActions(session, lake, CORPORATE_ACTIONS, "some_actions", options);
  }
  const factors = EX_FACTORS.columns.filter(({ name }) => name !== "first_seen_at");
  await stageObjects(session, "some_factors", factors, [{ ...KEY, ex_date: "2026-06-19", factor: 1.35 }]);
  await landActions(session, lake, EX_FACTORS, "some_factors", {
    operation: "IMPORT",
    runId: "factors",
    now,
  });
  const changes = SYMBOL_CHANGES.columns.filter(({ name }) => name !== "first_seen_at");
  const merger = {
    ...KEY,
    symbol: "600005.SH",
    from_date: "2017-02-27",
    kind: "merger",
    new_symbol: "600019.SH",
  };
  await stageObjects(session, "some_changes", changes, [merger]);
  const options = { operation: "IMPORT", runId: "changes", now };
  await landActions(session, lake, SYMBOL_CHANGES, "some_changes", options);
}
