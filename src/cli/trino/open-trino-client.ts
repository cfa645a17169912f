import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import { TrinoClient } from "../../trino/trino-client.js";
import { trinoServer } from "../../trino/trino-server.js";
import type { TrinoOptions } from "./trino-options.js";

/** A client of the Trino that options and environment name. @throws {UsageError} */
export function openTrinoClient({ server, catalog, schema }: TrinoOptions): TrinoClient {
  if (server === undefined || server === "") {
    throw new UsageError("which Trino is not known", {
      hint: "give --server http://host:8080, or set BARLAKE_TRINO",
    });
  }
  const {
    BARLAKE_TRINO_USER: user,
    BARLAKE_TRINO_PASSWORD: password,
    BARLAKE_TRINO_TOKEN: token,
  } = process.env;
  return new TrinoClient(trinoServer(server, { catalog, schema }, { user, password, token }), {
    clock: systemClock,
  });
}
