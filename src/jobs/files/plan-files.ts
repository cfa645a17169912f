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

/** A file that a run has refused: nothing of it landed. */
export interface RefusedFileReport {
  /** Relative to the pipeline's folder. */
  readonly file: string;
  readonly reason: string;
  /** Whether an earlier run has refused it, too. */
  readonly isKnown: boolean;
}

/** What a run of a pipeline of files did with the files of its folder, by their names. */
export interface FilesReport {
  /** Where they are: a folder, or `s3://bucket/prefix`. */
  readonly from: string;
  /** Number of files that the pattern means. */
  readonly listed: number;
  /** Number of files that have landed before, and have not changed. */
  readonly unchanged: number;
  readonly landed: readonly {
    readonly file: string;
    readonly state: Exclude<PlannedFile["state"], "refused">;
  }[];
  /** Files with the content of another file that has landed; they are not read again. */
  readonly copies: readonly { readonly file: string; readonly of: string }[];
  /** Named by each run until they are changed or gone. */
  readonly refused: readonly RefusedFileReport[];
  /** Files that were changed, or went, while they were read: the next run reads them. */
  readonly leftToNextRun: readonly string[];
  /** Sentences about what may be wrong in files that landed, with the number of these files and one of them. */
  readonly remarks: readonly { readonly remark: string; readonly files: number; readonly example: string }[];
}

/** The remarks about files by what they say. @param remarks each begins with the path of its file. */
export function groupRemarks(remarks: readonly string[], root: string): FilesReport["remarks"] {
  const groups = new Map<string, { files: number; example: string }>();
  for (const text of remarks) {
    const at = text.indexOf(": ");
    const [path, remark] = [text.slice(0, at), text.slice(at + 2)];
    const group = groups.get(remark);
    if (group === undefined) groups.set(remark, { files: 1, example: path.replace(`${root}/`, "") });
    else group.files += 1;
  }
  return [...groups].map(([remark, group]) => ({ remark, ...group }));
}
