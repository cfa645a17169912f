/** How files are to be read. */
export interface ImportOptions {
  /** The file's column name by the lake's column name, for columns whose names differ. */
  readonly map: Readonly<Record<string, string>>;
  /** Unit of the files' volumes. `lots`: the region's lot, 100 shares in CN. @default "shares" */
  readonly volumeUnit: "shares" | "lots";
  /** Whether a minute bar is labelled with the end or the start of its minute. @default "end" */
  readonly barLabel: "end" | "start";
  /** The symbol of all rows, for a single file of bars. @default the symbol of each row, or of the file's name */
  readonly symbol?: string | undefined;
  /** Exchange suffix that is added to symbols without one: with `US`, `AAPL` is `AAPL.US`. @default none */
  readonly exchange?: string | undefined;
  /** Identifies the run in the log, and names the file of its rejects. */
  readonly runId: string;
  /** Ends the import before the next file. Once all files have been read, all of them land. */
  readonly signal?: AbortSignal;
}
