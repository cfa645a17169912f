import { partitionValue } from "../../db/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import type { DataFile } from "../log/snapshot.js";

/**
 * Whether a file lies in exactly the folders that say its partition values by the log, as `region=CN/year=2026/`. The
 * protocol asks nobody to put a file there: the log alone says a file's partition values.
 */
export function isInItsFolder(
  { partition }: TableSchema,
  { path, partitionValues }: Pick<DataFile, "path" | "partitionValues">,
): boolean {
  const folders = path.split("/").slice(0, -1);
  if (folders.length !== partition.length) return false;
  return partition.every((name, index) => {
    const [folder = "", value = null] = [folders[index], partitionValues[name]];
    if (folder === `${name}=${value}` && !folder.includes("%")) return true;
    if (!folder.startsWith(`${name}=`)) return false;
    try {
      return partitionValue(folder, name) === (value === "" ? null : value);
    } catch {
      // A folder's name that is no URL encoding.
      return false;
    }
  });
}
