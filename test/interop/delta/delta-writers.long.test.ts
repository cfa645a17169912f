import { join } from "node:path";
import { expect, test } from "vitest";
import { Lake, rowCount } from "../../../src/lake/lake.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { TABLES } from "../../../src/schema/tables.js";
import { openSession, T0, temporaryFolder } from "../../lake/temporary-lake.js";
import { pythonHas, runPython } from "../python.js";
import { pythonReadings } from "../python-readings.js";
import { questionsOf } from "../readings.js";
import { fillEventfulLake } from "./eventful-lake.js";
import { landAgain } from "./land-again.js";
import { checkpointsAlone, newestCheckpoint } from "./log-copies.js";

const ready = pythonHas("deltalake", "pyarrow", "polars");
test.skipIf(!ready)(
  "what delta-rs and polars write is read, landed upon and compacted; they read the lake all the way",
  async () => {
    const [folder, session] = [temporaryFolder(), await openSession()];
    const filled = new Lake(join(folder, "lake"));
    await fillEventfulLake(filled, T0);
    const versions = new Map((await filled.snapshots()).map(({ table, version }) => [table.name, version]));
    const oldest = (table: string): number => versions.get(table) as number;

    const steps = runPython("delta/write_tables.py", filled.location) as string[];
    const lake = new Lake(filled.location);
    const written = await lake.snapshots();
    const commits = written.reduce((sum, { table, version }) => sum + version - oldest(table.name), 0);
    expect(commits).toBe(steps.length);
    const after = pythonReadings(folder, await questionsOf(session, lake, { oldest }));
    expect(after.found).toEqual(after.expected);

    runPython("delta/write_tables.py", lake.location, "vacuum");
    const rest = await checkpointsAlone(lake, join(folder, "checkpoints"), T0);
    expect(newestCheckpoint(rest, "bars_1d")).toBeGreaterThan(50);
    const newest = await rest.snapshot(BARS_1D);
    expect(newest.txns.get("delta-rs/1")).toMatchObject({ version: 7 });
    const rows = rowCount(newest);

    const same = await landAgain(session, rest, "close", T0);
    expect(same).toMatchObject({ inserted: 0, updated: 0, unchanged: rows, version: newest.version });
    const changed = await landAgain(
      session,
      rest,
      "CASE WHEN region = 'HK' THEN close ELSE close + 1 END",
      T0,
    );
    expect(changed).toMatchObject({ inserted: 0, version: newest.version + 1 });
    expect(changed.updated).toBeGreaterThan(rows / 3);
    expect(changed.unchanged).toBe(rows - changed.updated);
    for (const table of TABLES) await optimize(session, rest, table, { runId: "test" });
    expect(rowCount(await rest.snapshot(BARS_1D))).toBe(rows);
    const end = pythonReadings(
      folder,
      await questionsOf(session, rest, { oldest: (table) => newestCheckpoint(rest, table) }),
    );
    expect(end.found).toEqual(end.expected);
  },
);
