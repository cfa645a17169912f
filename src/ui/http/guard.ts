import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { escapeHtml } from "../../notebook/page/cell-html.js";

/**
 * Headers of every response: only scripts of the workspace, nothing from other hosts, no frame around the page. Styles
 * within the page are permitted, because the charts set them.
 */
const PAGE_POLICY: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

interface Visitor {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The header `sec-fetch-site`, in which the browser states where the request comes from. */
  readonly site: string | undefined;
  readonly cookie: string | undefined;
  readonly token: string | undefined;
}

/** The decision about a request. `admitted` sets the cookie and removes the token from the address. */
type Verdict =
  | { readonly kind: "permitted" }
  | { readonly kind: "admitted"; readonly cookie: string }
  | { readonly kind: "refused"; readonly status: 401 | 403; readonly reason: string; readonly hint: string };

const OPEN_AGAIN = "press Enter where barlake ui runs: it opens a new address";

/**
 * Admits only the browser that opened the workspace's address. The token in an address is valid once; then the browser
 * has a cookie that scripts cannot read and other sites cannot send. So who sees the address in a list of processes or
 * a history cannot use it.
 */
export class Access {
  readonly #port: number;
  readonly #secret = randomBytes(32).toString("base64url");
  readonly #tokens = new Set<string>();

  /** @param port in the name of the cookie, because browsers send cookies to all ports of a host. */
  constructor(port: number) {
    this.#port = port;
  }

  /** A new token, which admits one browser once. */
  newToken(): string {
    const token = randomBytes(32).toString("base64url");
    this.#tokens.add(digest(token));
    return token;
  }

  judge({ host, origin, site, cookie, token }: Visitor): Verdict {
    const hosts = ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${this.#port}`);
    // This also refuses a host name that another site has pointed to this machine (DNS rebinding).
    if (host === undefined || !hosts.includes(host.toLowerCase()))
      return refused(403, `the host ${shown(host)} is not this workspace`, `open http://${hosts[0]}`);
    if (origin !== undefined && !hosts.some((name) => origin === `http://${name}`))
      return refused(403, `pages of ${shown(origin)} may not use this workspace`, OPEN_AGAIN);
    // Browsers ignore the port here: a page from another port of this machine counts as the same site.
    if (site === "cross-site" || site === "same-site")
      return refused(
        403,
        "a page of another site sent this request",
        "open the address itself, in a new tab",
      );
    if (token !== undefined) {
      if (this.#tokens.delete(digest(token))) return { kind: "admitted", cookie: this.#cookie() };
      if (!this.#hasCookie(cookie)) return refused(401, "this address was used already", OPEN_AGAIN);
    }
    if (this.#hasCookie(cookie)) return { kind: "permitted" };
    return refused(401, "this browser did not open the workspace", OPEN_AGAIN);
  }

  get #name(): string {
    return `barlake_ui_${this.#port}`;
  }

  #cookie(): string {
    return `${this.#name}=${this.#secret}; HttpOnly; SameSite=Strict; Path=/`;
  }

  #hasCookie(header: string | undefined): boolean {
    const values = (header ?? "").split(";").flatMap((part) => {
      const [name, value] = part.trim().split("=", 2);
      return name === this.#name && value !== undefined ? [value] : [];
    });
    return values.some((value) => timingSafeEqual(hashed(value), hashed(this.#secret)));
  }
}

function refused(status: 401 | 403, reason: string, hint: string): Verdict {
  return { kind: "refused", status, reason, hint };
}

function shown(text: string | undefined): string {
  return text === undefined ? "(none)" : JSON.stringify(text.slice(0, 80));
}

function hashed(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function digest(text: string): string {
  return hashed(text).toString("hex");
}

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
      return reply.type("text/html; charset=utf-8").send(refusalPage("Not opened here", reason, hint));
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

/** Whether a browser opens the address itself, and is not a script of the page. */
export function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes("text/html") === true;
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** A page for an address that has none of its own. @param hint what to do next */
export function refusalPage(title: string, reason: string, hint: string | null): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>barlake</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:36rem;margin:18vh auto;padding:0 24px}</style></head>
<body><h1>${title}</h1><p>${escapeHtml(reason)}.</p>${hint === null ? "" : `<p>Next: ${escapeHtml(hint)}.</p>`}
<p><a href="/">barlake</a></p></body></html>
`;
}
