import { WebSocket } from "ws";

/** A message of the service. */
export interface StreamMessage {
  readonly op: string;
  readonly channel?: string;
  readonly total?: number;
  readonly message?: string;
  readonly data?: readonly Quote[];
}

interface Quote {
  readonly symbol: string;
  readonly last_price: number;
  readonly timestamp: number;
}

/** A client of the stream. */
export interface StreamClient {
  readonly socket: WebSocket;
  send(message: unknown): void;
  /** The next message that was not taken yet. @throws {Error} where the connection is closed without one. */
  next(): Promise<StreamMessage>;
  /** The code and reason with which the connection ended. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

/** Opens a stream. @throws {Error} where the service refuses it. */
export async function openStream(
  url: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<StreamClient> {
  const socket = new WebSocket(url.replace("http", "ws") + path, { headers });
  const messages: StreamMessage[] = [];
  const waiting: { take: (message: StreamMessage) => void; fail: (error: Error) => void }[] = [];
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(data.toString()) as StreamMessage;
    const first = waiting.shift();
    if (first === undefined) messages.push(message);
    else first.take(message);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => {
      for (const { fail } of waiting.splice(0)) fail(new Error(`closed: ${code} ${reason.toString()}`));
      resolve({ code, reason: reason.toString() });
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.on("error", reject);
  });
  return {
    socket,
    send: (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    next: () =>
      new Promise((take, fail) => {
        const first = messages.shift();
        if (first === undefined) waiting.push({ take, fail });
        else take(first);
      }),
    closed,
  };
}
