import { DuckDBInstance } from "@duckdb/node-api";
import { BarlakeError } from "../core/errors.js";
import { explained } from "./file-fault.js";

/** Opens a database. @throws {BarlakeError} where its file could not be read or written. */
export async function createInstance(path: string, config: Record<string, string>): Promise<DuckDBInstance> {
  try {
    return await DuckDBInstance.create(path, config);
  } catch (cause) {
    const { message, hint } = explained(cause);
    throw new BarlakeError(message, { hint, cause });
  }
}
