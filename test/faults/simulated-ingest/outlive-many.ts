import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Session } from "../../../src/db/session/session.js";
import { type Outlived, outlive } from "./outlive.js";
import { openPool } from "./worker-pool.js";

/** Number of schedules that run in parallel. */
const LANES = 2;
/** A folder in memory, if the machine has one: a killed process loses nothing that it has written. */
const MEMORY = "/dev/shm";

/**
 * Runs the schedules of many seeds.
 *
 * @param onOutlived called for each. @returns the folder of the lakes with errors, if there are any.
 */
export async function outliveMany(
  seeds: readonly number[],
  onOutlived: (one: Outlived) => void,
): Promise<string | undefined> {
  const folder = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "barlake-faults-"));
  const program = join(folder, "program");
  await mkdir(program);
  const pool = await openPool(program, LANES);
  let isGood = true;
  const left = [...seeds];
  const lane = async (): Promise<void> => {
    using session = await Session.open({ threads: 1 });
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      const place = { folder: join(folder, String(seed)), pool, session };
      const one = await outlive(seed, place).catch((error: unknown) => failed(seed, error));
      if (one.findings.length > 0) isGood = false;
      onOutlived(one);
    }
  };
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
  } finally {
    await pool.close();
    await rm(isGood ? folder : program, { recursive: true, force: true });
  }
  return isGood ? undefined : folder;
}

/** A schedule in which a run threw, or a lake could not be read. */
function failed(seed: number, error: unknown): Outlived {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { seed, lives: 0, kills: 0, met: new Map(), findings: [text] };
}

/** Prints the errors, and the command that repeats them. */
export function failureOf({ seed, findings }: Outlived): string {
  return [`schedule ${seed}; alone: npm run faults -- --seed ${seed} --schedules 1`, ...findings].join(
    "\n  ",
  );
}
