import { shellWord } from "../../core/shell-word.js";
import { runDetails } from "../../jobs/run/report/run-history.js";
import type { Lake } from "../../lake/lake.js";
import { type HistoryEntry, readHistory } from "../../lake/log/history.js";
import type { Reader } from "../../lake/open-reader.js";
import { TABLES } from "../../schema/tables.js";
import { runReport } from "./list-runs.js";
import type { RunDetailsReport, TableChange } from "./runs-data.js";

/** Most rows of each list, and most symbols that are named. */
const MOST_LISTED = 100;
const MOST_NAMED = 20;
/** Most characters of the options, which can name thousands of symbols. */
const MOST_OPTIONS = 300;

/** Everything about one run: what it requested, what failed and why, and what it changed. @throws {UsageError} */
export async function runDetailsReport(
  { session }: Reader,
  lake: Lake,
  id: string,
  location: string,
): Promise<RunDetailsReport> {
  const { run, requests, failures, windows, absent, rejects } = await runDetails(session, id);
  const changes = await Promise.all(
    TABLES.map(async (table) => {
      const history = await readHistory(lake.storage, table).catch(() => []);
      return tableChange(table.name, history, run.run_id);
    }),
  );
  return {
    run: {
      ...runReport(run),
      planned: Number(run.requests_planned),
      unchanged: Number(run.unchanged),
      host: run.host,
      engine: run.engine,
      options: run.options.length > MOST_OPTIONS ? `${run.options.slice(0, MOST_OPTIONS)} …` : run.options,
    },
    requests: requests.slice(0, MOST_LISTED),
    failures: failures
      .slice(0, MOST_LISTED)
      .map(({ http_status: httpStatus, ...failure }) => ({ ...failure, httpStatus })),
    windows: windows.map(({ start, end, ...window }) => ({
      ...window,
      start: start.getTime(),
      end: end.getTime(),
    })),
    absent: absent.map(({ dataset, symbols }) => ({
      dataset,
      symbols: symbols.length,
      examples: symbols.slice(0, MOST_NAMED),
    })),
    rejects: rejects.slice(0, MOST_LISTED),
    changes: changes.filter((change) => change !== undefined),
    command: `npx barlake runs show ${shellWord(run.run_id)} --lake ${shellWord(location)}`,
  };
}

/** What the commits of a run have changed in a table; undefined where the run has no commit there. */
export function tableChange(
  table: string,
  history: readonly HistoryEntry[],
  runId: string,
): TableChange | undefined {
  const own = history.filter((entry) => entry.runId === runId);
  const [first, last] = [own[0], own.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const sum = (of: (entry: HistoryEntry) => number): number => own.reduce((all, entry) => all + of(entry), 0);
  return {
    table,
    before: first.version - 1,
    after: last.version,
    inserted: sum(({ inserted = 0 }) => inserted),
    updated: sum(({ updated = 0 }) => updated),
    filesAdded: sum(({ filesAdded }) => filesAdded),
    filesRemoved: sum(({ filesRemoved }) => filesRemoved),
    bytesAdded: sum(({ bytesAdded }) => bytesAdded),
  };
}
