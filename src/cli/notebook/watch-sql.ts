import { stat } from "node:fs/promises";
import { systemClock } from "../../client/system-clock.js";
import { messageOf } from "../../core/errors.js";
import { type Clock, ticksOf } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";
import { errorText } from "../error-text.js";
import { paint } from "../text.js";

export interface Watched {
  readonly name: string;
  /** A text that differs where the result may differ. */
  readonly state: () => Promise<string>;
  /** Time between two checks, in milliseconds. */
  readonly everyMs: number;
}

/**
 * Does work, and does it again each time something that it depends on has changed, until the signal aborts. A state that
 * cannot be read counts as a state: a file that an editor replaces, or a store that cannot be reached, does not end the watch.
 *
 * @param work reports its errors itself: it is called again after one.
 * @param onChange is called with the names of what has changed, before the work.
 */
export async function watch(
  watched: readonly Watched[],
  work: () => Promise<void>,
  {
    clock,
    signal,
    onChange,
  }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly onChange: (names: readonly string[]) => void;
  },
): Promise<void> {
  const stepMs = Math.min(...watched.map(({ everyMs }) => everyMs));
  const stateOf = ({ state }: Watched): Promise<string> => state().catch(messageOf);
  // The states are read before the work, so that a change during the work causes another run.
  const known = await Promise.all(watched.map(stateOf));
  const checkedAt = watched.map(() => ticksOf(clock));
  await work();
  while (!signal.aborted) {
    try {
      await clock.sleep(stepMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    const changed: string[] = [];
    for (const [index, one] of watched.entries()) {
      const now = ticksOf(clock);
      // A sleep may end a little early: that is no reason to wait for another one.
      if (now - (checkedAt[index] ?? 0) < one.everyMs - stepMs / 2) continue;
      checkedAt[index] = now;
      const state = await stateOf(one);
      if (state !== known[index]) changed.push(one.name);
      known[index] = state;
    }
    if (changed.length === 0 || signal.aborted) continue;
    onChange(changed);
    await work();
  }
}

/** A file, by its time and size; it may be absent. */
function watchedFile(path: string): Watched {
  return {
    name: path,
    everyMs: 300,
    state: async () => {
      const { mtimeMs, size, ino } = await stat(path);
      return `${mtimeMs} ${size} ${ino}`;
    },
  };
}

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
