import type { IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";

/** The server's end of a WebSocket, whose client takes messages only while the test lets it. */
export class HeldSocket extends Duplex {
  /** Called with each text that the service writes, when it writes it. */
  onText: (text: string) => void = () => {};
  #isHeld = false;
  #taken: (() => void)[] = [];

  /** The client takes nothing more. */
  hold(): void {
    this.#isHeld = true;
  }

  /** The client takes what was written, and what comes. */
  takeAll(): void {
    this.#isHeld = false;
    for (const taken of this.#taken.splice(0)) taken();
  }

  /** A message of the client: one text frame, masked with zeros (RFC 6455). */
  say(message: unknown): void {
    const payload = Buffer.from(JSON.stringify(message));
    const head = Buffer.alloc(payload.length < 126 ? 6 : 8);
    head[0] = 0x81;
    head[1] = 0x80 | Math.min(126, payload.length);
    if (payload.length >= 126) head.writeUInt16BE(payload.length, 2);
    this.push(Buffer.concat([head, payload]));
  }

  override write(chunk: unknown, ...rest: unknown[]): boolean {
    const text = String(chunk);
    if (text.startsWith("{")) this.onText(text);
    return (super.write as (...all: unknown[]) => boolean).call(this, chunk, ...rest);
  }

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    if (this.#isHeld) this.#taken.push(done);
    else done();
  }

  override _read(): void {}
}

/** Opens a WebSocket over a socket of a test. */
export function openHeld(socket: HeldSocket): Promise<WebSocket> {
  const server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false });
  const headers = {
    upgrade: "websocket",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "sec-websocket-version": "13",
  };
  const request = { method: "GET", headers } as unknown as IncomingMessage;
  return new Promise((resolve) => server.handleUpgrade(request, socket, Buffer.alloc(0), resolve));
}
