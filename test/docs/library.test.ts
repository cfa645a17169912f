import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Lake } from "../../src/lake/lake.js";
import { type Service, startService } from "../../src/serve/http/service.js";
import { plainKeys } from "../../src/serve/keys/key-ring.js";
import { apiLake, NOW } from "../api/api-lake.js";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const BLOCKS = [
  ...readFileSync(join(PROJECT, "docs/library.md"), "utf8").matchAll(/^```ts\n(.*?)^```$/gms),
].map(([, code = ""], n) => [`${n + 1}`, code] as const);
const EXAMPLES = readdirSync(join(PROJECT, "examples")).filter((name) => name.endsWith(".ts"));

let folder: string;
let place: string;
let lake: Lake;
let service: Service;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "barlake-library-"));
  // Within the project, so that "barlake" is found.
  place = mkdtempSync(join(PROJECT, "test/docs/run-"));
  lake = await apiLake(join(folder, "lake"));
  service = await startService(lake, {
    port: 0,
    keys: plainKeys(["secret-key"]),
    clock: { now: () => NOW },
    threads: 1,
  });
  vi.stubEnv("BARLAKE_URL", service.url);
  vi.stubEnv("BARLAKE_API_KEY", "secret-key");
  vi.stubEnv("XDG_STATE_HOME", folder);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
  rmSync(place, { recursive: true, force: true });
});

/** Runs a program on the lake of the tests, instead of the demo's. @returns what it printed. */
async function run(name: string, code: string, args: readonly string[] = []): Promise<string> {
  mkdirSync(place, { recursive: true });
  const file = join(place, `${name}.ts`);
  const own = code
    .replaceAll("data/demo/lake", lake.location)
    .replaceAll("data/mine", join(folder, "mine"))
    .replaceAll("600330.SH", "600117.SH");
  writeFileSync(file, own);
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((...values: unknown[]) => {
    printed.push(
      values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" "),
    );
  });
  const before = process.argv;
  process.argv = [...before.slice(0, 2), ...args];
  try {
    await import(file);
  } finally {
    process.argv = before;
    log.mockRestore();
  }
  return printed.join("\n");
}

test("the guide has blocks for every task", () => {
  expect(BLOCKS.length).toBeGreaterThanOrEqual(8);
});

test.each(BLOCKS)("block %s of docs/library.md runs, and prints something", async (n, code) => {
  const printed = await run(`block-${n}`, code);
  expect(printed).not.toBe("");
  expect(printed).not.toMatch(/undefined|NaN/);
});

test("the examples run", async () => {
  expect(EXAMPLES.toSorted()).toEqual(["export-bars.ts", "fill-and-serve.ts", "momentum.ts"]);
  const textOf = (name: string): string => readFileSync(join(PROJECT, "examples", name), "utf8");
  expect(await run("momentum", textOf("momentum.ts"), [lake.location])).toMatch(
    /^(\S+\.(SH|SZ|BJ) {2}-?[\d.]+ %\n?)+$/,
  );
  const file = join(folder, "bars.arrow");
  const args = ["600117.SH,999999.SH", "2026-11-02", file];
  expect(await run("export-bars", textOf("export-bars.ts"), args)).toContain("unknown: 999999.SH");
  expect(existsSync(file) && tableFromIPC(readFileSync(file)).numRows).toBe(15);
  const filled = await run("fill-and-serve", textOf("fill-and-serve.ts"), [
    join(folder, "other"),
    "600117.SH",
  ]);
  expect(filled).toMatch(/^complete: \d+ requests\n600117\.SH 2026-11-19T16:00:00\.000Z [\d.]+$/);
});
