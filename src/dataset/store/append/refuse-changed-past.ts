import { isDeepStrictEqual } from "node:util";
import { UsageError } from "../../../core/errors.js";
import type { Lake } from "../../../lake/lake.js";
import { ENGINE } from "../../../lake/log/commit-actions.js";
import type { DatasetSpec } from "../../spec.js";
import { type Manifest, readManifest } from "../files/manifest.js";
import {
  type ComparisonOptions,
  changesSince,
  changesText,
  isOfPast,
  isUnknown,
} from "../verify/lake-changes.js";

const REPLACE_HINT = '`existing: "replace"` builds it again';

/**
 * Checks that new days can be added to a dataset without changing any of its existing days.
 *
 * @throws {UsageError} where they would change: another spec, forward prices, or changes in the lake since.
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
