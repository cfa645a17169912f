import { join } from "node:path";

/** Name of the table in the file of a result. */
export const RESULT_TABLE = "result";

/** The path of the database that contains a result. */
export function resultFile(folder: string, id: string): string {
  return join(folder, `${id}.duckdb`);
}
