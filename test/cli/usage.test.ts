import { accessSync, constants, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { notesOfTest } from "../failure-notes.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { MAIN, runCli } from "./run-cli.js";
import { smallLake } from "./small-lake.js";

beforeAll(() => runCli(["--version"]));

test("a test that fails shows what the commands of its file's hooks printed", () => {
  expect(notesOfTest({ name: "t", result: { state: "fail" } })).toMatch(
    /^\$ barlake --version:\n\d[\s\S]*\nexit code 0$/,
  );
});

const COMMANDS = [
  "demo",
  "import",
  "run",
  "schedule",
  "pipelines",
  "runs",
  "plan",
  "status",
  "check",
  "repair",
  "withdrawn",
  "history",
  "optimize",
  "vacuum",
  "sql",
  "ui",
  "dataset",
  "serve",
  "mcp",
  "keys",
  "init",
  "completion",
  "config",
  "sim",
];

test.each(COMMANDS)("%s --help shows what it takes, with examples", async (command) => {
  const { code, stdout } = await runCli([command, "--help"]);
  expect(code).toBe(0);
  expect(stdout).toContain(`Usage: barlake ${command}`);
  expect(stdout).toMatch(/Examples?:/);
});

test("help of a command's command is what its own --help shows", async () => {
  const asked = await runCli(["help", "dataset", "build"]);
  expect(asked.stdout).toContain("Usage: barlake dataset build");
  expect(asked).toEqual(await runCli(["dataset", "build", "--help"]));
});

test("the build leaves the command executable, as npx needs it", () => {
  expect(() => accessSync(MAIN, constants.X_OK)).not.toThrow();
});

test("without a command the help is shown", async () => {
  const { stdout, stderr } = await runCli([]);
  for (const command of COMMANDS) expect(stdout + stderr).toContain(command);
});

const folder = (): string => temporaryFolder();

test.each<[string, string[], RegExp]>([
  ["an unknown command", ["rum"], /unknown command 'rum'[\s\S]*Did you mean run/],
  ["an unknown option", ["status", "--frobnicate"], /unknown option '--frobnicate'/],
  ["import without a table", ["import"], /missing required argument 'table'/],
  ["import into an unknown table", ["import", "nope", "x.csv"], /is one of bars_1d/],
  [
    "import of a file of unknown format",
    ["import", "bars_1d", "x.pdf"],
    /ending names no known format[\s\S]*hint:/,
  ],
  [
    "import of a workbook",
    ["import", "bars_1d", "prices/x.xlsx"],
    /x\.xlsx: is a workbook[\s\S]*hint: .*CSV UTF-8.* barlake import TABLE prices\/x\.csv/,
  ],
  ["a test of no webhook", ["schedule", "--test-notify"], /no pipeline has one[\s\S]*BARLAKE_WEBHOOK/],
  [
    "import with a bad unit",
    ["import", "bars_1d", "x.csv", "--volume-unit", "kilos"],
    /is one of shares, lots/,
  ],
  [
    "import with a bad map",
    ["import", "bars_1d", "x.csv", "--map", "open"],
    /--map open: is not of the form/,
  ],
  ["run of an unknown pipeline", ["run", "nightly"], /pipeline "nightly" is not known[\s\S]*reference/],
  ["history of an unknown table", ["history", "bars"], /is one of bars_1d, bars_1m/],
  ["a version of an unknown table", ["sql", "from x", "--version", "x=1"], /Write it like bars_1d=12/],
  ["a version without a number", ["status", "--version", "bars_1d"], /Write it like bars_1d=12/],
  ["a time that is none", ["sql", "from x", "--as-of", "2026-13-01"], /is no time; write it like 2026-11-20/],
  [
    "vacuum with a bad retention",
    ["vacuum", "--retention", "soon"],
    /--retention <time>[\s\S]*soon[\s\S]*is no time; write it like 7d or 12h/,
  ],
  ["vacuum of an unknown table", ["vacuum", "bars"], /is one of bars_1d/],
  ["run without a service", ["run", "daily"], /no service to ask[\s\S]*BARLAKE_URL/],
  ["run with a share that is none", ["run", "daily", "--share", "1.5"], /must be a number above 0, up to 1/],
  ["run with a quota that is none", ["run", "daily", "--rpm", "0"], /must be a number above 0/],
  [
    "run with a quota of an unknown group",
    ["run", "daily", "--rpm", "klines=60,bars=10"],
    /bars is not one of intraday, klines/,
  ],
  ["run with a bad date", ["run", "daily", "--from", "2024-02-30"], /must be a date/],
  ["run with a bad region", ["run", "daily", "--region", "CN,MARS"], /MARS is not one of/],
  [
    "run with a symbol that is none",
    ["plan", "daily", "--symbols", "600519"],
    /symbol "600519" is not of the form/,
  ],
  [
    "plan without instruments",
    ["plan", "daily", "--lake", "none"],
    /the lake knows no instruments[\s\S]*reference/,
  ],
  ["runs without a number", ["runs", "--limit", "0"], /must be a whole number of at least 1/],
  ["runs of an unknown run", ["runs", "show", "2020"], /run 2020 is not known[\s\S]*barlake runs lists them/],
  ["schedule of an unknown pipeline", ["schedule", "nightly"], /pipeline "nightly" is not known/],
  ["schedule without a service", ["schedule", "daily"], /no service to ask/],
  ["schedule of a pipeline twice", ["schedule", "daily", "daily"], /pipeline daily: is named twice/],
  ["schedule on a bad port", ["schedule", "--metrics-port", "x"], /must be 0 to 65535/],
  ["a webhook that is none", ["schedule", "daily", "--notify", "hook"], /is not an http or https address/],
  ["a webhook that is not set", ["run", "daily", "--notify", "env:NO_HOOK"], /environment has no NO_HOOK/],
  ["sql with a mistake", ["sql", "selec 1"], /syntax error/],
  ["sql of a table that is not there", ["sql", "from nowhere"], /nowhere does not exist/],
  ["Parquet to the terminal", ["sql", "from bars_1d", "--format", "parquet"], /give it a name with -o/],
  ["serve to the world without keys", ["serve", "--host", "0.0.0.0"], /no keys[\s\S]*barlake keys add/],
  ["serve on a bad port", ["serve", "--port", "99999"], /must be 0 to 65535/],
  ["check of an unknown table", ["check", "nope"], /is one of bars_1d/],
  ["optimize of an unknown table", ["optimize", "nope"], /is one of bars_1d/],
  ["optimize to files of no size", ["optimize", "--target-mb", "0"], /must be a number above 0/],
  ["sim of a half instrument", ["sim", "--symbols", "1.5"], /must be a whole number/],
])("%s: exit code 2, and what to do", async (_, parameters, message) => {
  const lake = await smallLake(join(folder(), "lake"));
  const { code, stderr } = await runCli(parameters, { env: { BARLAKE_LAKE: lake } });
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/^ {4}at /m);
  expect(code).toBe(2);
});

test("a pipeline file with a wrong field gets an error that names it", async () => {
  const place = folder();
  writeFileSync(
    join(place, "mine.ts"),
    'export default { name: "mine", kind: "bars", period: "2d", from: "2024-01-01" };\n',
  );
  const { code, stderr } = await runCli(["plan", "./mine.ts"], { cwd: place });
  expect(stderr).toMatch(/pipeline mine: period/);
  expect(code).toBe(2);
});

test.each([
  ["sql", "from bars_1d"],
  ["serve", "--port", "0"],
  ["status"],
  ["check"],
  ["optimize"],
  ["vacuum"],
  ["repair"],
  ["withdrawn", "bars_1d", "--symbols", "600519.SH", "--from", "2026-11-02", "--to", "2026-11-07"],
  ["runs"],
  ["history", "bars_1d"],
  ["dataset", "plan", "cn-daily"],
])("%s of a lake that is not there says so and which ones are, and makes nothing", async (...parameters) => {
  const place = folder();
  await smallLake(join(place, "real", "lake"));
  const { code, stderr } = await runCli([...parameters, "--lake", "typo"], { cwd: place });
  expect(stderr).toMatch(/lake typo: there is no such folder \(.*typo\)/);
  expect(stderr).toMatch(/hint: +lakes here: --lake real[/]lake; a new one begins with barlake demo/);
  expect(code).toBe(2);
  expect(readdirSync(place)).toEqual(["real"]);
});

test("a lake that is an empty folder, or a file, is named as that", async () => {
  const place = folder();
  mkdirSync(join(place, "empty"));
  writeFileSync(join(place, "file"), "");
  const status = (lake: string) => runCli(["status", "--lake", lake], { cwd: place });
  expect((await status("empty")).stderr).toMatch(/lake empty: there is no table in it/);
  for (const shown of [await status("file"), await runCli(["sim", "--lake", "file"], { cwd: place })])
    expect(shown).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/lake file: is a file, not a folder\nhint:/),
    });
});

test("a refusal of the system is one line and what to do, without a stack", async () => {
  const place = folder();
  writeFileSync(join(place, "file"), "");
  const { code, stderr } = await runCli(["sim", "--lake", "file/lake", "--symbols", "2"], { cwd: place });
  expect(stderr).toMatch(/^error: \S+: it is a file, and a folder is needed \(ENOTDIR, \w+\)\nhint: .*\n$/);
  expect(code).toBe(1);
});

test("an unknown command is also unknown with --help", async () => {
  const { code, stderr } = await runCli(["sttus", "--help"]);
  expect(stderr).toMatch(/unknown command 'sttus'[\s\S]*Did you mean status/);
  expect(code).toBe(2);
});

test("the demo leaves a folder alone that it did not make", async () => {
  const place = folder();
  writeFileSync(join(place, "precious.txt"), "mine");
  const { code, stderr } = await runCli(["demo", "--lake", place]);
  expect(stderr).toMatch(/is not empty, and the demo did not make it/);
  expect(code).toBe(2);
  expect(existsSync(join(place, "precious.txt"))).toBe(true);
});
