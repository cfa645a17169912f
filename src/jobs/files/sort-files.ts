import { messageOf } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { FoundFile, ReadContent } from "./file-source.js";
import type { OpenPipeline } from "./files-pipeline.js";
import { isSame } from "./land-files.js";

/** A file that is to land. */
export interface WaitingFile {
  readonly file: FoundFile;
  readonly sha256: string;
  readonly state: "new" | "changed";
  /** The content, where it is still there from when it was hashed. */
  readonly content: ReadContent | undefined;
}

/** A file with the same content and meaning as another one. */
export interface CopiedFile {
  readonly file: FoundFile;
  readonly sha256: string;
  readonly of: string;
}

/** The files of a folder, by what a run has to do with them; each list in the order of their names. */
export interface SortedFiles {
  readonly waiting: readonly WaitingFile[];
  /** Copies of files that have landed. */
  readonly copies: readonly CopiedFile[];
  /** Copies of files that are waiting. */
  readonly twins: readonly CopiedFile[];
  /** Names of files that have landed, and have not changed. */
  readonly unchanged: readonly string[];
  /** Files that cannot be read, and why. */
  readonly unreadable: readonly { readonly file: FoundFile; readonly reason: string }[];
  /** Names of files that were changed or went while they were read. */
  readonly left: readonly string[];
}

/** Reads the files whose content is not known, and compares all with what had landed before. */
export async function sortFiles(
  { files, source, landed, seen }: OpenPipeline,
  options: {
    readonly clock: Pick<Clock, "now">;
    readonly signal: AbortSignal;
    /** Most bytes of copies of contents that are kept for the landing. */
    readonly keptBytes: number;
  },
): Promise<SortedFiles> {
  const { clock, signal, keptBytes } = options;
  const waiting: WaitingFile[] = [];
  const [copies, twins]: [CopiedFile[], CopiedFile[]] = [[], []];
  const unreadable: { file: FoundFile; reason: string }[] = [];
  const [unchanged, left]: [string[], string[]] = [[], []];
  const firsts = new Map<string, string>();
  let kept = 0;
  for (const file of files) {
    signal.throwIfAborted();
    const { name } = file;
    const at = clock.now();
    let sha256 = seen.hashOf(file, at);
    let content: ReadContent | undefined;
    if (sha256 === undefined) {
      const read = await readUnchanged(source, file, signal).catch((error: unknown): string => {
        signal.throwIfAborted();
        return `cannot be read (${messageOf(error)})`;
      });
      if (typeof read === "string") unreadable.push({ file, reason: read });
      else if (read === undefined) left.push(name);
      if (typeof read !== "object") continue;
      content = read;
      sha256 = read.sha256;
      seen.note(file, sha256, at);
    }
    const state = landed.stateOf(name, sha256);
    const meaning = landed.meaningOf(name, sha256);
    const first = firsts.get(meaning);
    if (state === "landed") unchanged.push(name);
    else if (state === "copy") copies.push({ file, sha256, of: landed.twinOf(name, sha256) ?? "" });
    else if (state === "new" && first !== undefined) twins.push({ file, sha256, of: first });
    else {
      kept += file.size;
      waiting.push({ file, sha256, state, content: kept <= keptBytes ? content : undefined });
      firsts.set(meaning, name);
      if (kept <= keptBytes) content = undefined;
    }
    await content?.release();
  }
  return { waiting, copies, twins, unchanged, unreadable, left };
}

/** Reads a file. @returns undefined where it was changed, or went, in the meantime. */
export async function readUnchanged(
  source: OpenPipeline["source"],
  file: FoundFile,
  signal: AbortSignal,
): Promise<ReadContent | undefined> {
  const content = await source.read(file.name, signal);
  if (content === undefined) return undefined;
  if (isSame(file, await source.find(file.name))) return content;
  await content.release();
  return undefined;
}
