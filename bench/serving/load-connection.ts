import { connect, type Socket } from "node:net";
import { ResponseReader } from "./response-reader.js";

/** A request of a load test. */
export interface LoadRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
}

/** Bytes that one read of the socket returns at most. */
const READ_BYTES = 256 * 1024;
/** Most bytes of a refusal that an error states. */
const STATED_BYTES = 4096;

/** The request in flight. */
interface Waiting {
  readonly reader: ResponseReader;
  readonly resolve: (bodyBytes: number) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A connection that sends one request at a time and counts the bytes of its response. The load generator shares the
 * cores with the service that it measures, so it takes as little of them as possible: all pieces are read into the same
 * memory, and nothing is made of them. It is a class because it owns the socket.
 */
export class LoadConnection implements Disposable {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #headers: string;
  #waiting: Waiting | undefined;
  #fault: Error | undefined;

  /** @param headers are sent with each request. */
  constructor(url: string, headers: Readonly<Record<string, string>>) {
    const { hostname, port, host } = new URL(url);
    this.#host = host;
    this.#headers = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("");
    const onread = {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback: (bytes: number, buffer: Uint8Array) => this.#read(buffer.subarray(0, bytes)),
    };
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true, onread });
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("the service has closed the connection")));
  }

  /**
   * Sends a request, after the response to the one before has ended.
   *
   * @returns the number of bytes of the response's body.
   * @throws {Error} for a status other than 200, for a response that {@link ResponseReader} does not know, and where the
   *   connection ends before the response.
   */
  ask({ method, path, body }: LoadRequest): Promise<number> {
    if (this.#fault !== undefined) return Promise.reject(this.#fault);
    const content =
      body === undefined
        ? ""
        : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    const text = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n${this.#headers}${content}\r\n${body ?? ""}`;
    return new Promise((resolve, reject) => {
      const named = `${method} ${path.slice(0, 80)}`;
      this.#waiting = {
        reader: new ResponseReader(STATED_BYTES),
        resolve,
        reject: (cause) => reject(new Error(`${named}: ${cause.message}`, { cause })),
      };
      this.#socket.write(text);
    });
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  /** @returns whether the socket is to be read further. */
  #read(piece: Uint8Array): boolean {
    try {
      if (this.#waiting === undefined) throw new Error("bytes that belong to no response");
      const { reader, resolve } = this.#waiting;
      if (!reader.read(piece)) return true;
      if (reader.status !== 200) throw new Error(`status ${reader.status}: ${reader.statedBody()}`);
      this.#waiting = undefined;
      resolve(reader.bodyBytes);
      return true;
    } catch (error) {
      this.#fail(error as Error);
      this.#socket.destroy();
      return false;
    }
  }

  #fail(error: Error): void {
    this.#fault ??= error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}
