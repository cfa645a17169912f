import { randomUUID } from "node:crypto";
import { chmod, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { BarlakeError, UsageError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";

/**
 * Writes a file whole or not at all: beside its place, and put there by a rename once `write` is done. What was there
 * before stays until then, and where `write` fails. A pipe or a device is written to as it is.
 *
 * @throws {UsageError} where the place cannot be a file's, or the disk takes no more.
 */
export async function writeBeside(file: string, write: (path: string) => Promise<void>): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) {
    throw new UsageError(`file ${file}: is a folder`, { hint: "give the name of a file in it" });
  }
  if (found !== undefined && !found.isFile()) return write(file);
  // Through a link, what it leads to is replaced, and not the link.
  const place = found === undefined ? resolve(file) : await realpath(file);
  const folder = await stat(dirname(place)).catch(() => undefined);
  if (!folder?.isDirectory()) {
    throw new UsageError(`file ${file}: there is no folder ${dirname(place)}`, { hint: "make it first" });
  }
  const draft = join(dirname(place), `.${basename(place)}.${randomUUID()}`);
  try {
    await write(draft);
    if (found !== undefined) await chmod(draft, found.mode);
    await rename(draft, place);
  } catch (cause) {
    const fault = cause instanceof BarlakeError ? undefined : writeFaultOf(cause, file);
    if (fault === undefined) throw cause;
    throw new UsageError(fault.message, { hint: fault.hint, cause });
  } finally {
    await rm(draft, { force: true });
  }
}
