import { UsageError } from "../core/errors.js";

/** The address of a Trino server, and the user. */
export interface TrinoServer {
  /** Its address: scheme, host and port. */
  readonly origin: string;
  readonly catalog: string;
  readonly schema: string;
  readonly user: string;
  /** The value of the header Authorization. It is never printed. */
  readonly authorization: string | undefined;
}

/** Credentials from the environment. */
export interface TrinoCredentials {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** A JWT or OAuth token. */
  readonly token?: string | undefined;
}

/** Names of the catalog and the schema that are used by default. */
export const TRINO_DEFAULTS = { catalog: "lake", schema: "barlake" } as const;

const HINT = 'as in http://trino:8080/lake/barlake, or `catalog: "lake"` and `schema: "barlake"`';

/**
 * Parses the address of a server: `http://host:port`, optionally with `/catalog` or `/catalog/schema`. The options take
 * precedence over these.
 *
 * @throws {UsageError} for another form, for credentials in the address, for a password and a token, and for one of them
 *   that would be sent to another machine without TLS.
 */
export function trinoServer(
  address: string,
  given: { readonly catalog?: string | undefined; readonly schema?: string | undefined },
  { user = "barlake", password, token }: TrinoCredentials,
): TrinoServer {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageError("the address of Trino must begin with http:// or https://", { hint: HINT });
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError("the address of Trino has more than host, port, catalog and schema", {
      hint: "credentials are taken from BARLAKE_TRINO_USER with BARLAKE_TRINO_PASSWORD, or from BARLAKE_TRINO_TOKEN",
    });
  const parts = url.pathname.split("/").filter((part) => part !== "");
  if (parts.length > 2)
    throw new UsageError(`the address of Trino has ${parts.length} parts after the host`, { hint: HINT });
  const [catalog, schema] = parts.map(decodeURIComponent);
  if (token !== undefined && password !== undefined)
    throw new UsageError("a password and a token for Trino are given, and only one of them can be sent", {
      hint: "unset BARLAKE_TRINO_PASSWORD or BARLAKE_TRINO_TOKEN",
    });
  const hasSecret = token !== undefined || password !== undefined;
  const isLoopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname);
  if (hasSecret && url.protocol !== "https:" && !isLoopback)
    throw new UsageError("a password or a token is not sent without TLS", {
      hint: "give an address that begins with https://",
    });
  return {
    origin: url.origin,
    catalog: given.catalog ?? catalog ?? TRINO_DEFAULTS.catalog,
    schema: given.schema ?? schema ?? TRINO_DEFAULTS.schema,
    user,
    authorization:
      token !== undefined
        ? `Bearer ${token}`
        : password !== undefined
          ? `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`
          : undefined,
  };
}
