import type { StoreAccess } from "./store-access.js";

/** How a session is opened. */
export interface SessionOptions {
  /** Database file. @default an in-memory database */
  readonly path?: string;
  /** Opens the file read-only. @default false */
  readonly readOnly?: boolean;
  /** Memory that DuckDB may use before it spills to disk, in DuckDB's notation. @default "4GB" */
  readonly memoryLimit?: string;
  /**
   * The folder in which the session creates its own spill folder, deleted on close. It is made where it is missing,
   * but not the folders above it.
   * @default the system's temp folder, also where the folder above it is missing
   */
  readonly spillUnder?: string;
  /** @default the machine's cores */
  readonly threads?: number;
  /** The object stores that the session reads from. @default none: it reads files of this machine */
  readonly stores?: readonly StoreAccess[];
}
