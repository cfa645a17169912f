/**
 * A process that lands files in a table of a lake in an object store: it takes orders over IPC, and answers each with
 * what it did. It is the built program, so that it starts quickly.
 */
import { writeFileSync } from "node:fs";
import { systemClock } from "../../dist/client/system-clock.js";
import { workFolder } from "../../dist/lake/local/work-folder.js";
import { commit, readLog, schemaActions } from "../../dist/lake/log/delta-log.js";
import { emptySnapshot } from "../../dist/lake/log/snapshot.js";
import { objectStorage } from "../../dist/lake/storage/object-storage.js";
import { countRequests } from "../../dist/object-store/http/request-counts.js";
import { openStorePlace } from "../../dist/object-store/store-place.js";
import { BARS_1D } from "../../dist/schema/bars.js";

const counts = countRequests();
let places;
let base = emptySnapshot(BARS_1D);

process.on("message", (order) => {
  land(order).then(
    (done) => process.send({ done }),
    (error) => process.send({ failed: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send({ ready: true });

/** Lands one file; tries again as long as other processes commit first. */
async function land({ url, env, folder, name, rows }) {
  if (places === undefined) {
    const place = await openStorePlace(url, { env, clock: systemClock, onRequest: counts.observe });
    places = { storage: objectStorage(place), work: workFolder(folder) };
  }
  const { storage, work } = places;
  const file = await work.newFile("parquet");
  writeFileSync(file, name.repeat(10_000));
  const path = `region=CN/year=2026/${name}.parquet`;
  if (!(await storage.putFileIfAbsent(file, `bars_1d/${path}`))) throw new Error(`${path} was there before`);
  await work.discard(file);
  for (let conflicts = 0; ; conflicts++) {
    base = await readLog(storage, base);
    const stats = JSON.stringify({ numRecords: rows });
    const add = {
      path,
      partitionValues: {},
      size: 10_000 * name.length,
      modificationTime: 0,
      dataChange: true,
      stats,
    };
    const schema = base.version < 0 ? schemaActions(base, BARS_1D.columns, 0) : [];
    const after = await commit(places, base, [...schema, { add }], systemClock.now());
    if (after === undefined) continue;
    base = after;
    return { version: after.version, conflicts, requests: counts.take() };
  }
}
