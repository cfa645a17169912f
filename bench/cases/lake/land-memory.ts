import { join } from "node:path";
import { Session } from "../../../src/db/session/session.js";
import { parquetRelation } from "../../../src/db/views/parquet-relation.js";
import { Lake } from "../../../src/lake/lake.js";
import { landKlines } from "../../../src/lake/land/land-klines.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import type { KlineColumns } from "../../../src/wire/kline-columns.js";
import { LAST_DAY, simulatedBars } from "../../body.js";
import type { Benchmark, Case } from "../../measure/benchmark.js";
import { sqlChecks } from "../../measure/checksum.js";
import { watchingMemory } from "../../measure/peak-memory.js";
import { temporaryFolder } from "../../measure/temporary-folder.js";

const FEW = 5;
const MANY = 25;
const DAY_MS = 86_400_000;
/** Calendar days between the bars of one group and those of the next: the bars of a group cover fewer. */
const DAYS_APART = 35;
const NOW = Date.parse(LAST_DAY) + 2 * DAY_MS;
const OPTIONS = {
  operation: "BENCHMARK",
  runId: "benchmark",
  now: NOW,
  finalEnd: { CN: NOW, HK: NOW, US: NOW },
} as const;

/** Groups of responses landed one after the other: does the memory grow with their number? */
export const landMemory: Benchmark = {
  name: "land-memory",
  doc: "peak memory while groups of responses are landed one after the other; ratio of the peaks",
  async prepare(size) {
    const group = simulatedBars(
      size === "full"
        ? { symbols: 400, barsPerSymbol: 5000, symbolsPerBatch: 100 }
        : { symbols: 20, barsPerSymbol: 480, symbolsPerBatch: 10 },
    );
    const rows = group.reduce((sum, columns) => sum + columns.rows, 0);
    return {
      summary: `groups of ${rows} bars; ratio: of the peaks`,
      work: {},
      cases: [landing(group, FEW, rows), landing(group, MANY, rows)],
    };
  },
};

/** Lands the given number of groups, of distinct bars; the figure is the peak resident set of the process. */
function landing(group: readonly KlineColumns[], groups: number, rows: number): Case {
  const times = group.map(({ timestamp }) => timestamp.slice());
  return {
    name: `barlake: ${(groups * rows) / 1e6} million bars`,
    async run(timed) {
      using folder = temporaryFolder();
      using session = await Session.open({ spillUnder: folder.path });
      const lake = new Lake(join(folder.path, "lake"));
      const peak = await watchingMemory(() =>
        timed(async () => {
          for (let left = groups - 1; left >= 0; left--) {
            moveBack(group, times, left * DAYS_APART);
            const bars = group.map((columns) => ({ columns, source: "benchmark" }));
            await landKlines(session, lake, BARS_1M, bars, {
              ...OPTIONS,
              rejects: new Rejects(session, "benchmark"),
            });
          }
        }),
      );
      const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(BARS_1M)));
      const [all] = await session.json<{ rows: number }>(`SELECT count(*)::DOUBLE AS rows FROM (${live})`);
      if (all?.rows !== groups * rows)
        throw new TypeError(`${all?.rows} bars were landed, not ${groups * rows}`);
      const newest = `timestamp >= make_timestamptz(${Number(times[0]?.[0]) * 1000}::BIGINT)`;
      const checks = await sqlChecks(session, `(SELECT * FROM (${live}) WHERE ${newest})`);
      return { checks, figures: { "peak MB": peak / 1e6 } };
    },
  };
}

/** Moves the bars' times back by some days, in place: an ingest reuses its buffers, too. */
function moveBack(group: readonly KlineColumns[], times: readonly BigInt64Array[], days: number): void {
  const by = BigInt(days * DAY_MS);
  for (const [index, { timestamp }] of group.entries()) {
    for (const [row, at] of (times[index] as BigInt64Array).entries()) timestamp[row] = at - by;
  }
}
