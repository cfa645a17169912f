import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { runCli, runProcess } from "../run-cli.js";
import { smallLake } from "../small-lake.js";

/** Serves a lake for the time of `use`, which gets the status of a request with a key, and what was printed. */
async function served(
  parameters: readonly string[],
  env: Readonly<Record<string, string>>,
  use: (statusOf: (key: string) => Promise<number>, printed: string) => Promise<void>,
): Promise<void> {
  let using: Promise<void> | undefined;
  const lake = await smallLake(join(temporaryFolder(), "lake"));
  const { code } = await runProcess(["serve", "--lake", lake, "--port", "0", ...parameters], {
    env,
    onOutput: (stdout, child) => {
      const url = /at (http:\/\/[\d.:]+) /.exec(stdout)?.[1];
      if (url === undefined || using !== undefined) return;
      const statusOf = async (key: string): Promise<number> =>
        (await fetch(`${url}/v1/exchanges`, { headers: { "x-api-key": key } })).status;
      using = use(statusOf, stdout).finally(() => child.kill("SIGINT"));
      using.catch(() => {});
    },
  });
  await using;
  expect(code).toBe(0);
}

test("the keys of BARLAKE_SERVE_KEYS and those of --keys count both", async () => {
  const keys = join(temporaryFolder(), "keys.json");
  const { stdout } = await runCli(["keys", "add", "alice", "--keys", keys]);
  const key = stdout.trim();
  await served(["--keys", keys], { BARLAKE_SERVE_KEYS: "given" }, async (statusOf) => {
    expect([await statusOf("given"), await statusOf(key), await statusOf("other")]).toEqual([200, 200, 401]);
  });
});

test("a key that is added after a start without any key counts, in a file that is new too", async () => {
  const keys = join(temporaryFolder(), "new", "keys.json");
  await served(["--keys", keys], {}, async (statusOf) => {
    const { stdout } = await runCli(["keys", "add", "alice", "--keys", keys, "--json"]);
    const { key } = JSON.parse(stdout) as { key: string };
    expect([await statusOf(key), await statusOf("other")]).toEqual([200, 401]);
  });
});

test.each([
  ["--replay", "2026-06-30T09:25+08:00", "--assume-reference"],
  ["--known-at", "2026-06-30", "--assume-reference"],
])("%s with --assume-reference reads the lake, which has no bars here", async (...options) => {
  const lake = await smallLake(join(temporaryFolder(), "lake"));
  const { code, stderr } = await runCli(["serve", "--lake", lake, "--port", "0", ...options]);
  expect(stderr).toContain("has no bars to replay");
  expect(code).not.toBe(0);
});
