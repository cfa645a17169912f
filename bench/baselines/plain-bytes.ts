import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** A request whose response is served again. */
export interface PlainOrder {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A server that does nothing: it has one body in memory, and sends it to every client. */
export interface PlainBytes {
  readonly url: string;
  close(): void;
}

/** Starts a server, in a separate process, of the body that a request gets now. */
export async function startPlainBytes(order: PlainOrder): Promise<PlainBytes> {
  const child = fork(fileURLToPath(new URL("plain-bytes-process.ts", import.meta.url)));
  const started = new Promise<string>((resolve, reject) => {
    child.once("message", (url) => resolve(url as string));
    child.once("exit", (code, signal) => reject(new Error(`plain server ended with ${signal ?? code}`)));
  });
  child.send(order);
  return { url: await started, close: () => child.disconnect() };
}
