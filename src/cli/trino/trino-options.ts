import { Option } from "commander";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import { TrinoClient } from "../../trino/trino-client.js";
import { TRINO_DEFAULTS, trinoServer } from "../../trino/trino-server.js";

/** Options that say which Trino. */
export interface TrinoOptions {
  readonly server?: string;
  readonly catalog?: string;
  readonly schema?: string;
}

/** `--server URL`, `--catalog NAME`, `--schema NAME`. */
export function trinoOptions(): [server: Option, catalog: Option, schema: Option] {
  const { catalog, schema } = TRINO_DEFAULTS;
  return [
    new Option("--server <url>", "address of Trino; /CATALOG/SCHEMA may follow the port").env(
      "BARLAKE_TRINO",
    ),
    new Option(
      "--catalog <name>",
      `Trino's catalog of Delta tables (default: of the address, else ${catalog})`,
    ),
    new Option(
      "--schema <name>",
      `schema of the views; the tables are in <name>_raw (default: of the address, else ${schema})`,
    ),
  ];
}

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
