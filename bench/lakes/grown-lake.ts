import { join } from "node:path";
import { Session } from "../../src/db/session/session.js";
import { writeDataFile } from "../../src/lake/files/data-file.js";
import { Lake } from "../../src/lake/lake.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { commit } from "../../src/lake/log/commit.js";
import { schemaActions } from "../../src/lake/log/commit-actions.js";
import type { AddFile } from "../../src/lake/log/delta-actions.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { monthSql } from "./year-of-minutes.js";

/** The size of a lake of minute bars that has grown for some months. */
export interface GrownSpec {
  readonly months: number;
  readonly symbols: number;
  /** Bars of a symbol on a day. */
  readonly minutes: number;
  /** Files of a month; each has its own symbols. */
  readonly filesAMonth: number;
  /** How its files were written: by nightly runs, or by a compaction. */
  readonly filesAre: "landed" | "compacted";
}

/** The newest month, which every grown lake has, and the first date in it that no lake has. */
export const NEWEST_MONTH = "2025-01-01";
export const NEXT_DATE = "2025-01-31";

/** Makes a lake, one commit a month. Its newest month is the same for any number of months. */
export async function growLake(folder: string, spec: GrownSpec): Promise<Lake> {
  const { months, symbols, minutes, filesAMonth, filesAre } = spec;
  const lake = new Lake(join(folder, `${filesAre}-${months}`));
  using session = await Session.open(writerSpillOptions(lake.work));
  let base = await lake.snapshot(BARS_1M);
  for (let before = months - 1; before >= 0; before--) {
    const month = new Date(Date.UTC(2025, -before)).toISOString().slice(0, 10);
    const bars = `SELECT * FROM (${monthSql(month, 0, symbols, minutes)}) WHERE trade_date < DATE '${NEXT_DATE}'`;
    await session.run(`CREATE OR REPLACE TEMP TABLE month_bars AS ${bars}`);
    const adds: AddFile[] = [];
    for (let n = 0; n < filesAMonth; n++) {
      const [first, end] = [n, n + 1].map((edge) => 600_000 + Math.round((edge * symbols) / filesAMonth));
      const sql = `FROM month_bars WHERE symbol >= '${first}.SH' AND symbol < '${end}.SH'`;
      const values = { region: "CN", month };
      adds.push(await writeDataFile(session, lake, base, sql, values, { as: filesAre, now: 0 }));
    }
    const actions = [
      { commitInfo: { timestamp: 0 } },
      ...(base.version < 0 ? schemaActions(base, base.columns, 0) : []),
      ...adds.map((add) => ({ add })),
    ];
    const after = await commit(lake, base, actions, 0);
    if (after === undefined) throw new TypeError("another writer is in the benchmark's lake");
    base = after;
  }
  lake.remember(base);
  return lake;
}
