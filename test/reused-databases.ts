import { createRequire } from "node:module";
import type * as api from "@duckdb/node-api";

type Instance = api.DuckDBInstance;
type Connection = api.DuckDBConnection;

// The module that `src` loads: an import would be another copy of its classes.
const { DuckDBConnection, DuckDBInstance }: typeof api = createRequire(import.meta.url)("@duckdb/node-api");

/** The beginning of a statement, or of a line, that may change more than the tables of a database. */
const LASTING =
  /(?:^|;|\*\/)\s*(?:set|reset|call|load|install|force|pragma|create\b.*\bsecret|attach|detach|use|export|import)\b/im;
/** Settings of a database that `EMPTIED` resets. */
const RESET = [
  "preserve_insertion_order",
  "enable_external_file_cache",
  "parquet_metadata_cache",
  "dynamic_or_filter_threshold",
];
/** Such statements that `EMPTIED` undoes, or that end with the connection or the statements after them. */
const HARMLESS = new RegExp(
  `^(?:${[
    `SET (?:GLOBAL )?(?:${RESET.join("|")}) = \\w+`,
    "SET (?:TimeZone|streaming_buffer_size|enable_progress_bar|enable_progress_bar_print) = [\\w']+",
    "CALL (?:enable_logging\\('FileSystem'\\)|truncate_duckdb_logs\\(\\))",
    "ATTACH '[^']+' AS view_template \\(READ_ONLY\\)",
    "DETACH view_template",
  ].join("|")})$`,
);

/** Replaces a database in memory with an empty one. */
const EMPTIED = `CALL disable_logging(); CALL truncate_duckdb_logs();
  SET enable_external_file_cache = false; ${RESET.map((name) => `RESET GLOBAL ${name}`).join("; ")};
  ATTACH ':memory:' AS emptied; USE emptied; DETACH memory;
  ATTACH ':memory:' AS memory; USE memory; DETACH emptied`;

/** An open database in memory. */
interface Opened {
  readonly instance: Instance;
  /** Its settings, without the folder in which it spills. */
  readonly settings: string;
  connections: number;
  /** Whether a statement may have changed more than its tables. */
  isChanged: boolean;
}

const databases = new WeakMap<Instance, Opened>();
const users = new WeakMap<Connection, Opened>();
/** Most databases that wait for a session: tests seldom have more at a time. */
const MOST_IDLE = 8;
/** Databases that are not in use. */
const idle: Opened[] = [];

let isInstalled = false;

/**
 * Lets the sessions of a test process use databases in memory one after another: to open one takes several times the
 * processor time of emptying one, because DuckDB makes its catalog of functions. A database is used again only where
 * all its connections are closed, and no statement has changed what {@link EMPTIED} leaves as it is.
 */
export function reuseDatabases(): void {
  if (isInstalled) return;
  isInstalled = true;
  const create = DuckDBInstance.create.bind(DuckDBInstance);
  const { prototype: ofInstance } = DuckDBInstance;
  const { prototype: ofConnection } = DuckDBConnection;
  const connect = methodOf(ofInstance, "connect");
  const closeSync = methodOf(ofInstance, "closeSync");
  const disconnectSync = methodOf(ofConnection, "disconnectSync");

  DuckDBInstance.create = async function (path, { temp_directory, ...options } = {}) {
    const settings =
      path === ":memory:" && temp_directory !== undefined ? JSON.stringify(options) : undefined;
    const at = idle.findIndex((one) => one.settings === settings);
    const [reused] = at < 0 ? [] : idle.splice(at, 1);
    if (reused !== undefined && (await empty(reused, temp_directory as string))) return reused.instance;
    const instance = await create(
      path,
      temp_directory === undefined ? options : { temp_directory, ...options },
    );
    if (settings !== undefined)
      databases.set(instance, { instance, settings, connections: 0, isChanged: false });
    return instance;
  };
  ofInstance.connect = async function () {
    const database = databases.get(this);
    if (database !== undefined && idle.includes(database)) throw new Error("the database is closed");
    const connection = await connect.call(this);
    if (database !== undefined) {
      database.connections += 1;
      users.set(connection, database);
    }
    return connection;
  };
  ofInstance.closeSync = function () {
    const database = databases.get(this);
    if (database !== undefined && idle.includes(database)) return;
    databases.delete(this);
    if (database === undefined || database.isChanged || database.connections > 0 || idle.length >= MOST_IDLE)
      closeSync.call(this);
    else {
      databases.set(this, database);
      idle.push(database);
    }
  };
  ofConnection.disconnectSync = function () {
    const database = users.get(this);
    if (database !== undefined && users.delete(this)) database.connections -= 1;
    disconnectSync.call(this);
  };
  for (const method of ["run", "runAndReadAll", "stream", "prepare", "extractStatements"] as const) {
    const original = methodOf(ofConnection, method) as (sql: string, ...rest: unknown[]) => Promise<never>;
    ofConnection[method] = function (this: Connection, sql: string, ...rest: unknown[]) {
      const database = users.get(this);
      if (database !== undefined && LASTING.test(sql) && !HARMLESS.test(sql)) database.isChanged = true;
      return original.call(this, sql, ...rest);
    };
  }

  /** @returns whether the database is empty, and spills into the folder. */
  async function empty({ instance }: Opened, spillFolder: string): Promise<boolean> {
    const connection = await connect.call(instance);
    try {
      await connection.run(EMPTIED);
      await connection.run(`SET temp_directory = '${spillFolder.replaceAll("'", "''")}'`);
      return true;
    } catch {
      // It has spilled, and can spill nowhere else.
      closeSync.call(instance);
      return false;
    } finally {
      connection.closeSync();
    }
  }
}

/** A method as a function that is called with the object. */
function methodOf<T extends object, K extends keyof T>(prototype: T, name: K): T[K] {
  return prototype[name];
}
