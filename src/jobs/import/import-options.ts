/** How files are to be read. */
export interface ImportOptions {
  /** Column of the lake -> column of the file, where they differ. */
  readonly map: Readonly<Record<string, string>>;
  /** Unit of the files' volumes. `lots`: the region's lot, 100 shares in CN. @default "shares" */
  readonly volumeUnit: "shares" | "lots";
  /** Whether a minute bar is labelled with the end or the start of its minute. @default "end" */
  readonly barLabel: "end" | "start";
  /** The symbol of all rows, for a single file of bars. @default that of each row, or of the file's name */
  readonly symbol?: string | undefined;
  /** Suffix of an exchange, which completes symbols that have none: `AAPL` is `AAPL.US` with `US`. @default none */
  readonly exchange?: string | undefined;
  /** Identifies the run, for the log; names the file of rejects. */
  readonly runId: string;
  /** Ends the import before its next file. Once all files are read, they land as a whole. */
  readonly signal?: AbortSignal;
}
