import { partitionValue } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import type { DataFile } from "../log/snapshot.js";

/**
 * Whether a file lies in exactly the folders that name its partition values in the log, as `region=CN/year=2026/`. The
 * protocol does not require such folders: only the log defines a file's partition values.
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
      // The folder's name is not a valid URL encoding.
      return false;
    }
  });
}
