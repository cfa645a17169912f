import { type IncomingHttpHeaders, request } from "node:http";

/** A reply as it came over the socket. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends a request with exactly these headers: `fetch` would not send another Host. */
export function visit(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
  body?: string,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port, path, method, headers: { host: `127.0.0.1:${port}`, ...headers } },
      (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("error", reject);
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(pieces).toString("utf8"),
          }),
        );
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

/** The headers of a request with a JSON body, as the workspace's own page sends it. */
export function pageHeaders(port: number, cookie: string): Record<string, string> {
  return { cookie, origin: `http://127.0.0.1:${port}`, "content-type": "application/json" };
}

/** Opens an address as a browser does. @returns the cookie that it got. */
export async function admitted(port: number, address: string): Promise<string> {
  const { pathname, search } = new URL(address);
  const { headers } = await visit(port, pathname + search, { "sec-fetch-site": "none" });
  return (headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? "";
}
