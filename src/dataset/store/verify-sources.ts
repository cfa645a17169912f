import { verifyOnce } from "../../lake/files/verify-content.js";
import type { Lake } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { BARS_1M } from "../../schema/bars.js";
import { REQUESTS } from "../../schema/requests.js";
import { RUNS } from "../../schema/runs.js";
import { type DatasetSpec, isIntraday } from "../spec.js";

/**
 * Makes sure that the files which a dataset is made of are what was written: the dataset gets digests of its own, and would
 * look sound for ever. Parquet has no checksums; a file's name has the hash of its content. Minute bars count where the
 * dataset, or a query of its universe, can read them; the tables about runs never do.
 *
 * @throws {LakeError} for the first file that is missing or damaged, by name.
 */
export async function verifySources(
  lake: Lake,
  snapshots: readonly Snapshot[],
  spec: DatasetSpec,
): Promise<void> {
  const readsMinutes = isIntraday(spec) || (typeof spec.universe === "object" && "sql" in spec.universe);
  for (const snapshot of snapshots) {
    const { table, files } = snapshot;
    if (table === REQUESTS || table === RUNS || (table === BARS_1M && !readsMinutes)) continue;
    await verifyOnce(lake, snapshot, files.values());
  }
}
