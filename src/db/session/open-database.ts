import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { DuckDBInstance } from "../../arrow/duckdb-api.js";
import { BarlakeError } from "../../core/errors.js";
import { deleteEndedFolders, processFolderPrefix } from "../../lease/process-folder.js";
import { explained } from "../file-fault.js";
import { makeFolder } from "./make-folder.js";
import type { SessionOptions } from "./session-options.js";
import { OpenStore } from "./store-access.js";

/** An open database, shared by a session and its siblings. */
export interface Database {
  readonly instance: DuckDBInstance;
  readonly isInMemory: boolean;
  /** The folder of spilled data. The owner deletes it. */
  readonly spillFolder: string;
  /** Its access to object stores. */
  readonly stores: readonly OpenStore[];
  isClosed: boolean;
  /** Whether an error inside of DuckDB has ended it: each further statement fails. */
  isBroken: boolean;
}

/**
 * Opens a database.
 *
 * @throws {BarlakeError} where its file could not be read or written, or where the store cannot be read.
 */
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

/** The folders in which this process has looked for spilled data of killed processes. */
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

/** Closes a database, and deletes what it has spilled. */
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
