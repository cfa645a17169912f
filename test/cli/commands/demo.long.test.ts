import { spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { cases, pickFrom, SWEEP } from "../../sweep.js";
import { DEMO_STORES, demoEnvironment, isThere, storeUrlIn } from "../demo-store.js";
import { MAIN, runProcess } from "../run-cli.js";

// `npm run demo` is the same, and CI runs it.
test.runIf(SWEEP === "all")("the demo in a folder finds both lakes equal", async () => {
  const { code, stdout } = await runProcess(["demo"], { cwd: temporaryFolder() });
  expect(code).toBe(0);
  expect(stdout).toMatch(/equal: [\d,]+ rows in \d+ tables/);
});

describe.each(pickFrom(DEMO_STORES, cases({ few: 1, more: 1, all: 2 })))("the demo on %s", (name) => {
  test("finds both lakes equal, stops its store, and prints lines that start it again", async () => {
    const cwd = temporaryFolder();
    // Of 30 instruments, one was delisted while there were minutes: no list of the service has it.
    const { code, stdout } = await runProcess(["demo", "--store", "--symbols", "30"], {
      cwd,
      env: demoEnvironment(name),
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/equal: [\d,]+ rows in \d+ tables/);
    expect(await isThere(storeUrlIn(stdout) as string)).toBe(false);
    const lines = stdout.slice(stdout.indexOf("The store has stopped")).split("\n");
    const restart = lines.filter((line) => /^ {2}(export |\w+=)/.test(line));
    expect(restart).toHaveLength(3);
    const query = lines.find((line) => line.includes("npx barlake sql")) as string;
    const script = [
      `npx() { shift; "${process.execPath}" "${MAIN}" "$@"; }`,
      ...restart,
      "pid=$!",
      'until curl -s -o /dev/null "$AWS_ENDPOINT_URL_S3"; do kill -0 $pid || exit 9; sleep 0.1; done',
      query,
      "status=$?",
      "kill -9 $pid",
      "exit $status",
    ].join("\n");
    const { status, stdout: rows } = spawnSync(
      "bash",
      ["-c", script.replaceAll(":7070", `:${await freePort()}`)],
      { cwd, encoding: "utf8", env: { ...process.env, ...demoEnvironment(name) } },
    );
    expect([status, rows]).toEqual([0, expect.stringMatching(/10 rows/)]);
  });

  test("a demo that is killed takes its store along", async () => {
    const { stdout } = await runProcess(["demo", "--store"], {
      cwd: temporaryFolder(),
      env: demoEnvironment(name),
      onOutput(text, child) {
        if (storeUrlIn(text) !== undefined) child.kill("SIGKILL");
      },
    });
    const url = storeUrlIn(stdout) as string;
    // The store sees the end of its input a moment later; one that does not end makes this test hang.
    while (await isThere(url)) await delay(20);
    expect(await isThere(url)).toBe(false);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
