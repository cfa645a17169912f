import { execFile } from "node:child_process";
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { BARS_1D } from "../../../src/schema/bars.js";
import { ENDPOINTS } from "../../../src/wire/endpoints.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { KEY, landRows, serveForTest } from "../../serve/served-lake.js";

const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));
const PROGRAM = fileURLToPath(new URL("typed-client.ts.txt", import.meta.url));
const run = promisify(execFile);

/** Runs a program that the project has installed. @returns what it printed, also where it failed. */
async function runInstalled(name: string, parameters: readonly string[]): Promise<string> {
  const program = join(PROJECT, "node_modules/.bin", name);
  const { stdout, stderr } = await run(program, parameters).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return stdout + stderr;
}

test("a client generated from the service's description compiles strictly, and its typed calls are answered", async () => {
  const bar = { symbol: "600000.SH", open: 4, high: 9, low: 4, volume: 1, amount: 1 };
  const { service, ask } = await serveForTest(async (lake) => {
    await landRows(lake, BARS_1D, [
      { ...bar, close: 8, timestamp: Date.parse("2024-01-01T16:00Z") },
      { ...bar, close: 5, prev_close: 4, timestamp: Date.parse("2024-01-02T16:00Z") },
    ]);
  });
  const folder = temporaryFolder();
  const { body } = await ask("/openapi.json");
  const description = join(folder, "openapi.json");
  writeFileSync(description, JSON.stringify(body));
  expect(await runInstalled("oazapfts", [description, join(folder, "client.ts")])).toBe("");

  const client = readFileSync(join(folder, "client.ts"), "utf8");
  expect(client.match(/^export function /gm)).toHaveLength(Object.keys(ENDPOINTS).length);

  copyFileSync(PROGRAM, join(folder, "program.ts"));
  symlinkSync(join(PROJECT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const compilerOptions = {
    target: "ES2023",
    module: "NodeNext",
    moduleResolution: "NodeNext",
    strict: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    types: ["node"],
    skipLibCheck: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  expect(await runInstalled("tsc", ["-p", folder])).toBe("");

  const { stdout } = await run(process.execPath, [join(folder, "program.js")], {
    env: { ...process.env, SERVICE_URL: service.url, SERVICE_KEY: KEY },
  });
  expect(JSON.parse(stdout)).toEqual({
    closes: [4, 5],
    previous: [null, 4],
    prices: [{ symbol: "600000.SH", last_price: 5, session: "closed" }],
    code: "SYMBOL_NOT_FOUND",
  });
});
