import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { z } from "zod";
import { UsageError } from "../../core/errors.js";
import { firstNames } from "../../core/text-order.js";
import type { Storage } from "../../lake/storage/storage.js";
import { nameOfOwner, ownerShape, stateOf, thisProcess } from "../../lease/owner.js";
import { DIGESTS, digestsIn } from "./file-thread.js";
import { MANIFEST } from "./manifest.js";

/** The object that marks a prefix while the files of a dataset are written to it. It names the process that does so. */
export const BUILD_MARK = "unfinished.json";
/** The mark of a build that has taken the prefix over from another one. */
const NEXT_MARK = /^unfinished\.[0-9a-f]{32}\.json$/;

const markShape = z.object({ ...ownerShape.shape, id: z.string() });
type Mark = z.infer<typeof markShape>;

/** Ids of the marks of builds that run in this process. */
const RUNNING = new Set<string>();

/** The right to write the files of a dataset to a prefix. */
export interface BuildClaim {
  /** Whether the prefix had the mark of a build that has ended: its files may be deleted. */
  readonly hasLeftovers: boolean;
  /** @throws {UsageError} where another process has taken the prefix over. */
  confirm(): Promise<void>;
  /** Removes all marks, if the last one is still this one. */
  release(): Promise<void>;
  /** Gives the right back before anything was written: only this mark is removed. */
  withdraw(): Promise<void>;
  /** Ends the right, and leaves the mark: the prefix has files of a build that has failed. */
  abandon(): void;
}

/** Whether an object at a prefix is a mark, and no file of a dataset. */
export function isBuildMark(path: string): boolean {
  return path === BUILD_MARK || NEXT_MARK.test(path);
}

/**
 * Whether a prefix has only what a build has left that failed, or whose process has ended on this machine: it may be
 * deleted.
 */
export async function isAbandoned(storage: Storage): Promise<boolean> {
  const last = (await readMarks(storage)).at(-1);
  return last !== undefined && stateOfBuild(last.mark) === "ended";
}

/**
 * Marks a prefix as being written to. A build takes the prefix over from one that has ended: its mark has a
 * name that follows from the mark of that one. Stores create an object only once, so that of several builds
 * which find the same mark one takes over; had they deleted the mark, one could have deleted that of another.
 * @param options.replace whether the mark of a process of another machine, which may run, may be replaced:
 * its build then fails. @throws {UsageError} where another build writes to the prefix.
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
    },
    withdraw: () => storage.delete(path),
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

/** The marks of a prefix: the first one, and the mark of each build that has taken over from the one before. */
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
export async function filesOfDataset(storage: Storage): Promise<string[]> {
  if (storage.access === undefined)
    return existsSync(storage.location) ? filesInFolder(storage.location) : [];
  const paths = (await storage.walk("")).map(({ path }) => path);
  return paths.filter((path) => !path.startsWith(PROBES) && !isBuildMark(path));
}

/** All that is in a folder and is no folder. */
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
