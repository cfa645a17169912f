import { WebSocket } from "ws";

/** What a benchmark reads of a quote. */
export interface Quote {
  readonly symbol: string;
  readonly last_price: number;
  readonly timestamp: number;
}

interface Message {
  readonly op: string;
  readonly data?: readonly Quote[];
  readonly message?: string;
}

/** A client of the stream of quotes. */
export interface QuoteClient {
  /** Resolves when the service has said that it carried the subscription out. */
  subscribe(symbols: readonly string[]): Promise<void>;
  /** The quotes of each message, from the subscription on. */
  quotes(): AsyncGenerator<readonly Quote[], void, undefined>;
  close(): void;
}

export async function openQuotes(url: string, apiKey: string): Promise<QuoteClient> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws/stream`, {
    headers: { "x-api-key": apiKey },
  });
  await new Promise<void>((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const arrived: (readonly Quote[])[] = [];
  let wake = (): void => {};
  let reply: (message: Message) => void = () => {};
  socket.on("message", (data: Buffer) => {
    const message = JSON.parse(data.toString()) as Message;
    if (message.data === undefined) return reply(message);
    arrived.push(message.data);
    wake();
  });
  return {
    async subscribe(symbols) {
      const { op, message } = await new Promise<Message>((resolve) => {
        reply = resolve;
        socket.send(JSON.stringify({ op: "subscribe", channel: "quotes", symbols }));
      });
      if (op !== "subscribed") throw new Error(`the service refused the subscription: ${message}`);
    },
    async *quotes() {
      for (;;) {
        const quotes = arrived.shift();
        if (quotes !== undefined) yield quotes;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
    close: () => socket.close(),
  };
}
