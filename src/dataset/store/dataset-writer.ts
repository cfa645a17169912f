import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import type { Block, PanelShape } from "../panel/block.js";
import type { DatasetSpec } from "../spec.js";
import type { DatasetFiles } from "./dataset-files.js";

/** Writes a dataset in one format. */
export interface DatasetWriter {
  /** Takes the next symbols; what it keeps of the block it copies. */
  write(block: Block): Promise<void>;
  /** Writes what needs all symbols. */
  finish(): Promise<void>;
  /** Lets go of what it holds, finished or not. */
  close?(): Promise<void>;
}

/** What a writer works with. */
export interface WriterPlace {
  readonly spec: DatasetSpec;
  readonly shape: PanelShape;
  /** Zone in which times are told where a format has none of its own. */
  readonly zone: string;
  readonly files: DatasetFiles;
  /** With the lake's views: another connection than the one that the blocks come from. */
  readonly session: Session;
  readonly lake: Lake;
  /** Folder for what is only needed meanwhile. */
  readonly scratch: string;
  /** Takes note of what users should know. */
  readonly warn: (text: string) => void;
}
