import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { newLake } from "../../serve/served-lake.js";
import { fillSimulated } from "../../sql/simulated-lake.js";
import { type CliResult, runCli } from "../run-cli.js";

const MADE = [
  "barlake.config.json",
  "pipelines/my-daily.ts",
  "notebooks/my-market.sql",
  "datasets/my-dataset.json",
];

const { lake, remove } = newLake();
beforeAll(async () => {
  await fillSimulated(lake.location, { symbols: 24, days: 60, end: "2026-03-31", minuteDays: 0 });
});
afterAll(remove);

const init = (cwd: string, ...parameters: string[]): Promise<CliResult> =>
  runCli(["init", ...parameters], { cwd });

test("what it makes runs as it is, over the lake that it was made for", async () => {
  const cwd = temporaryFolder();
  const { code, stdout } = await init(cwd, "--lake", lake.location, "--url", "https://service.example");
  expect(code).toBe(0);
  for (const file of MADE) expect(stdout).toContain(`made ${file}\n`);
  expect(stdout).toMatch(
    /Next, with a service:[\s\S]*BARLAKE_API_KEY[\s\S]*npx barlake run my-daily\n +npx barlake schedule /,
  );
  const config = await runCli(["config"], { cwd });
  expect(config.stdout).toMatch(new RegExp(`^lake +${lake.location} +barlake.config.json`, "m"));
  expect(config.stdout).toMatch(/^url +https:\/\/service\.example +barlake\.config\.json/m);
  const pipelines = await runCli(["pipelines", "my-daily"], { cwd });
  expect(pipelines).toMatchObject({ code: 0, stdout: expect.stringMatching(/^my-daily +bars 1d/m) });
  expect((await runCli(["plan", "my-daily"], { cwd })).stdout).toMatch(/^my-daily: \d+ request/);
  const notebook = await runCli(["sql", "-f", "my-market"], { cwd });
  expect(notebook).toMatchObject({ code: 0, stderr: "" });
  expect(notebook.stdout).toMatch(/My market[\s\S]*Close times the factors[\s\S]*15 rows/);
  // It begins with the year before this one, and the lake ends in 2026.
  const spec = join(cwd, "datasets/my-dataset.json");
  writeFileSync(spec, readFileSync(spec, "utf8").replace(/"from": "\d{4}-01-01"/, '"from": "2025-01-01"'));
  const built = await runCli(["dataset", "build", "./datasets/my-dataset.json", "--output", "out"], { cwd });
  expect(built).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/my-dataset, long-parquet: 202[56]-/),
  });
});

test("it replaces no file, and writes none then; --force replaces", async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, "pipelines"));
  writeFileSync(join(cwd, "pipelines/my-daily.ts"), "mine");
  const refused = await init(cwd);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toBe(
    "error: init: pipelines/my-daily.ts is there already\nhint:  nothing was written; --force replaces it\n",
  );
  expect(readdirSync(cwd)).toEqual(["pipelines"]);
  expect((await init(cwd, "--force")).code).toBe(0);
  expect(readFileSync(join(cwd, "pipelines/my-daily.ts"), "utf8")).toContain('name: "my-daily"');
  for (const file of MADE) expect(existsSync(join(cwd, file)), file).toBe(true);
});

test("keys and data are not committed to git", async () => {
  const cwd = temporaryFolder();
  await init(cwd);
  expect(readFileSync(join(cwd, ".gitignore"), "utf8")).toBe(".env\nnode_modules/\ndata/\n");
  writeFileSync(join(cwd, ".gitignore"), "mine\n");
  const again = await init(cwd, "--force");
  expect(again.stdout).toMatch(/note: +add \.env to \.gitignore/);
  expect(readFileSync(join(cwd, ".gitignore"), "utf8")).toBe("mine\n");
});

test("an address that is none is refused, and nothing is written; a wrong config can be replaced", async () => {
  const cwd = temporaryFolder();
  const { code, stderr } = await init(cwd, "--url", "https://me:s3cr3t@service.example");
  expect(stderr).toMatch(/url: must be an http or https address without password/);
  expect(stderr).not.toContain("s3cr3t");
  expect(code).toBe(2);
  expect(readdirSync(cwd)).toEqual([]);
  writeFileSync(join(cwd, "barlake.config.json"), "{");
  expect((await init(cwd, "--force")).code).toBe(0);
  expect((await runCli(["config"], { cwd })).code).toBe(0);
});
