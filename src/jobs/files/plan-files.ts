import { messageOf } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { type FilesPipeline, openPipeline } from "./files-pipeline.js";

/** A file that the next run of a pipeline would read. */
export interface PlannedFile {
  /** Relative to the pipeline's folder. */
  readonly file: string;
  readonly size: number;
  /** `refused`: the last run has refused it, and reads it again. */
  readonly state: "new" | "changed" | "refused";
  /** Why it was refused. */
  readonly reason?: string;
}

/** What the next run of a pipeline would read, in this order. */
export interface FilesPlan {
  readonly files: readonly PlannedFile[];
  /** Number of files that have landed, and have not changed. */
  readonly unchanged: number;
}

/**
 * Plans a run of a pipeline of files. Nothing is written, and of the files only those are read whose content has to be
 * compared with what has landed.
 *
 * @throws {UsageError} where the folder cannot be listed, or the plan cannot be read.
 */
export async function planFiles(
  pipeline: FilesPipeline,
  { lake, clock, signal = new AbortController().signal }: FilesPlace,
): Promise<FilesPlan> {
  using session = await Session.open(lake.access);
  await using open = await openPipeline(pipeline, lake, session);
  const planned: PlannedFile[] = [];
  let unchanged = 0;
  for (const file of open.files) {
    signal.throwIfAborted();
    const { name, size } = file;
    const refusal = open.refused.get(name);
    const before = refusal === undefined ? {} : { reason: refusal.reason };
    if (open.landed.contentOf(name) === undefined && refusal !== undefined) {
      planned.push({ file: name, size, state: "refused", ...before });
      continue;
    }
    const known = open.seen.hashOf(file, clock.now());
    if (known === undefined && open.source.hasTags && open.landed.contentOf(name) === undefined) {
      // A store would have to send its content, only to find that it may be a copy.
      planned.push({ file: name, size, state: "new" });
      continue;
    }
    const sha256 = known ?? (await hashOf(open, name, signal).catch((error: unknown) => ({ error })));
    if (sha256 === undefined) continue;
    if (typeof sha256 === "object") {
      planned.push({ file: name, size, state: "refused", reason: messageOf(sha256.error) });
      continue;
    }
    const state = open.landed.stateOf(name, sha256);
    if (state === "landed" || state === "copy") unchanged += 1;
    else planned.push({ file: name, size, state: refusal === undefined ? state : "refused", ...before });
  }
  return { files: planned, unchanged };
}

/** Where a plan is made. */
export interface FilesPlace {
  readonly lake: Lake;
  readonly clock: Pick<Clock, "now">;
  readonly signal?: AbortSignal | undefined;
}

async function hashOf(
  { source }: Awaited<ReturnType<typeof openPipeline>>,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const content = await source.read(name, signal);
  await content?.release();
  return content?.sha256;
}
