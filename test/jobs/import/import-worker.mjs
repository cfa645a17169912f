/**
 * A process that imports files, for tests that kill it: it takes orders over IPC and answers each with what landed. It is
 * the built program, so that it starts quickly.
 */
import { systemClock } from "../../../dist/client/system-clock.js";
import { runImport } from "../../../dist/jobs/import/run-import.js";
import { Lake } from "../../../dist/lake/lake.js";
import { mortal } from "../../faults/mortal-lake.mjs";

process.on("message", (order) => {
  perform(order).then(
    (done) => process.send({ done }),
    (error) => process.send({ failed: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send({ ready: true });

async function perform({ folder, table, files, runId, kill }) {
  const places = kill === undefined ? {} : mortal(folder, kill);
  const lake = new Lake(folder, { hasDatabase: false, ...places });
  const { landed } = await runImport(lake, table, files, { runId }, systemClock);
  return { landed };
}
