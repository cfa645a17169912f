import { readdirSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claimKey } from "../../src/client/key/key-lock.js";
import { systemClock } from "../../src/client/system-clock.js";
import { limitsPath } from "../../src/lake/requests/service-limits.js";
import { json, startScripted } from "../faults/service/scripted-service.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { runCli } from "./run-cli.js";

const KEY = "a-very-secret-key";

async function setUp() {
  const service = await startScripted((_, response) =>
    json(response, 401, { code: "UNAUTHORIZED", message: "who are you" }),
  );
  const [place, host] = [temporaryFolder(), new URL(service.url).host];
  const env = {
    BARLAKE_URL: service.url,
    BARLAKE_API_KEY: KEY,
    BARLAKE_LAKE: join(place, "lake"),
    XDG_STATE_HOME: join(place, "state"),
  };
  const folder = join(place, "state", "barlake", "keys");
  const hold = (share: number) =>
    claimKey({ folder, host, apiKey: KEY, share, purpose: "run minute", clock: systemClock });
  const run = (...more: string[]) => runCli(["run", "reference", ...more], { env });
  return { service, place, host, hold, run };
}

test("a run with a key that another process uses sends nothing, and says who has it and how to share", async () => {
  const { service, hold, run } = await setUp();
  const other = await hold(0.6);
  const refused = await run();
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(
    new RegExp(
      `is in use by "run minute" \\(process ${process.pid} on .+, share 0\\.6\\) since 2.+\\n.*--share 0\\.4`,
    ),
  );
  expect(service.seen).toEqual([]);
  const shared = await run("--share", "0.4", "--rpm", "reference=60,klines=30");
  expect([shared.code, service.seen.length > 0]).toEqual([3, true]);
  await other.release();
  expect((await run()).code).toBe(3);
  expect(refused.stderr + shared.stderr + shared.stdout).not.toContain(KEY);
});

test("a run lets go of its key; what the lake knows of the service may be damaged", async () => {
  const { place, host, hold, run } = await setUp();
  await mkdir(join(place, "lake", "limits"), { recursive: true });
  writeFileSync(join(place, "lake", limitsPath(host)), "nonsense");
  const { code, stderr } = await run();
  expect(code).toBe(3);
  expect(stderr).toMatch(/note: +limits\/127\.0\.0\.1%3A\d+\.json is damaged/);
  const files = readdirSync(join(place, "state"), { recursive: true, encoding: "utf8" });
  expect(files.filter((name) => name.endsWith(".json"))).toEqual([expect.stringMatching(/\.sent\.json$/)]);
  const next = await hold(1);
  expect(next.sentBefore).toEqual({ reference: expect.any(Array) });
  await next.release();
});
