import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { DuckDBInstance } from "../../arrow/duckdb-api.js";
import { BarlakeError } from "../../core/errors.js";
import { deleteEndedFolders, processFolderPrefix } from "../../lease/process-folder.js";
import { explained } from "../file-fault.js";
import { OpenStore, type StoreAccess } from "./store-access.js";

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

/**
 * Makes a folder where it is missing, but not the folders above it: what only reads a lake must not make the folder of
 * one that was moved away.
 *
 * @returns whether the folder exists; false where one above it is missing. @throws the system's error otherwise.
 */
export function makeFolder(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return false;
    if (code === "EEXIST") return true;
    throw error;
  }
}

export interface Database {
  readonly instance: DuckDBInstance;
  readonly isInMemory: boolean;
  /** The folder of spilled data. The owner deletes it. */
  readonly spillFolder: string;
  readonly stores: readonly OpenStore[];
  isClosed: boolean;
  /** Whether an error inside of DuckDB has ended it: each further statement fails. */
  isBroken: boolean;
}

/** @throws {BarlakeError} where its file could not be read or written, or where the store cannot be read. */
export async function openDatabase(options: SessionOptions): Promise<Database> {
  const { spillUnder } = options;
  const spillFolder =
    spillUnder !== undefined && makeFolder(spillUnder)
      ? join(spillUnder, `spill-${randomUUID()}`)
      : temporarySpillFolder();
  const instance = await createInstance(options.path ?? ":memory:", {
    threads: String(options.threads ?? availableParallelism()),
    memory_limit: options.memoryLimit ?? "4GB",
    temp_directory: spillFolder,
    autoinstall_known_extensions: "false",
    ...(options.readOnly ? { access_mode: "READ_ONLY" } : {}),
  });
  const stores: OpenStore[] = [];
  const isInMemory = options.path === undefined;
  const database = { instance, isInMemory, spillFolder, stores, isClosed: false, isBroken: false };
  try {
    for (const access of options.stores ?? [])
      stores.push(await OpenStore.open(await instance.connect(), access, `barlake_store_${stores.length}`));
    return database;
  } catch (error) {
    closeDatabase(database);
    throw error;
  }
}

const SEARCHED = new Set<string>();

/**
 * A folder of the system's temporary files, for a session without a lake's folder. What killed processes spilled there is
 * deleted first; in a lake's folder, a vacuum does that.
 */
function temporarySpillFolder(): string {
  const place = tmpdir();
  if (!SEARCHED.has(place)) deleteEndedFolders(place, "spill");
  SEARCHED.add(place);
  return join(place, `${processFolderPrefix("spill")}${randomUUID().replaceAll("-", "")}`);
}

export function closeDatabase(database: Database): void {
  database.isClosed = true;
  for (const store of database.stores) store.close();
  database.instance.closeSync();
  rmSync(database.spillFolder, { recursive: true, force: true });
}

async function createInstance(path: string, config: Record<string, string>): Promise<DuckDBInstance> {
  try {
    return await DuckDBInstance.create(path, config);
  } catch (cause) {
    const { message, hint } = explained(cause);
    throw new BarlakeError(message, { hint, cause });
  }
}

/** Another connection to a database, in UTC. */
export async function connect({ instance }: Database): Promise<DuckDBConnection> {
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    return connection;
  } catch (error) {
    connection.closeSync();
    throw error;
  }
}
