import type { WebSocket } from "ws";
import { z } from "zod";
import { type Clock, ticksOf } from "../../core/time.js";
import type { Caller } from "../keys/key-ring.js";

/** Paths of the WebSocket. The second one is the older form, without channels. */
export const STREAM_PATHS = ["/v1/ws/stream", "/v1/ws/quotes"] as const;
export type StreamPath = (typeof STREAM_PATHS)[number];

/** Largest message of a client, in bytes: enough for as many symbols as the body of a request. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Most symbols of one connection. */
export const MAX_SUBSCRIPTIONS = 20_000;

const shape = z.object(
  {
    op: z.enum(["subscribe", "unsubscribe"], { error: 'op is not "subscribe" or "unsubscribe"' }),
    channel: z.string({ error: "channel is not a text" }).optional(),
    symbols: z
      .array(z.string({ error: "symbols has an entry that is not a text" }), {
        error: "symbols is not a list",
      })
      .min(1, { error: "symbols is empty" })
      .max(MAX_SUBSCRIPTIONS, { error: `symbols has more than ${MAX_SUBSCRIPTIONS} entries` }),
  },
  { error: "message is not an object" },
);

interface StreamCommand {
  readonly op: "subscribe" | "unsubscribe";
  /** Without repeats. */
  readonly symbols: readonly string[];
}

/** The error for a message of a client that cannot be executed. Its text is sent to the client. */
export class StreamError extends Error {
  override readonly name = "StreamError";
}

/** Reads a message of a client. @throws {StreamError} */
export function parseCommand(text: string, path: StreamPath): StreamCommand {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new StreamError("message is not JSON");
  }
  const parsed = shape.safeParse(value);
  if (!parsed.success) throw new StreamError(parsed.error.issues[0]?.message ?? "message is not a command");
  const { op, channel, symbols } = parsed.data;
  if (path === "/v1/ws/stream" && channel !== "quotes") {
    const name = JSON.stringify(channel?.slice(0, 64) ?? null);
    throw new StreamError(`channel ${name} is not served; the only one is "quotes"`);
  }
  return { op, symbols: [...new Set(symbols)] };
}

export function subscribedText(path: StreamPath, total: number): string {
  const channel = path === "/v1/ws/stream" ? { channel: "quotes" } : {};
  return JSON.stringify({ op: "subscribed", ...channel, total });
}

/** The message with quotes. @param quotes each as JSON. */
function quotesMessage(quotes: readonly string[]): string {
  return `{"op":"quotes","data":[${quotes.join()}]}`;
}

function errorText(message: string): string {
  return JSON.stringify({ op: "error", message });
}

/** Most quotes in one message, about 60 kB. */
const QUOTES_A_MESSAGE = 200;
/** Most messages of a client that may be waiting. */
const MOST_WAITING = 1000;
/** Most bytes of the waiting messages of a client. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;
/** Milliseconds for which a client may leave a message unread. */
const STALLED_MS = 30_000;
/** Milliseconds that a client has to respond to the close of a connection. */
const CLOSING_MS = 5_000;
const PING_EVERY_MS = 30_000;

/** Codes with which a connection is closed (RFC 6455). */
const POLICY = 1008;
const FAULT = 1011;

/** Executes a message of a client. @returns the reply. @throws {StreamError} with the error text for the client. */
type Carry = (stream: QuoteStream, text: string) => Promise<string>;

/**
 * One connection of a client. Its memory is limited to its subscriptions, the newest unsent quote of each, one message
 * that is being sent, and a few waiting messages of the client.
 */
export class QuoteStream {
  /** The owner of its key, as the keys were last read. */
  caller: Caller;
  readonly path: StreamPath;
  readonly symbols = new Set<string>();
  readonly #socket: WebSocket;
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  readonly #unsent = new Map<string, string>();
  readonly #waiting: string[] = [];
  #waitingBytes = 0;
  #isCarrying = false;
  /** When the oldest message that is being sent began to be sent; undefined where none is being sent. */
  #sendingSince: number | undefined;
  #sending = 0;
  #closingSince: number | undefined;
  #heardAt: number;
  #pingedAt: number;
  sent = 0;
  readonly closed: Promise<void>;

  constructor(
    socket: WebSocket,
    { caller, path, clock }: { caller: Caller; path: StreamPath; clock: Pick<Clock, "now" | "monotonic"> },
    carry: Carry,
    onFault: (error: unknown) => void,
  ) {
    this.#socket = socket;
    this.caller = caller;
    this.path = path;
    this.#clock = clock;
    this.#heardAt = ticksOf(clock);
    this.#pingedAt = this.#heardAt;
    socket.on("message", (data, isBinary) =>
      this.#receive(isBinary ? undefined : (data as Buffer).toString(), carry, onFault),
    );
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("pong", () => {
      this.#heardAt = ticksOf(clock);
    });
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN && this.#closingSince === undefined;
  }

  /** Sends a quote as soon as the client is ready, and none that a newer one has replaced. Undefined: there is none. */
  offer(symbol: string, quote: string | undefined): void {
    if (!this.isOpen) return;
    if (quote === undefined) this.#unsent.delete(symbol);
    else this.#unsent.set(symbol, quote);
  }

  /** Removes a symbol: no further quote of it is sent. */
  drop(symbol: string): void {
    this.symbols.delete(symbol);
    this.#unsent.delete(symbol);
  }

  /** Removes all quotes that are not sent yet. */
  forgetUnsent(): void {
    this.#unsent.clear();
  }

  report(message: string): void {
    void this.#send(errorText(message));
  }

  flush(): void {
    if (this.#sendingSince !== undefined || this.#unsent.size === 0 || !this.isOpen) return;
    const quotes: string[] = [];
    for (const [symbol, quote] of this.#unsent) {
      quotes.push(quote);
      this.#unsent.delete(symbol);
      if (quotes.length === QUOTES_A_MESSAGE) break;
    }
    this.sent += quotes.length;
    void this.#send(quotesMessage(quotes)).then(() => this.flush());
  }

  /** Closes the connection if the client reads too slowly, or has disconnected. It is called about every second. */
  check(): void {
    const now = ticksOf(this.#clock);
    if (this.#closingSince !== undefined) {
      if (now - this.#closingSince >= CLOSING_MS) this.#socket.terminate();
      return;
    }
    if (this.#sendingSince !== undefined && now - this.#sendingSince >= STALLED_MS)
      return this.close(POLICY, `nothing was read for ${STALLED_MS / 1000} seconds`);
    if (now - this.#pingedAt < PING_EVERY_MS) return;
    if (this.#heardAt < this.#pingedAt) return this.#socket.terminate();
    this.#pingedAt = now;
    this.#socket.ping();
  }

  /** Closes the connection. @param reason at most 123 bytes. */
  close(code: number, reason: string): void {
    if (this.#closingSince !== undefined) return;
    this.#closingSince = ticksOf(this.#clock);
    this.#unsent.clear();
    this.#waiting.length = 0;
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #receive(text: string | undefined, carry: Carry, onFault: (error: unknown) => void): void {
    if (!this.isOpen) return;
    this.#heardAt = ticksOf(this.#clock);
    this.#waiting.push(text ?? "");
    this.#waitingBytes += text?.length ?? 0;
    if (this.#waiting.length > MOST_WAITING || this.#waitingBytes > MOST_WAITING_BYTES)
      return this.close(POLICY, "messages come faster than they can be carried out");
    if (!this.#isCarrying)
      void this.#carryAll(carry).catch((error: unknown) => {
        onFault(error);
        this.close(FAULT, "the service failed; its log has the cause");
      });
  }

  /** One waiting message after the other. Nothing more is read from the connection until they are done. */
  async #carryAll(carry: Carry): Promise<void> {
    this.#isCarrying = true;
    this.#socket.pause();
    try {
      for (let text = this.#waiting.shift(); text !== undefined; text = this.#waiting.shift()) {
        this.#waitingBytes -= text.length;
        if (!this.isOpen) return;
        await this.#send(await replyOf(carry(this, text)));
        this.flush();
      }
    } finally {
      this.#isCarrying = false;
      this.#socket.resume();
    }
  }

  /** Resolves when the message has left the process, or the connection is closed. */
  #send(text: string): Promise<void> {
    if (!this.isOpen) return Promise.resolve();
    this.#sendingSince ??= ticksOf(this.#clock);
    this.#sending += 1;
    return new Promise((resolve) => {
      this.#socket.send(text, () => {
        this.#sending -= 1;
        if (this.#sending === 0) this.#sendingSince = undefined;
        resolve();
      });
    });
  }
}

async function replyOf(reply: Promise<string>): Promise<string> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof StreamError) return errorText(error.message);
    throw error;
  }
}
