import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Session } from "../../src/db/session/session.js";
import { Lake } from "../../src/lake/lake.js";
import { optimize } from "../../src/lake/maintenance/optimize.js";
import { TABLES } from "../../src/schema/tables.js";
import { fillEventfulLake, ODD_SYMBOL } from "./delta/eventful-lake.js";
import { landAgain } from "./delta/land-again.js";
import { checkpointsAlone, commitsAlone, newestCheckpoint } from "./delta/log-copies.js";
import { comparable, type Demand, type Question, questionsOf, type Reading } from "./readings.js";

/** An engine that is too heavy for the tests. */
export interface Engine {
  /** Its name and version. */
  readonly name: string;
  /** Reads tables that lie somewhere under the folder, as barlake does. */
  read(folder: string, wanted: readonly Demand[]): readonly Reading[];
  /** Writes to tables of a lake, and names each commit. */
  write(lake: string): readonly string[];
}

const START = Date.parse("2026-11-21T00:00:00Z");
const FILTERS = [{ symbol: ODD_SYMBOL }, { since: "2026-10-02T05:00:00+00:00" }];

/**
 * Lets an engine read a lake that has much to stumble over, in all versions worth a look, then write to it, and prints
 * what was equal. @returns whether all was.
 */
export async function proveEngine(engine: Engine): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "barlake-"));
  try {
    using session = await Session.open();
    console.log(engine.name);
    return await proveIn(folder, session, engine);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function proveIn(folder: string, session: Session, engine: Engine): Promise<boolean> {
  const lake = new Lake(join(folder, "lake"));
  await fillEventfulLake(lake, START);
  const commits = commitsAlone(lake, join(folder, "commits"));
  const checkpoints = await checkpointsAlone(lake, join(folder, "checkpoints"), START);
  const oldest = (table: string): number => newestCheckpoint(checkpoints, table);
  const results: boolean[] = [];
  const check = (title: string, questions: readonly Question[]): void => {
    results.push(
      report(
        title,
        questions,
        engine.read(
          folder,
          questions.map(({ wanted }) => wanted),
        ),
      ),
    );
  };
  check("the log as it is", await questionsOf(session, lake, { filters: FILTERS }));
  check("commits alone", await questionsOf(session, commits, { oldest }));
  check(
    "checkpoints, the commits before them deleted",
    await questionsOf(session, checkpoints, { oldest, filters: FILTERS }),
  );

  const before = new Map((await lake.snapshots()).map(({ table, version }) => [table.name, version]));
  const since = { oldest: (table: string) => before.get(table) as number };
  console.log(`\nwrites: ${engine.write(lake.location).join(", ")}`);
  check("after its writes", await questionsOf(session, lake, since));
  const same = await landAgain(session, lake, "close", START);
  const changed = await landAgain(
    session,
    lake,
    "CASE WHEN region = 'HK' THEN close ELSE close + 1 END",
    START,
  );
  console.log(`\nlanded again, the same: ${counts(same)}; with other closes: ${counts(changed)}`);
  results.push(same.inserted + same.updated + changed.inserted === 0);
  for (const table of TABLES) await optimize(session, lake, table, { runId: "test" });
  check("after a landing and a compaction upon them", await questionsOf(session, lake, since));
  return results.every(Boolean);
}

function counts({ inserted, updated, unchanged }: Awaited<ReturnType<typeof landAgain>>): string {
  return `${inserted} inserted, ${updated} updated, ${unchanged} unchanged`;
}

/** Prints a line a table: the versions that were read, the rows of all of them, and which differ. */
function report(title: string, questions: readonly Question[], readings: readonly Reading[]): boolean {
  const tables = new Map<string, { versions: string[]; rows: number; differing: string[] }>();
  for (const [index, { wanted, ours }] of questions.entries()) {
    const name = wanted.path.split("/").at(-1) as string;
    const line = tables.get(name) ?? { versions: [], rows: 0, differing: [] };
    tables.set(name, line);
    const filter = wanted.symbol === undefined && wanted.since === undefined ? "" : " filtered";
    const label = `${wanted.version}${filter}`;
    line.versions.push(label);
    line.rows += ours.rows.length;
    if (!isDeepStrictEqual(comparable(readings[index] as Reading), comparable(ours)))
      line.differing.push(label);
  }
  console.log(`\n${title}`);
  for (const [name, { versions, rows, differing }] of tables) {
    const result = differing.length === 0 ? "equal" : `DIFFERENT: ${differing.join(", ")}`;
    console.log(
      `  ${name.padEnd(17)} ${String(rows).padStart(6)} rows  ${result.padEnd(6)}  versions ${versions.join(", ")}`,
    );
  }
  return [...tables.values()].every(({ differing }) => differing.length === 0);
}
