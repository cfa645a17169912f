import { verifyOnce } from "../../../lake/files/verify/verify-content.js";
import type { Lake } from "../../../lake/lake.js";
import type { DataFile, Snapshot } from "../../../lake/log/snapshot.js";
import { BARS_1D, BARS_1M } from "../../../schema/bars.js";
import { REQUESTS } from "../../../schema/requests.js";
import { RUNS } from "../../../schema/runs.js";
import { type DatasetSpec, isIntraday } from "../../spec.js";

/**
 * Verifies the files that a dataset is built from: the dataset gets its own digests, so that damage in its sources
 * would never be found later. A Parquet file has no checksum; its name contains the hash of its content. Minute bars
 * are verified if the dataset, or the query of its universe, can read them; the tables about runs never are.
 *
 * @param options.signal ends it, also within a file; its reason is thrown.
 * @param options.bars the files of daily bars that are verified. @default all
 * @throws {LakeError} naming the first file that is missing or damaged.
 */
export async function verifySources(
  lake: Lake,
  snapshots: readonly Snapshot[],
  spec: DatasetSpec,
  {
    signal,
    bars = () => true,
  }: {
    readonly signal?: AbortSignal | undefined;
    readonly bars?: ((file: DataFile) => boolean) | undefined;
  } = {},
): Promise<void> {
  const readsMinutes = isIntraday(spec) || (typeof spec.universe === "object" && "sql" in spec.universe);
  for (const snapshot of snapshots) {
    const { table, files } = snapshot;
    if (table === REQUESTS || table === RUNS || (table === BARS_1M && !readsMinutes)) continue;
    const some = table === BARS_1D ? [...files.values()].filter(bars) : files.values();
    await verifyOnce(lake, snapshot, some, signal);
  }
}
