import { Command } from "commander";
import { vi } from "vitest";
import type { Cli } from "../../../../src/cli/cli.js";

/** What a command printed, and its exit code, or the error that it threw. */
export interface CommandResult {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly error?: unknown;
}

/** Runs a command in this process, so that it is interrupted, or meets a fault, at a defined point. */
export async function runCommand(
  add: (cli: Cli) => void,
  args: readonly string[],
  signal = new AbortController().signal,
): Promise<CommandResult> {
  using written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const program = new Command();
  let code: number | undefined;
  let failure: { readonly error?: unknown } = {};
  add({
    program,
    settings: [],
    signal,
    load: async () => undefined,
    async action(work) {
      try {
        code = await work();
      } catch (error) {
        failure = { error };
      }
    },
  });
  await program.parseAsync([...args], { from: "user" });
  return { code, stdout: written.mock.calls.map(([text]) => text).join(""), ...failure };
}
