import { randomUUID } from "node:crypto";
import { z } from "zod";
import { UsageError } from "../../core/errors.js";
import type { Storage } from "../../lake/storage/storage.js";
import { nameOfOwner, ownerShape, stateOf, thisProcess } from "../../lease/owner.js";

/** The object that marks a prefix while the files of a dataset are written to it. It names the process that does so. */
export const BUILD_MARK = "unfinished.json";

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
  /** Removes the mark, if it is still this one. */
  release(): Promise<void>;
  /** Ends the right, and leaves the mark: the prefix has files of a build that has failed. */
  abandon(): void;
}

/**
 * Whether a prefix has only what a build has left that failed, or whose process has ended on this machine. Such files
 * may be deleted.
 */
export async function isAbandoned(storage: Storage): Promise<boolean> {
  const mark = await readMark(storage);
  return mark !== undefined && stateOfBuild(mark) === "ended";
}

/**
 * Marks a prefix as being written to. The mark of a build that has ended is replaced.
 *
 * @param options.replace whether the mark of a process of another machine, of which is not known whether it runs, may
 *   be replaced. Should that process run, its build fails.
 * @throws {UsageError} where another build writes to the prefix.
 */
export async function claimPrefix(
  storage: Storage,
  { replace }: { readonly replace: boolean },
): Promise<BuildClaim> {
  const mark: Mark = { ...thisProcess(), id: randomUUID() };
  const earlier = await readMark(storage);
  if (earlier !== undefined) {
    const state = stateOfBuild(earlier);
    if (state === "running" || (state === "unknown" && !replace)) throw inUse(storage, earlier, state);
    await storage.delete(BUILD_MARK);
  }
  // Before others can read the mark: one of this process that is not in RUNNING is of a build that has ended.
  RUNNING.add(mark.id);
  let isPut = false;
  try {
    isPut = await storage.putIfAbsent(BUILD_MARK, `${JSON.stringify(mark)}\n`);
  } finally {
    if (!isPut) RUNNING.delete(mark.id);
  }
  if (!isPut) throw inUse(storage, await readMark(storage), "running");
  return {
    hasLeftovers: earlier !== undefined,
    async confirm() {
      const now = await readMark(storage);
      if (now?.id !== mark.id) throw inUse(storage, now, "running");
    },
    async release() {
      // Another process may have taken the prefix over.
      if ((await readMark(storage))?.id === mark.id) await storage.delete(BUILD_MARK);
    },
    abandon: () => void RUNNING.delete(mark.id),
  };
}

/**
 * The mark of a prefix. One that cannot be parsed, which only another program can have written, has an unknown owner.
 */
async function readMark(storage: Storage): Promise<Mark | undefined> {
  const text = await storage.readText(BUILD_MARK);
  if (text === undefined) return undefined;
  try {
    return markShape.parse(JSON.parse(text));
  } catch {
    return { host: "an unknown machine", pid: 0, id: "" };
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
