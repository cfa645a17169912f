import { expect, test } from "vitest";
import { LakeError } from "../../../../src/core/errors.js";
import { type RunReport, reportOf } from "../../../../src/jobs/run/report/run-report.js";
import { RunLog } from "../../../../src/jobs/run/run-log.js";
import { virtualClock } from "../../../faults/clock/virtual-clock.js";

const OF_BARS = { dataset: "bars_1d", symbols: ["600519.SH", "AAPL.US"] };
const RESPONSE = { rows: 5, rejected: 0, bytes: 100, absent: ["AAPL.US"], issues: [] };
const FAILURE = { dataset: "bars_1d", request: "bars_1d 000001", reason: "HTTP 500", symbols: 2 };
const SET_ASIDE = { rule: "bad_price", reason: "the price is negative", source: "a", line: 1, rows: 3 };

const SIGNALS = { goes: new AbortController().signal, interrupted: AbortSignal.abort() };

function reportAfter(
  work: (log: RunLog) => void,
  { failed, signal = SIGNALS.goes }: { failed?: Error; signal?: AbortSignal } = {},
): RunReport {
  const clock = virtualClock(1_000_000);
  const context = {
    runId: "r1",
    pipeline: "daily",
    signal,
    clock,
    startedAt: 990_000,
    startedTicks: 990_000,
  };
  const log = new RunLog();
  work(log);
  return reportOf(context, log.facts(), 7, failed);
}

const received = (log: RunLog): void => {
  log.sent();
  log.received(OF_BARS, RESPONSE);
};
const failed = (log: RunLog): void => {
  log.sent();
  log.unanswered(OF_BARS, "failed", FAILURE);
};
const refused = (log: RunLog): void => {
  log.sent();
  log.unanswered(OF_BARS, "refused", FAILURE);
};

test.each<[string, RunReport["status"], (log: RunLog) => void, Parameters<typeof reportAfter>[1]?]>([
  ["without a request", "complete", () => {}],
  ["with a response", "complete", received],
  ["with a response and a failure", "partial", (log) => [received, failed].forEach((one) => one(log))],
  ["with failures only", "failed", failed],
  ["with refusals only", "refused", refused],
  ["with a refusal that another request made good", "complete", (log) => log.unanswered(OF_BARS, "refused")],
  ["that stopped before a response", "failed", (log) => log.stop("no space")],
  ["with rows that were set aside", "partial", (log) => log.ended({ rejected: [SET_ASIDE] })],
  ["with an unexplained window", "partial", (log) => unexplained(log)],
  ["that an error ended", "failed", received, { failed: new Error("broken") }],
  ["that was interrupted", "interrupted", failed, { signal: SIGNALS.interrupted }],
])("a run %s is %s", (_, status, work, how) => {
  expect(reportAfter(work, how).status).toBe(status);
});

function unexplained(log: RunLog): void {
  log.completeness.unexplained("bars_1d", { symbol: "600519.SH", start: 0, end: 1 });
}

test("a report has the counts of requests, rows and symbols, and one line for each table", () => {
  const landing = {
    table: "bars_1d",
    inserted: 2,
    updated: 1,
    unchanged: 0,
    sample: [],
    filesAdded: 1,
    version: 3,
  };
  const report = reportAfter((log) => {
    received(log);
    refused(log);
    log.landed(landing);
    log.landed({ ...landing, version: 4 });
  });
  expect(report).toMatchObject({
    runId: "r1",
    requests: { planned: 7, sent: 2, answered: 1, empty: 0, refused: 1, failed: 0 },
    rows: 5,
    bytes: 100,
    durationMs: 10_000,
    clockShiftMs: undefined,
    landed: [{ table: "bars_1d", inserted: 4, updated: 2, filesAdded: 2, version: 4 }],
    failures: [FAILURE],
    symbols: [{ dataset: "bars_1d", requested: 2, returned: 1, missing: ["AAPL.US"] }],
  });
});

test("the first reason to stop counts; a disk that cannot be written is one, another error is none", () => {
  const log = new RunLog();
  log.stopIfUnwritable(new Error("a bug"));
  log.forbid("bars_1m", "not permitted");
  expect([log.isStopped("bars_1d"), log.isStopped("bars_1m")]).toEqual([false, true]);
  log.stopIfUnwritable(new LakeError("the disk is full"));
  log.stop("later");
  expect([log.isStopped("bars_1d"), log.facts().stopped]).toEqual([true, "the disk is full"]);
  expect(reportAfter((one) => one.forbid("bars_1m", "not permitted")).stopped).toBe("bars_1m: not permitted");
});

test("of a dataset that is not offered no failure counts, with any text; those of others do", () => {
  const report = reportAfter((log) => {
    log.unanswered({ dataset: "income", symbols: ["600519.SH"] }, "refused", {
      dataset: "income",
      request: "the whole table",
      reason: "HTTP 404",
      symbols: 1,
    });
    log.failure({ dataset: undefined, request: "income of an earlier run", reason: "damaged", symbols: 0 });
    log.notOffered("income", "HTTP 404");
  });
  expect(report.failures.map(({ request }) => request)).toEqual(["income of an earlier run"]);
});

test("what was read of a log does not change with it", () => {
  const log = new RunLog();
  received(log);
  const facts = log.facts();
  failed(log);
  expect([facts.requests.sent, facts.failures.length]).toEqual([1, 0]);
  expect([log.facts().requests.sent, log.facts().failures.length]).toEqual([2, 1]);
});
