import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/client/system-clock.js";
import type { TradingDate } from "../../src/core/time.js";
import { compareLakes } from "../../src/jobs/maintenance/compare-lakes.js";
import { Lake } from "../../src/lake/lake.js";
import { startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { runCli, runProcess } from "../cli/run-cli.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { cases, pickCases } from "../sweep.js";

/** Numbers of responses after which a run is killed: it has landed, spooled or lost their content. */
const KILLS = [1, 2, 3, 5, 8];
const PICKED = pickCases(KILLS.length, cases({ few: 2, more: 2, all: KILLS.length }), [0]).flatMap(
  (n) => KILLS[n] ?? [],
);

test("runs that are killed after any request lose nothing and double nothing; the next one goes on", async () => {
  const folder = temporaryFolder();
  const served = new Lake(join(folder, "served"));
  const market = simulateMarket({ seed: 3, symbols: 60, days: 120, end: "2025-11-20" as TradingDate });
  await fillLake(served, market, { minuteDays: 6, runId: "sim", now: systemClock.now() });
  let onResponse = (): void => {};
  const logger = { info: () => onResponse(), error: () => {} };
  const service = await startService(served, {
    port: 0,
    keys: plainKeys(["key"]),
    clock: systemClock,
    logger,
  });
  onTestFinished(() => service.close());

  const target = join(folder, "target");
  const env = { BARLAKE_URL: service.url, BARLAKE_API_KEY: "key", BARLAKE_LAKE: target };
  const symbols = `@${join(folder, "symbols")}`;
  writeFileSync(
    join(folder, "symbols"),
    market.instruments.map((instrument) => instrument.symbol).join("\n"),
  );
  const steps = [
    ["run", "reference"],
    ["run", "daily", "--from", "2025-01-01", "--to", "2025-11-21", "--symbols", symbols],
    ["run", "minute", "--from", "2025-10-01", "--to", "2025-11-21"],
    ["run", "financials", "--symbols", symbols],
  ];
  let [kills, finished] = [0, steps.length];
  for (const step of steps) {
    for (const requests of PICKED) {
      let left = requests;
      const { code } = await runProcess(step, {
        env,
        onStart: (child) => {
          onResponse = () => {
            if (--left === 0) child.kill("SIGKILL");
          };
        },
      });
      if (code !== null) {
        // It had nothing left to ask for before the request after which it is killed.
        finished++;
        break;
      }
      kills++;
      await new Lake(target).snapshots();
    }
    onResponse = () => {};
    expect([step[1], (await runCli(step, { env })).code]).toEqual([step[1], 0]);
  }
  expect(kills).toBeGreaterThanOrEqual(steps.length);
  const listed = await runCli(["runs", "--limit", "100", "--json"], { env });
  const runs = JSON.parse(listed.stdout) as { status: string }[];
  expect(runs.filter(({ status }) => status === "killed")).toHaveLength(kills);
  expect(runs).toHaveLength(kills + finished);
  expect((await runCli(["status"], { env })).stdout).toMatch(/^\S+ \S+ +financials +killed /m);
  const comparisons = await compareLakes(served, new Lake(target));
  expect(comparisons.filter((one) => one.onlyLeft + one.onlyRight > 0)).toEqual([]);
  expect(comparisons.find((one) => one.table === "bars_1m")?.rows).toBeGreaterThan(30_000);
});
