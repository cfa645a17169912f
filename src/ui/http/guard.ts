import type { FastifyInstance, FastifyRequest } from "fastify";
import { escapeHtml } from "../../notebook/page/escape-html.js";
import type { Access } from "./access.js";
import { PAGE_POLICY } from "./page-policy.js";

/** The name of the token in an address. */
export const TOKEN = "token";

/** The `config` of routes whose requests have a body: only the workspace's page may send them. */
export const SENT_BY_PAGE = { isSentByPage: true } as const;

/** Judges every request before its route handles it, and adds the headers of the policy to every response. */
export function addGuard(app: FastifyInstance, access: () => Access): void {
  app.addHook("onRequest", async (request, reply) => {
    void reply.headers(PAGE_POLICY);
    const { method, headers } = request;
    const verdict = access().judge({
      host: headers.host,
      origin: headers.origin,
      site: one(headers["sec-fetch-site"]),
      cookie: headers.cookie,
      token: tokenOf(request),
    });
    if (verdict.kind === "refused") {
      const { status, reason, hint } = verdict;
      void reply.code(status);
      if (!wantsPage(request)) return reply.send({ message: reason, hint });
      return reply.type("text/html; charset=utf-8").send(refusalPage(reason, hint));
    }
    if (method !== "GET" && method !== "HEAD") {
      if ((request.routeOptions.config as Partial<typeof SENT_BY_PAGE>).isSentByPage !== true)
        return reply
          .code(405)
          .header("allow", "GET, HEAD")
          .send({ message: `${method} is for no such address`, hint: null });
      // Browsers state the origin of every such request. A request without one was not sent by the page.
      if (headers.origin === undefined || verdict.kind !== "permitted")
        return reply.code(403).send({ message: "only the workspace's own page sends this", hint: null });
      return;
    }
    // The token is removed from the address at once, so that no history or bookmark contains it.
    if (verdict.kind === "admitted") void reply.header("set-cookie", verdict.cookie);
    if (tokenOf(request) !== undefined) return reply.redirect(withoutToken(request.url), 303);
  });
}

function tokenOf({ url }: FastifyRequest): string | undefined {
  return addressOf(url).searchParams.get(TOKEN) ?? undefined;
}

function withoutToken(url: string): string {
  const { pathname, searchParams } = addressOf(url);
  searchParams.delete(TOKEN);
  const rest = searchParams.toString();
  // A path that begins with `//host` would lead to another host.
  const path = pathname.replace(/^\/+/, "/");
  return rest === "" ? path : `${path}?${rest}`;
}

function addressOf(url: string): URL {
  const address = new URL("http://workspace/");
  const [path = "/", query = ""] = url.split("?", 2);
  address.pathname = path;
  address.search = query;
  return address;
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes("text/html") === true;
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function refusalPage(reason: string, hint: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>barlake</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:36rem;margin:18vh auto;padding:0 24px}</style></head>
<body><h1>Not opened here</h1><p>${escapeHtml(reason)}.</p><p>Next: ${escapeHtml(hint)}.</p></body></html>
`;
}
