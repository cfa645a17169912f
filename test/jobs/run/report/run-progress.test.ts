import { expect, test } from "vitest";
import { type Progress, RunProgress } from "../../../../src/jobs/run/report/run-progress.js";
import type { QuotaState } from "../../../../src/plan/quota/rate.js";

const QUOTA: QuotaState = {
  limit: 30,
  learned: true,
  usedLastMinute: 4,
  waitingUntil: undefined,
  waits: 0,
};

test("reports each table and all of them, and the state of the quota", () => {
  const reports: Progress[] = [];
  const progress = new RunProgress((one) => reports.push(one));
  progress.plan("balance_sheet", 3);
  progress.sent("balance_sheet", () => QUOTA);
  progress.ended("balance_sheet", 10, 100);
  progress.plan("cash_flow", 2);
  progress.doing("cash_flow");
  expect(reports.at(-1)).toEqual({
    requestsDone: 1,
    requestsTotal: 5,
    rows: 10,
    bytes: 100,
    tables: [
      { table: "balance_sheet", requestsDone: 1, requestsTotal: 3, rows: 10 },
      { table: "cash_flow", requestsDone: 0, requestsTotal: 2, rows: 0 },
    ],
    quota: QUOTA,
    doing: "cash_flow",
  });
});

test("a new plan counts from what was sent; what was sent without a plan counts, too", () => {
  const progress = new RunProgress(() => {});
  progress.plan("bars_1m", 100);
  for (let n = 0; n < 3; n++) progress.sent("bars_1m", () => QUOTA);
  progress.replan("bars_1m", 50);
  expect(progress.planned).toBe(53);
  progress.sent("exchanges", () => QUOTA);
  expect(progress.planned).toBe(54);
});
