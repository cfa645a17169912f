import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { barsCsv } from "../../../jobs/files/files-place.js";
import { temporaryFolder } from "../../../lake/temporary-lake.js";
import { type CliResult, runCli } from "../../run-cli.js";

/** A project with a pipeline of the files in its folder `in`. No service and no key is set. */
function project() {
  const cwd = temporaryFolder();
  for (const name of ["pipelines", "in"]) mkdirSync(join(cwd, name));
  const definition = {
    name: "drop",
    kind: "files",
    table: "bars_1d",
    from: "in",
    pattern: "*.csv",
    options: { volumeUnit: "shares" },
    schedule: { at: "00:00", region: "CN", days: "daily" },
  };
  writeFileSync(join(cwd, "pipelines", "drop.mjs"), `export default ${JSON.stringify(definition)};\n`);
  return {
    cwd,
    file: (name: string, content: string) => writeFileSync(join(cwd, "in", name), content),
    remove: (name: string) => rmSync(join(cwd, "in", name)),
    cli: (...parameters: string[]): Promise<CliResult> => runCli([...parameters, "--lake", "lake"], { cwd }),
  };
}

test("files are planned, land, and are named in runs and status while they are refused", async () => {
  const { cwd, file, remove, cli } = project();
  const listed = await runCli(["pipelines", "drop"], { cwd });
  expect(listed.stdout).toMatch(/^drop +files bars_1d +in\/\*\.csv +00:00 Shanghai every day/m);
  file("a.csv", barsCsv({ "2026-03-02": 11 }));
  file("b.csv", "no header\n");
  const planned = await cli("plan", "drop");
  expect(planned.code).toBe(0);
  expect(planned.stdout).toMatch(/^drop: 2 files to read, 0 unchanged; nothing was read into the lake$/m);
  expect(planned.stdout).toMatch(/^a\.csv +\d+ B +new/m);

  const first = await cli("run", "drop");
  expect(first.code).toBe(1);
  expect(first.stdout).toMatch(/^drop partial in .*: 2 files read \(1 landed, 1 refused\), 1 row, /m);
  expect(first.stdout).toMatch(
    /^1 file refused: nothing of it has landed; each run reads and names it until/m,
  );
  expect(first.stdout).toMatch(/^b\.csv +no line of it is a header .*--map /m);

  const status = await cli("status");
  expect(status.stdout).toMatch(/^refused files +pipeline +table +why$/m);
  expect(status.stdout).toMatch(/^b\.csv +drop +bars_1d +no line of it is a header/m);
  const json = JSON.parse((await cli("status", "--json")).stdout) as { refusedFiles: unknown };
  expect(json.refusedFiles).toMatchObject([{ pipeline: "drop", dataset: "bars_1d", file: "b.csv" }]);

  const runs = await cli("runs");
  expect(runs.stdout).toMatch(/ drop +partial /);
  const [id = ""] = /\d{8}T\d{6}Z-\w+/.exec(runs.stdout) ?? [];
  expect((await cli("runs", "show", id)).stdout).toMatch(/refused .*b\.csv: no line of it is a header/);
  expect((await cli("runs", "show")).stdout).toContain(id);

  const again = await cli("plan", "drop", "--json");
  expect(JSON.parse(again.stdout)).toMatchObject({
    pipeline: "drop",
    unchanged: 1,
    files: [{ file: "b.csv", state: "refused", reason: expect.any(String) }],
  });
  remove("b.csv");
  const last = await cli("run", "drop", "--json");
  expect(last.code).toBe(0);
  expect(JSON.parse(last.stdout)).toMatchObject({
    status: "complete",
    files: { listed: 1, unchanged: 1, refused: [] },
  });
  expect((await cli("status")).stdout).not.toMatch(/refused files/);
});

test("a schedule of files needs no service; options of requests are refused", async () => {
  const { file, cli } = project();
  file("a.csv", barsCsv({ "2026-03-02": 11 }));
  const scheduled = await cli("schedule", "drop", "--once");
  expect(scheduled.stderr).toMatch(/"run ended"|ended/);
  expect(scheduled.code).toBe(0);
  expect(JSON.parse((await cli("plan", "drop", "--json")).stdout)).toMatchObject({ files: [], unchanged: 1 });
  const wrong = await cli("run", "drop", "--from", "2026-01-01");
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toMatch(/a first date cannot be given to a pipeline of files/);
});
