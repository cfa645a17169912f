import { systemClock } from "../../client/system-clock.js";
import type { Lake } from "../../lake/lake.js";
import { errorText } from "../errors/error-text.js";
import { paint } from "../text/text.js";
import { type Watched, watch, watchedFile } from "./watch.js";

/** What is watched. */
export interface WatchedSql {
  readonly path: string;
  /** Undefined where it is read at a past version, which does not change. */
  readonly lake: Lake | undefined;
  readonly signal: AbortSignal;
}

/** Runs a file of SQL, and again when it or the lake changes, until the signal aborts. An error is printed. */
export async function watchSql(
  { path, lake, signal }: WatchedSql,
  run: () => Promise<unknown>,
): Promise<void> {
  const watched = [watchedFile(path), ...(lake === undefined ? [] : [watchedLake(lake)])];
  const work = async (): Promise<void> => {
    try {
      await run();
    } catch (error) {
      if (!signal.aborted) process.stderr.write(`${errorText(error)}\n`);
    }
  };
  await watch(watched, work, {
    clock: systemClock,
    signal,
    onChange(names) {
      const time = new Date(systemClock.now()).toISOString().slice(11, 19);
      process.stdout.write(`\n${paint("dim", `${time} UTC: ${names.join(" and ")} changed`)}\n`);
    },
  });
}

/** A lake, by the versions of its tables. To read those of a lake in a store takes a request for each table. */
function watchedLake(lake: Lake): Watched {
  return {
    name: "the lake",
    everyMs: lake.storage.access === undefined ? 1000 : 15_000,
    state: async () => (await lake.snapshots()).map(({ commitId }) => commitId).join(),
  };
}
