import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { closedAddress } from "../../../faults/service/closed-address.js";
import { startScripted } from "../../../faults/service/scripted-service.js";
import { right } from "../../../jobs/scripted-market.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";
import { runCli } from "../../run-cli.js";

const DAILY = ["run", "daily", "--from", "2024-01-08", "--to", "2024-01-11", "--symbols"];

test("where no service is, a run ends at the first request, and says what to do in one line", async () => {
  const host = await closedAddress();
  const env = { BARLAKE_URL: `http://${host}`, BARLAKE_LAKE: join(temporaryFolder(), "lake") };
  const symbols = Array.from({ length: 700 }, (_, n) => `${600_000 + n}.SH`);
  const { code, stdout } = await runCli([...DAILY, symbols.join(",")], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^daily failed in .*: \d requests? \(\d failed\); no new row\n/);
  expect(stdout.match(/ECONNREFUSED/g)).toHaveLength(1);
  expect(stdout).toContain(
    `stopped: service ${host}: the connection is refused (ECONNREFUSED); check the address, which barlake config shows, and whether the service runs\n`,
  );
  const [run] = JSON.parse((await runCli(["runs", "--json"], { env })).stdout);
  // Those that were in flight when the first one failed.
  expect(run.requests_failed).toBeLessThanOrEqual(4);
});

test("a run says what landed in two lines, with -v more; status says when it was, and how to read of it", async () => {
  const cwd = temporaryFolder();
  const { url } = await startScripted(right);
  const env = { BARLAKE_URL: url, BARLAKE_API_KEY: "a-secret-key", BARLAKE_LAKE: join(cwd, "lake") };
  const range = { from: "2024-01-08", to: "2024-01-11" };
  const mine = { name: "mine", kind: "bars", period: "1d", symbols: ["600519.SH"], ...range };
  writeFileSync(join(cwd, "mine.mjs"), `export default ${JSON.stringify(mine)};\n`);
  const run = (...more: string[]) => runCli(["run", "./mine.mjs", ...more], { cwd, env });
  const [first, second, ...rest] = (await run()).stdout.split("\n");
  expect(first).toMatch(/^mine complete in .*: 1 request; landed bars_1d 3 new$/);
  expect(second).toMatch(/^nothing is open; everything about this run: barlake runs show \S+ --lake \S+$/);
  expect(rest).toEqual([""]);
  const verbose = await run("--symbols", "600519.SH,600000.SH", "-v");
  expect(verbose.stdout).toMatch(
    /^1 answered, [\s\S]*\nbars_1d +3 +0 +0 [\s\S]*\nbars_1d: asked for 3 sessions of 1 symbol, received 3 bars\n/m,
  );
  const status = await runCli(["status"], { env });
  expect(status.stdout).toMatch(
    /^last runs \(UTC\) +pipeline +ended .* run\n(?:\d{4}-\d\d-\d\d \d\d:\d\d +mine +complete +1 .* \S+\n){2}everything about one of them: barlake runs show RUN\n/m,
  );
});
