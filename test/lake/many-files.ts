import { randomBytes } from "node:crypto";
import { linkSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "../../src/db/session/session.js";
import { writeDataFile } from "../../src/lake/files/data-file.js";
import type { Lake } from "../../src/lake/lake.js";
import { commit } from "../../src/lake/log/commit.js";
import { commitInfoAction, schemaActions } from "../../src/lake/log/commit-actions.js";
import type { AddFile } from "../../src/lake/log/delta-actions.js";
import { BARS_1M } from "../../src/schema/bars.js";

/** Another name of a file's content, in the same folder. */
function linked(lake: Lake, add: AddFile): AddFile {
  const path = add.path.replace(/-[0-9a-f]{8}\.parquet$/, `-${randomBytes(4).toString("hex")}.parquet`);
  const full = (name: string): string => join(lake.location, "bars_1m", decodeURIComponent(name));
  linkSync(full(add.path), full(path));
  return { ...add, path };
}

/** Commits `files` files of minute bars to each of some months, from January 2015 on: hard links of one file a month. */
export async function addMinuteFiles(
  session: Session,
  lake: Lake,
  { months, files }: { readonly months: readonly number[]; readonly files: number },
): Promise<void> {
  const base = await lake.snapshot(BARS_1M);
  const adds: AddFile[] = [];
  for (const n of months) {
    const month = new Date(Date.UTC(2015, n)).toISOString().slice(0, 10);
    const own = new Set(["symbol", "timestamp", "trade_date"]);
    const rest = BARS_1M.columns
      .filter(({ name }) => !own.has(name))
      .map(({ name, type }) => `${type === "boolean" ? "true" : "1"} AS "${name}"`);
    const rows = `SELECT '600000.SH' AS symbol, TIMESTAMPTZ '${month} 03:00:00Z' AS timestamp, DATE '${month}' AS trade_date, ${rest.join(", ")}`;
    const add = await writeDataFile(
      session,
      lake,
      base,
      rows,
      { region: "CN", month },
      { as: "landed", now: 0 },
    );
    adds.push(add);
    for (let file = 1; file < files; file++) adds.push(linked(lake, add));
  }
  const actions = [
    commitInfoAction({ operation: "TEST", runId: "test", now: 0 }, {}),
    ...(base.version < 0 ? schemaActions(base, base.columns, 0) : []),
    ...adds.map((add) => ({ add })),
  ];
  const after = await commit(lake, base, actions, 0);
  if (after === undefined) throw new TypeError("another writer is in the test's lake");
  lake.remember(after);
}
