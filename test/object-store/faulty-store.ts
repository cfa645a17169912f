import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AwsV4Signer } from "aws4fetch";
import { request } from "undici";
import type { StoreServer } from "./store-server.js";

/** A request on its way to a store. */
export interface Passing {
  readonly method: string;
  /** Without the bucket, decoded; empty for the bucket. */
  readonly key: string;
  readonly query: URLSearchParams;
  /** The condition that no object has the key. */
  readonly isConditional: boolean;
  /** The connection that it came on, by its port. */
  readonly connection: number | undefined;
}

/** What happens to a request, instead of the store's own response. */
export type Fault =
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly code: string;
      readonly headers?: Record<string, string>;
    }
  /** The store does it, and the response is lost. */
  | { readonly kind: "lost" }
  /** The store does it twice, and the second response is passed on. */
  | { readonly kind: "repeated" }
  /** The response ends after some bytes of its body. */
  | { readonly kind: "cut"; readonly bytes: number }
  /** The response stops after some bytes of its body, and the connection stays open. */
  | { readonly kind: "stalled"; readonly bytes: number }
  /** A byte of the request's body is changed. */
  | { readonly kind: "damaged" }
  /** The store does it without its condition. */
  | { readonly kind: "unconditional" }
  /** The store gets it after something else has happened. */
  | { readonly kind: "held"; readonly until: Promise<void> }
  /** The body of the response is another one, and its length is given as that of the whole. */
  | { readonly kind: "edited"; readonly edit: (body: Buffer) => Buffer }
  /** The response to an earlier request of the same address. */
  | { readonly kind: "old"; readonly age: number };

/** A proxy in front of a store that misbehaves as a test says. */
export interface FaultyStore extends Pick<StoreServer, "bucket" | "env"> {
  /** Decides about each request. */
  faultOf: (passing: Passing) => Fault | undefined;
  /** The content of an object that the store seems to have: such a request does not reach it, unless it meets a fault. */
  contentOf: (passing: Passing) => Buffer | undefined;
  /** Closes the connections, as a store does with those that were idle for some time. */
  closeConnections(): void;
  /** Ends the proxy for some work: connections to its address are refused. */
  without<T>(work: () => Promise<T>): Promise<T>;
  /** Faults so far, by kind. */
  readonly counts: ReadonlyMap<Fault["kind"], number>;
  stop(): Promise<void>;
}

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
}

/** Starts a proxy before a store. The caller must stop it. */
export async function startFaultyStore(store: StoreServer): Promise<FaultyStore> {
  const counts = new Map<Fault["kind"], number>();
  /** Responses by address, oldest first. */
  const earlier = new Map<string, Reply[]>();
  const faulty = {
    bucket: store.bucket,
    env: store.env,
    faultOf: (() => undefined) as FaultyStore["faultOf"],
    contentOf: (() => undefined) as FaultyStore["contentOf"],
    counts,
    closeConnections: () => server.closeAllConnections(),
    stop: close,
    async without<T>(work: () => Promise<T>): Promise<T> {
      const { port } = server.address() as AddressInfo;
      await close();
      try {
        return await work();
      } finally {
        await listen(port);
      }
    },
  };
  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  async function listen(port: number): Promise<void> {
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  }

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    const url = new URL(incoming.url ?? "/", store.url);
    const passing: Passing = {
      method: incoming.method ?? "",
      key: decodeURIComponent(url.pathname).split("/").slice(2).join("/"),
      query: url.searchParams,
      isConditional: incoming.headers["if-none-match"] !== undefined,
      connection: incoming.socket.remotePort,
    };
    const fault = faulty.faultOf(passing);
    const content = fault === undefined ? faulty.contentOf(passing) : undefined;
    if (content !== undefined) return void response.writeHead(200).end(content);
    if (fault !== undefined) counts.set(fault.kind, (counts.get(fault.kind) ?? 0) + 1);
    if (fault?.kind === "held") await fault.until;
    if (fault?.kind === "refused") return refuse(response, incoming.method === "HEAD", fault);
    if (fault?.kind === "damaged" && body.length > 0)
      body[body.length >> 1] = (body[body.length >> 1] ?? 0) ^ 1;
    if (fault?.kind === "repeated") await forward(store, incoming, url, body, false);
    const reply = await forward(store, incoming, url, body, fault?.kind === "unconditional");
    const address = `${incoming.method} ${url.href}`;
    const before = earlier.get(address) ?? [];
    if (url.searchParams.has("list-type")) earlier.set(address, [...before, reply]);
    if (fault?.kind === "lost") return void response.destroy();
    const sent = fault?.kind === "old" ? (before.at(-fault.age) ?? before[0] ?? reply) : reply;
    if (fault?.kind === "edited") return sendEdited(response, incoming.method === "HEAD", sent, fault.edit);
    response.writeHead(sent.status, sent.headers);
    if (fault?.kind !== "cut" && fault?.kind !== "stalled") return void response.end(sent.body);
    const bytes = Math.min(fault.bytes, Math.max(0, sent.body.length - 1));
    const done = (): void => void (fault.kind === "cut" && setImmediate(() => response.destroy()));
    response.write(sent.body.subarray(0, bytes), done);
    if (bytes === 0) response.flushHeaders();
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  await listen(0);
  faulty.env = {
    ...store.env,
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
  return faulty;
}

function sendEdited(
  response: ServerResponse,
  isHead: boolean,
  { status, headers, body }: Reply,
  edit: (body: Buffer) => Buffer,
): void {
  // The response to HEAD has no body, and the length of the object.
  if (isHead) return void response.writeHead(status, headers).end();
  const edited = edit(body);
  response.writeHead(status, { ...headers, "content-length": String(edited.length) }).end(edited);
}

function refuse(
  response: ServerResponse,
  isHead: boolean,
  { status, code, headers }: Extract<Fault, { kind: "refused" }>,
): void {
  response.writeHead(status, headers).end(isHead ? "" : `<Error><Code>${code}</Code></Error>`);
}

async function forward(
  store: StoreServer,
  incoming: IncomingMessage,
  url: URL,
  body: Buffer,
  isUnconditional: boolean,
): Promise<Reply> {
  // The signature covers the host that the client has asked.
  const { connection: _, "transfer-encoding": __, ...headers } = incoming.headers as Record<string, string>;
  const reply = await request(url, {
    method: incoming.method as "GET",
    headers: isUnconditional ? await signedAgain(store, incoming, url) : headers,
    body: incoming.method === "GET" || incoming.method === "HEAD" ? null : body,
  });
  const bytes = Buffer.from(await reply.body.arrayBuffer());
  const { "transfer-encoding": ___, connection: ____, ...kept } = reply.headers;
  return { status: reply.statusCode, headers: kept, body: bytes };
}

/** The headers of a request without its condition. */
async function signedAgain(
  { env }: StoreServer,
  { method, headers }: IncomingMessage,
  url: URL,
): Promise<Record<string, string>> {
  const kept = Object.entries(headers).filter(([name]) => name.startsWith("x-amz-") && name !== "x-amz-date");
  const signer = new AwsV4Signer({
    method: method ?? "",
    url: url.href,
    headers: Object.fromEntries(kept) as Record<string, string>,
    accessKeyId: env.AWS_ACCESS_KEY_ID ?? "",
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY ?? "",
    service: "s3",
    region: "us-east-1",
  });
  return Object.fromEntries((await signer.sign()).headers);
}
