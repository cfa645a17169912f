import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { newLake } from "../../serve/served-lake.js";
import { fillSimulated } from "../../sql/simulated-lake.js";
import { type CliResult, runCli } from "../run-cli.js";

const { lake, remove } = newLake();
beforeAll(async () => {
  await fillSimulated(lake.location, { symbols: 24, days: 60, end: "2026-03-31", minuteDays: 0 });
});
afterAll(remove);

const sql = (parameters: readonly string[], cwd = temporaryFolder()): Promise<CliResult> =>
  runCli(["sql", "--lake", lake.location, ...parameters], { cwd });

const NOTEBOOK = `-- # Mine
-- %% param n = 3
-- %%
SELECT i AS number FROM range($n) t(i);
-- %%
SELECT
  nope FROM bars_1d;
-- %% chart bar x=a y=b
SELECT 1 AS a, 2 AS b;
`;

test("a shipped notebook by name, as a page, with a parameter", async () => {
  const cwd = temporaryFolder();
  const { code, stdout, stderr } = await sql(
    ["-f", "instrument", "--param", "days=30", "--html", "out.html"],
    cwd,
  );
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^wrote out\.html: \d+ cells, \d charts, [\d.]+ kB\n$/);
  expect(readdirSync(cwd)).toEqual(["out.html"]);
  const page = readFileSync(join(cwd, "out.html"), "utf8");
  expect(page).toContain("<dt>days</dt><dd>30</dd>");
  expect(page).toMatch(/bars_1d v\d+ \([\d,]+ rows\)/);
  expect(page).not.toContain(cwd);
});

test("a cell that fails is reported with file and line, the others are shown, and the exit code is 1", async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "mine.sql"), NOTEBOOK);
  const shown = await sql(["-f", "mine.sql", "--param", "n=2"], cwd);
  expect(shown.code).toBe(1);
  expect(shown.stdout).toMatch(/^n 2\n\nMine\n\nnumber\n {5}0\n {5}1\n2 rows\n/);
  expect(shown.stdout).toMatch(/▇/);
  expect(shown.stderr).toMatch(/^error: mine\.sql:7: Binder Error: [^\n]*nope/);
  const written = await sql(["-f", "mine.sql", "--html", "mine.html"], cwd);
  expect(written.code).toBe(1);
  expect(written.stderr).toBe(shown.stderr);
  const page = readFileSync(join(cwd, "mine.html"), "utf8");
  expect(page).toContain("<strong>line 7</strong>");
  expect(page).toContain('data-chart="0"');
});

test("a file goes before a shipped notebook of its name", async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "instrument"), "SELECT 'mine' AS whose");
  expect((await sql(["-f", "instrument"], cwd)).stdout).toMatch(/^whose\nmine\n1 row · /);
});

test("plain SQL of several statements: each result is shown; the file is no notebook", async () => {
  const cwd = temporaryFolder();
  writeFileSync(
    join(cwd, "plain.sql"),
    "-- a report\nCREATE TEMP TABLE t AS SELECT 1 AS a;\nFROM t;\nSELECT count(DISTINCT region) > 0 AS b FROM bars_1d;\n",
  );
  const { code, stdout } = await sql(["-f", "plain.sql"], cwd);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^done · [^\n]*\na\n1\n1 row · [^\n]*\nb\ntrue\n1 row · [^\n]*\n$/);
  writeFileSync(join(cwd, "one.sql"), "SELECT 1 AS a, 'x' AS b;\n");
  expect((await sql(["-f", "one.sql", "--format", "csv"], cwd)).stdout).toBe("a,b\n1,x\n");
});

test.each([
  ["a file that is not there", ["-f", "nope"], /file nope does not exist.*\n.*market-overview/],
  ["a page without a notebook", ["SELECT 1", "--html", "x.html"], /--html and --param are for notebooks/],
  ["another format of a notebook", ["-f", "data-quality", "--format", "csv"], /a notebook has many results/],
  [
    "a parameter that is none",
    ["-f", "instrument", "--param", "symbl=x"],
    /parameter symbl is not declared.*\n.*symbol, days/,
  ],
  [
    "a parameter without a value",
    ["-f", "instrument", "--param", "symbol"],
    /Write it like symbol=600519\.SH/,
  ],
  [
    "a page in a folder that is not there",
    ["-f", "instrument", "--html", "no/x.html"],
    /file no\/x\.html: there is no folder .*no/,
  ],
])("%s is refused", async (_, parameters, message) => {
  const cwd = temporaryFolder();
  const { code, stderr } = await sql(parameters, cwd);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(existsSync(join(cwd, "x.html"))).toBe(false);
});

test("a wrong directive stops before anything is read", async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "wrong.sql"), "-- %%\nSELECT 1\n-- %% chart candelstick x=a\nSELECT 2");
  const { code, stdout, stderr } = await sql(["-f", "wrong.sql"], cwd);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(
    /notebook wrong\.sql:3: chart: "candelstick" is no kind\nhint: +allowed: line, bar, .*candlestick/,
  );
});

test("the help lists the shipped notebooks", async () => {
  const { stdout } = await runCli(["sql", "--help"]);
  expect(stdout).toMatch(/earnings-announcements +Earnings announcements/);
});
