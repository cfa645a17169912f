import { isDeepStrictEqual } from "node:util";
import { UsageError } from "../../core/errors.js";
import { DAY_MS } from "../../core/time.js";
import { statedTimes } from "../../lake/files/prune.js";
import type { Lake } from "../../lake/lake.js";
import { ENGINE } from "../../lake/log/commit-actions.js";
import { VersionGone } from "../../lake/log/log-files.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { BARS_1D } from "../../schema/bars.js";
import type { DatasetSpec } from "../spec.js";
import { type ComparisonOptions, changesSince, changesText, isOfPast, isUnknown } from "./lake-changes.js";
import { type Manifest, readManifest } from "./manifest.js";

/**
 * The files of daily bars that a dataset was not built from; all where its version of them is gone. @param snapshots
 * the tables that are read now. @throws {Error} where the dataset's version may exist, and is not readable.
 */
export async function barsSince(
  lake: Lake,
  { tables }: Manifest,
  snapshots: readonly Snapshot[],
): Promise<(file: DataFile) => boolean> {
  const version = tables[BARS_1D.name] ?? -1;
  const now = snapshots.find(({ table }) => table === BARS_1D);
  if (now?.version === version) return () => false;
  if (version < 0) return () => true;
  const before = await lake
    .snapshotAt(BARS_1D, { versions: new Map([[BARS_1D.name, version]]) })
    .catch((error: unknown) => {
      if (error instanceof VersionGone) return undefined;
      throw error;
    });
  return ({ path }) => before?.files.has(path) !== true;
}

/**
 * The files that may have bars of a day (since 1970-01-01) or of later ones. The time of a daily bar is the beginning
 * of its date in the zone of its region, less than a day from that in UTC.
 */
export function barsFrom(day: number): (file: DataFile) => boolean {
  return (file) => {
    const times = statedTimes(file, "timestamp");
    return times === undefined || times.end > (day - 1) * DAY_MS;
  };
}

const REPLACE_HINT = '`existing: "replace"` builds it again';

/**
 * Checks that new days can be added to a dataset without changing any of its existing days. @throws {UsageError} where
 * they would change: another spec, forward prices, or changes in the lake since.
 */
export async function refuseChangedPast(
  lake: Lake,
  spec: DatasetSpec,
  folder: string,
  options: ComparisonOptions,
): Promise<Manifest> {
  const manifest = await readManifest(lake.storageAt(folder));
  const subject = `dataset ${spec.name}: cannot be appended to`;
  if (spec.adjustment.startsWith("forward")) {
    throw new UsageError(`${subject}: forward prices of every day change with each new ex-date`, {
      hint: 'choose adjustment "backward", whose prices do not change; or `existing: "replace"`',
    });
  }
  const changed = fieldsThatDiffer(manifest.spec, spec);
  if (changed.length > 0)
    throw new UsageError(`${subject}: its spec had another ${changed.join(", ")}`, { hint: REPLACE_HINT });
  if (manifest.engine !== ENGINE)
    throw new UsageError(`${subject}: it was made by ${manifest.engine}, and this is ${ENGINE}`, {
      hint: REPLACE_HINT,
    });
  const past = (await changesSince(lake, manifest, options)).filter(isOfPast);
  if (past.length > 0) {
    const what = past.every(isUnknown) ? "" : "the lake has changed its days since: ";
    throw new UsageError(`${subject}: ${what}${changesText(past)}`, { hint: REPLACE_HINT });
  }
  return manifest;
}

/** Fields that differ between two specs and affect existing days. */
function fieldsThatDiffer(was: DatasetSpec, is: DatasetSpec): string[] {
  const may: readonly string[] = ["doc", "to", "output"];
  const names = new Set([...Object.keys(was), ...Object.keys(is)]);
  return [...names].filter((name) => {
    const [before, now] = [was, is].map((spec) => (spec as Readonly<Record<string, unknown>>)[name]);
    return !may.includes(name) && !isDeepStrictEqual(plain(before), plain(now));
  });
}

/** A value as it is after a round trip through JSON. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
