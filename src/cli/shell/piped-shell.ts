import { createInterface } from "node:readline";
import { EntryReader } from "./entries.js";
import { runEntry } from "./run-entry.js";
import type { ShellSession } from "./shell-session.js";

/** Runs the entries of standard input, without prompts, until one fails. @throws {BarlakeError} the failure. */
export async function runPiped(shell: ShellSession, signal: AbortSignal): Promise<void> {
  const entries = new EntryReader();
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY, signal });
  try {
    for await (const line of lines)
      for (const entry of entries.take(line)) if (!(await runEntry(shell, entry))) return;
    for (const entry of entries.end()) await runEntry(shell, entry);
  } finally {
    lines.close();
  }
}
