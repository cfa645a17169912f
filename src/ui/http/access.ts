import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** The parts of a request that show who sends it. */
export interface Visitor {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The header `sec-fetch-site`, in which the browser states where the request comes from. */
  readonly site: string | undefined;
  readonly cookie: string | undefined;
  /** The token in the address. */
  readonly token: string | undefined;
}

/** The decision about a request. `admitted` sets the cookie and removes the token from the address. */
export type Verdict =
  | { readonly kind: "permitted" }
  | { readonly kind: "admitted"; readonly cookie: string }
  | { readonly kind: "refused"; readonly status: 401 | 403; readonly reason: string; readonly hint: string };

const OPEN_AGAIN = "press Enter where barlake ui runs: it opens a new address";

/**
 * Decides who may use the workspace: only the browser that opened its address. The token in an address is valid once.
 * After that the browser has a cookie that scripts cannot read and that other sites cannot send. So a person who sees
 * the address in a list of processes or a history cannot use it.
 */
export class Access {
  readonly #port: number;
  readonly #secret = randomBytes(32).toString("base64url");
  readonly #tokens = new Set<string>();

  /**
   * @param port the port of the workspace. The name of the cookie contains it, because browsers send cookies to all
   *   ports of a host.
   */
  constructor(port: number) {
    this.#port = port;
  }

  /** A new token, which admits one browser once. */
  newToken(): string {
    const token = randomBytes(32).toString("base64url");
    this.#tokens.add(digest(token));
    return token;
  }

  /** Judges a request before any part of it is used. */
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
