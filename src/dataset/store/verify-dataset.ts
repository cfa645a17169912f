import { createHash, randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pMap from "p-map";
import type { Lake } from "../../lake/lake.js";
import { ENGINE } from "../../lake/log/commit-actions.js";
import type { Storage } from "../../lake/storage/storage.js";
import { isStoreFault } from "../../lake/storage/store-fault.js";
import { buildDataset, viewsDigest } from "../build-dataset.js";
import { DIGESTS, digestsIn, hasDigest } from "./dataset-files.js";
import { movedAway, recoverFolder } from "./dataset-folder.js";
import { endedBuild, foreignFiles } from "./dataset-prefix.js";
import { changesSince, isOfPast, type TableChange } from "./lake-changes.js";
import { type Manifest, readManifest } from "./manifest.js";

export interface DatasetCheck {
  readonly folder: string;
  readonly manifest: Manifest;
  /** Descriptions of damaged files; empty if all files are unchanged. */
  readonly damage: readonly string[];
  readonly changes: readonly TableChange[];
  /** The lake that it was compared with, where that is not the one of the manifest and lacks rows that it was built from. */
  readonly otherLake: string | undefined;
  /** Other differences that would change a build: another program version, other views. */
  readonly otherwise: readonly string[];
  /** Whether a build from the same versions gave the same bytes; undefined if none was run. */
  readonly isReproduced: boolean | undefined;
}

/** Whether its files are whole, the lake has not changed its days, and a build, if one was run, gave the same bytes. */
export function isSound({ damage, changes, isReproduced }: DatasetCheck): boolean {
  return damage.length === 0 && !changes.some(isOfPast) && isReproduced !== false;
}

/**
 * Verifies a dataset: its files against their digests, and the lake against the versions that it was built from. @param
 * options.rebuild also builds it again from the same versions, and compares. @throws {UsageError} where there is none,
 * or a process changes it, or is about to replace it, {@link LakeError} where its manifest cannot be read.
 */
export async function verifyDataset(
  lake: Lake,
  folder: string,
  { rebuild = false, signal }: { readonly rebuild?: boolean; readonly signal?: AbortSignal | undefined } = {},
): Promise<DatasetCheck> {
  const storage = lake.storageAt(folder);
  const left = storage.access === undefined ? await recoverFolder(storage.location) : undefined;
  if (left?.owner !== undefined) throw movedAway(storage.location, left);
  const stopped = storage.access === undefined ? await endedBuild(storage) : undefined;
  const manifest = await readManifest(storage);
  const otherwise = [
    ...(manifest.engine === ENGINE ? [] : [`it was made by ${manifest.engine}, and this is ${ENGINE}`]),
    ...(manifest.views === viewsDigest(lake) ? [] : ["the SQL of views is another"]),
    ...(manifest.lake === lake.storage.location ? [] : [`it was made of the lake ${manifest.lake}`]),
    ...(stopped === undefined
      ? []
      : [`an append by ${stopped} was stopped: the next one overwrites what it has left after the last day`]),
  ];
  const damage = await damageOf(storage, manifest, { mayGoOn: stopped !== undefined, signal });
  const changes = await changesSince(lake, manifest, { signal });
  const { location } = lake.storage;
  const isOther = manifest.lake !== location && changes.some(({ fault }) => fault !== undefined);
  return {
    folder,
    manifest,
    damage,
    changes,
    otherLake: isOther ? location : undefined,
    otherwise,
    isReproduced: rebuild ? await comesOutAgain(lake, manifest, signal) : undefined,
  };
}

async function damageOf(
  storage: Storage,
  manifest: Manifest,
  options: { readonly mayGoOn: boolean; readonly signal: AbortSignal | undefined },
): Promise<string[]> {
  const { signal } = options;
  const digests = await storage.readText(DIGESTS);
  if (digests === undefined) return [`${DIGESTS} is gone`];
  const content = createHash("sha256").update(digests).digest("hex");
  if (content !== manifest.content) return [`${DIGESTS} is not as it was written`];
  const expected = digestsIn(digests);
  const others = await foreignFiles(storage);
  const faults = await pMap(
    expected,
    async ([path, digest]) => {
      signal?.throwIfAborted();
      const pieces = await storage.read(path).catch(unlessStoreFault);
      const isSame = pieces && (await hasDigest(pieces, digest, options).catch(unlessStoreFault));
      signal?.throwIfAborted();
      if (isSame === undefined) return [`${path} is gone`];
      return isSame ? [] : [`${path} is not as it was written`];
    },
    { concurrency: 16 },
  );
  return [...faults.flat(), ...others.map((path) => `${path} was not written with it`)];
}

/** A file that cannot be read counts as gone, but not where the store is not well. */
function unlessStoreFault(error: unknown): undefined {
  if (isStoreFault(error)) throw error;
  return undefined;
}

async function comesOutAgain(
  lake: Lake,
  { spec, tables, content, knownAt, assumesReference }: Manifest,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const output = join(tmpdir(), `barlake-dataset-${randomUUID()}`);
  const versions = new Map(Object.entries(tables).filter(([, version]) => version >= 0));
  try {
    // A table that did not exist yet has no version to read.
    const pointInTime = {
      versions,
      ...(versions.size < Object.keys(tables).length ? { asOf: 0 } : {}),
      knownAt,
      assumesReference,
    };
    return (await buildDataset(lake, { ...spec, output }, { pointInTime, signal })).content === content;
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}
