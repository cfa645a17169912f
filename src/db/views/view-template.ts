import { createHash, randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../../arrow/duckdb-api.js";
import type { TableSchema } from "../../schema/column.js";
import { literal } from "../quote.js";
import { Session } from "../session/session.js";
import { OWN_VIEWS, readViewTree } from "./view-files.js";
import { createViews } from "./views.js";

/** The folder of what is built; the same one for the sources and for the built program. */
const FOLDER = fileURLToPath(new URL("../../../dist", import.meta.url));

const PREFIX = "views-";

/** What all lakes have, in addition to the files of `sql/views`: their tables and the extra views of the schema `raw`. */
export interface TemplateContent {
  readonly tables: readonly TableSchema[];
  /** Views of the schema `raw` that are no tables, by name: a query with their columns. */
  readonly extra: Readonly<Record<string, string>>;
}

/**
 * The path of the template of a lake's views. Its name has a hash of everything that it is made of, so a template of
 * other views or of another version of DuckDB is never used.
 */
export function templatePath(content: TemplateContent): string {
  const sources = [version(), JSON.stringify(content), ...readViewTree(OWN_VIEWS).map(({ sql }) => sql)];
  const hash = createHash("sha256").update(sources.join("\0")).digest("hex");
  return join(FOLDER, `${PREFIX}${hash.slice(0, 16)}.duckdb`);
}

/**
 * Builds the template, and deletes earlier templates. It is stored in DuckDB's newest format: older ones lose
 * parts of a query, such as NOT MATERIALIZED.
 */
export async function buildTemplate(content: TemplateContent): Promise<void> {
  const path = templatePath(content);
  const staged = join(FOLDER, `${randomUUID()}.duckdb`);
  const tables = content.tables.map((table) => ({ table, columns: table.columns, urls: [], isMixed: false }));
  using session = await Session.open();
  await createViews(session, tables, { extra: content.extra });
  await session.run(`ATTACH ${literal(staged)} AS template (STORAGE_VERSION 'latest')`);
  await session.run("COPY FROM DATABASE memory TO template");
  await session.run("DETACH template");
  const old = readdirSync(FOLDER).filter((name) => name.startsWith(PREFIX));
  await rename(staged, path);
  for (const name of old) if (join(FOLDER, name) !== path) await rm(join(FOLDER, name));
}
