import { LakeError } from "../../../core/errors.js";
import type { TimeRange } from "../../../core/time.js";
import { statedBounds, statedTimes } from "../../files/prune.js";
import { damageOf, type FileDamage } from "../../files/verify/verify-content.js";
import type { Lake } from "../../lake.js";
import type { DataFile, Snapshot } from "../../log/snapshot.js";
import { isStoreFault, STORE_HINT } from "../../storage/store-fault.js";

/** A live file that is missing or damaged, and what the log says about its content. */
export interface LostFile extends Pick<FileDamage, "kind" | "what"> {
  readonly file: DataFile;
  /** Undefined where the log has no count, as for some files of other programs. */
  readonly rows: number | undefined;
  /** The least and the greatest symbol. */
  readonly symbols: { readonly first: string; readonly last: string } | undefined;
  /** From the first timestamp to one millisecond after the last; epoch milliseconds. */
  readonly range: TimeRange | undefined;
}

/**
 * Reads every live file of a table, and returns those that are missing or damaged.
 *
 * @param options.signal ends it, also within a file; its reason is thrown.
 * @param options.onProgress is called before each file is read.
 */
export async function lostFiles(
  lake: Lake,
  snapshot: Snapshot,
  {
    signal,
    onProgress,
  }: {
    readonly signal?: AbortSignal | undefined;
    readonly onProgress?:
      | ((progress: { table: string; file: string; done: number; total: number }) => void)
      | undefined;
  } = {},
): Promise<LostFile[]> {
  const lost: LostFile[] = [];
  const table = snapshot.table.name;
  for (const [done, file] of [...snapshot.files.values()].entries()) {
    onProgress?.({ table, file: file.path, done, total: snapshot.files.size });
    signal?.throwIfAborted();
    const damage = await damageOf(lake, snapshot, file, signal);
    // The file may be sound: permissions or a missing mount may prevent this process from reading it.
    if (damage?.kind === "unreadable")
      throw new LakeError(`table ${table}: ${file.path} ${damage.what}; the table was not changed`, {
        hint: isStoreFault(damage.cause)
          ? STORE_HINT
          : "make the file readable for this user, then repair again",
        cause: damage.cause,
      });
    // A file that was replaced and vacuumed since the log was read is not lost.
    if (damage === undefined || !(await lake.snapshot(snapshot.table)).files.has(file.path)) continue;
    lost.push({ kind: damage.kind, what: damage.what, file, ...contentByLog(file) });
  }
  return lost;
}

function contentByLog(file: DataFile): Pick<LostFile, "rows" | "symbols" | "range"> {
  const symbols = statedBounds(file, "symbol");
  return {
    rows: file.stats?.numRecords,
    symbols: symbols && { first: symbols.min, last: symbols.max },
    range: statedTimes(file, "timestamp"),
  };
}
