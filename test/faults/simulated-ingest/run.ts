import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Session } from "../../../src/db/session.js";
import { SEED } from "../../setup.js";
import { outlive } from "./outlive.js";
import { openPool } from "./worker-pool.js";

const { values } = parseArgs({
  options: { schedules: { type: "string", default: "200" }, seed: { type: "string" } },
});
const folder = await mkdtemp(join(tmpdir(), "barlake-faults-"));
const program = join(folder, "program");
await (await import("node:fs/promises")).mkdir(program);
const pool = await openPool(program, 2);
const first = Number(values.seed ?? SEED);
const count = Number(values.schedules);
let [next, kills, bad] = [0, 0, 0];
const lane = async (): Promise<void> => {
  using session = await Session.open({ threads: 1 });
  while (next < count) {
    const seed = first + next++;
    const t = performance.now();
    try {
      const out = await outlive(seed, { folder: join(folder, String(seed)), pool, session });
      kills += out.kills;
      if (out.findings.length > 0) bad++;
      console.log(
        seed,
        out.lives,
        out.kills,
        `${Math.round(performance.now() - t)} ms`,
        JSON.stringify([...out.requests]),
      );
      for (const finding of out.findings) console.log("   ", finding.slice(0, 600));
    } catch (error) {
      bad++;
      console.log(seed, "THREW", error);
    }
  }
};
const t0 = performance.now();
await Promise.all([lane(), lane()]);
console.log(
  `${count} schedules, ${kills} kills, ${bad} bad, ${Math.round((performance.now() - t0) / 1000)} s`,
);
await pool.close();
if (bad === 0) await rm(folder, { recursive: true, force: true });
else console.log(folder);
