import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import pMap from "p-map";
import { z } from "zod";
import { UsageError } from "../../core/errors.js";
import { firstNames } from "../../core/text-order.js";
import { filesUnder } from "../../lake/local/local-files.js";
import { STAGING, type WorkFolder } from "../../lake/local/work-folder.js";
import type { Storage } from "../../lake/storage/storage.js";
import { nameOfOwner, ownerShape, stateOf, thisProcess } from "../../lease/owner.js";
import { DIGESTS, digestsIn } from "./dataset-files.js";
import { alreadyThere, movedAway, recoverFolder } from "./dataset-folder.js";
import { MANIFEST } from "./manifest.js";

/** The file that marks a place while files of a dataset there are changed. It names the process that does so. */
export const BUILD_MARK = "unfinished.json";
/** The mark of a build that has taken the prefix over from another one. */
const NEXT_MARK = /^unfinished\.[0-9a-f]{32}\.json$/;

const markShape = z.object({
  ...ownerShape.shape,
  id: z.string(),
  /** Whether the build has failed: its process may run on. */
  hasEnded: z.boolean().optional(),
});
type Mark = z.infer<typeof markShape>;

const RUNNING = new Set<string>();

/** The right to change the files of a dataset at a place: a prefix, or a folder that is there. */
export interface BuildClaim {
  /** Whether the place had the mark of a build that has ended: in a prefix, its files may be deleted. */
  readonly hasLeftovers: boolean;
  /** @throws {UsageError} where another process has taken the place over. */
  confirm(): Promise<void>;
  /** Removes all marks, if the last one is still this one. */
  release(): Promise<void>;
  /** Gives the right back before anything was written: only this mark is removed. */
  withdraw(): Promise<void>;
  /** Says in the mark that the build has failed. */
  fail(): Promise<void>;
  /** Ends the right, and leaves the mark: there are files of a build that has failed. */
  abandon(): void;
}

/** Whether a file is a mark, and none of a dataset. */
export function isBuildMark(path: string): boolean {
  return path === BUILD_MARK || NEXT_MARK.test(path);
}

/**
 * Whether a prefix has only what a build has left that failed, or whose process has ended on this machine: it may be
 * deleted.
 */
async function isAbandoned(storage: Storage): Promise<boolean> {
  const last = (await readMarks(storage)).at(-1);
  return last !== undefined && stateOfBuild(last.mark) === "ended";
}

/**
 * Marks a place as being written to. A build takes the place over from one that has ended: its mark has a
 * name that follows from the mark of that one. Storages create a file only once, so that of several builds
 * which find the same mark one takes over; had they deleted the mark, one could have deleted that of another.
 * @param options.replace whether the mark of a process of another machine, which may run, may be replaced:
 * its build then fails. @throws {UsageError} where another build writes to the place.
 */
export async function claimPrefix(
  storage: Storage,
  { replace }: { readonly replace: boolean },
): Promise<BuildClaim> {
  const mark: Mark = { ...thisProcess(), id: randomUUID() };
  const earlier = (await readMarks(storage)).at(-1)?.mark;
  if (earlier !== undefined) {
    const state = stateOfBuild(earlier);
    if (state === "running" || (state === "unknown" && !replace)) throw inUse(storage, earlier, state);
  }
  const path = earlier === undefined ? BUILD_MARK : pathAfter(earlier);
  // Before others can read the mark: one of this process that is not in RUNNING is of a build that has ended.
  RUNNING.add(mark.id);
  let isPut = false;
  try {
    isPut = await storage.putIfAbsent(path, `${JSON.stringify(mark)}\n`);
  } finally {
    if (!isPut) RUNNING.delete(mark.id);
  }
  const claim: BuildClaim = {
    hasLeftovers: earlier !== undefined,
    async confirm() {
      const last = (await readMarks(storage)).at(-1)?.mark;
      if (last?.id !== mark.id) throw inUse(storage, last, "running");
    },
    async release() {
      const marks = await readMarks(storage);
      if (marks.at(-1)?.mark.id !== mark.id) return;
      // The first one first: a build that has read it before finds that it is gone, and does not take over from it.
      for (const one of marks) await storage.delete(one.path);
      await removeStaging(storage);
    },
    async withdraw() {
      await storage.delete(path);
      await removeStaging(storage);
    },
    fail: () => storage.put(path, `${JSON.stringify({ ...mark, hasEnded: true })}\n`),
    abandon: () => void RUNNING.delete(mark.id),
  };
  if (!isPut) throw inUse(storage, (await readMarks(storage)).at(-1)?.mark, "running");
  // The mark before this one may have been removed, by a build that was complete, since it was read.
  if (earlier !== undefined)
    await claim.confirm().catch(async (error: unknown) => {
      claim.abandon();
      await claim.withdraw();
      throw error;
    });
  return claim;
}

/**
 * The process of the build that has marked a folder last, and has ended; undefined where there is no mark. @throws
 * {UsageError} where it may be running.
 */
export async function endedBuild(storage: Storage): Promise<string | undefined> {
  const last = (await readMarks(storage)).at(-1);
  if (last === undefined) return undefined;
  const state = stateOfBuild(last.mark);
  if (state !== "ended") throw inUse(storage, last.mark, state);
  return nameOfOwner(last.mark);
}

/** Deletes the folder by way of which marks are written, if it is empty. */
async function removeStaging(storage: Storage): Promise<void> {
  if (storage.access === undefined) await rmdir(join(storage.location, STAGING)).catch(() => {});
}

/** The marks of a place: the first one, and the mark of each build that has taken over from the one before. */
async function readMarks(storage: Storage): Promise<{ readonly path: string; readonly mark: Mark }[]> {
  const marks: { path: string; mark: Mark }[] = [];
  for (let path = BUILD_MARK; ; ) {
    const text = await storage.readText(path);
    if (text === undefined) return marks;
    const mark = markIn(text);
    marks.push({ path, mark });
    path = pathAfter(mark);
  }
}

function pathAfter({ id }: Mark): string {
  return `unfinished.${createHash("sha256").update(id).digest("hex").slice(0, 32)}.json`;
}

/** A mark from its text. One that cannot be parsed, which only another program can have written, has an unknown owner. */
function markIn(text: string): Mark {
  try {
    return markShape.parse(JSON.parse(text));
  } catch {
    return { host: "an unknown machine", pid: 0, id: text };
  }
}

function stateOfBuild(mark: Mark): ReturnType<typeof stateOf> {
  if (mark.hasEnded === true) return "ended";
  const here = thisProcess();
  if (mark.pid === here.pid && mark.machine === here.machine)
    return RUNNING.has(mark.id) ? "running" : "ended";
  return stateOf(mark);
}

function inUse({ location }: Storage, mark: Mark | undefined, state: "running" | "unknown"): UsageError {
  const owner = mark === undefined ? "another process" : nameOfOwner(mark);
  const hint =
    state === "running"
      ? `wait until it has ended, or name another place with \`output\`; if it no longer builds there, delete ${BUILD_MARK}`
      : 'if it has ended, `existing: "replace"` deletes what it has left';
  return new UsageError(`dataset ${location}: is being written by ${owner}`, { hint });
}

/** What the probe of a store leaves at a prefix: see the store's write ability. */
const PROBES = "probes/";

/** The files at the place of a dataset, links included, by path. */
async function filesOfDataset(storage: Storage): Promise<string[]> {
  if (storage.access === undefined)
    return existsSync(storage.location)
      ? filesInFolder(storage.location).filter(
          (path) => !isBuildMark(path) && !path.startsWith(`${STAGING}/`),
        )
      : [];
  const paths = (await storage.walk("")).map(({ path }) => path);
  return paths.filter((path) => !path.startsWith(PROBES) && !isBuildMark(path));
}

function filesInFolder(folder: string, prefix = ""): string[] {
  return readdirSync(`${folder}/${prefix}`, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesInFolder(folder, `${prefix}${entry.name}/`) : [`${prefix}${entry.name}`],
  );
}

/** The files at the place of a dataset that its list of files does not name: somebody else has put them there. */
export async function foreignFiles(storage: Storage): Promise<string[]> {
  const own = digestsIn((await storage.readText(DIGESTS)) ?? "");
  const isOwn = (path: string): boolean => own.has(path) || path === DIGESTS || path === MANIFEST;
  return (await filesOfDataset(storage)).filter((path) => !isOwn(path)).sort();
}

/**
 * Expects that everything at a place is of the dataset there, before a build replaces it: nothing else is ever deleted.
 * @throws {UsageError} naming the other files.
 */
export async function refuseForeignFiles(storage: Storage): Promise<void> {
  const foreign = await foreignFiles(storage);
  if (foreign.length === 0) return;
  throw new UsageError(
    `dataset ${storage.location}: there are files that its ${DIGESTS} does not name, and a build would delete: ${firstNames(foreign)}`,
    {
      hint: `move them to another place, or delete them if nobody needs them; or name another place with \`output\``,
    },
  );
}

const PARALLEL = 4;
/**
 * Writes a dataset to a prefix of an object store: first to a folder of this machine, then file by file.
 * There is no dataset without a manifest: it is sent last, and that of an earlier dataset is deleted first,
 * so that no reader mixes files of both. The list of its files is sent first, and deleted last, so that it
 * names all that is there. A build that fails deletes what it has sent; if it cannot, or is killed, the
 * prefix has files without a manifest and a mark, and the next build deletes the files that the list names.
 * @param options.signal ends the build before an earlier dataset is deleted, not in the middle of that.
 * @throws {UsageError} where another process writes, or has written, a dataset there in the meantime, and
 * where there are files of somebody else.
 */
export async function putDataset<T>(
  storage: Storage,
  work: WorkFolder,
  { replace, signal }: { readonly replace: boolean; readonly signal?: AbortSignal | undefined },
  write: (draft: string) => Promise<T>,
): Promise<T> {
  const draft = await work.newFile("dataset");
  try {
    await mkdir(draft, { recursive: true });
    const made = await write(draft);
    const files = (await filesUnder(draft)).map(({ path }) => path);
    const claim = await claimPrefix(storage, { replace });
    try {
      await sendFiles(storage, claim, { draft, files, replace, signal });
      // The dataset is complete: a mark that could not be removed is replaced by the next build.
      await claim.release().catch(() => {});
    } finally {
      claim.abandon();
    }
    return made;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

interface Sending {
  readonly draft: string;
  readonly files: readonly string[];
  readonly replace: boolean;
  readonly signal: AbortSignal | undefined;
}

async function sendFiles(
  storage: Storage,
  claim: BuildClaim,
  { draft, files, replace, signal }: Sending,
): Promise<void> {
  const replaced = await filesToReplace(storage, claim, { replace, signal }).catch(async (error: unknown) => {
    await claim.withdraw();
    throw error;
  });
  if (replaced.length > 0) await deleteDataset(storage, replaced);
  const sent = new Set<string>();
  const put = async (path: string): Promise<void> => {
    // An earlier dataset that was deleted is not given up for nothing.
    if (replaced.length === 0) signal?.throwIfAborted();
    // A write that has failed may have been done.
    sent.add(path);
    if (await storage.putFileIfAbsent(join(draft, path), path)) return;
    sent.delete(path);
    throw alreadyThere(storage.location);
  };
  try {
    await put(DIGESTS);
    await putAll(
      files.filter((path) => path !== MANIFEST && path !== DIGESTS),
      put,
    );
    await claim.confirm();
    await put(MANIFEST);
    // Another process may have taken the prefix over while the manifest was sent, and deleted the files that it names.
    await claim.confirm().catch(async (error: unknown) => {
      const own = await readFile(join(draft, MANIFEST), "utf8");
      const isOwn = (await storage.readText(MANIFEST).catch(() => undefined)) === own;
      if (isOwn) await storage.delete(MANIFEST).catch(() => {});
      throw error;
    });
  } catch (error) {
    await deleteSent(storage, claim, sent).catch(() => {});
    throw error;
  }
}

/** The files of an earlier dataset, or of a build that was stopped, that this one replaces. */
async function filesToReplace(
  storage: Storage,
  claim: BuildClaim,
  { replace, signal }: Pick<Sending, "replace" | "signal">,
): Promise<string[]> {
  signal?.throwIfAborted();
  if (!replace && !claim.hasLeftovers) return [];
  if (!replace && (await storage.readText(MANIFEST)) !== undefined) throw alreadyThere(storage.location);
  await refuseForeignFiles(storage);
  return filesOfDataset(storage);
}

/** Deletes files of a dataset: first its manifest, as it must never name a file that is gone, last the list of its files. */
async function deleteDataset(storage: Storage, paths: readonly string[]): Promise<void> {
  if (paths.includes(MANIFEST)) await storage.delete(MANIFEST);
  const data = paths.filter((path) => path !== MANIFEST && path !== DIGESTS);
  await pMap(data, (path) => storage.delete(path), { concurrency: PARALLEL });
  if (paths.includes(DIGESTS)) await storage.delete(DIGESTS);
}

/** Puts files, and waits for those in flight when one has failed: none may arrive after its deletion. */
async function putAll(paths: readonly string[], put: (path: string) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  await pMap(
    paths,
    async (path) => {
      if (failures.length === 0) await put(path).catch((error: unknown) => failures.push(error));
    },
    { concurrency: PARALLEL },
  );
  if (failures.length > 0) throw failures[0];
}

async function deleteSent(storage: Storage, claim: BuildClaim, sent: ReadonlySet<string>): Promise<void> {
  await claim.confirm();
  await deleteDataset(storage, [...sent]);
  await claim.release();
}

interface ExpectedPlace {
  /** Of the dataset, for messages. */
  readonly name: string;
  readonly existing: "refuse" | "append" | "replace";
  /** Whether the build may change the files of a folder in their place: then none is deleted. */
  readonly inPlace: boolean;
}

/**
 * Expects that a build may write to a place, before it reads anything. A dataset that a crash has left next to its
 * place is put back first. @returns whether a dataset is there. @throws {UsageError} where it must not be touched,
 * where there are files of somebody else, and where another process is about to replace it.
 */
export async function expectPlace(
  storage: Storage,
  { name, existing, inPlace }: ExpectedPlace,
): Promise<boolean> {
  const { location } = storage;
  const isLocal = storage.access === undefined;
  const left = isLocal ? await recoverFolder(location) : undefined;
  const isPlaceThere = isLocal ? existsSync(location) : (await filesOfDataset(storage)).length > 0;
  if (!isPlaceThere) {
    if (left !== undefined) throw movedAway(location, left);
    return false;
  }
  const isThere = (await storage.readText(MANIFEST)) !== undefined;
  if (isThere && existing === "refuse") throw alreadyThere(location);
  // What a build to a store has left that was stopped has a mark.
  if (isThere || existing === "replace" || (!isLocal && (await isAbandoned(storage)))) {
    if (!isThere || !inPlace) await refuseForeignFiles(storage);
    return isThere;
  }
  const moved = left && `; an earlier dataset, ${left.path}, is put back when ${location} is no longer there`;
  throw new UsageError(`dataset ${name}: ${location} is there, and no dataset: it has no ${MANIFEST}`, {
    hint: (await whatToDo(storage)) + (moved ?? ""),
  });
}

async function whatToDo(storage: Storage): Promise<string> {
  const foreign = await foreignFiles(storage);
  return foreign.length === 0
    ? `\`existing: "replace"\` builds it again: there are no files but those of a dataset`
    : `its ${DIGESTS} does not name ${firstNames(foreign)}: move such files to another place, then \`existing: "replace"\` builds it again; or name another place with \`output\``;
}
