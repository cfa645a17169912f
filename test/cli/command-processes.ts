import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("command-worker.mjs", import.meta.url));

/** What came of a command. */
export interface CliResult {
  /** Null where a signal ended the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One command for a process that runs many. */
export interface CommandOrder {
  readonly parameters: readonly string[];
  readonly cwd: string | undefined;
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
}

/** Processes that wait for a command. */
const idle: ChildProcess[] = [];

/**
 * Runs a command in a process that waits for one, or in a new one where all are busy.
 *
 * @throws where the process ends before the command does.
 */
export async function performCommand(order: CommandOrder): Promise<CliResult> {
  const child = idle.pop() ?? (await start());
  const mark = `\u0000end of ${randomUUID()}\n`;
  const output = [textBefore(child.stdout, mark), textBefore(child.stderr, mark)];
  const ended = new Promise<number | null>((resolve, reject) => {
    const onMessage = ({ code }: { code: number | null }): void => {
      child.off("exit", onExit);
      resolve(code);
    };
    const onExit = (code: number | null, signal: string | null): void => {
      child.off("message", onMessage);
      reject(new Error(`the process of barlake ${order.parameters.join(" ")} ended: ${code ?? signal}`));
    };
    child.once("message", onMessage);
    child.once("exit", onExit);
  });
  child.send({ ...order, mark });
  const code = await ended;
  const [stdout = "", stderr = ""] = await Promise.all(output);
  idle.push(child);
  return { code, stdout, stderr };
}

async function start(): Promise<ChildProcess> {
  const child = fork(WORKER, { execArgv: [], stdio: ["ignore", "pipe", "pipe", "ipc"] });
  let printed = "";
  const take = (piece: Buffer): unknown => (printed += piece.toString("utf8"));
  child.stderr?.on("data", take);
  const isReady = new AbortController();
  await Promise.race([
    once(child, "message"),
    once(child, "close", { signal: isReady.signal }).then(([code]) => {
      throw new Error(`the process for commands ended with ${code} before it was ready:\n${printed}`);
    }),
  ]);
  isReady.abort();
  child.stderr?.off("data", take);
  // A process that waits must not keep the test's process alive.
  child.unref();
  child.channel?.unref();
  for (const stream of [child.stdout, child.stderr])
    (stream as unknown as { unref?(): void } | null)?.unref?.();
  return child;
}

/** What a stream gives up to a mark, and nothing of what comes after. */
function textBefore(stream: ChildProcess["stdout"], mark: string): Promise<string> {
  const pieces: Buffer[] = [];
  return new Promise((resolve) => {
    // The mark may come in several pieces, and more may follow it in the same piece.
    let tail = Buffer.alloc(0);
    let length = 0;
    const take = (piece: Buffer): void => {
      pieces.push(piece);
      const recent = Buffer.concat([tail, piece]);
      const at = recent.indexOf(mark);
      length += piece.length;
      tail = recent.subarray(-mark.length);
      if (at < 0) return;
      stream?.off("data", take);
      resolve(Buffer.concat(pieces, length - recent.length + at).toString("utf8"));
    };
    stream?.on("data", take);
  });
}
