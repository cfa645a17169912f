import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { IS_REPEAT, once } from "../../once.js";
import { SWEEP } from "../../sweep.js";
import { DEMO_STORES, demoEnvironment, isThere, storeUrlIn } from "../demo-store.js";
import { runCli, runProcess } from "../run-cli.js";

once("--store without a store says how to get one, and --store with --lake is refused", async () => {
  const cwd = temporaryFolder();
  const { code, stderr } = await runCli(["demo", "--store"], { cwd, env: demoEnvironment(undefined) });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: no object store is on this machine: versitygw and minio were not found\n/);
  expect(stderr).toMatch(
    /hint: .*test\/interop\/stores\.sh.*BARLAKE_VERSITYGW.*--lake s3:\/\/bucket\/prefix/,
  );
  const both = await runCli(["demo", "--store", "--lake", join(cwd, "lake")], { cwd });
  expect(both.code).toBe(2);
  expect(both.stderr).toMatch(/'--store' cannot be used with option '--lake/);
  expect(existsSync(join(cwd, "data"))).toBe(false);
});

const [store] = DEMO_STORES;

test.skipIf(IS_REPEAT || store === undefined)("--store leaves a folder alone that no demo made", async () => {
  const cwd = temporaryFolder();
  const precious = join(cwd, "data", "demo", "store", "precious.txt");
  mkdirSync(join(precious, ".."), { recursive: true });
  writeFileSync(precious, "mine");
  const { code, stderr } = await runCli(["demo", "--store"], { cwd, env: demoEnvironment(store) });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/the demo did not make it/)]);
  expect(existsSync(precious)).toBe(true);
});

test.skipIf(IS_REPEAT || store === undefined)(
  "a machine without DuckDB's extension says so before anything is simulated; the store stops",
  async () => {
    const env = { ...demoEnvironment(store), BARLAKE_DUCKDB_EXTENSIONS: temporaryFolder() };
    const { code, stdout, stderr } = await runCli(["demo", "--store"], { cwd: temporaryFolder(), env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: BARLAKE_DUCKDB_EXTENSIONS: there is no .*httpfs.*\nhint: /);
    expect(stdout).not.toMatch(/simulated/);
    expect(await isThere(storeUrlIn(stdout) as string)).toBe(false);
  },
);

test.skipIf(store === undefined || SWEEP === "few")(
  "Ctrl-C ends the demo, and its store; what it prints has no key",
  async () => {
    let isToldToEnd = false;
    let wasThere: Promise<boolean> | undefined;
    const { code, stdout, stderr } = await runProcess(["demo", "--store"], {
      cwd: temporaryFolder(),
      env: demoEnvironment(store),
      onOutput(text, child) {
        const url = storeUrlIn(text);
        if (url === undefined || isToldToEnd) return;
        isToldToEnd = true;
        wasThere = isThere(url).finally(() => child.kill("SIGINT"));
      },
    });
    expect([code, stderr]).toEqual([130, ""]);
    expect(await wasThere).toBe(true);
    expect(await isThere(storeUrlIn(stdout) as string)).toBe(false);
    expect(stdout).not.toMatch(/[0-9a-f]{16}/);
  },
);
