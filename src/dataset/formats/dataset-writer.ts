import pMap from "p-map";
import { UsageError } from "../../core/errors.js";
import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Block, PanelShape } from "../panel/block.js";
import type { DatasetSpec } from "../spec.js";
import type { DatasetFiles } from "../store/dataset-files.js";

export interface DatasetWriter {
  /** Writes the next symbols; it must copy any part of the block that it still needs afterwards. */
  write(block: Block): Promise<void>;
  finish(): Promise<void>;
  close?(): Promise<void>;
}

export interface WriterPlace {
  readonly spec: DatasetSpec;
  readonly shape: PanelShape;
  /** Time zone of the times, where a format does not define one. */
  readonly zone: string;
  readonly files: DatasetFiles;
  /**
   * The last label of each symbol in an earlier dataset whose files get more cells; -1: it lacks the symbol. Undefined
   * where all cells are written.
   */
  readonly continued?: Int32Array | undefined;
  /** A session with the lake's views, on another connection than the blocks. */
  readonly session: Session;
  readonly lake: Lake;
  /** Most memory that a database of DuckDB may use, in DuckDB's notation. */
  readonly memoryLimit: string;
  /** Ends the build: long statements are interrupted. */
  readonly signal: AbortSignal | undefined;
  readonly scratch: string;
  readonly warn: (text: string) => void;
}

/**
 * Writes files, some at a time. An error is thrown when the files that were begun are done, so that nothing appears in
 * a folder that is being deleted.
 */
export async function sideBySide<T>(
  files: Iterable<T>,
  concurrency: number,
  write: (file: T) => Promise<void>,
): Promise<void> {
  let failed: { readonly error: unknown } | undefined;
  await pMap(
    files,
    async (file) => {
      if (failed !== undefined) return;
      await write(file).catch((error: unknown) => {
        failed ??= { error };
      });
    },
    { concurrency },
  );
  if (failed !== undefined) throw failed.error;
}

/**
 * Refuses names that a format does not distinguish: their files would replace each other. @param subject the dataset,
 * and what the names are of. @param reason what makes them equal: `qlib, which reads names in lower case`. @throws
 * {UsageError} that names the first two.
 */
export function refuseEqualNames(
  subject: string,
  names: readonly string[],
  nameOf: (name: string) => string,
  reason: string,
): void {
  const first = new Map<string, string>();
  for (const name of names) {
    const other = first.get(nameOf(name));
    if (other !== undefined)
      throw new UsageError(`${subject}: ${other} and ${name} are one to ${reason}`, {
        hint: "leave one of them out",
      });
    first.set(nameOf(name), name);
  }
}
