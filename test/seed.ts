import { spawnSync } from "node:child_process";

/** What a test run depends on in addition to the code; printed after a failure, so that the run can be repeated. */

/** The commit that is tested, in hexadecimal digits. The processes of the tests take it from the first one. */
const COMMIT = (process.env.TEST_COMMIT ||= commitOf());
if (!/^[0-9a-f]+$/i.test(COMMIT))
  throw new Error(`TEST_COMMIT is ${COMMIT}: give the digits of a commit, as git rev-parse HEAD prints them`);

/** Seed of every property and of every random time in the tests. `TEST_SEED` gives another one. */
export const SEED = Number(process.env.TEST_SEED ?? 20_260_101);

/** Zone of the tests: its offset of 5:45 reveals code that uses the machine's zone. `TEST_TZ` sets another. */
export const TZ = process.env.TEST_TZ ?? "Asia/Kathmandu";

/** Other variables that a run depends on: the cases of its sweeps, and how it runs commands and threads. */
const OTHERS = ["TEST_COMMIT", "TEST_SWEEP", "TEST_THREADS", "TEST_FRESH", "TEST_JITTER"] as const;

/** The variables that repeat this run, as they are written before a command. */
export function repeatVariables(): string {
  const others = OTHERS.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [`${name}=${name === "TEST_COMMIT" ? value.slice(0, 8) : value}`];
  });
  return [`TEST_SEED=${SEED}`, `TEST_TZ=${TZ}`, ...others].join(" ");
}

function commitOf(): string {
  const { status, stdout } = spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : "0";
}
