import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { workFolder } from "../../lake/local/work-folder.js";
import { TrinoEngine } from "../../trino/trino-engine.js";
import type { SqlPlace } from "../shell/sql-place.js";
import { NO_PROGRESS } from "../text/query-progress.js";
import { openTrinoClient } from "./open-trino-client.js";
import { readTrinoCatalog } from "./trino-catalog.js";
import type { TrinoOptions } from "./trino-options.js";

/** The Trino that options name, as a place for SQL. @throws {UsageError} */
export async function openTrinoPlace(
  options: TrinoOptions,
): Promise<{ readonly place: SqlPlace; readonly close: () => Promise<void> }> {
  const client = openTrinoClient(options);
  const folder = await mkdtemp(join(tmpdir(), "barlake-trino-"));
  const work = workFolder(folder);
  const engine = await TrinoEngine.open(client, work.staging);
  const place: SqlPlace = {
    title: `Trino, schema ${client.server.schema}`,
    engine,
    progress: NO_PROGRESS,
    work,
    // A client sends any number of queries at once; only an engine runs them one after the other.
    catalog: () => readTrinoCatalog(client),
    withRows: (sql, use) => engine.withRows(sql, use),
    withProposals: async (error) => error,
  };
  const close = async (): Promise<void> => {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { place, close };
}
