import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Lake } from "../../../src/lake/lake.js";
import { commit } from "../../../src/lake/log/commit.js";
import { schemaActions } from "../../../src/lake/log/commit-actions.js";
import type { Action, AddFile } from "../../../src/lake/log/delta-actions.js";
import { type DataFile, emptySnapshot, type Snapshot } from "../../../src/lake/log/snapshot.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import type { Benchmark, Case, Outcome } from "../../measure/benchmark.js";
import { temporaryFolder } from "../../measure/temporary-folder.js";

const NOW = Date.parse("2026-11-20T08:00:00Z");
/** Files that each commit adds. */
const FILES_A_COMMIT = 50;
/** The requested partition. */
const MONTH = "2026-03-01";

/** From a table's log of many files to the list of one partition's files. */
export const open: Benchmark = {
  name: "open",
  doc: "a log of 10,000 live files with a checkpoint -> the files of one partition, with their statistics",
  async prepare(size) {
    const commits = size === "full" ? 200 : 60;
    const folder = temporaryFolder();
    const lake = new Lake(join(folder.path, "lake"));
    const newest = await writeLog(lake, commits);
    const state = join(folder.path, "state.ndjson");
    await writeFile(
      state,
      addsOf(commits)
        .map((add) => JSON.stringify({ add }))
        .join("\n"),
    );
    return {
      summary: `${newest.files.size} live files in ${newest.version + 1} commits, a checkpoint every 50`,
      work: { "files/s": newest.files.size },
      cases: [parseState(state), parseCommits(lake), opening(lake)],
      async close() {
        folder[Symbol.dispose]();
      },
    };
  },
};

function addsOf(commits: number): AddFile[] {
  return Array.from({ length: commits * FILES_A_COMMIT }, (_, n) => addOf(n));
}

function addOf(n: number): AddFile {
  const month = `2026-${String((n % 12) + 1).padStart(2, "0")}-01`;
  const id = n.toString(16).padStart(16, "0");
  const first = String(600_000 + (n % 3000)).padStart(6, "0");
  const stats = {
    numRecords: 1000 + (n % 7),
    minValues: { symbol: `${first}.SH`, timestamp: `${month}T01:31:00.000Z` },
    maxValues: { symbol: "688981.SH", timestamp: `${month.slice(0, 8)}28T07:00:00.000Z` },
    nullCount: { symbol: 0, timestamp: 0 },
  };
  return {
    path: `region=CN/month=${month}/p-${id}-5f3a9c01.parquet`,
    partitionValues: { region: "CN", month },
    size: 12_000 + (n % 13),
    modificationTime: NOW,
    dataChange: true,
    stats: JSON.stringify(stats),
  };
}

async function writeLog(lake: Lake, commits: number): Promise<Snapshot> {
  let newest = emptySnapshot(BARS_1M);
  for (let n = 0; n <= commits; n++) {
    const adds = Array.from({ length: FILES_A_COMMIT }, (_, i) => ({
      add: addOf((n - 1) * FILES_A_COMMIT + i),
    }));
    const actions: Action[] = [
      { commitInfo: { timestamp: NOW + n } },
      ...(n === 0 ? schemaActions(newest, BARS_1M.columns, NOW) : adds),
    ];
    newest = (await commit(lake, newest, actions, NOW)) as Snapshot;
  }
  return newest;
}

/** The files of a table in the requested partition. */
function outcomeOf(files: readonly Pick<DataFile, "size" | "stats">[]): Outcome {
  const sum = (value: (file: Pick<DataFile, "size" | "stats">) => number): number =>
    files.reduce((total, file) => total + value(file), 0);
  return {
    checks: {
      files: files.length,
      bytes: sum(({ size }) => size),
      rows: sum(({ stats }) => stats?.numRecords ?? 0),
    },
  };
}

function requestedOf(adds: readonly AddFile[]): Outcome {
  const requested = adds.filter(({ partitionValues }) => partitionValues.month === MONTH);
  return outcomeOf(
    requested.map(({ size, stats }) => ({ size, stats: JSON.parse(stats ?? "") as DataFile["stats"] })),
  );
}

/** The minimum work: one file of the live files' actions, read and parsed. */
function parseState(file: string): Case {
  return {
    name: "read and JSON.parse of the live files' actions",
    async run(timed) {
      const adds = await timed(async () => parsed(await readFile(file, "utf8")));
      return requestedOf(adds);
    },
  };
}

function parseCommits(lake: Lake): Case {
  const folder = join(lake.location, BARS_1M.name, "_delta_log");
  return {
    name: "read and JSON.parse of every commit",
    async run(timed) {
      const adds = await timed(async () => {
        const found: AddFile[] = [];
        for (const name of (await readdir(folder)).filter((one) => one.endsWith(".json")).sort())
          found.push(...parsed(await readFile(join(folder, name), "utf8")));
        return found;
      });
      return requestedOf(adds);
    },
  };
}

function parsed(text: string): AddFile[] {
  return text.split("\n").flatMap((line) => {
    const action = line === "" ? {} : (JSON.parse(line) as Partial<{ add: AddFile }>);
    return action.add === undefined ? [] : [action.add];
  });
}

function opening(lake: Lake): Case {
  return {
    name: "barlake: open from the checkpoint, prune to one partition",
    async run(timed) {
      return timed(async () => {
        const { files } = await new Lake(lake.location).snapshot(BARS_1M);
        return outcomeOf(
          [...files.values()].filter(({ partitionValues }) => partitionValues.month === MONTH),
        );
      });
    },
  };
}
