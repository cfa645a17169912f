import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { noticeOf } from "../../../../src/jobs/run/report/notify.js";
import type { RunReport } from "../../../../src/jobs/run/run-pipeline.js";
import { json, type Seen } from "../../../faults/service/scripted-service.js";
import { scriptedMarket } from "../../scripted-market.js";

const SHEETS: PipelineDefinition = { name: "sheets", kind: "statements", tables: ["balance_sheet"] };
const [A, B] = ["600000.SH", "600001.SH"] as const;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const record = (total_assets: unknown = 1) => ({
  period_end: "2023-09-30",
  announce_date: null,
  total_assets,
});

/** A service that has statements of both symbols; `respond` replaces what it gives of the second one. */
async function sheetsMarket() {
  const state = { ofB: [record()] as unknown[] };
  const parts = await scriptedMarket((seen, response) => {
    const requested = requestedOf(seen);
    const data = Object.fromEntries(requested.map((one) => [one, one === B ? state.ofB : [record()]]));
    json(response, 200, { data });
  }, "2024-01-13T00:00:00Z");
  const { clock, run, service } = parts;
  /** Runs the pipeline later, by default after ten minutes. */
  const next = async (ofB: unknown[], later = 10 * MINUTE) => {
    state.ofB = ofB;
    clock.advance(later);
    const before = service.seen.length;
    const report = await run(SHEETS, { symbols: [A, B] });
    return { report, requested: service.seen.slice(before).map(requestedOf) };
  };
  return { ...parts, next };
}

const requestedOf = ({ query }: Seen): string[] => (query.get("symbols") ?? "").split(",");

/** What the webhook gets about a run that follows another one. */
function noticeAfter(previous: RunReport, report: RunReport) {
  const outcome = { ...report, startedAt: 0, finishedAt: 0 };
  return noticeOf(outcome, ["partial", "failed", "refused"], previous.status);
}

test.each([
  ["a value of another type", [record(), { ...record("much"), period_end: "2023-06-30" }]],
  ["a record that cannot be read", [record(), { period_end: 5 }]],
])(
  "a symbol with %s: the next run requests it again, later ones after a wait, and each is partial until it is good",
  async (_, ofB) => {
    const { next } = await sheetsMarket();
    const first = await next(ofB);
    expect([first.report.status, first.requested]).toEqual(["partial", [[A, B]]]);
    const second = await next(ofB);
    expect([second.report.status, second.requested]).toEqual(["partial", [[B]]]);
    expect(noticeAfter(first.report, second.report)).toMatchObject({ status: "partial", recovered: false });
    const good = [record(), { ...record(2), period_end: "2023-06-30" }];
    const waiting = await next(good);
    expect([waiting.report.status, waiting.requested]).toEqual(["partial", []]);
    expect(waiting.report.failures).toMatchObject([
      {
        dataset: "balance_sheet",
        reason: expect.stringContaining(`set aside statements of ${B}; `),
        symbols: 1,
      },
    ]);
    const healed = await next(good, 18 * HOUR);
    expect([healed.report.status, healed.requested]).toEqual(["complete", [[B]]]);
    expect(noticeAfter(second.report, healed.report)).toMatchObject({ status: "complete", recovered: true });
    expect(await next(ofB)).toMatchObject({ report: { status: "complete" }, requested: [] });
  },
);

test("the wait after statements that were set aside is never longer than the usual one", async () => {
  const { next } = await sheetsMarket();
  const bad = [record(), { period_end: 5 }];
  for (let days = 0; days < 5; days++) {
    const { report, requested } = await next(bad, 20 * HOUR);
    expect([report.status, requested]).toEqual(["partial", [[A, B]]]);
  }
});
