import { vi } from "vitest";
import { type Cli, CliCommand } from "../../../../src/cli/cli.js";

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
  const program = new CliCommand();
  add({ program, settings: [], signal, load: async () => undefined });
  let result: Omit<CommandResult, "stdout">;
  try {
    await program.parseAsync([...args], { from: "user" });
    result = { code: program.exit.code };
  } catch (error) {
    result = { code: undefined, error };
  }
  return { ...result, stdout: written.mock.calls.map(([text]) => text).join("") };
}
