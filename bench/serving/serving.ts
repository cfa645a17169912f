import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type ServingCommand = "peak";

export type ServingMessage =
  | { readonly kind: "ready"; readonly url: string }
  | { readonly kind: "peak"; readonly bytes: number };

/** A service in a separate process. */
export interface Serving {
  readonly url: string;
  /** The peak resident set of its process, in bytes. */
  peak(): Promise<number>;
  close(): Promise<void>;
}

/**
 * Starts a service over a lake: barlake's at a time, the same and warmed up when it is ready, barlake's as a replay from
 * that time on, or the plain one.
 *
 * @param segments the folder of its segments. @default none are used
 */
export async function startServing(
  kind: "barlake" | "warm" | "replay" | "plain",
  folder: string,
  apiKey: string,
  now: number,
  segments = "off",
): Promise<Serving> {
  const script = fileURLToPath(new URL("serving-process.ts", import.meta.url));
  const env = { ...process.env, BARLAKE_SEGMENTS: segments };
  const child = fork(script, [kind, folder, apiKey, String(now)], { env });
  const ready = await nextMessage(child);
  if (ready.kind !== "ready") throw new TypeError(`service process answered ${ready.kind}, not ready`);
  return {
    url: ready.url,
    async peak() {
      const message = nextMessage(child);
      child.send("peak" satisfies ServingCommand);
      const response = await message;
      return response.kind === "peak" ? response.bytes : Number.NaN;
    },
    async close() {
      const gone = once(child, "exit");
      child.disconnect();
      await gone;
    },
  };
}

/** @throws {Error} if the process has ended. */
async function nextMessage(child: ChildProcess): Promise<ServingMessage> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null, signal: string | null): void =>
      reject(new Error(`service process ended with ${signal ?? code}`));
    child.once("exit", gone);
    child.once("message", (message) => {
      child.off("exit", gone);
      resolve(message as ServingMessage);
    });
  });
}
