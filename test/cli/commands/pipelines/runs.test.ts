import { join } from "node:path";
import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { html } from "../../../faults/service/scripted-service.js";
import { right, scriptedMarket } from "../../../jobs/scripted-market.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";
import { runCli } from "../../run-cli.js";
import { smallLake } from "../../small-lake.js";

const DAILY: PipelineDefinition = {
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "-10d",
  symbols: ["600519.SH", "000001.SZ"],
};

test("lists runs newest first, and shows one in full", async () => {
  let broken = false;
  const { lake, clock, run } = await scriptedMarket(
    (seen, response, index) => (broken ? html(response, 502) : right(seen, response, index)),
    "2024-01-13T00:00:00Z",
  );
  const first = await run(DAILY);
  clock.advance(3 * 86_400_000);
  broken = true;
  const second = await run({ ...DAILY, name: "other" });
  const runs = (...parameters: string[]) => runCli(["runs", ...parameters, "--lake", lake.location]);

  const list = await runs();
  expect(list.code).toBe(0);
  const [head, ...lines] = list.stdout.trimEnd().split("\n");
  expect(head).toMatch(/^run +pipeline +status +began \(UTC\) +took +requests/);
  expect(lines).toEqual([
    expect.stringMatching(new RegExp(`^${second.runId} +other +failed +2024-01-16 00:00:00 `)),
    expect.stringMatching(
      new RegExp(`^${first.runId} +daily +complete +2024-01-13 00:00:00 +0 ms +2 +3 +3 `),
    ),
  ]);
  expect(JSON.parse((await runs("--pipeline", "daily", "--json")).stdout)).toMatchObject([
    { run_id: first.runId, requests_sent: 2, inserted: 3, options: {} },
  ]);
  expect(JSON.parse((await runs("--limit", "1", "--json")).stdout)).toHaveLength(1);

  const one = await runs("show", first.runId.slice(0, 8));
  expect(one.code).toBe(0);
  expect(one.stdout).toMatch(/^daily complete in 0 ms, began 2024-01-13 00:00:00 UTC\n/);
  expect(one.stdout).toMatch(/^bars_1d +GET \/v1\/klines\/batch +answered +1 +1 +3$/m);
  expect(one.stdout).toMatch(/asked for, and absent from the responses\n.*\nbars_1d +1 +000001\.SZ$/m);
  const other = await runs("show", second.runId);
  expect(other.stdout).toMatch(/^failed +502 +1 +2 +GET \/v1\/klines\/batch: status 502/m);
  const machine = JSON.parse((await runs("show", second.runId, "--json")).stdout);
  expect(machine).toMatchObject({ run: { status: "failed" }, failures: [{ symbols: 2 }], absent: [] });
});

test("a lake without runs says so", async () => {
  const { code, stdout } = await runCli(["runs", "--lake", await smallLake(join(temporaryFolder(), "lake"))]);
  expect([code, stdout]).toEqual([0, "no run yet\n"]);
});
