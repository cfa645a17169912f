import { readdirSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { keyNameOf } from "../../src/client/key/key-id.js";
import { KeyShares, type Taken } from "../../src/client/key/key-shares.js";
import { systemClock } from "../../src/client/system-clock.js";
import { limitsPath } from "../../src/lake/requests/service-limits.js";
import { folderLeases } from "../../src/lease/folder-leases.js";
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
  const folder = join(place, "state", "barlake", "keys", await keyNameOf(host, KEY));
  const store = folderLeases(folder, { ending: ".share.json" });
  const taken: Taken[] = [];
  const quota = {
    sentLately: {},
    giveUp: () => ({}),
    setShare: (_: number, one: Taken) => taken.push(one) < 0,
  };
  /** Uses the key, and looks all the time whether others ask for it. */
  const hold = async (): Promise<KeyShares> => {
    const clock = { ...systemClock, idle: () => setImmediate() };
    const shares = new KeyShares({ store, host, purpose: "run minute", clock, quota: () => quota });
    await shares.ready();
    return shares;
  };
  const run = (...more: string[]) => runCli(["run", "reference", ...more], { env });
  return { service, place, host, hold, taken, run };
}

test("a run with a key that another process uses says for whom it waits, and gets a part", async () => {
  const { service, hold, run } = await setUp();
  const other = await hold();
  const { code, stdout, stderr } = await run();
  await other.release();
  expect([code, service.seen.length > 0]).toEqual([3, true]);
  expect(stderr).toMatch(
    new RegExp(`used by "run minute" \\(process ${process.pid} on .+, 100 %\\): waiting for a part of it`),
  );
  expect(stderr + stdout).not.toContain(KEY);
});

test("a run lets go of its key; what the lake knows of the service may be damaged", async () => {
  const { place, host, hold, taken, run } = await setUp();
  await mkdir(join(place, "lake", "limits"), { recursive: true });
  writeFileSync(join(place, "lake", limitsPath(host)), "nonsense");
  const { code, stderr } = await run();
  expect(code).toBe(3);
  expect(stderr).toMatch(/note: +limits\/127\.0\.0\.1%3A\d+\.json is damaged/);
  const files = readdirSync(join(place, "state"), { recursive: true, encoding: "utf8" });
  expect(files.filter((name) => name.endsWith(".json"))).toEqual([
    expect.stringMatching(/-ended\.share\.json$/),
  ]);
  await (await hold()).release();
  expect(taken).toEqual([{ sent: { reference: expect.any(Array) }, died: [] }]);
});
