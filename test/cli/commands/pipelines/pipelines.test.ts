import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../lake/temporary-lake.js";
import { runCli } from "../../run-cli.js";

const bars = (name: string, more: string): string =>
  `export default { name: "${name}", kind: "bars", period: "1d", from: "2020-01-01", ${more} };\n`;

test("lists the pipelines with their schedules in words, and when each is next", async () => {
  const { code, stdout } = await runCli(["pipelines"], { cwd: temporaryFolder() });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^daily +bars 1d +from 1990-01-01, 3d again +18:30 Shanghai, 18:30 Hong Kong, 21:30 New York on trading days +\d{4}-\d\d-\d\d \d\d:30:00 +Daily bars of every/m,
  );
  expect(stdout).toMatch(/^financials +statements +all, every 20 h +20:00 Shanghai every day +/m);
});

test("those in the folder pipelines of the working directory are listed too, and replace others by name", async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, "pipelines"));
  writeFileSync(
    join(cwd, "pipelines", "mine.mjs"),
    bars("mine", 'doc: "Mine.", schedule: { cron: "0 3 * * *" }'),
  );
  writeFileSync(
    join(cwd, "pipelines", "daily.mjs"),
    bars("daily", 'symbols: ["600519.SH"], to: "2021-01-01"'),
  );
  const { code, stdout } = await runCli(["pipelines", "--json"], { cwd });
  expect(code).toBe(0);
  const listed = JSON.parse(stdout) as { name: string; next: string | null }[];
  const named = (name: string) => listed.filter((one) => one.name === name);
  expect(named("daily")).toEqual([
    expect.objectContaining({ symbols: ["600519.SH"], schedule: [], next: null }),
  ]);
  expect(named("mine")).toEqual([
    expect.objectContaining({
      file: expect.stringMatching(/pipelines\/mine\.mjs$/),
      doc: "Mine.",
      next: expect.stringMatching(/T03:00:00\.000Z$/),
    }),
  ]);
  expect(named("reference")).toHaveLength(1);
});

test("files of one's own are checked: each rule that is broken, and exit code 2", async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "right.mjs"), bars("right", ""));
  writeFileSync(join(cwd, "wrong.mjs"), bars("wrong", 'simbols: [], lookback: "x"'));
  const { code, stdout, stderr } = await runCli(["pipelines", "./right.mjs", "./wrong.mjs"], { cwd });
  expect(code).toBe(2);
  expect(stdout).toMatch(/^right +bars 1d +from 2020-01-01 +never +·/m);
  expect(stderr).toMatch(/error: pipeline wrong: lookback: must be .*; simbols: is not a field here\nhint: /);
  const json = await runCli(["pipelines", "./wrong.mjs", "--json"], { cwd });
  expect(JSON.parse(json.stdout)).toEqual([
    { file: "./wrong.mjs", error: expect.stringMatching(/^pipeline wrong: /), hint: expect.any(String) },
  ]);
});

test("a file in the folder pipelines must bear its pipeline's name", async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, "pipelines"));
  writeFileSync(join(cwd, "pipelines", "nightly.mjs"), bars("mine", ""));
  const { code, stderr } = await runCli(["run", "nightly"], { cwd });
  expect(code).toBe(2);
  expect(stderr).toMatch(/pipeline mine: name: must be that of its file, nightly/);
});
