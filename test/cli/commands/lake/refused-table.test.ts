import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../../src/schema/bars.js";
import { land, openSession, temporaryLake } from "../../../lake/temporary-lake.js";
import { runCli } from "../../run-cli.js";

const MINUTES = join("bars_1m", "region=CN", "month=2026-11-01");
const UPGRADED = { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ["deletionVectors"] };

/** A lake whose daily bars another program has upgraded; its minutes are in two files. */
async function upgradedLake(): Promise<string> {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2026-11-02T16:00:00Z" }]);
  for (const minute of ["02:00", "02:01"])
    await land(session, lake, BARS_1M, [{ at: `2026-11-02T${minute}:00Z` }]);
  const entry = join(lake.location, "bars_1d", "_delta_log", "00000000000000000001.json");
  writeFileSync(entry, `${JSON.stringify({ protocol: UPGRADED })}\n`);
  return lake.location;
}

const minuteFiles = (lake: string): string[] => readdirSync(join(lake, MINUTES));
const REFUSED = /error: table bars_1d: its log asks for reader version 3/;

test("optimize and vacuum work on the other tables, and the error names the one that is refused", async () => {
  const lake = await upgradedLake();
  const optimized = await runCli(["optimize", "--lake", lake]);
  expect(optimized).toMatchObject({ code: 1, stderr: expect.stringMatching(REFUSED) });
  expect(optimized.stdout).toMatch(/\nbars_1m +1 +2 +1 /);
  const minutes = await runCli([
    "sql",
    "SELECT count(*) AS n FROM bars_1m",
    "--lake",
    lake,
    "--format",
    "csv",
  ]);
  expect(minutes.stdout).toBe("n\n2\n");

  const vacuumed = await runCli(["vacuum", "--retention", "0h", "--lake", lake, "--json"]);
  expect(vacuumed.code).toBe(1);
  const { tables, failures } = JSON.parse(vacuumed.stdout) as { tables: unknown[]; failures: string[] };
  expect(tables).toContainEqual(
    expect.objectContaining({ table: "bars_1m", files: [expect.any(String), expect.any(String)] }),
  );
  expect(failures).toEqual([expect.stringMatching(/^table bars_1d: its log asks for/)]);
  expect(minuteFiles(lake)).toHaveLength(1);
});

test("repair shows what it removed from the other tables", async () => {
  const lake = await upgradedLake();
  const [lost = ""] = minuteFiles(lake);
  rmSync(join(lake, MINUTES, lost));
  const { code, stdout, stderr } = await runCli(["repair", "--lake", lake]);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    new RegExp(`\\nbars_1m +region=CN/month=2026-11-01/${lost} +missing +1 .* removed `),
  );
  expect(stderr).toMatch(REFUSED);
  const again = await runCli(["repair", "--lake", lake]);
  expect(again).toMatchObject({
    code: 1,
    stdout: "nothing is lost in the tables that can be read: 1 file read\n",
    stderr: expect.stringMatching(REFUSED),
  });
});

test("status names a table of actions that cannot be read once, and shows the others", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (const day of ["2026-08-03", "2026-11-02"])
    await land(session, lake, BARS_1D, [{ at: `${day}T16:00:00Z` }]);
  const log = join(lake.location, "corporate_actions", "_delta_log");
  mkdirSync(log, { recursive: true });
  writeFileSync(join(log, `${"0".repeat(20)}.json`), "{");
  const { code, stdout, stderr } = await runCli(["status", "--lake", lake.location]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/\nbars_1d +2 /);
  expect(stderr.match(/error: table corporate_actions: /g)).toHaveLength(1);
});
