import { pathToFileURL } from "node:url";
import type { Lake } from "../../lake/lake.js";
import { TABLES } from "../../schema/tables.js";
import {
  installInTrino,
  type LakeTable,
  rawSchemaOf,
  type TrinoStatus,
  trinoStatus,
} from "../../trino/install.js";
import { type Cli, EXIT } from "../cli.js";
import {
  type CommonOptions,
  jsonOption,
  lakeOption,
  openExistingLake,
  printJson,
} from "../options/lake-option.js";
import { type TrinoOptions, trinoOptions } from "../options/trino-options.js";
import { openTrinoClient } from "../shell/trino-place.js";
import { type Cell, paint, table } from "../text.js";

interface Options extends CommonOptions, TrinoOptions {
  readonly location?: string;
}

export function addTrino(cli: Cli): void {
  const trino = cli.program.command("trino");
  const withOptions = (name: string, does: string, examples: string) => {
    const command = trino.command(name).description(does);
    for (const option of trinoOptions()) command.addOption(option);
    return command
      .addOption(lakeOption())
      .option(
        "--location <uri>",
        "where the lake is as Trino reaches it, if that is another name: s3://bucket/prefix, local:///folder",
      )
      .addOption(jsonOption())
      .notes(`
A password or a token is taken from the environment: BARLAKE_TRINO_USER, BARLAKE_TRINO_PASSWORD, BARLAKE_TRINO_TOKEN.

Examples:
${examples}`);
  };
  withOptions(
    "install",
    "register the lake's tables and create the views; again after new tables or another version of barlake",
    `  barlake trino install --server http://trino:8080/lake/barlake --location s3://bucket/lake
  BARLAKE_TRINO=http://localhost:8080 barlake trino install --location local:///lake`,
  ).does(async (options: Options) => {
    const client = openTrinoClient(options);
    const tables = await tablesOf(await openExistingLake(options), options.location);
    const { status, registered, created } = await installInTrino(client, tables, cli.signal);
    if (options.json) printJson({ ...status, registered, created });
    else {
      process.stdout.write(`registered ${listed(registered)}; created ${listed(created)}\n`);
      showStatus(status, client.server.schema);
    }
    return isCurrent(status) ? EXIT.done : EXIT.partial;
  });
  withOptions(
    "status",
    "what Trino has of the lake's tables and views, and what differs; changes nothing",
    `  barlake trino status --server http://trino:8080/lake/barlake --location s3://bucket/lake
  barlake trino status --server http://trino:8080 --json`,
  ).does(async (options: Options) => {
    const client = openTrinoClient(options);
    const status = await trinoStatus(
      client,
      await tablesOf(await openExistingLake(options), options.location),
      cli.signal,
    );
    if (options.json) printJson(status);
    else showStatus(status, client.server.schema);
    return isCurrent(status) ? EXIT.done : EXIT.partial;
  });
}

async function tablesOf(lake: Lake, location: string | undefined): Promise<LakeTable[]> {
  const base = (location ?? urlOfLake(lake)).replace(/\/+$/, "");
  return Promise.all(
    TABLES.map(async (one) => {
      const { version } = await lake.snapshot(one);
      // A scheme that only slashes follow, such as local:///, is not shortened.
      const folder = base.endsWith(":") ? `${base}//` : base;
      return {
        name: one.name,
        version: version < 0 ? undefined : version,
        location: `${folder}/${one.name}`,
      };
    }),
  );
}

/** A store's address is its URL; the path of a folder becomes one. */
function urlOfLake({ location }: Lake): string {
  return location.includes("://") ? location : pathToFileURL(location).href;
}

function isCurrent({ tables, views }: TrinoStatus): boolean {
  return [...tables, ...views].every(({ state }) => state === "current" || state === "not landed");
}

const listed = (names: readonly string[]): string => (names.length === 0 ? "nothing" : names.join(", "));

function showStatus({ version, tables, views }: TrinoStatus, schema: string): void {
  const rows = [
    ...tables.map(({ name, state, version: newest, seen }): Cell[] => [
      `${rawSchemaOf(schema)}.${name}`,
      painted(state),
      newest === undefined ? "" : String(newest),
      seen === undefined ? "" : String(seen),
    ]),
    ...views.map(({ name, state, lacks }): Cell[] => [
      `${schema}.${name}`,
      lacks.length > 0 ? `${painted(state)}: ${lacks.join(", ")}` : painted(state),
      "",
      "",
    ]),
  ];
  process.stdout.write(`Trino ${version}\n${table(["table or view", "is", "version", "seen"], rows)}\n`);
}

function painted(state: string): string {
  return paint(state === "current" ? "green" : state === "not landed" ? "dim" : "yellow", state);
}
