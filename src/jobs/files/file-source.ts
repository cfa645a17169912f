/** A file in the place that a pipeline reads. */
export interface FoundFile {
  /** Relative to the place, with `/` between its parts. */
  readonly name: string;
  readonly size: number;
  /** Differs after a change of the file: its times and its number on the disk, or the tag of its content in a store. */
  readonly stamp: string;
  /** When it was changed last, in epoch milliseconds by the clock of its place. */
  readonly changedAt: number;
}

/** The content of a file as it was read. */
export interface ReadContent {
  /** In hexadecimal. */
  readonly sha256: string;
  /** The file of this machine that has it; its name without folders is that of the file. */
  readonly path: string;
  /** Deletes a copy that was made for this. */
  release(): Promise<void>;
}

/** A place with files: a folder of this machine, or a prefix of a bucket. */
export interface FileSource extends AsyncDisposable {
  /**
   * Whether the stamp of a file follows from its content, as a tag of a store does. Those of a disk have times, which
   * programs can set and which may be as old as the change before.
   */
  readonly hasTags: boolean;
  /** The place, as reports name it. */
  readonly location: string;
  /** The folder of this machine under which the content of files is read, by their names. */
  readonly root: string;
  /** All files, in any order. @throws {UsageError} where the place cannot be listed. */
  list(): Promise<readonly FoundFile[]>;
  /** The file as it is now; undefined where it is gone. */
  find(name: string): Promise<FoundFile | undefined>;
  /** Reads a file. @returns undefined where it is gone. @throws {Error} where it cannot be read. */
  read(name: string, signal: AbortSignal): Promise<ReadContent | undefined>;
}
