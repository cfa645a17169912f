import pMap from "p-map";

/**
 * Writes files, some at a time. After an error no other file is begun; it is thrown when the files that were begun are
 * done, so that nothing appears in a folder that is being deleted.
 */
export async function sideBySide<T>(
  files: Iterable<T>,
  concurrency: number,
  write: (file: T) => Promise<void>,
): Promise<void> {
  let failed: { readonly error: unknown } | undefined;
  await pMap(
    files,
    async (file) => {
      if (failed !== undefined) return;
      await write(file).catch((error: unknown) => {
        failed ??= { error };
      });
    },
    { concurrency },
  );
  if (failed !== undefined) throw failed.error;
}
