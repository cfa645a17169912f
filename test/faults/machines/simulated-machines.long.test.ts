import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { cases, pickCases, SWEEP } from "../../sweep.js";
import { bundledProgram } from "../bundled-program.js";
import { startWorker } from "../worker-process.js";
import type { Findings } from "./simulated/judge.js";
import type { MachinesOrder } from "./simulated/machines-worker.js";

const WORKER = fileURLToPath(new URL("simulated/machines-worker.ts", import.meta.url));
/** Seeds of the whole sweep. */
const ALL = 60;
/**
 * In 1 a machine is cut off from the store with responses that have not landed, and the quota is measured afterwards; in
 * 34 a machine that was stopped lands its spool while the one that took over goes on. The long tests have only these.
 */
const PINNED: readonly number[] = [1, 34];

test("schedules of machines that are killed, stopped and cut off lose and double nothing, and use their key's quota, and no more", async () => {
  const folder = temporaryFolder();
  const program = await bundledProgram(WORKER, folder);
  const repeated = new Set<string>();
  let measures = 0;
  for (const seed of pickCases(ALL, cases({ few: 1, more: 2, all: ALL }), PINNED)) {
    const place = join(folder, `seed-${seed}`);
    mkdirSync(place);
    const worker = await startWorker<MachinesOrder, Findings>(program);
    try {
      const found = await worker.perform({ seed, place });
      expect([seed, found?.findings]).toEqual([seed, []]);
      for (const kind of Object.keys(found?.repeated ?? {})) repeated.add(kind);
      if (found?.used !== undefined) measures++;
    } finally {
      worker.kill();
    }
    rmSync(place, { recursive: true });
  }
  if (SWEEP !== "all") return;
  // The order in which sockets deliver differs from run to run: a single seed may do without.
  expect([...repeated]).toEqual(
    expect.arrayContaining(["kill", "stop", "cut from store", "cut from service"]),
  );
  expect(measures).toBeGreaterThan(0);
});
