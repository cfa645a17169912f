import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { once } from "../once.js";
import { SWEEP } from "../sweep.js";
import { runCli, runProcess } from "./run-cli.js";

test.skipIf(SWEEP === "few")("sim, serve, run, status and sql, as a user types them", async () => {
  const place = temporaryFolder();
  const served = join(place, "served");
  const lake = join(place, "lake");
  const filled = await runCli([
    "sim",
    "--lake",
    served,
    "--symbols",
    "30",
    "--days",
    "40",
    "--minute-days",
    "2",
    "--end",
    "2025-11-20",
  ]);
  expect(filled.code).toBe(0);
  expect(filled.stdout).toMatch(/filled .* bars up to 2025-11-20/);
  expect((await runCli(["sim", "--lake", served])).code).toBe(2);

  // Days that are over: a session that runs today would be requested again.
  const window = ["--from", "2025-01-01", "--to", "2025-11-21"];
  const steps: { name: string; code: number | null; stdout: string; stderr: string }[] = [];
  let working: Promise<void> | undefined;
  const service = await runProcess(["serve", "--lake", served, "--port", "0"], {
    env: { BARLAKE_SERVE_KEYS: "a-secret" },
    onOutput: (stdout, child) => {
      const url = /at (http:\/\/[\d.:]+) /.exec(stdout)?.[1];
      if (url === undefined || working !== undefined) return;
      const run = async (name: string, parameters: string[], key = "a-secret"): Promise<void> => {
        const env = { BARLAKE_URL: url, BARLAKE_API_KEY: key, BARLAKE_LAKE: lake };
        steps.push({ name, ...(await runCli(parameters, { env })) });
      };
      working = (async () => {
        await run("refused", ["run", "reference"], "another");
        await run("reference", ["run", "reference"]);
        await run("plan", ["plan", "daily", "--json"]);
        await run("daily", ["run", "daily", ...window, "--json"]);
        await run("again", ["run", "daily", ...window]);
        await run("intraday", ["run", "intraday"]);
        await run("financials", ["run", "financials"]);
      })().finally(() => child.kill("SIGINT"));
    },
  });
  await working;
  expect(service.code).toBe(0);
  expect(service.stderr).not.toContain("a-secret");
  const step = (name: string) => steps.find((one) => one.name === name);
  expect(step("refused")).toMatchObject({ code: 3 });
  expect(step("refused")?.stdout).toMatch(/UNAUTHORIZED[\s\S]*BARLAKE_API_KEY/);
  for (const name of ["reference", "plan", "daily", "again", "intraday", "financials"]) {
    expect([name, step(name)?.code, step(name)?.stderr.includes("error:")]).toEqual([name, 0, false]);
  }
  expect(JSON.parse(step("plan")?.stdout ?? "")).toMatchObject({
    pipeline: "daily",
    requests: expect.any(Number),
  });
  expect(JSON.parse(step("daily")?.stdout ?? "")).toMatchObject({
    status: "complete",
    landed: [
      { table: "bars_1d", updated: 0 },
      { table: "trading_days" },
      { table: "ex_factors", updated: 0 },
    ],
  });
  expect(step("again")?.stdout).toMatch(/nothing to ask for: the lake has it all/);

  const status = await runCli(["status", "--lake", lake]);
  expect(status.stdout).toMatch(/bars_1d +CN[\s\S]*bars_1m +CN[\s\S]*financials/);
  const csv = await runCli([
    "sql",
    "--lake",
    lake,
    "--format",
    "csv",
    "SELECT count(*) > 0 AS some FROM daily_fundamentals WHERE total_assets IS NOT NULL",
  ]);
  expect(csv).toMatchObject({ code: 0, stdout: "some\ntrue\n" });
  const shell = await runCli(["sql", "--lake", lake], {
    input: ".tables\nSELECT\n  41 + 1 AS answer;\nselec;\nSELECT 'never';\n",
  });
  expect(shell.stdout).toMatch(/daily_fundamentals +view[\s\S]*answer\n +42/);
  expect(shell.stdout).not.toContain("never");
  expect(shell.stderr).toMatch(/error: Parser Error[\s\S]*line 4: selec\n +\^/);
  expect(shell.code).toBe(2);
  const file = join(place, "bars.parquet");
  await runCli(["sql", "--lake", lake, "from bars_1d;", "--format", "parquet", "-o", file]);
  expect(readFileSync(file).subarray(0, 4).toString()).toBe("PAR1");
});

once("import prints what landed, what was set aside and why; JSON for machines", async () => {
  const place = temporaryFolder();
  const lake = join(place, "lake");
  writeFileSync(
    join(place, "600519.SH.csv"),
    "date,open,high,low,close,volume\n2024-01-02,10,11,9,10,100\n2024-01-03,10,8,9,10,100\n",
  );
  const { code, stdout } = await runCli(["import", "bars_1d", "600519.SH.csv", "--lake", lake], {
    cwd: place,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /bars_1d +1 +0 +0[\s\S]*1 row set aside[\s\S]*high_below_low +600519\.SH\.csv +3 +high 8\.0 is below low 9\.0/,
  );
  const json = await runCli(["import", "bars_1d", "600519.SH.csv", "--lake", lake, "--json"], { cwd: place });
  expect(JSON.parse(json.stdout)).toMatchObject({
    landed: [{ inserted: 0, unchanged: 1 }],
    rejected: [{ rows: 1 }],
  });
});
