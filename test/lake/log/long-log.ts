import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Lake } from "../../../src/lake/lake.js";
import { commit } from "../../../src/lake/log/commit.js";
import { schemaActions } from "../../../src/lake/log/commit-actions.js";
import type { Action } from "../../../src/lake/log/delta-actions.js";
import { addActionOf, type DataFile, emptySnapshot, type Snapshot } from "../../../src/lake/log/snapshot.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { T0 } from "../temporary-lake.js";

/** A file that exists only in the log. */
function add(n: number): Action {
  const [region, year] = [n % 3 === 0 ? "CN" : "U S/%", String(2020 + (n % 5))];
  return {
    add: {
      path: `region=${encodeURIComponent(encodeURIComponent(region))}/year=${year}/p-${n}.parquet`,
      partitionValues: { region, year },
      size: 1000 + n,
      modificationTime: T0,
      dataChange: true,
      stats: JSON.stringify({
        numRecords: n,
        minValues: { symbol: `"${n}'` },
        maxValues: { symbol: "\u{1f600}" },
      }),
      ...(n % 2 === 0 && { tags: { "barlake.footer": `${n}-0123456789abcdef` } }),
    },
  };
}

/** A log in which version n adds file n, removes file n - 7, and records a response; by default one minute apart. */
export async function longLog(
  lake: Lake,
  versions: number,
  timeOf = (n: number): number => T0 + n * 60_000,
): Promise<Snapshot> {
  let newest = emptySnapshot(BARS_1D);
  for (let n = 0; n < versions; n++) {
    const at = timeOf(n);
    const gone = [...newest.files.values()].find((file) => file.path.endsWith(`/p-${n - 7}.parquet`));
    const actions: Action[] = [
      { commitInfo: { timestamp: at } },
      ...(n === 0 ? schemaActions(newest, BARS_1D.columns, T0) : []),
      { txn: { appId: `run/${n}`, version: 0, lastUpdated: at } },
      ...(gone
        ? [{ remove: { path: addActionOf(gone).path, dataChange: true, deletionTimestamp: at } }]
        : []),
      add(n),
    ];
    newest = (await commit(lake, newest, actions, at)) as Snapshot;
  }
  return newest;
}

/** The content of a snapshot for a reader. */
export function contentOf(snapshot: Snapshot): object {
  const { version, columns, committedAt, metaData, protocol, files, txns } = snapshot;
  const paths = [...files.keys()].sort();
  const live = paths.map((path) => {
    const { partitionValues, size, stats, tags } = files.get(path) as DataFile;
    return { path, partitionValues, size, stats, tags };
  });
  return {
    version,
    columns,
    committedAt,
    metaData,
    protocol,
    live,
    txns: [...txns.keys()].sort(),
  };
}

/** Creates an empty file where the log names one, so that a past version counts as readable. */
export function writeFilesOf(lake: Lake, { files, removed }: Snapshot): void {
  for (const path of [...files.keys(), ...removed.keys()]) {
    const full = join(lake.location, "bars_1d", path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, "");
  }
}
