import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFailed, onTestFinished, test, vi } from "vitest";
import { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { optimize } from "../../src/lake/maintenance/optimize.js";
import { publish } from "../../src/lake/publish.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { MAIN, runCli } from "../cli/run-cli.js";
import { once } from "../once.js";
import { SWEEP } from "../sweep.js";
import { addMinuteFiles } from "./many-files.js";
import { land, openSession, temporaryFolder, temporaryLake } from "./temporary-lake.js";

const MONTHS = Array.from({ length: 12 }, (_, n) => n);

/** What a client sees of a published lake. */
async function seenBy(lake: Lake): Promise<Record<string, unknown>> {
  using client = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
  const [facts] = await client.json(`SELECT
    (SELECT count(*) FROM bars_1m) AS minutes,
    (SELECT count(*) FROM raw.bars_1m WHERE month = '2015-12-01') AS december,
    (SELECT count(*) FROM bars_1d) AS days,
    (SELECT files FROM raw.tables WHERE name = 'bars_1m') AS files`);
  const views = await client.json(
    "SELECT schema_name, view_name, comment, CASE schema_name WHEN 'raw' THEN sql END AS sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
  );
  const types = await client.json(
    "SELECT type_name, list_sort(labels) AS labels FROM duckdb_types() WHERE schema_name = 'raw' ORDER BY ALL",
  );
  const parts = await client.json("SELECT name, value FROM published.parts ORDER BY ALL");
  return { facts, views, types, parts };
}

/** The length of all SQL texts that a publish runs: a measure of its work. */
async function sqlLength(lake: Lake): Promise<number> {
  const run = vi.spyOn(Session.prototype, "run");
  onTestFinished(() => run.mockRestore());
  await publish(lake);
  const length = run.mock.calls.reduce((sum, [sql]) => sum + sql.length, 0);
  run.mockRestore();
  return length;
}

once(
  "a publish costs what has changed since the last one, and gives the same views as one from scratch",
  async () => {
    const [lake, session] = [temporaryLake({ hasDatabase: true }), await openSession()];
    await addMinuteFiles(session, lake, { months: MONTHS, files: 40 });
    const first = await sqlLength(lake);
    expect(first).toBeGreaterThan(480 * lake.location.length);
    await addMinuteFiles(session, lake, { months: [11], files: 1 });
    const second = await sqlLength(lake);
    expect(second).toBeLessThan(first / 8);
    const updated = await seenBy(lake);
    expect(updated.facts).toEqual({ minutes: 481n, december: 41n, days: 0n, files: 481n });
    rmSync(lake.databaseFile);
    await publish(lake);
    expect(await seenBy(lake)).toEqual(updated);
  },
);

once(
  "tables that fill, new partitions and a compaction are updated; an earlier reader keeps what it has open",
  async () => {
    const [lake, session] = [temporaryLake({ hasDatabase: true }), await openSession()];
    await addMinuteFiles(session, lake, { months: MONTHS.slice(0, 2), files: 20 });
    await publish(lake);
    using old = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
    const steps = [
      () => land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z" }]),
      () => addMinuteFiles(session, lake, { months: [2], files: 33 }),
      () => optimize(session, lake, BARS_1D, { runId: "test" }),
      () => land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z", close: 9.5 }]),
    ];
    for (const step of steps) {
      await step();
      await publish(lake);
      const updated = await seenBy(lake);
      rmSync(lake.databaseFile);
      await publish(lake);
      expect(await seenBy(lake)).toEqual(updated);
    }
    expect(await old.json("SELECT count(*) AS n FROM bars_1m")).toEqual([{ n: 40n }]);
  },
);

once(
  "a copy of a lake reads its own files: the first command creates its views again, and says so once",
  async () => {
    const [folder, session] = [temporaryFolder(), await openSession()];
    const original = new Lake(join(folder, "original"));
    await land(session, original, BARS_1D, [{ at: "2024-01-01T16:00:00Z", close: 10.25 }]);
    await publish(original);
    const copy = new Lake(join(folder, "copy"));
    cpSync(original.location, copy.location, { recursive: true });
    rmSync(original.location, { recursive: true });
    const count = ["sql", "SELECT count(*) AS n FROM bars_1d", "--format", "csv", "--lake", copy.location];
    const shown = await runCli(count);
    expect(shown).toMatchObject({ code: 0, stdout: "n\n1\n" });
    expect(shown.stderr).toBe(
      `warning: lake.duckdb was made for ${original.location}: its views were created again for this one\n`,
    );
    expect((await runCli(count)).stderr).toBe("");
    using client = await Session.open({ path: copy.databaseFile, readOnly: true, threads: 1 });
    expect(await client.json("SELECT close FROM bars_1d")).toEqual([{ close: 10.25 }]);
  },
);

once("a lake with two names is not moved: commands that read leave lake.duckdb as it is", async () => {
  const [lake, session] = [temporaryLake({ hasDatabase: true }), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z" }]);
  await publish(lake);
  const before = readFileSync(lake.databaseFile);
  const link = join(temporaryFolder(), "link");
  symlinkSync(lake.location, link);
  const shown = await runCli(["sql", "SELECT 1 AS one", "--format", "csv", "--lake", link]);
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(readFileSync(lake.databaseFile).equals(before)).toBe(true);
});

once("the user's own SQL files run in each publish: they may read other files", async () => {
  const [folder, session] = [temporaryFolder(), await openSession()];
  const [views, source] = [join(folder, "views"), join(folder, "source.csv")];
  mkdirSync(views);
  writeFileSync(join(views, "kept.sql"), `CREATE TABLE kept AS FROM '${source}';`);
  writeFileSync(join(views, "seen.sql"), `CREATE VIEW seen AS FROM '${source}';`);
  const faults: string[] = [];
  const userViews = { folder: views, onFault: ({ message }: Error) => void faults.push(message) };
  const lake = new Lake(join(folder, "lake"), { userViews });
  await land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z" }]);
  for (const content of ["a\n1\n", "b,c\n2,3\n"]) {
    writeFileSync(source, content);
    await publish(lake);
    using client = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
    const rows = content.startsWith("a") ? [{ a: 1n }] : [{ b: 2n, c: 3n }];
    for (const name of ["kept", "seen"]) expect(await client.json(`FROM ${name}`)).toEqual(rows);
  }
  expect(faults).toEqual([]);
});

const canMount = spawnSync("unshare", ["-m", "true"]).status === 0;

test.skipIf(!canMount || SWEEP === "few")(
  "a lake on a read-only mount is read by sql and status, and served",
  async () => {
    const [lake, session] = [temporaryLake({ hasDatabase: true }), await openSession()];
    await land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z", close: 10.25 }]);
    await publish(lake);
    const mount = join(temporaryFolder(), "mounted");
    mkdirSync(mount);
    const bound = `mount --bind "${lake.location}" "${mount}" && mount -o remount,bind,ro "${mount}"`;
    // The original is not there any more, as in a container.
    const script = `${bound} && mount -t tmpfs none "${lake.location}" && exec "$@"`;
    const onMount = (...parameters: string[]): SpawnSyncReturns<string> => run(script, parameters);
    const run = (shell: string, parameters: readonly string[]): SpawnSyncReturns<string> =>
      spawnSync(
        "unshare",
        ["-m", "sh", "-c", shell, "sh", process.execPath, MAIN, ...parameters, "--lake", mount],
        { encoding: "utf8", env: { ...process.env, NO_COLOR: "1", BARLAKE_SERVE_KEYS: "key" } },
      );
    const shown = onMount("sql", "SELECT close FROM bars_1d", "--format", "csv");
    expect(shown).toMatchObject({ status: 0, stdout: "close\n10.25\n" });
    expect(shown.stderr).toMatch(
      /^warning: lake\.duckdb was made for .*lake: other DuckDB clients that open it here read that folder \(this folder is read-only\)\n$/,
    );
    expect(onMount("status", "--json").status).toBe(0);
    expect(run(`${bound} && exec "$@"`, ["status", "--json"])).toMatchObject({ status: 0, stderr: "" });
    const served = await served200(["-m", "sh", "-c", script, "sh", process.execPath, MAIN, "serve"], mount);
    expect(served).toContain("10.25");
  },
);

/** Starts a service of a lake, asks for its daily bars, and ends it. */
async function served200(command: readonly string[], lake: string): Promise<string> {
  const child = spawn("unshare", [...command, "--port", "0", "--lake", lake], {
    env: { ...process.env, NO_COLOR: "1", BARLAKE_SERVE_KEYS: "key" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (printed += piece));
  onTestFailed(() => console.error(`barlake serve has printed:\n${printed}`));
  try {
    let shown = "";
    for await (const piece of child.stdout.setEncoding("utf8")) {
      shown += piece;
      const url = /http:\/\/\S+/.exec(shown)?.[0];
      if (url === undefined) continue;
      const asked = `${url}/v1/klines/batch?symbols=600519.SH&start_time=0&end_time=1800000000000&adjust=none`;
      const response = await fetch(asked, { headers: { "x-api-key": "key" } });
      return await response.text();
    }
    return shown;
  } finally {
    child.kill("SIGTERM");
  }
}

once("without lake.duckdb nothing is created by a command that reads", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2024-01-01T16:00:00Z" }]);
  const shown = await runCli(["sql", "SELECT count(*) AS n FROM bars_1d", "--lake", lake.location]);
  expect([shown.code, shown.stderr, existsSync(lake.databaseFile)]).toEqual([0, "", false]);
  expect((await lake.snapshot(BARS_1M)).version).toBe(-1);
});
