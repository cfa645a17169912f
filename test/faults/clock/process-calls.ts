import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { Session } from "../../../src/db/session/session.js";

/** An asynchronous method. */
type Work = (...parameters: never[]) => Promise<unknown>;

/** Runs before and after a call, which `work` makes. */
export type Around = (
  work: () => Promise<unknown>,
  call: { readonly name: string; readonly parameters: readonly unknown[]; readonly self: unknown },
) => Promise<unknown>;

/** Calls that change files; the others are reads. */
const WRITES = ["mkdir", "open", "rename", "rm", "rmdir", "writeFile", "link"];
const READS = ["access", "chmod", "readFile", "readdir", "realpath", "stat", "statfs", "utimes"];
/** Calls on an open file that are no writes of whole files. */
const FILE_READS = ["read", "stat", "write"];
const STATEMENTS = ["run", "stream", "rows", "json", "preview"];

/** What surrounds each kind of call. @default what surrounds reads */
export interface CallsAround {
  readonly write?: Around;
  readonly wholeFile?: Around;
  readonly statement?: Around;
}

/**
 * Surrounds the file operations and queries of this process. Must be called once, before anything else. DuckDB gets one
 * core: several such processes share the machine.
 */
export async function interceptCalls(read: Around, around: CallsAround = {}): Promise<void> {
  const { write = read, wholeFile = read, statement = read } = around;
  const promises = fs.promises as unknown as Record<string, Work>;
  const file = await fs.promises.open(process.execPath);
  const handle = Object.getPrototypeOf(file) as Record<string, Work>;
  await file.close();
  for (const name of WRITES) intercept(promises, name, write);
  for (const name of READS) intercept(promises, name, read);
  for (const name of FILE_READS) intercept(handle, name, read);
  intercept(handle, "sync", write);
  intercept(handle, "writeFile", wholeFile);
  os.availableParallelism = () => 1;
  syncBuiltinESMExports();
  for (const name of STATEMENTS) intercept(Session.prototype as never, name, statement);
}

/** Surrounds a method. */
export function intercept(target: Record<string, Work>, name: string, around: Around): void {
  const original = target[name] as (...parameters: unknown[]) => Promise<unknown>;
  target[name] = function intercepted(this: unknown, ...parameters: unknown[]) {
    return around(() => original.apply(this, parameters), { name, parameters, self: this });
  };
}
