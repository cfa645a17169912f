import { randomUUID } from "node:crypto";
import { chmod, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { BarlakeError, UsageError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";

/**
 * Writes a file completely or not at all: under a temporary name in the same folder, then renamed when `write` is done.
 * The old file remains until then, and also if `write` fails. A pipe or a device is written to directly.
 *
 * @throws {UsageError} if there can be no file at this path, or the disk is full.
 */
export async function replaceFile(file: string, write: (path: string) => Promise<void>): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) {
    throw new UsageError(`file ${file}: is a folder`, { hint: "give the name of a file in it" });
  }
  if (found !== undefined && !found.isFile()) return write(file);
  // For a link, its target is replaced, not the link.
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
