import { z } from "zod";

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

/** A command of a client. */
export interface StreamCommand {
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

/** The message that reports to how many symbols a connection is subscribed. */
export function subscribedText(path: StreamPath, total: number): string {
  const channel = path === "/v1/ws/stream" ? { channel: "quotes" } : {};
  return JSON.stringify({ op: "subscribed", ...channel, total });
}

/** The message with quotes. @param quotes each as JSON. */
export function quotesMessage(quotes: readonly string[]): string {
  return `{"op":"quotes","data":[${quotes.join()}]}`;
}

export function errorText(message: string): string {
  return JSON.stringify({ op: "error", message });
}
