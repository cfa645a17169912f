import { Option } from "commander";
import { TRINO_DEFAULTS } from "../../trino/trino-client.js";

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
