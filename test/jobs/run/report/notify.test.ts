import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { type Notice, noticeOf, sendNotice } from "../../../../src/jobs/run/report/notify.js";
import type { RunOutcome } from "../../../../src/jobs/run/report/run-history.js";
import type { RunStatus } from "../../../../src/schema/runs.js";
import { closedAddress } from "../../../faults/service/closed-address.js";
import { json, type Script, startScripted } from "../../../faults/service/scripted-service.js";

const ON = ["partial", "failed", "refused"] as const;
const FAILURES = Array.from({ length: 12 }, (_, i) => ({
  dataset: "bars_1d",
  request: `bars_1d ${i}`,
  reason: "GET /v1/klines/batch: status 502",
  symbols: 100,
}));

function outcome(status: RunStatus, more: Partial<RunOutcome> = {}): RunOutcome {
  return {
    pipeline: "daily",
    runId: "20261120T103000Z-abcdef",
    status,
    stopped: undefined,
    requests: { planned: 55, sent: 55, answered: 40, empty: 3, refused: 0, failed: 12 },
    rows: 12_345,
    bytes: 1,
    failures: status === "complete" ? [] : FAILURES,
    landed: [],
    completeness: [],
    startedAt: Date.parse("2026-11-20T10:30:00Z"),
    finishedAt: Date.parse("2026-11-20T10:42:00Z"),
    ...more,
  };
}

describe("a notice", () => {
  test("says what came of the run, in a sentence and in fields; at most ten failures", () => {
    expect(noticeOf(outcome("partial"), ON, "complete")).toEqual({
      text: "barlake: daily ended partial: 43 of 55 requests answered, 12,345 rows. GET /v1/klines/batch: status 502",
      pipeline: "daily",
      run_id: "20261120T103000Z-abcdef",
      status: "partial",
      recovered: false,
      stopped: null,
      requests: { planned: 55, sent: 55, answered: 40, empty: 3, refused: 0, failed: 12 },
      rows: 12_345,
      failures: FAILURES.slice(0, 10),
      started_at: "2026-11-20T10:30:00.000Z",
      finished_at: "2026-11-20T10:42:00.000Z",
    });
  });

  test("of a run that could not begin has no id, and says why", () => {
    const notice = noticeOf(
      outcome("failed", { runId: undefined, stopped: "no instruments" }),
      ON,
      undefined,
    );
    expect(notice).toMatchObject({ run_id: null, text: expect.stringMatching(/no instruments$/) });
  });

  test.each<[RunStatus, RunStatus | undefined, "notified" | "recovered" | "not notified"]>([
    ["complete", undefined, "not notified"],
    ["complete", "complete", "not notified"],
    ["complete", "interrupted", "not notified"],
    ["complete", "partial", "recovered"],
    ["complete", "failed", "recovered"],
    ["partial", "partial", "notified"],
    ["refused", "complete", "notified"],
    ["interrupted", "failed", "not notified"],
  ])("of a %s run after a %s one: %s", (status, previous, expected) => {
    const notice = noticeOf(outcome(status), ON, previous);
    const found = notice === undefined ? "not notified" : notice.recovered ? "recovered" : "notified";
    expect(found).toBe(expected);
    if (expected === "recovered") expect(notice?.text).toMatch(/daily is complete again/);
  });

  test("is of the ends that are asked for alone", () => {
    expect(noticeOf(outcome("partial"), ["failed"], "complete")).toBeUndefined();
    expect(noticeOf(outcome("complete"), ["complete"], "complete")?.recovered).toBe(false);
  });
});

describe("sending a notice", () => {
  const notice = noticeOf(outcome("failed"), ON, undefined) as Notice;
  const forEver = { sleep: () => new Promise<void>(() => {}) };
  const quick = { backoffMs: 1, retries: 3, clock: forEver };
  const hook = async (script: Script) => {
    const server = await startScripted(script);
    return { server, webhook: `${server.url}/T000/secret-path?token=secret-token` };
  };
  const ok = (response: ServerResponse): void => json(response, 200, "ok");

  test("posts it as JSON", async () => {
    const { server, webhook } = await hook((_, response) => ok(response));
    expect(await sendNotice(webhook, notice, quick)).toBeUndefined();
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]).toMatchObject({ method: "POST", path: "/T000/secret-path" });
    expect(server.seen[0]?.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(server.seen[0]?.body ?? "")).toEqual(notice);
  });

  test.each([
    ["a status 500", (response: ServerResponse) => json(response, 500, "no")],
    ["a status 429", (response: ServerResponse) => json(response, 429, "no")],
    ["a broken connection", (response: ServerResponse) => void response.destroy()],
  ])("is tried again after %s", async (_, fail) => {
    const { server, webhook } = await hook((_seen, response, index) =>
      index < 2 ? fail(response) : ok(response),
    );
    expect(await sendNotice(webhook, notice, quick)).toBeUndefined();
    expect(server.seen).toHaveLength(3);
  });

  test("gives up after the last try, and names the host alone", async () => {
    const { server, webhook } = await hook((_, response) => json(response, 503, "no"));
    const fault = await sendNotice(webhook, notice, quick);
    expect(fault).toBe(`webhook at ${new URL(webhook).host}: answered with status 503`);
    expect(server.seen).toHaveLength(4);
  });

  test("is not tried again where that cannot heal", async () => {
    const { server, webhook } = await hook((_, response) => json(response, 404, "no"));
    expect(await sendNotice(webhook, notice, quick)).toMatch(/answered with status 404/);
    expect(server.seen).toHaveLength(1);
  });

  test("does not wait for ever for a response", async () => {
    let passes = (): void => {};
    const clock = { sleep: () => new Promise<void>((resolve) => (passes = resolve)) };
    const { server, webhook } = await hook(() => passes());
    const fault = await sendNotice(webhook, notice, { ...quick, retries: 1, timeoutMs: 30, clock });
    expect(fault).toMatch(/^webhook at [\d.:]+: did not respond within 30 ms$/);
    expect(server.seen).toHaveLength(2);
  });

  test("nobody there: the reason has no path and no query", async () => {
    const address = await closedAddress();
    const webhook = `http://${address}/secret-path?token=secret-token`;
    const fault = await sendNotice(webhook, notice, quick);
    expect(fault).toMatch(/^webhook at [\d.:]+: .*ECONNREFUSED/);
    expect(fault).toContain(`webhook at ${address}: `);
    expect(fault).not.toMatch(/secret/);
  });

  test("ends when it is aborted", async () => {
    const controller = new AbortController();
    const { server, webhook } = await hook(() => controller.abort());
    const fault = await sendNotice(webhook, notice, { ...quick, signal: controller.signal });
    expect(fault).toMatch(/abort/);
    expect(server.seen).toHaveLength(1);
  });
});
