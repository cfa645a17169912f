import type { Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Block, PanelShape } from "../panel/block.js";
import type { DatasetSpec } from "../spec.js";
import type { DatasetFiles } from "../store/files/dataset-files.js";

/** Writes a dataset in one format. */
export interface DatasetWriter {
  /** Writes the next symbols; it must copy any part of the block that it still needs afterwards. */
  write(block: Block): Promise<void>;
  /** Writes the files that need all symbols. */
  finish(): Promise<void>;
  /** Releases its resources, finished or not. */
  close?(): Promise<void>;
}

/** The environment of a writer. */
export interface WriterPlace {
  readonly spec: DatasetSpec;
  readonly shape: PanelShape;
  /** Time zone of the times, where a format does not define one. */
  readonly zone: string;
  readonly files: DatasetFiles;
  /**
   * The last label of each symbol in an earlier dataset whose files get more cells; -1 where it does not have the symbol.
   * Undefined where all cells are written.
   */
  readonly continued?: Int32Array | undefined;
  /** A session with the lake's views, on another connection than the blocks. */
  readonly session: Session;
  readonly lake: Lake;
  /** Most memory that a database of DuckDB may use, in DuckDB's notation. */
  readonly memoryLimit: string;
  /** Ends the build: long statements are interrupted. */
  readonly signal: AbortSignal | undefined;
  /** Folder for temporary files. */
  readonly scratch: string;
  /** Reports a warning to users. */
  readonly warn: (text: string) => void;
}
