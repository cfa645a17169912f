import type { PlannedFile } from "./plan-files.js";

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
