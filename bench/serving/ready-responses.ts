import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The requests whose responses are served again. */
export interface ReadyOrder {
  /** The address of the service that responds first. */
  readonly url: string;
  /** Path and query of each request. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

/** A server that computes nothing: it has responses in memory, and sends each one to everybody who requests it. */
export interface ReadyResponses {
  readonly url: string;
  close(): void;
}

/** Starts a server, in a separate process, of the responses that requests get now. Others get the status 404. */
export async function startReadyResponses(order: ReadyOrder): Promise<ReadyResponses> {
  const child = fork(fileURLToPath(new URL("ready-responses-process.ts", import.meta.url)));
  const started = new Promise<string>((resolve, reject) => {
    child.once("message", (url) => resolve(url as string));
    child.once("exit", (code, signal) =>
      reject(new Error(`server of responses ended with ${signal ?? code}`)),
    );
  });
  child.send(order);
  return { url: await started, close: () => child.disconnect() };
}
